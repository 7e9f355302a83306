// Text coloured by one cell.

import { painted, signColour, weightColour } from '../colour.js';
import { button, choice, number, tick } from '../controls.js';
import { h, s, showTip } from '../dom.js';
import { legend } from '../heatmap.js';
import { numberIn } from '../selection.js';
import { figure, named, short } from '../words.js';
import { ladder, moved, pathsOf, sideways, unitOf } from './common.js';
import { flow, pointed } from './flow.js';

/** @import { Colour } from '../colour.js' */
/** @import { Part } from '../dom.js' */
/** @import { Looked, Shown } from '../main.js' */
/** @import { Cells, Record, Token } from '../record.js' */

const MANY = 240; // tokens from which what might have come is shown for one of them only

/**
 * most: the largest it reaches in this text, drawn darkest; predictions: whether something is predicted at each token.
 * @typedef {{unit: number, values: Float32Array, tokens: Token[], most: number, at: number | null,
 *   predictions: boolean}} Cell
 */

/**
 * @param {HTMLElement} stage
 * @param {Looked} look
 * @param {Cells} cells
 * @param {Part} switches
 * @returns {Shown}
 */
export function activity(stage, look, cells, switches) {
  const { record, selection, choose } = look;
  const cell = cellOf(look, cells);
  const { unit, values, tokens, most, at, predictions } = cell;
  const beneath = predictions && (selection.beneath === '' ? tokens.length <= MANY : selection.beneath === 'true');
  const flip = (/** @type {number} */ by) => {
    choose({ unit: (unit + by + cells.width) % cells.width });
    return true;
  };
  const shown = {
    at,
    pick: (/** @type {number} */ t) => choose({ at: String(t) }),
    colour: (/** @type {number} */ t) => (cells.gate ? weightColour(values[t]) : signColour(values[t] / most)),
    tip: (/** @type {number} */ t) => said(tokens[t], values[t]),
  };
  stage.append(
    h(
      'div.controls',
      switches,
      choice('cells', pathsOf(record.cells), cells.path, (path) => choose({ cells: path, at: '' }), 'cells'),
      flipping(look, cells, unit, flip),
      predictions && tick('top 5 beneath', beneath, (value) => choose({ beneath: String(value) })),
      legend({ most, signed: !cells.gate }),
    ),
  );
  const made = cells.over === 'written' && look.run.task.continues ? record.given : 0;
  const body = beneath
    ? columns(record, tokens, { ...shown, made })
    : flow(tokens, { ...shown, made, label: cells.over });
  stage.append(h('div.columns.wide', h('div', body), h('div.aside', aside(record, cells, cell))));
  return {
    what: `${named(cells.path)}, cell ${unit}`,
    table: () => table(record, cell),
    key: (key) => {
      if (key === 'ArrowUp' || key === 'ArrowDown') return flip(key === 'ArrowDown' ? 1 : -1);
      if (sideways(key)) shown.pick(moved(at, sideways(key), tokens.length));
      return sideways(key) !== 0 || otherCells(look, cells, key);
    },
  };
}

/**
 * @param {Looked} look
 * @param {Cells} cells
 * @returns {Cell}
 */
function cellOf({ selection, run }, cells) {
  const unit = unitOf(cells, selection);
  const [values, tokens] = [cells.values(unit), cells.tokens];
  const at = numberIn(selection.at);
  return {
    unit,
    values,
    tokens,
    most: cells.gate ? 1 : Math.max(1e-6, ...values.map(Math.abs)),
    at: at === null || at >= tokens.length ? null : at,
    predictions: cells.over === 'written' && run.task.steps,
  };
}

/**
 * @param {Token} token
 * @param {number} value
 */
function said(token, value) {
  return [h('span.big', figure(value)), h('div', 'behind ', h('b', short(token.text, 24)))];
}

/**
 * The number of the cell, and its neighbours.
 * @param {Looked} look
 * @param {Cells} cells
 * @param {number} unit
 * @param {(by: number) => void} flip
 */
function flipping({ choose }, cells, unit, flip) {
  const wish = { id: 'unit', min: 0, max: cells.width - 1, value: unit, 'aria-label': 'cell' };
  return h(
    'span.field',
    'cell',
    button('button.quiet', () => flip(-1), { 'aria-label': 'previous cell' }, '◀'),
    number(wish, (value) => choose({ unit: Number(value) })),
    button('button.quiet', () => flip(1), { 'aria-label': 'next cell' }, '▶'),
    `of ${cells.width}`,
  );
}

/**
 * The cells before or behind these, by keys.
 * @param {Looked} look
 * @param {Cells} cells
 * @param {string} key
 */
function otherCells({ record, choose }, cells, key) {
  const step = { '[': -1, ']': 1 }[key] ?? 0;
  const next = record.cells[record.cells.indexOf(cells) + step];
  if (!step || !next) return false;
  choose({ cells: next.path, at: '' });
  return true;
}

/**
 * The cell as a curve, and what it says at the token that is kept.
 * @param {Record} record
 * @param {Cells} cells
 * @param {Cell} cell
 */
function aside(record, cells, { unit, values, tokens, most, at, predictions }) {
  const range = `From −${figure(most, 2)} (orange) to ${figure(most, 2)} (blue), the largest it reaches in this text.`;
  const head = [
    h('h3', `${named(cells.path)} · cell ${unit}`),
    curve(values, most, at),
    h('p', cells.gate ? 'A gate: 0 is shut, 1 is open.' : range),
  ];
  if (at === null) {
    const hint = 'Up and down flip through cells; click a token to keep it here.';
    return [head, h('p.hint', { style: { 'margin-top': '0.7rem' } }, hint)];
  }
  const behind = h('h3', 'behind ', h('span.token', short(tokens[at].text, 20)));
  const next = predictions && [h('h3', 'might come next'), ladder(record, at)];
  return [head, behind, h('p', `the cell says ${figure(values[at])}`), next];
}

/**
 * A cell over the text, as a line.
 * @param {Float32Array} values
 * @param {number} most
 * @param {number | null} at
 */
function curve(values, most, at) {
  const [width, height] = [250, 54];
  const x = (/** @type {number} */ t) => (values.length < 2 ? width / 2 : (t / (values.length - 1)) * (width - 4) + 2);
  const y = (/** @type {number} */ v) => height / 2 - (v / most) * (height / 2 - 3);
  const d = Array.from(values, (v, t) => `${t ? 'L' : 'M'}${x(t).toFixed(1)} ${y(v).toFixed(1)}`).join('');
  return s(
    'svg.chart',
    { viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' },
    s('line.grid', { x1: 0, x2: width, y1: height / 2, y2: height / 2 }),
    s('path.curve', { d, stroke: 'var(--accent)' }),
    at !== null && s('circle', { cx: x(at), cy: y(values[at]), r: 3, fill: 'var(--warm)' }),
  );
}

/**
 * Each token with the five most probable next ones beneath it. (Karpathy 2015)
 * @param {Record} record
 * @param {Token[]} tokens
 * @param {{colour: (t: number) => Colour, at: number | null, made: number, pick: (t: number) => void,
 *   tip: (t: number) => Part}} wishes
 */
function columns(record, tokens, { colour, at, made, pick, tip }) {
  const grid = h('div.ribbon.grid');
  tokens.forEach((token, t) => {
    const classes = `${t === at ? 'at' : ''} ${token.special ? 'special' : ''}`;
    const text = token.special ? short(token.text, 7) : token.text.replaceAll('\n', '⏎').replaceAll('\t', '⇥');
    const shown = h('span.t', { class: classes, style: painted(colour(t)) }, text);
    const begins = made > 0 && t === made ? 'made' : '';
    grid.append(h('div.column', { 'data-t': t, class: begins }, shown, five(record, t, tokens[t + 1]?.id)));
    if (token.text.includes('\n')) grid.append(h('div.break'));
  });
  /** @type {(t: number, event: PointerEvent) => void} */
  const enter = (t, event) => showTip(event.clientX, event.clientY, tip(t), ladder(record, t));
  pointed(grid, '.column', { pick, enter });
  return grid;
}

/**
 * The five most probable tokens, tinted by how probable they are; the one that came is bold.
 * @param {Record} record
 * @param {number} t
 * @param {number | undefined} next
 */
function five(record, t, next) {
  return record
    .top(t)
    .slice(0, 5)
    .map((one) => {
      const tint = weightColour(0.45 * Math.sqrt(one.p));
      return h(
        'span.p',
        { style: { ...painted(tint), 'font-weight': one.id === next ? 600 : 400 } },
        short(one.text, 8),
      );
    });
}

/**
 * @param {Record} record
 * @param {Cell} cell
 */
function table(record, { tokens, values, predictions }) {
  const head = ['token', 'value', ...(predictions ? ['next', 'probability'] : [])];
  const rows = tokens.map((token, t) => {
    const [best] = predictions ? record.top(t) : [];
    const next = predictions ? [best?.text ?? '', best?.p.toPrecision(4) ?? ''] : [];
    return [token.text, values[t].toPrecision(6), ...next];
  });
  return [head, ...rows];
}
