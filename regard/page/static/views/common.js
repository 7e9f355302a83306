// What several views share: which head or cell is meant, and how to choose another.

import { choice, segments } from '../controls.js';
import { h } from '../dom.js';
import { Together } from '../record.js';
import { named, percent, short, visible } from '../words.js';

/** @import { Looked } from '../main.js' */
/** @import { Attention, Cells, Record, Token } from '../record.js' */
/** @import { Selection } from '../selection.js' */

export const HONEST = 'where it looked, not why it answered';

const GROUPS = ['cross', 'self', 'encoder'];
const ROLES = ['hidden', 'cells'];

/**
 * The attention that the selection means: a layer, or the mean over all layers of a group; where it means none, of the
 * first group that there is, as on the command line.
 * @param {Record} record
 * @param {Selection} selection
 */
export function attentionOf(record, selection) {
  const first = GROUPS.find((group) => record.attention.some((one) => one.group === group)) ?? '';
  return (
    record.layer(selection.layer) || record.together(selection.layer) || record.together(first) || oneLayer(record, '')
  );
}

/**
 * One attention layer: the one that is named, or the first of a group or of all.
 * @param {Record} record
 * @param {string} name
 */
export function oneLayer(record, name) {
  const order = (/** @type {Attention} */ one) => GROUPS.indexOf(one.group);
  const ranked = [...record.attention].sort((a, b) => order(a) - order(b));
  return record.layer(name) || ranked.find((one) => one.group === name) || ranked[0] || null;
}

/**
 * The head that the selection means: a number or 'mean'.
 * @param {Attention} attention
 * @param {Selection} selection
 */
export function headOf(attention, { head }) {
  if (attention.heads === 1) return 0;
  return head === 'mean' || head === '' || Number(head) >= attention.heads ? 'mean' : Number(head);
}

/**
 * The group of cells that the selection means; what is written before what is read, hidden states before others.
 * @param {Record} record
 * @param {Selection} selection
 */
export function cellsOf(record, selection) {
  /** @param {Cells} one */
  const rank = (one) => (one.over === 'written' ? 0 : 2) + (ROLES.includes(one.role) ? ROLES.indexOf(one.role) : 4);
  const ranked = [...record.cells].sort((a, b) => rank(a) - rank(b) || b.path.localeCompare(a.path));
  return record.group(selection.cells) || ranked[0] || null;
}

/**
 * The cell that the selection means, or the one that varies most over this text, as on the command line.
 * @param {Cells} cells
 * @param {Selection} selection
 */
export function unitOf(cells, { unit }) {
  if (unit >= 0) return Math.min(cells.width - 1, unit);
  const spread = Array.from({ length: cells.width }, (_, i) => spreadOf(cells.values(i)));
  return spread.indexOf(Math.max(...spread));
}

/**
 * The standard deviation of some values.
 * @param {Float32Array} values
 */
export function spreadOf(values) {
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  return Math.sqrt(values.reduce((a, b) => a + (b - mean) ** 2, 0) / values.length);
}

/**
 * Paths to choose from, in words.
 * @param {readonly {path: string}[]} all
 */
export function pathsOf(all) {
  return all.map((one) => /** @type {[string, string]} */ ([one.path, named(one.path)]));
}

/**
 * Which layer of attention, and which head of it.
 * @param {Looked} look
 * @param {Attention} attention
 */
export function chooseHead({ record, selection, choose }, attention) {
  const whole = GROUPS.map((group) => record.together(group)).filter((one) => one !== null);
  const layers = [...whole.map((one) => /** @type {[string, string]} */ ([one.path, titleOf(one)]))];
  layers.push(...pathsOf(record.attention));
  /** @type {[string | number, string | number][]} */
  const heads = [['mean', 'mean'], ...counted(attention.heads)];
  const now = headOf(attention, selection);
  return [
    layers.length > 1 && choice('layer', layers, attention.path, (layer) => choose({ layer }), 'layer'),
    attention.heads > 1 && segments('head', heads, now, (head) => choose({ head: String(head) })),
  ];
}

/** @type {{[group: string]: string}} */
const TITLES = { cross: 'cross attention', self: 'self attention', encoder: 'encoder · self attention' };

/**
 * An attention layer in words, or several of them.
 * @param {Attention} attention
 */
export function titleOf(attention) {
  if (!(attention instanceof Together)) return named(attention.path);
  return `${TITLES[attention.group]} · mean of ${attention.layers.length} layers`;
}

/**
 * Which head it is, in words.
 * @param {Attention} attention
 * @param {number | 'mean'} head
 */
export function headTitle(attention, head) {
  if (attention.heads === 1) return attention instanceof Together ? 'mean of all heads' : 'its one head';
  return head === 'mean' ? `mean of ${attention.heads} heads` : `head ${head}`;
}

/**
 * Heads by their numbers.
 * @param {number} count
 * @returns {[number, number][]}
 */
export function counted(count) {
  return Array.from({ length: count }, (_, i) => [i, i]);
}

/**
 * Weights as they are, or their root, which lifts what is faint.
 * @param {Looked} look
 * @param {string} scale
 */
export function chooseScale({ choose }, scale) {
  return segments(
    'scale',
    [
      ['linear', 'weight'],
      ['root', 'its root'],
    ],
    scale,
    (value) => choose({ scale: value }),
  );
}

/**
 * Whose row it is: of the token that was fed, or of the token predicted from it.
 * @param {Looked} look
 * @param {string} reading
 */
export function chooseReading({ choose }, reading) {
  const names = /** @type {[string, string][]} */ ([
    ['predicted', 'as predicted'],
    ['fed', 'as fed'],
  ]);
  return segments('rows', names, reading, (value) => choose({ reading: value }));
}

/**
 * @param {Attention} attention
 * @param {Selection} selection
 */
export function readingOf(attention, selection) {
  if (attention.from !== 'written') return 'fed';
  return selection.reading === 'fed' || selection.reading === 'predicted' ? selection.reading : attention.reading;
}

/**
 * One further or one back by arrow keys to the right and left; 0: another key.
 * @param {string} key
 */
export function sideways(key) {
  return { ArrowLeft: -1, ArrowRight: 1 }[key] ?? 0;
}

/**
 * A place moved, within so many; from nowhere, to the first.
 * @param {number | null} at
 * @param {number} by
 * @param {number} count
 */
export function moved(at, by, count) {
  return Math.min(count - 1, Math.max(0, (at ?? -1) + by));
}

/**
 * The next or previous layer or head, by keys.
 * @param {Looked} look
 * @param {Attention} attention
 * @param {string} key
 */
export function headKeys({ record, selection, choose }, attention, key) {
  if (key === '[' || key === ']') {
    const next = record.attention[record.attention.indexOf(attention) + (key === ']' ? 1 : -1)];
    if (next) choose({ layer: next.path });
    return true;
  }
  if (!sideways(key)) return false;
  const now = headOf(attention, selection);
  const next = (now === 'mean' ? -1 : now) + sideways(key);
  if (next >= -1 && next < attention.heads) choose({ head: next < 0 ? 'mean' : String(next) });
  return true;
}

/**
 * The scale on which a map is drawn: weights as they are where few share 1, their root where many do.
 * @param {Selection} selection
 * @param {number} columns
 */
export function scaleOf(selection, columns) {
  return selection.scale || (columns > 24 ? 'root' : 'linear');
}

/**
 * The weights of a row, as a list of the largest.
 * @param {Token[]} tokens
 * @param {Float32Array} weights
 */
export function largest(tokens, weights, count = 8) {
  const order = [...weights.keys()].sort((a, b) => weights[b] - weights[a]).slice(0, count);
  return numbered(order.map((i) => [tokens[i].text, weights[i].toFixed(3)]));
}

/**
 * The alternatives behind a position.
 * @param {Record} record
 * @param {number} t
 */
export function ladder(record, t, count = 5) {
  const some = record.top(t).slice(0, count);
  return numbered(some.map((one) => [one.text, percent(one.p)]));
}

/**
 * Tokens with a number for each.
 * @param {[string, string][]} rows
 */
function numbered(rows) {
  return h(
    'table.numbers',
    rows.map(([text, value]) => h('tr', h('td.token', short(text, 18)), h('td.n', value))),
  );
}

/**
 * A token without the space before it; one that is nothing but space by its signs.
 * @param {Token} token
 */
function faceOf({ text }) {
  return text.trim() || visible(text);
}

/**
 * A number for each pair of tokens with their places, to be saved; nothing where one could not be looked at.
 * @param {{measure: string, attention: Attention, head: number | 'mean', names: {rows: Token[], columns: Token[]}}} of
 * @param {(row: number, column: number) => string | number} value
 */
export function pairTable({ measure, attention, head, names: { rows, columns } }, value) {
  const whose = [attention.path, head];
  const cells = rows.flatMap((row, t) =>
    columns.map((column, i) => [...whose, t, faceOf(row), i, faceOf(column), value(t, i)]),
  );
  return [['layer', 'head', 'from place', 'from', 'to place', 'to', measure], ...cells];
}
