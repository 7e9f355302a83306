// Whole words out of tokens.

/** @import { Attention, Token } from '../record.js' */

/**
 * Tokens that belong to one word, and where they stand.
 * @param {Token[]} tokens
 */
function groups(tokens) {
  /** @type {(Token & {places: number[]})[]} */
  const found = [];
  tokens.forEach((token, i) => {
    const last = found.at(-1);
    if (last && token.word >= 0 && last.word === token.word) {
      last.places.push(i);
      last.text += token.text;
    } else found.push({ ...token, places: [i] });
  });
  return found;
}

/**
 * Whether there are words of several tokens.
 * @param {Token[]} tokens
 */
export function mergeable(tokens) {
  return groups(tokens).length < tokens.length;
}

/**
 * Rows and columns merged into words: a word's weight is the sum over what is looked at, the mean over who looks.
 * @param {Attention} attention
 * @param {Float32Array} weights
 * @param {{rows: Token[], columns: Token[]}} names
 */
export function merged(attention, weights, names) {
  const [rows, columns] = [names.rows, names.columns].map((tokens) =>
    groups(tokens).map((one) => ({ ...one, text: one.text.trim() || one.text })),
  );
  const together = new Float32Array(rows.length * columns.length);
  rows.forEach((row, t) => {
    columns.forEach((column, i) => {
      let sum = 0;
      for (const a of row.places) for (const b of column.places) sum += weights[a * attention.columns + b];
      together[t * columns.length + i] = sum / row.places.length;
    });
  });
  return { weights: together, rows: rows.length, columns: columns.length, names: { rows, columns } };
}
