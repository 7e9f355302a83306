// What several views share: which head or cell is meant, and how to choose another.

import { h, named, choice, segments, short } from '../dom.js';

export const HONEST = 'where it looked, not why it answered';

/** The attention layer that the selection means, or the first of what is written over what was read. */
export function mapOf(record, selection) {
  const order = { cross: 0, self: 1, encoder: 2 };
  return record.find(selection.map) || [...record.attention].sort((a, b) => order[a.group] - order[b.group])[0] || null;
}

/** The head that the selection means: a number or 'mean'. */
export function headOf(attention, selection) {
  if (attention.heads === 1) return 0;
  return selection.head === 'mean' || Number(selection.head) >= attention.heads || selection.head === ''
    ? 'mean'
    : Number(selection.head);
}

/** The group of cells that the selection means; what is written before what is read, cells before hidden states. */
export function cellsOf(record, selection) {
  const rank = (one) => (one.over === 'written' ? 0 : 2) + ({ cells: 0, hidden: 1 }[one.role] ?? 4);
  return (
    record.group(selection.cells) ||
    [...record.cells].sort((a, b) => rank(a) - rank(b) || b.path.localeCompare(a.path))[0] ||
    null
  );
}

export function chooseMap(look, attention) {
  const { record, selection, choose } = look;
  const list =
    record.attention.length > 1 &&
    choice(
      'layer',
      record.attention.map((one) => [one.path, named(one.path)]),
      attention.path,
      (map) => choose({ map }),
      'layer',
    );
  const heads =
    attention.heads > 1 &&
    segments(
      'head',
      [['mean', 'mean'], ...Array.from({ length: attention.heads }, (_, i) => [i, i + 1])],
      headOf(attention, selection),
      (head) => choose({ head: String(head) }),
    );
  return [list, heads];
}

/** The next or previous layer or head, by keys. */
export function mapKeys(look, attention, key) {
  const { record, selection, choose } = look;
  const at = record.attention.indexOf(attention);
  if (key === '[' || key === ']') {
    const next = record.attention[at + (key === ']' ? 1 : -1)];
    if (next) choose({ map: next.path });
    return true;
  }
  if (key === 'ArrowLeft' || key === 'ArrowRight') {
    const now = headOf(attention, selection);
    const next = (now === 'mean' ? -1 : now) + (key === 'ArrowRight' ? 1 : -1);
    if (next >= -1 && next < attention.heads) choose({ head: next < 0 ? 'mean' : String(next) });
    return true;
  }
  return false;
}

/** Rows and columns merged into words: a word's weight is the sum over what is looked at, the mean over who looks. */
export function merged(attention, weights, names) {
  const groups = (tokens) => {
    const found = [];
    tokens.forEach((token, i) => {
      const last = found[found.length - 1];
      if (last && token.word >= 0 && last.word === token.word) {
        last.places.push(i);
        last.text += token.text;
      } else found.push({ ...token, text: token.text, places: [i] });
    });
    return found.map((one) => ({ ...one, text: one.text.trim() || one.text }));
  };
  const [rows, columns] = [groups(names.rows), groups(names.columns)];
  const together = new Float32Array(rows.length * columns.length);
  rows.forEach((row, t) =>
    columns.forEach((column, i) => {
      let sum = 0;
      for (const a of row.places) for (const b of column.places) sum += weights[a * attention.columns + b];
      together[t * columns.length + i] = sum / row.places.length;
    }),
  );
  return { weights: together, rows: rows.length, columns: columns.length, names: { rows, columns } };
}

/** The scale on which a map is drawn: weights as they are where few share 1, their root where many do. */
export function scaleOf(selection, columns) {
  return selection.scale || (columns > 24 ? 'root' : 'linear');
}

/** A list of the largest weights of a row. */
export function largest(tokens, weights, count = 8) {
  const order = [...weights.keys()].sort((a, b) => weights[b] - weights[a]).slice(0, count);
  return h(
    'table.numbers',
    order.map((i) => h('tr', h('td.token', short(tokens[i].text, 18)), h('td.n', weights[i].toFixed(3)))),
  );
}

/** The alternatives behind a position. */
export function ladder(record, t, count = 5) {
  return h(
    'table.numbers',
    record
      .top(t)
      .slice(0, count)
      .map((one) => h('tr', h('td.token', short(one.text, 18)), h('td.n', `${(100 * one.p).toFixed(1)}%`))),
  );
}
