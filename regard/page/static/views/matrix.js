// Numbers in a grid, coloured by what they are.

import { painted, signColour, weightColour } from '../colour.js';
import { h } from '../dom.js';
import { short } from '../words.js';

/** @import { Matrix } from '../tensors.js' */
/** @import { Table } from '../figures.js' */

/**
 * size: the number drawn darkest; weights: shares of 1, on the scale of maps; causal: what a row could not see is
 * masked, shift: by how much the first row is further along than the first column; fresh: the row that is new.
 * @typedef {{rows: string[], columns: string[], size?: number, weights?: boolean, causal?: boolean, shift?: number,
 *   fresh?: number}} Wishes
 */

/**
 * @param {string} title
 * @param {string} about
 * @param {Matrix} values
 * @param {Wishes} wishes
 */
export function matrix(title, about, values, wishes) {
  const { rows, columns, size = 1, weights = false, causal = false, shift = 0, fresh = -1 } = wishes;
  const hidden = (/** @type {number} */ t, /** @type {number} */ i) => causal && i > t + shift;
  const head = columns.map((name) => h('th', { scope: 'col' }, short(name, 7)));
  const cell = (/** @type {number} */ value, /** @type {number} */ t, /** @type {number} */ i) => {
    if (value === -Infinity) return h('td.masked', { title: 'masked' }, '−∞');
    if (hidden(t, i)) return h('td.masked', { title: 'masked' }, '0');
    return number(value, weights ? weightColour(value) : signed(value, size), t === fresh);
  };
  const body = values.map((row, t) =>
    h(
      'tr',
      h('th', { scope: 'row' }, short(rows[t], 9)),
      row.map((value, i) => cell(value, t, i)),
    ),
  );
  const caption = h('caption', title, ' ', h('em', about));
  return h('table.matrix', caption, h('thead', h('tr', h('th'), head)), h('tbody', body));
}

/**
 * @param {number} value
 * @param {number} size
 */
export function signed(value, size) {
  return signColour(Math.max(-1, Math.min(1, value / size)));
}

/**
 * Two figures behind the point, so that columns stand in line.
 * @param {number} value
 * @param {number[]} colour
 * @param {boolean} fresh
 */
export function number(value, colour, fresh) {
  const text = value.toFixed(Math.abs(value) >= 10 ? 1 : 2).replace('-', '−');
  return h('td', { class: fresh ? 'fresh' : '', style: painted(colour) }, text);
}

/**
 * Every number of some matrices, to be saved.
 * @param {{[name: string]: Matrix}} matrices
 * @param {(t: number) => string | number} row
 * @param {number} first how columns are counted
 * @returns {Table}
 */
export function matrixTable(matrices, row, first) {
  const cells = Object.entries(matrices).flatMap(([name, m]) =>
    m.flatMap((values, t) => values.map((value, i) => [name, row(t), i + first, value])),
  );
  return [['matrix', 'row', 'column', 'value'], ...cells];
}
