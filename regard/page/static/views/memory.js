// How far back a loss can teach, and how open the gates are.

import { lines, offline } from '../ask.js';
import { chart } from '../chart.js';
import { choice, state, tick } from '../controls.js';
import { h } from '../dom.js';
import { named, short } from '../words.js';

/** @import { Question, Run } from '../ask.js' */
/** @import { Curve } from '../chart.js' */
/** @import { Looked, View } from '../main.js' */
/** @import { Cells } from '../record.js' */

/** @type {View} */
export const memory = {
  key: 'memory',
  title: 'Memory',
  hint: 'How strongly a loss still reaches what was read k tokens before: the gradient’s length, on a log scale.',
  draw(stage, look) {
    const { record, selection, choose, runs, run } = look;
    const others = runs.filter((one) => one !== run && one.task.name === run.task.name);
    const all = selection.against === 'all' && others.length > 0;
    const label = `with the other ${others.length === 1 ? 'run' : 'runs'} of this kind`;
    const beside = others.length > 0 && tick(label, all, (value) => choose({ against: value ? 'all' : '' }));
    const place = h('section', h('p.note', 'Computing gradients…'));
    const gates = record.cells.filter((one) => one.gate);
    stage.append(h('div.controls', beside), place, gateSection(look, gates));
    /** @type {Curve[]} */
    let found = [];
    curvesOf(look, all ? [run, ...others] : [run])
      .then((curves) => {
        found = curves;
        place.replaceChildren(...drawn(curves, all, record.attention.length > 0));
      })
      .catch((error) =>
        place.replaceChildren(
          state('No gradients', error.message, offline || run.kept || run.lacks?.gradient ? '' : 'wrong'),
        ),
      );
    return {
      table: () => [['curve', 'k', 'value'], ...found.flatMap((one) => one.values.map((v, k) => [one.name, k, v]))],
    };
  },
};

/**
 * A curve for each place of one run; of several, for the last place of each: each run on the answer that is shown.
 * @param {Looked} look
 * @param {Run[]} some
 */
async function curvesOf(look, some) {
  const answers = await Promise.all(
    some.map(async (one) => {
      const made = await lines('/api/gradients', askedOf(look, one), () => {});
      const places = made.filter((line) => line.path && (some.length === 1 || line.last));
      return places.map(({ path, values }) => ({ name: some.length > 1 ? one.name : label(path), values }));
    }),
  );
  return answers.flat();
}

/**
 * What is asked: about the answer that is shown; of another run, about the same wording in its own tokens.
 * @param {Looked} look
 * @param {Run} one
 * @returns {Question}
 */
export function askedOf({ record, run, runs }, one) {
  if (one === run) return record.asked;
  const { said, off, held, ...rest } = record.asked;
  return { ...rest, run: runs.indexOf(one), wording: record.wording };
}

/** @param {string} path */
function label(path) {
  return named(path).replace(' · vectors', '');
}

/**
 * @param {Curve[]} curves
 * @param {boolean} several
 * @param {boolean} attention
 */
function drawn(curves, several, attention) {
  const axes = { across: 'k tokens before the loss', up: '‖∂loss / ∂h‖', log: true };
  const alone =
    'Behind the last attention a position speaks for itself alone: where a curve is one point, the gradient is ' +
    'exactly zero from k = 1 on.';
  const meaning = several ? 'For each run, the last place from which anything comes back over time.' : alone;
  const figure = curves.length ? chart({ curves, ...axes }) : h('p.note', 'No hidden state to follow.');
  return [figure, (several || attention) && h('p.note', meaning)].filter((one) => one !== false);
}

/**
 * The mean of each gate over time, and how many of its cells are nearly open or nearly shut.
 * @param {Looked} look
 * @param {Cells[]} gates
 */
function gateSection({ selection, choose }, gates) {
  if (!gates.length) {
    const none = 'This model has none: nothing decides what is kept and what is let go.';
    return h('section.section', h('h3', 'Gates'), h('p', none));
  }
  const layers = [...new Set(gates.map((one) => one.layer))];
  const layer = layers.includes(selection.gates) ? selection.gates : (layers.at(-1) ?? '');
  const shown = gates.filter((one) => one.layer === layer);
  const curves = shown.map((gate) => ({ name: gateName(gate), values: meansOf(gate) }));
  const xs = shown[0].tokens.map((token) => short(token.text, 6));
  const names = layers.map((path) => /** @type {[string, string]} */ ([path, named(path)]));
  const head = h('tr', h('th', 'gate'), h('th', 'nearly open (> 0.9)'), h('th', 'nearly shut (< 0.1)'));
  return h(
    'section.section',
    h('h3', 'Gates over time'),
    h('p', 'The mean over all cells: 1 is open, 0 is shut.'),
    layers.length > 1 &&
      h(
        'div.controls',
        choice('layer', names, layer, (path) => choose({ gates: path }), 'gates'),
      ),
    chart({ curves, across: 'token', up: 'mean of the gate', low: 0, high: 1, xs }),
    h('table.numbers', head, shown.map(extremes)),
  );
}

/** @param {Cells} gate */
function gateName(gate) {
  return gate.path.slice(gate.layer.length + 1).replaceAll('_', ' ');
}

/**
 * The mean over all cells at each position.
 * @param {Cells} gate
 */
function meansOf({ blob, steps, width }) {
  return Array.from({ length: steps }, (_, t) => {
    let sum = 0;
    for (let d = 0; d < width; d++) sum += blob.data[t * width + d];
    return sum / width;
  });
}

/** @param {Cells} gate */
function extremes(gate) {
  const { data } = gate.blob;
  let [open, shut] = [0, 0];
  for (const v of data) {
    if (v > 0.9) open += 1;
    if (v < 0.1) shut += 1;
  }
  const share = (/** @type {number} */ count) => h('td.n', `${((100 * count) / data.length).toFixed(0)}%`);
  return h('tr', h('td', gateName(gate)), share(open), share(shut));
}
