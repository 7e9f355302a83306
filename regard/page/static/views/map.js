// The map: from every token written to every token looked at.

import { button, segments, state, tick } from '../controls.js';
import { h } from '../dom.js';
import { heatmap, legend } from '../heatmap.js';
import { film } from '../picture.js';
import { numberIn } from '../selection.js';
import { figure, short } from '../words.js';
import {
  HONEST,
  attentionOf,
  chooseHead,
  chooseReading,
  chooseScale,
  headKeys,
  headOf,
  headTitle,
  ladder,
  largest,
  pairTable,
  readingOf,
  scaleOf,
  titleOf,
} from './common.js';
import { measured, measures } from './measure.js';
import { mergeable, merged } from './merging.js';

/** @import { Grid } from '../heatmap.js' */
/** @import { Looked, View } from '../main.js' */
/** @import { Attention, Reading } from '../record.js' */

/**
 * What is drawn, and how it is read.
 * @typedef {{attention: Attention, head: number | 'mean', reading: Reading, grid: Grid, mergeable: boolean,
 *   words: boolean, causal: boolean, scale: string, at: [number, number] | null}} Shown
 */

/** @type {View} */
export const map = {
  key: 'map',
  title: 'Map',
  hint: 'Every row is one token: how its weight is shared out over the others.',
  draw(stage, look) {
    const attention = attentionOf(look.record, look.selection);
    if (!attention) {
      const why = `This ${look.run.task.name} keeps what it has read in its cells and never looks back at a token. `;
      stage.append(state('No attention, no map', `${why}Its cells are in the Ribbon and under Heads.`));
      return null;
    }
    if (look.selection.measure) return measured(stage, look, attention);
    const shown = shownOf(look, attention);
    const { grid, causal, head } = shown;
    stage.append(controls(look, shown));
    if (attention.grid && look.record.picture) stage.append(films(look, shown));
    const below = h('p', { style: { 'margin-top': '0.6rem' } }, legend(shown), ' ');
    const left = h('div', h('div.scroller', picture(stage, look, shown)), below, h('p.honest', HONEST));
    stage.append(h('div.columns', left, h('div.aside', inspected(look, shown))));
    const of = { measure: 'weight', attention, head, names: grid.names };
    return {
      what: `${titleOf(attention)}, ${headTitle(attention, head)}`,
      table: () => pairTable(of, (t, i) => (causal && i > t ? '' : grid.weights[t * grid.columns + i].toPrecision(6))),
      key: (key) => headKeys(look, attention, key),
    };
  },
};

/**
 * @param {Looked} look
 * @param {Attention} attention
 * @returns {Shown}
 */
function shownOf({ selection }, attention) {
  const head = headOf(attention, selection);
  const reading = readingOf(attention, selection);
  const [weights, names] = [attention.weights(head), attention.names(reading)];
  const several = !attention.grid && (mergeable(names.rows) || mergeable(names.columns));
  const words = selection.words && several;
  const { rows, columns } = attention;
  const grid = words ? merged(attention, weights, names) : { weights, rows, columns, names };
  const from = numberIn(selection.from);
  return {
    attention,
    head,
    reading,
    grid,
    mergeable: several,
    words,
    causal: attention.causal && !words,
    scale: scaleOf(selection, grid.columns),
    at: from === null ? null : [from, numberIn(selection.to) ?? -1],
  };
}

/**
 * @param {Looked} look
 * @param {Shown} shown
 */
function controls(look, { attention, grid, reading, scale, words, mergeable: several }) {
  const { selection, choose } = look;
  const large = Math.max(grid.rows, grid.columns) > 64;
  const zooms = /** @type {[string, string][]} */ ([
    ['', 'fit'],
    ['2', '×2'],
    ['4', '×4'],
  ]);
  return h(
    'div.controls',
    chooseHead(look, attention),
    measures(look),
    attention.from === 'written' && chooseReading(look, reading),
    chooseScale(look, scale),
    large && segments('zoom', zooms, selection.zoom, (zoom) => choose({ zoom })),
    several && tick('whole words', words, (value) => choose({ words: value, from: '', to: '' })),
  );
}

/**
 * @param {HTMLElement} stage
 * @param {Looked} look
 * @param {Shown} shown
 */
function picture(stage, { selection, choose }, { attention, grid, reading, causal, scale, at }) {
  const { weights, columns, names } = grid;
  const predicted = reading === 'predicted' && attention.from === 'written';
  const beside = innerWidth > 960 ? 17 * 16 + 32 : 0; // what stands to the right of it
  return heatmap({
    ...grid,
    causal,
    scale,
    at,
    room: stage.clientWidth - beside - 40,
    zoom: Number(selection.zoom) || 1,
    axes: ['from ↓', attention.grid ? 'to → regions of the picture, row by row' : 'to →'],
    pick: (row, column) => choose({ from: String(row), to: String(column) }),
    tip: (row, column) => {
      const number = causal && column > row ? 'masked' : figure(weights[row * columns + column]);
      const [from, to] = [short(names.rows[row].text, 24), short(names.columns[column].text, 24)];
      const how = predicted ? ' (predicted here)' : '';
      return [h('span.big', number), h('div', 'from ', h('b', from), how, ' to ', h('b', to))];
    },
  });
}

/**
 * The row that is chosen, in numbers.
 * @param {Looked} look
 * @param {Shown} shown
 */
function inspected({ record, selection }, { attention, head, grid, reading, at }) {
  const written = attention.from === 'written';
  const title = `${titleOf(attention)}, ${headTitle(attention, head)}`;
  const meaning =
    reading === 'predicted' && written
      ? 'A row is named by the token that was predicted at that step, one after the token fed.'
      : 'A row is named by the token that was read or fed at that step.';
  const head_ = [h('h3', title), h('p', meaning)];
  if (!at || at[0] >= grid.rows) {
    const hint = 'Hover for numbers; click a cell to keep its row here.';
    return [head_, h('p.hint', { style: { 'margin-top': '0.8rem' } }, hint)];
  }
  const row = grid.weights.subarray(at[0] * grid.columns, (at[0] + 1) * grid.columns);
  const from = h('h3', 'from ', h('span.token', short(grid.names.rows[at[0]].text, 20)));
  const others = written && !selection.words && [h('h3', 'might have been'), ladder(record, at[0])];
  return [head_, from, largest(grid.names.columns, row), others];
}

/**
 * The picture once for every word, lit where it looked.
 * @param {Looked} look
 * @param {Shown} shown
 */
function films({ record, selection, choose }, { attention, head, reading }) {
  const image = /** @type {import('../blobs.js').Blob} */ (record.picture);
  const weights = attention.weights(head);
  const whole = h('div.film', film(image, null, record.grid), h('span', 'the picture'));
  const lit = attention.names(reading).rows.map((token, t) => {
    const row = weights.subarray(t * attention.columns, (t + 1) * attention.columns);
    const caption = h('span', short(token.text, 12), h('em', Math.max(...row).toFixed(2)));
    const attributes = { id: `film-${t}`, class: String(t) === selection.from ? 'at' : '' };
    const act = () => choose({ from: String(t), to: '' });
    return button('button.film', act, attributes, film(image, row, record.grid), caption);
  });
  return h('div.films', whole, lit);
}
