// One head of the run in numbers: a window over its tokens and dimensions, and one pair of tokens worked out in full.

import { record as askRecord } from '../ask.js';
import { choice, number, segments } from '../controls.js';
import { h } from '../dom.js';
import { Record } from '../record.js';
import { largest, multiply, transpose } from '../tensors.js';
import { figure, named, short } from '../words.js';
import { HONEST, counted, headOf, pathsOf } from './common.js';
import { matrix, matrixTable } from './matrix.js';

/** @import { Part } from '../dom.js' */
/** @import { Looked, Shown } from '../main.js' */
/** @import { Attention } from '../record.js' */
/** @import { Matrix } from '../tensors.js' */

const [FEW, WIDE] = [8, 6]; // tokens and dimensions in the window

/**
 * All that passed at the taps of a head, and where the window begins: at which row, column and dimension.
 * @typedef {{q: Matrix, k: Matrix, v: Matrix, scores: Matrix, weights: Matrix, y: Matrix}} Numbers
 * @typedef {{row: number, column: number, dimension: number}} Corner
 */

/**
 * @param {HTMLElement} stage
 * @param {Looked} look
 * @param {Attention} attention
 * @param {HTMLElement} bar
 * @returns {Shown}
 */
export function ownHead(stage, look, attention, bar) {
  const { record, run, selection, choose } = look;
  const chosen = headOf(attention, selection);
  const head = chosen === 'mean' ? 0 : chosen;
  bar.append(choice('layer', pathsOf(record.attention), attention.path, (layer) => choose({ layer }), 'layer'));
  if (attention.heads > 1) {
    bar.append(segments('head', counted(attention.heads), head, (value) => choose({ head: String(value) })));
  }
  const place = h('div', h('p.note', 'Reading queries, keys and values…'));
  stage.append(place);
  /** @type {{[name: string]: Matrix}} */
  let all = {};
  const asked = benchQuestion(record, attention);
  askRecord(asked)
    .then((buffer) => {
      const found = new Record(buffer, run.special, asked).layer(attention.path);
      if (!found) return;
      const numbers = numbersOf(found, head);
      all = numbers;
      place.replaceChildren(...drawn(look, found, head, numbers));
    })
    .catch((error) => place.replaceChildren(h('p.note', error.message)));
  return { what: `${named(attention.path)}, head ${head}`, table: () => matrixTable(all, (t) => t, 0) };
}

/**
 * What is asked for all that passed in a layer.
 * @param {Record} record
 * @param {Attention} attention
 */
export function benchQuestion(record, attention) {
  return { ...record.asked, head: `${attention.path}[0]` };
}

/**
 * What passed at the taps of a head.
 * @param {Attention} attention
 * @param {number} head
 * @returns {Numbers}
 */
function numbersOf(attention, head) {
  const { record, path } = attention;
  const take = (/** @type {string} */ role) => {
    const { shape, data } = record.tap(path, role);
    const [heads, rows, width] = shape;
    const begin = (head * heads) / attention.heads; // several heads may share their keys and values
    const row = (/** @type {number} */ t) =>
      Array.from(data.subarray((Math.floor(begin) * rows + t) * width).subarray(0, width));
    return Array.from({ length: rows }, (_, t) => row(t));
  };
  const [q, k, v, scores, y] = ['queries', 'keys', 'values', 'scores', 'mixed'].map(take);
  const weights = q.map((_, t) => k.map((_, i) => attention.weight(head, t, i)));
  return { q, k, v, scores, weights, y };
}

/**
 * c where scores = c · q kᵀ, as far as a step could see a position; else the similarity is another: nothing.
 * @param {Attention} attention
 * @param {Matrix} scores
 * @param {Matrix} dot
 */
function factor(attention, scores, dot) {
  const ratio = dot[0][0] !== 0 ? scores[0][0] / dot[0][0] : 0;
  const same = dot.every((row, t) =>
    row.every((x, i) => {
      const score = scores[t][i];
      const unseen = attention.masked(t, i) || !Number.isFinite(score);
      return unseen || Math.abs(score - ratio * x) < 1e-3 * Math.max(1, Math.abs(score));
    }),
  );
  return same ? ratio : null;
}

/**
 * Where the window begins, from the address: row.column.dimension.
 * @param {string} text
 * @param {Numbers} numbers
 * @returns {Corner}
 */
function cornerOf(text, { q, k }) {
  const [row, column, dimension] = text.split('.').map(Number);
  const within = (/** @type {number} */ at, /** @type {number} */ count, /** @type {number} */ size) =>
    Math.max(0, Math.min(at || 0, count - size));
  return {
    row: within(row, q.length, FEW),
    column: within(column, k.length, FEW),
    dimension: within(dimension, q[0].length, WIDE),
  };
}

/**
 * @param {Looked} look
 * @param {Attention} attention
 * @param {number} head
 * @param {Numbers} numbers
 */
function drawn(look, attention, head, numbers) {
  const { q, k, v, scores, weights, y } = numbers;
  const corner = cornerOf(look.selection.window, numbers);
  const width = q[0].length;
  const dot = width === k[0].length ? multiply(q, transpose(k)) : null;
  const ratio = dot && factor(attention, scores, dot);
  const seen = scores.map((row, t) => row.map((x, i) => (attention.masked(t, i) ? -Infinity : x)));
  const names = attention.names();
  const [rows, columns] = [names.rows, names.columns].map((tokens) => tokens.map((token) => token.text));
  const [down, across] = [corner.row, corner.column];
  const some = (/** @type {string[]} */ of, /** @type {number} */ at) => of.slice(at, at + FEW);
  /** @type {(letter: string, about: string, values: Matrix, of: string[], at: number) => HTMLElement} */
  const wide = (letter, about, values, of, at) => {
    const first = values.slice(at, at + FEW).map((row) => row.slice(corner.dimension, corner.dimension + WIDE));
    const dimensions = first[0].map((_, i) => `${letter[0]}${corner.dimension + i}`);
    return matrix(letter, about, first, { rows: some(of, at), columns: dimensions, size: largest(values) });
  };
  /** @type {(title: string, about: string, values: Matrix, weigh?: boolean) => HTMLElement} */
  const square = (title, about, values, weigh = false) => {
    const cut = values.slice(down, down + FEW).map((row) => row.slice(across, across + FEW));
    const sides = { rows: some(rows, down), columns: some(columns, across) };
    const veil = { causal: weigh && attention.causal, shift: down - across };
    return matrix(title, about, cut, { ...sides, size: largest(values), weights: weigh, ...veil });
  };
  return [
    h('p.note', { style: { 'margin-bottom': '1rem' } }, about(attention, head, numbers, ratio)),
    moving(look, corner, numbers),
    h(
      'div.bench',
      wide('q', 'what each asks for', q, rows, down),
      wide('k', 'what each answers to', k, columns, across),
      wide('v', 'what each gives', v, columns, across),
      dot && ratio !== null && square('q · k', 'scores, from ↓ to →', dot),
      square(...scoreTitle(attention, ratio, width), seen),
      square('a = softmax', 'each whole row sums to 1', weights, true),
      wide('y = Σ a v', 'what each takes along', y, rows, down),
    ),
    workedOut(look, attention, numbers, seen, ratio),
    h('p.honest', HONEST),
  ];
}

/**
 * Where the window begins, to be moved.
 * @param {Looked} look
 * @param {Corner} corner
 * @param {Numbers} numbers
 */
function moving({ choose }, corner, { q, k }) {
  /** @type {[keyof Corner, string, number, number][]} */
  const sides = [
    ['row', 'rows', q.length, FEW],
    ['column', 'columns', k.length, FEW],
    ['dimension', 'dimensions', q[0].length, WIDE],
  ];
  const fields = sides.map(([key, name, count, size]) => {
    if (count <= size) return null;
    const wish = { id: `window-${key}`, min: 0, max: count - size, value: corner[key], 'aria-label': `first ${key}` };
    const move = (/** @type {string} */ value) => {
      const next = { ...corner, [key]: Number(value) };
      choose({ window: `${next.row}.${next.column}.${next.dimension}` });
    };
    return h('label', `${name} from`, number(wish, move), `of ${count}`);
  });
  return h('div.controls', fields);
}

/**
 * One query and one key, every term of them: Σ q_m k_m, scaled, and its share of the row.
 * @param {Looked} look
 * @param {Attention} attention
 * @param {Numbers} numbers
 * @param {Matrix} seen
 * @param {number | null} ratio
 */
function workedOut({ selection, choose }, attention, { q, k, weights }, seen, ratio) {
  const names = attention.names();
  const from = Math.min(Number(selection.from) || 0, q.length - 1);
  const row = weights[from];
  const to = selection.to === '' ? row.indexOf(Math.max(...row)) : Math.min(Number(selection.to), k.length - 1);
  const options = (/** @type {{text: string}[]} */ tokens) =>
    tokens.map((token, i) => /** @type {[number, string]} */ ([i, `${i} ${short(token.text)}`]));
  const pair = h(
    'div.controls',
    choice('query', options(names.rows), from, (value) => choose({ from: value }), 'pair-from'),
    choice('key', options(names.columns), to, (value) => choose({ to: value }), 'pair-to'),
  );
  const head = h('h3', 'One query and one key, in full');
  if (attention.masked(from, to)) {
    return h('section.section', head, pair, h('p', 'This key comes later: it is masked, and its weight is 0.'));
  }
  const score = seen[from][to];
  const last = `a = exp(${figure(score)}) / Σ exp(e) = ${figure(row[to])}`;
  if (ratio === null)
    return h('section.section', head, pair, h('p', { id: 'worked' }, `e = ${figure(score)}, ${last}`));
  const terms = q[from].map((x, m) => x * k[to][m]);
  const sum = terms.reduce((a, b) => a + b, 0);
  const line = (/** @type {string} */ name, /** @type {number[]} */ values) =>
    h(
      'tr',
      h('th', name),
      values.map((x) => h('td.n', figure(x, 2))),
    );
  const each = h('table.numbers', line('q', q[from]), line('k', k[to]), line('q k', terms));
  const said = `q · k = ${figure(sum)}, × ${figure(ratio)} = ${figure(score)}, ${last}`;
  return h('section.section', head, pair, h('div.scroller', each), h('p', { id: 'worked' }, said));
}

/**
 * @param {Attention} attention
 * @param {number | null} ratio
 * @param {number} width
 * @returns {[string, string]}
 */
function scoreTitle(attention, ratio, width) {
  const masked = attention.causal ? ', and masked' : '';
  if (ratio === null) return ['f_att(q, k)', `scores${masked}`];
  const usual = Math.abs(ratio - 1 / Math.sqrt(width)) < 1e-4;
  return [`× ${figure(ratio, 3)}`, usual ? `scaled by 1 / √${width}${masked}` : `scores${masked}`];
}

/**
 * @param {Attention} attention
 * @param {number} head
 * @param {Numbers} numbers
 * @param {number | null} ratio
 * @returns {Part}
 */
function about({ path }, head, { q, k }, ratio) {
  const other = ratio === null ? 'Its similarity is no dot product: vᵀ tanh(W q + U k) or qᵀ W k.' : '';
  return (
    `${named(path)}, head ${head}: ${q.length} queries, ${k.length} keys, vectors of ${q[0].length} numbers; ` +
    `a window over them. ${other}`
  );
}
