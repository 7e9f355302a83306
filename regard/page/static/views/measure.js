// Other answers to what an output depended on: the map's rows and columns by another measure than the weights.

import { plain } from '../ask.js';
import { choice, state } from '../controls.js';
import { h } from '../dom.js';
import { heatmap, legend, tipOf } from '../heatmap.js';
import { chooseHead, headKeys, headOf, headTitle, pairTable, titleOf } from './common.js';

/** @import { Grid } from '../heatmap.js' */
/** @import { Looked, Shown } from '../main.js' */
/** @import { Attention, Record } from '../record.js' */
/** @import { Matrix } from '../tensors.js' */

/** @type {{[key: string]: [string, string]}} */
const MEASURES = {
  '': ['attention', 'where it looked'],
  norms: ['× value norm', 'a ‖v W_O‖: a look at a vector that says little counts little'],
  rollout: ['rollout', 'the layers’ mixing multiplied out: an approximation'],
  gradient: ['gradient × input', 'how the score of what was said moves along each token’s vector'],
  off: ['switched off', 'the change of log p when a token is not there: a measurement'],
};

/** @param {Looked} look */
export function measures({ selection, choose }) {
  const names = Object.entries(MEASURES).map(([key, [name]]) => /** @type {[string, string]} */ ([key, name]));
  return choice('measure', names, selection.measure, (measure) => choose({ measure }), 'measure');
}

/**
 * What is asked for all measures of an attention layer, or of several: about the answer that is shown.
 * @param {Record} record
 * @param {Attention} attention
 */
export function measureQuestion(record, attention) {
  return { ...record.asked, head: `${attention.path}[0]` };
}

/**
 * @param {HTMLElement} stage
 * @param {Looked} look
 * @param {Attention} attention
 * @returns {Shown}
 */
export function measured(stage, look, attention) {
  const { selection, run } = look;
  const place = h('div', h('p.note', 'Computing…'));
  stage.append(h('div.controls', chooseHead(look, attention), measures(look)), place);
  const [name, meaning] = MEASURES[selection.measure] ?? [selection.measure, ''];
  const head = headOf(attention, selection);
  /** @type {Grid | null} */
  let grid = null;
  plain('/api/attribution', measureQuestion(look.record, attention))
    .then((found) => {
      const heads = found[selection.measure];
      if (!heads) {
        const none = `${name} is not defined for this attention of this ${run.task.name}.`;
        const why = run.lacks?.[selection.measure] ?? none;
        place.replaceChildren(state('It does not apply here', why));
        return;
      }
      grid = gridOf(attention, heads.length > 1 && head !== 'mean' ? [heads[head]] : heads);
      place.replaceChildren(...drawn(grid, attention, stage.clientWidth - 60), h('p.note', `${meaning}.`));
      place.append(h('p.honest', 'none of these is the reason for an answer'));
    })
    .catch((error) => place.replaceChildren(state('That did not work', error.message, 'wrong')));
  const masked = (/** @type {number} */ t, /** @type {number} */ i) => attention.causal && i > t;
  const value = (/** @type {number} */ t, /** @type {number} */ i) =>
    masked(t, i) || !grid ? '' : grid.weights[t * grid.columns + i];
  return {
    what: `${name}, ${titleOf(attention)}, ${headTitle(attention, head)}`,
    table: () => pairTable({ measure: name, attention, head, names: grid?.names ?? { rows: [], columns: [] } }, value),
    key: (key) => headKeys(look, attention, key),
  };
}

/**
 * The mean over some heads, a matrix each.
 * @param {Attention} attention
 * @param {Matrix[]} heads
 * @returns {Grid}
 */
function gridOf(attention, heads) {
  const [rows, columns] = [heads[0].length, heads[0][0].length];
  const mean = (/** @type {number} */ t, /** @type {number} */ i) =>
    heads.reduce((sum, one) => sum + one[t][i], 0) / heads.length;
  const weights = Float32Array.from({ length: rows * columns }, (_, i) => mean(Math.floor(i / columns), i % columns));
  const names = attention.names();
  return {
    weights,
    rows,
    columns,
    names: { rows: names.rows.slice(0, rows), columns: names.columns.slice(0, columns) },
  };
}

/**
 * Where a number is below zero, on both sides of it; else as a share of the largest. The numbers are said as they are.
 * @param {Grid} grid
 * @param {Attention} attention
 * @param {number} room
 */
function drawn(grid, { causal }, room) {
  const { weights } = grid;
  const signed = weights.some((w) => w < 0);
  const most = Math.max(1e-9, ...weights.map(Math.abs));
  const shares = signed ? weights : weights.map((w) => w / most);
  const inks = { signed, most: signed ? most : 1, scale: 'linear' };
  return [
    h('div.scroller', heatmap({ ...grid, ...inks, weights: shares, causal, room, tip: tipOf(grid) })),
    h('p', { style: { margin: '0.6rem 0' } }, legend({ most, signed, causal })),
  ];
}
