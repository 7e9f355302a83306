// One head of the run in numbers: its first tokens and dimensions.

import { record as askRecord } from '../ask.js';
import { choice, segments } from '../controls.js';
import { h } from '../dom.js';
import { Record } from '../record.js';
import { largest, multiply, transpose } from '../tensors.js';
import { figure, named } from '../words.js';
import { HONEST, counted, headOf, pathsOf } from './common.js';
import { matrix, matrixTable } from './matrix.js';

/** @import { Part } from '../dom.js' */
/** @import { Looked, Shown } from '../main.js' */
/** @import { Attention } from '../record.js' */
/** @import { Matrix } from '../tensors.js' */

const [FEW, WIDE] = [8, 6]; // tokens and dimensions on the bench

/** @typedef {{q: Matrix, k: Matrix, v: Matrix, scores: Matrix, weights: Matrix, y: Matrix}} Numbers */

/**
 * @param {HTMLElement} stage
 * @param {Looked} look
 * @param {Attention} attention
 * @param {HTMLElement} bar
 * @returns {Shown}
 */
export function ownHead(stage, { record, run, selection, choose }, attention, bar) {
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
  const asked = { ...record.asked, head: `${attention.path}[${head}]` };
  askRecord(asked)
    .then((buffer) => {
      const found = new Record(buffer, run.special, asked).layer(attention.path);
      if (!found) return;
      const numbers = numbersOf(found, head);
      all = numbers;
      place.replaceChildren(...drawn(found, head, numbers));
    })
    .catch((error) => place.replaceChildren(h('p.note', error.message)));
  return { table: () => matrixTable(all, (t) => t, 0) };
}

/**
 * What passed at the taps of a head, as far as it is shown.
 * @param {Attention} attention
 * @param {number} head
 * @returns {Numbers}
 */
function numbersOf(attention, head) {
  const { record, path } = attention;
  const take = (/** @type {string} */ role) => {
    const { shape, data } = record.tap(path, role);
    const [, rows, width] = shape;
    const row = (/** @type {number} */ t) => Array.from(data.subarray((head * rows + t) * width).subarray(0, width));
    return Array.from({ length: Math.min(rows, FEW) }, (_, t) => row(t));
  };
  const [q, k, v, scores, y] = ['queries', 'keys', 'values', 'scores', 'mixed'].map(take);
  const weights = q.map((_, t) => k.map((_, i) => attention.weight(head, t, i)));
  return { q, k, v, scores, weights, y };
}

/**
 * c where scores = c · q kᵀ, as far as a step could see a position; else the similarity is another: nothing.
 * @param {Numbers} numbers
 * @param {Matrix} dot
 */
function factor({ scores }, dot) {
  const ratio = dot[0][0] !== 0 ? scores[0][0] / dot[0][0] : 0;
  const same = dot.every((row, t) =>
    row.every((x, i) => {
      const score = scores[t][i];
      return !Number.isFinite(score) || Math.abs(score - ratio * x) < 1e-3 * Math.max(1, Math.abs(score));
    }),
  );
  return same ? ratio : null;
}

/**
 * @param {Attention} attention
 * @param {number} head
 * @param {Numbers} numbers
 */
function drawn(attention, head, numbers) {
  const { q, k, v, scores, weights, y } = numbers;
  const names = attention.names();
  const rows = names.rows.slice(0, FEW).map((token) => token.text);
  const columns = names.columns.slice(0, FEW).map((token) => token.text);
  const width = q[0].length;
  const dot = width === k[0].length ? multiply(q, transpose(k)) : null;
  const ratio = dot && factor(numbers, dot);
  const seen = scores.map((row, t) =>
    row.slice(0, columns.length).map((x, i) => (attention.masked(t, i) ? -Infinity : x)),
  );
  /** @type {(letter: string, about: string, values: Matrix, of: string[]) => HTMLElement} */
  const wide = (letter, about, values, of) => {
    const first = values.map((row) => row.slice(0, WIDE));
    const dimensions = first[0].map((_, i) => `${letter[0]}${i + 1}`);
    return matrix(letter, about, first, { rows: of, columns: dimensions, size: largest(values) });
  };
  const rest = attention.columns > columns.length && !attention.causal ? '; the rest lies further right' : '';
  return [
    h('p.note', { style: { 'margin-bottom': '1rem' } }, about(attention, head, numbers, ratio)),
    h(
      'div.bench',
      wide('q', 'what each asks for', q, rows),
      wide('k', 'what each answers to', k, columns),
      wide('v', 'what each gives', v, columns),
      dot && ratio !== null && matrix('q · k', 'scores, from ↓ to →', dot, { rows, columns, size: largest(dot) }),
      matrix(...scoreTitle(ratio, width), seen, { rows, columns, size: largest(seen) }),
      matrix('a = softmax', `each whole row sums to 1${rest}`, weights, {
        rows,
        columns,
        weights: true,
        causal: attention.causal,
      }),
      wide('y = Σ a v', 'what each takes along', y, rows),
    ),
    h('p.honest', HONEST),
  ];
}

/**
 * @param {number | null} ratio
 * @param {number} width
 * @returns {[string, string]}
 */
function scoreTitle(ratio, width) {
  if (ratio === null) return ['f_att(q, k)', 'scores'];
  const usual = Math.abs(ratio - 1 / Math.sqrt(width)) < 1e-4;
  return [`× ${figure(ratio, 3)}`, usual ? `scaled by 1 / √${width}, and masked` : 'scores'];
}

/**
 * @param {Attention} attention
 * @param {number} head
 * @param {Numbers} numbers
 * @param {number | null} ratio
 * @returns {Part}
 */
function about({ path }, head, { q, k }, ratio) {
  const width = q[0].length;
  const other = ratio === null ? 'Its similarity is no dot product: vᵀ tanh(W q + U k) or qᵀ W k.' : '';
  return (
    `${named(path)}, head ${head + 1}: vectors of ${width} numbers, of which the first ${Math.min(WIDE, width)} are ` +
    `shown, for the first ${q.length} rows and ${k.length} columns. ${other}`
  );
}
