// Text coloured by where one of its tokens looked.

import { painted, strength, weightColour } from '../colour.js';
import { h } from '../dom.js';
import { legend } from '../heatmap.js';
import { film } from '../picture.js';
import { numberIn } from '../selection.js';
import { figure, short } from '../words.js';
import {
  HONEST,
  chooseHead,
  chooseReading,
  headKeys,
  headOf,
  headTitle,
  ladder,
  largest,
  moved,
  pairTable,
  readingOf,
  scaleOf,
  sideways,
  titleOf,
} from './common.js';
import { flow } from './flow.js';

/** @import { Part } from '../dom.js' */
/** @import { Looked, Shown } from '../main.js' */
/** @import { Attention, Token } from '../record.js' */

/**
 * What is looked from and at. `one`: rows and columns are the same text; `kept`: the row that is chosen.
 * @typedef {{attention: Attention, weights: Float32Array, names: {rows: Token[], columns: Token[]}, scale: string,
 *   one: boolean, kept: number | null}} Looks
 */

/**
 * Point at a token, and see where it looked.
 * @param {HTMLElement} stage
 * @param {Looked} look
 * @param {Attention} attention
 * @param {Part} switches
 * @returns {Shown}
 */
export function looks(stage, look, attention, switches) {
  const { selection, choose, run } = look;
  const reading = readingOf(attention, selection);
  const shown = looksOf(look, attention);
  const { weights, names, scale, kept } = shown;
  const rows = attention.from === 'written' && (run.task.steps || run.task.each) && chooseReading(look, reading);
  stage.append(h('div.controls', switches, chooseHead(look, attention), rows, legend({ scale })));
  const [body, aside] = [h('div'), h('div.aside')];
  stage.append(h('div.columns.wide', h('div', body, h('p.honest', HONEST)), aside));
  const pick = (/** @type {number} */ t) => choose({ from: String(t) });
  texts(body, aside, look, shown, pick);
  const head = headOf(attention, selection);
  const value = (/** @type {number} */ t, /** @type {number} */ i) =>
    attention.masked(t, i) ? '' : weights[t * attention.columns + i].toPrecision(6);
  return {
    what: `${titleOf(attention)}, ${headTitle(attention, head)}`,
    table: () => pairTable({ measure: 'weight', attention, head, names }, value),
    key: (key) => {
      if (sideways(key)) pick(moved(kept, sideways(key), attention.rows));
      if (sideways(key)) return true;
      return headKeys(look, attention, { ArrowUp: 'ArrowLeft', ArrowDown: 'ArrowRight' }[key] ?? key);
    },
  };
}

/**
 * @param {Looked} look
 * @param {Attention} attention
 * @returns {Looks}
 */
function looksOf({ selection }, attention) {
  const from = numberIn(selection.from);
  const none = attention.rows === 1 ? 0 : null;
  return {
    attention,
    weights: attention.weights(headOf(attention, selection)),
    names: attention.names(readingOf(attention, selection)),
    scale: scaleOf(selection, attention.columns),
    one: attention.from === attention.to,
    kept: from === null || from >= attention.rows ? none : from,
  };
}

/**
 * What row t looked at.
 * @param {Looks} looks
 * @param {number} t
 */
function rowOf({ attention: { columns }, weights }, t) {
  return weights.subarray(t * columns, (t + 1) * columns);
}

/**
 * What was read, and what was written or is the same text; whoever points at it paints the first.
 * @param {HTMLElement} body
 * @param {HTMLElement} aside
 * @param {Looked} look
 * @param {Looks} shown
 * @param {(t: number) => void} pick
 */
function texts(body, aside, look, shown, pick) {
  const { attention, names, one, kept } = shown;
  const { record, run } = look;
  /** @type {number | null | undefined} */
  let now;
  const paint = (/** @type {number | null} */ t) => {
    if (t === now) return;
    now = t;
    light(body, look, shown, t);
    aside.replaceChildren(...said(look, shown, t));
  };
  const read = (/** @type {number} */ i) => [
    h('span.big', typeof now === 'number' ? figure(rowOf(shown, now)[i]) : '–'),
    h('div', h('b', short(names.columns[i].text, 24))),
  ];
  const plain = { colour: () => null, at: null };
  if (attention.grid && record.picture) {
    const whole = film(record.picture, null, record.grid);
    body.append(h('div.side', h('div.film', { style: { width: '16rem' } }, whole)));
  } else if (!one) {
    body.append(side('read', flow(names.columns, { ...plain, pick: () => {}, tip: read, label: 'read' })));
  }
  if (!run.task.steps && !run.task.each) {
    body.append(h('p.note', 'The class was read off at once: these are the words that got the weight.'));
  } else {
    const label = one ? 'text' : 'written';
    const enter = (/** @type {number} */ t) => paint(t < attention.rows ? t : null);
    const acts = { pick, enter, leave: () => paint(kept), tip: (/** @type {number} */ t) => tipOf(shown, t) };
    body.append(side(label, flow(names.rows, { ...plain, at: kept, ...acts, label })));
  }
  paint(kept);
}

/**
 * @param {string} title
 * @param {HTMLElement} text
 */
function side(title, text) {
  return h('div.side', h('h3', title), text);
}

/**
 * @param {Looks} shown
 * @param {number} t
 */
function tipOf(shown, t) {
  const { attention, names } = shown;
  const row = rowOf(shown, t);
  const most = Math.max(...row);
  const target = t < attention.rows ? names.columns[row.indexOf(most)].text : '';
  const where = target && `looked most at ${short(target, 20)} (${most.toFixed(2)})`;
  return [h('b', short(names.rows[t]?.text ?? '', 24)), h('div', where)];
}

/**
 * Colours what row t looked at, and marks the row itself.
 * @param {HTMLElement} body
 * @param {Looked} look
 * @param {Looks} shown
 * @param {number | null} t
 */
function light(body, { record }, shown, t) {
  const { attention, scale, one } = shown;
  const row = t === null ? null : rowOf(shown, t);
  if (attention.grid && record.picture) {
    body.querySelector('.film canvas')?.replaceWith(film(record.picture, row, record.grid));
  } else {
    each(body, `#flow-${one ? 'text' : 'read'} .t`, (element, i) => {
      const lit =
        row && i < row.length ? painted(weightColour(strength(row[i], scale))) : { background: '', color: '' };
      Object.assign(element.style, lit);
    });
  }
  each(body, `#flow-${one ? 'text' : 'written'} .t`, (element, i) => element.classList.toggle('at', i === t));
}

/**
 * @param {HTMLElement} body
 * @param {string} selector
 * @param {(element: HTMLElement, i: number) => void} act
 */
function each(body, selector, act) {
  let i = 0;
  for (const element of body.querySelectorAll(selector)) act(/** @type {HTMLElement} */ (element), i++);
}

/**
 * The row that is pointed at or kept, in numbers.
 * @param {Looked} look
 * @param {Looks} shown
 * @param {number | null} t
 */
function said({ record, run: { task } }, shown, t) {
  const { attention, names } = shown;
  if (t === null) {
    const hint = 'Point at a token to see where it looked; click to keep it, arrows to walk.';
    return [h('h3', titleOf(attention)), h('p.hint', hint)];
  }
  const row = rowOf(shown, t);
  const most = h('p', `largest weight ${Math.max(...row).toFixed(3)}`);
  const found = [
    h('h3', 'from ', h('span.token', short(names.rows[t].text, 20))),
    attention.grid ? most : largest(names.columns, row),
  ];
  if (attention.from !== 'written' || task.each) return found;
  return [...found, h('h3', task.steps ? 'might have been' : 'classes'), ladder(record, t)];
}
