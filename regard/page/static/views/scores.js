// What a head does over one text, as numbers.

import { spreadOf } from './common.js';

/** @import { Attention } from '../record.js' */

/** @typedef {{[name: string]: number}} Scores */

/** @type {{[key: string]: [string, string]}} */
export const SCORES = {
  '': ['order', 'as they stand'],
  confidence: ['confidence', 'mean of the largest weight of each row'],
  entropy: ['entropy', 'mean of −Σ a log₂ a, in bits'],
  first: ['first token', 'share of the weight on the first token'],
  stop: ['last token', 'share of the weight on the last token'],
  before: ['token before', 'share of the weight one to the left'],
  itself: ['itself', 'share of the weight on the row’s own token'],
  reach: ['reach', 'mean distance of what is looked at'],
};
export const NAMES = Object.keys(SCORES).slice(1);

// Bytes are looked up in tables: there may be millions of them.
const WEIGHT = Float64Array.from({ length: 256 }, (_, b) => (b * b) / 65025);
const BITS = WEIGHT.map((a) => (a > 0 ? -a * Math.log2(a) : 0));

/** @type {WeakMap<Attention, Scores[]>} */
const known = new WeakMap();

/**
 * @param {Attention} attention
 * @param {number} head
 */
export function scores(attention, head) {
  const found = known.get(attention) ?? [];
  known.set(attention, found);
  found[head] ??= counted(attention, head);
  return found[head];
}

/**
 * Means over all rows.
 * @param {Attention} attention
 * @param {number} head
 * @returns {Scores}
 */
function counted(attention, head) {
  const { rows, columns, exact, causal, blob } = attention;
  const { data } = blob;
  let [confidence, entropy, first, stop, before, itself, reach] = [0, 0, 0, 0, 0, 0, 0];
  for (let t = 0; t < rows; t++) {
    const begin = (head * rows + t) * columns;
    const end = causal ? Math.min(columns, t + 1) : columns;
    let largest = 0;
    for (let i = 0; i < end; i++) {
      const x = data[begin + i];
      if (x === 0) continue;
      const a = exact ? x : WEIGHT[x];
      if (a > largest) largest = a;
      entropy += exact ? -a * Math.log2(a) : BITS[x];
      reach += a * Math.abs(t - i);
    }
    const at = (/** @type {number} */ i) => (i < 0 || i >= columns ? 0 : attention.weight(head, t, i));
    confidence += largest;
    first += at(0);
    stop += at(columns - 1);
    before += at(t - 1);
    itself += at(t);
  }
  const sums = { confidence, entropy, first, stop, before, itself, reach };
  return Object.fromEntries(Object.entries(sums).map(([name, value]) => [name, value / rows]));
}

/** @type {{[key: string]: string}} */
export const MEASURES = { '': 'order', spread: 'spread', largest: 'largest', saturated: 'saturated' };

/**
 * What a cell does over one text. Saturated: the share of positions near an end of its range.
 * @param {Float32Array} values
 * @param {boolean} gate
 * @returns {Scores}
 */
export function cellScores(values, gate) {
  const spread = spreadOf(values);
  const near = values.filter((v) => (gate ? v < 0.1 || v > 0.9 : Math.abs(v) > 0.9));
  return { spread, largest: Math.max(...values.map(Math.abs)), saturated: near.length / values.length };
}
