// The mathematics of the workbench: rows of numbers, nothing else.

/** @typedef {number[][]} Matrix */

/**
 * @param {Matrix} a
 * @param {Matrix} b
 */
export function multiply(a, b) {
  return a.map((row) => b[0].map((_, j) => row.reduce((sum, x, i) => sum + x * b[i][j], 0)));
}

/** @param {Matrix} a */
export function transpose(a) {
  return a[0].map((_, j) => a.map((row) => row[j]));
}

/**
 * @param {Matrix} a
 * @param {number} factor
 */
export function scaled(a, factor) {
  return a.map((row) => row.map((x) => x * factor));
}

/**
 * @param {Matrix} a
 * @param {Matrix} b
 */
export function plus(a, b) {
  return a.map((row, i) => row.map((x, j) => x + b[i][j]));
}

/**
 * −∞ where a row may not look: at what comes later.
 * @param {Matrix} a
 */
export function hidden(a) {
  return a.map((row, t) => row.map((x, i) => (i > t ? Number.NEGATIVE_INFINITY : x)));
}

/**
 * exp(e_i) / Σ exp(e_j) in each row; where there is nothing to see, zeros.
 * @param {Matrix} a
 */
export function softmax(a) {
  return a.map((row) => {
    const most = Math.max(...row);
    const each = row.map((x) => (x === Number.NEGATIVE_INFINITY ? 0 : Math.exp(x - most)));
    const sum = each.reduce((x, y) => x + y, 0);
    return each.map((x) => (sum ? x / sum : 0));
  });
}

/**
 * The largest difference between two numbers at one place.
 * @param {Matrix} a
 * @param {Matrix} b
 */
export function difference(a, b) {
  return Math.max(0, ...a.flatMap((row, i) => row.map((x, j) => Math.abs(x - b[i][j]))));
}

/**
 * The largest finite number of a matrix, whatever its sign.
 * @param {Matrix} a
 */
export function largest(a) {
  return Math.max(1e-6, ...a.flat().filter(Number.isFinite).map(Math.abs));
}

/**
 * Numbers that look drawn by chance and are the same every time. (mulberry32)
 * @param {number} seed
 */
function chance(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), 1 | state);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 4294967296;
  };
}

/**
 * A matrix of numbers around 0.
 * @param {number} rows
 * @param {number} columns
 * @param {number} seed
 * @returns {Matrix}
 */
export function drawn(rows, columns, seed) {
  const draw = chance(seed);
  const one = () => (draw() + draw() + draw() - 1.5) * 1.4;
  return Array.from({ length: rows }, () => Array.from({ length: columns }, one));
}

/**
 * sin and cos of a place, as the Transformer adds them. (Vaswani et al. 2017)
 * @param {number} t
 * @param {number} width
 */
export function place(t, width) {
  return Array.from({ length: width }, (_, i) => (i % 2 ? Math.cos : Math.sin)(t / 10000 ** ((i - (i % 2)) / width)));
}
