// The body of a model as a record shows it: on each side its tokens, and above them the stages that they pass through.

/** @import { Attention, Cells, Record, Side, Token } from '../record.js' */

/**
 * All that passes in one layer: its vectors in the order in which they are computed, or its attention.
 * `within`: the layer that it is a part of, such as a block; empty: none.
 * @typedef {{layer: string, strips: Cells[], attention: Attention | null, within: string}} Stage
 *
 * `steps`: how many positions there are, none of a picture; `tokens`: what was read or fed at each; the first stage
 * stands lowest.
 * @typedef {{side: Side, steps: number, tokens: Token[], stages: Stage[]}} Body
 */

/**
 * Both sides, what was read first; a side on which nothing can be seen has no stages.
 * @param {Record} record
 * @returns {Body[]}
 */
export function bodiesOf(record) {
  const sides = /** @type {Side[]} */ (record.source.length ? ['source', 'written'] : ['written']);
  const bodies = sides.map((side) => {
    const stages = stagesOf(record, side);
    const steps = side === 'source' ? (record.grid ? 0 : record.source.length) : record.steps;
    return { side, steps, tokens: record.side(side).slice(0, steps), stages };
  });
  // Labels of tokens stand above the tokens: nothing is computed where they are written.
  return bodies.filter(({ side, steps, stages }) => side === 'source' || stages.length || steps === 1);
}

/**
 * @param {Record} record
 * @param {Side} side
 */
function stagesOf(record, side) {
  /** @type {Map<string, Stage>} */
  const found = new Map();
  for (const [path, about] of record.seen) {
    if (about.rows !== side) continue;
    const stage = found.get(about.layer) ?? { layer: about.layer, strips: [], attention: null, within: '' };
    const strip = record.group(path);
    if (strip) stage.strips.push(strip);
    else if (about.group) stage.attention = record.layer(about.layer);
    if (strip || stage.attention) found.set(about.layer, stage);
  }
  const stages = [...found.values()];
  for (const stage of stages) {
    const around = stages.filter((other) => stage.layer.startsWith(`${other.layer}.`));
    stage.within = around.at(-1)?.layer ?? '';
  }
  return stages;
}

/**
 * What is framed: stages that belong to one block, and layers of several vectors; the first and the last stage of each.
 * @param {Stage[]} stages
 * @returns {{layer: string, first: number, last: number}[]}
 */
export function blocksOf(stages) {
  const around = stages.flatMap((one) => (one.within ? [one.within] : one.strips.length > 1 ? [one.layer] : []));
  return [...new Set(around)].map((layer) => {
    const places = stages.flatMap((one, i) => (one.within === layer || one.layer === layer ? [i] : []));
    return { layer, first: Math.min(...places), last: Math.max(...places) };
  });
}
