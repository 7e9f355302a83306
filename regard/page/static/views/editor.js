// What can be changed of a pass: a token, a head, a cell.

import { button, choice, number } from '../controls.js';
import { h } from '../dom.js';
import { list } from '../selection.js';
import { named, short } from '../words.js';
import { cellsOf, pathsOf, unitOf } from './common.js';

/** @import { Looked } from '../main.js' */
/** @import { Attention, Cells, Token } from '../record.js' */

const MOST = 60; // words that can be clicked

/** @param {Looked} look */
export function editor(look) {
  const { record, selection, run } = look;
  const cells = cellsOf(record, selection);
  return h(
    'div.editor',
    run.task.reads === 'text' && replacing(look),
    record.attention.length > 0 && switching(look),
    cells && holding(look, cells),
  );
}

/** @param {Looked} look */
function replacing(look) {
  const { selection, choose } = look;
  const now = selection.replaced || selection.text;
  const box = h('textarea', {
    id: 'replaced',
    rows: Math.min(6, now.split('\n').length + 1),
    'aria-label': 'the text with something replaced',
    onchange: ({ target }) => choose({ replaced: target.value === selection.text ? '' : target.value }),
  });
  box.value = now;
  return h(
    'section.section',
    { style: { 'margin-top': 0 } },
    h('h3', 'Replace a token'),
    h('p', 'Write the text otherwise, or click a part to leave it out.'),
    box,
    dropping(look),
    selection.replaced && button('button.quiet', () => choose({ replaced: '' }), 'As it was'),
  );
}

/**
 * Words out of tokens, and whatever is no letter or number by itself; what is not known in its own letters.
 * @param {Token[]} tokens
 */
function partsOf(tokens) {
  /** @type {{text: string, word: number, letters: boolean}[]} */
  const found = [];
  for (const { text, word } of tokens) {
    const plain = text.replace(/⁇$/, '');
    const [last, letters] = [found.at(-1), /[\p{L}\p{N}]/u.test(plain)];
    if (last && letters && last.letters && word >= 0 && last.word === word) last.text += plain;
    else found.push({ text: plain, word, letters });
  }
  return found.map((one) => one.text);
}

/**
 * What was read, in parts; a click leaves one out.
 * @param {Looked} look
 */
function dropping({ record, choose, run }) {
  const read = run.task.continues ? record.written.slice(0, record.given) : record.source;
  const words = partsOf(read.filter((token) => !token.special));
  if (words.length > MOST) return null;
  const buttons = words.map((word, i) => {
    const drop = () => choose({ replaced: words.toSpliced(i, 1).join('').trim() });
    return button('button', drop, { title: 'leave it out' }, word.trim() || short(word));
  });
  return h('div.tokens', { style: { 'margin-top': '0.5rem' } }, buttons);
}

/** @param {Looked} look */
function switching({ record, selection, choose }) {
  const off = list(selection.off);
  const toggle = (/** @type {string} */ name) =>
    choose({ off: (off.includes(name) ? off.filter((one) => one !== name) : [...off, name]).join(';') });
  const row = (/** @type {Attention} */ { path, heads }) => {
    const buttons = Array.from({ length: heads }, (_, i) => {
      const name = `${path}[${i}]`;
      const attributes = { id: `off-${path}-${i}`, 'aria-pressed': String(off.includes(name)) };
      return button('button', () => toggle(name), { ...attributes, title: name }, i);
    });
    return h('tr', h('th', named(path)), h('td', h('span.segments', buttons)));
  };
  return h(
    'section.section',
    h('h3', 'Switch off a head'),
    h('p', 'A head that is off adds nothing.'),
    h('table.numbers', record.attention.map(row)),
  );
}

/**
 * @param {Looked} look
 * @param {Cells} cells
 */
function holding({ record, selection, choose }, cells) {
  const last = cells.width - 1;
  const value = number({ id: 'value', step: 0.1, value: 0, 'aria-label': 'value' });
  const wish = { id: 'held-unit', min: 0, max: last, value: unitOf(cells, selection), 'aria-label': 'cell' };
  const unit = number(wish, (found) => choose({ unit: Number(found) }));
  const hold = () => {
    const which = Math.min(last, Number(unit.value));
    const one = `${cells.path}[${which}]=${Number(value.value)}`;
    choose({ held: [...list(selection.held), one].join(';'), unit: which });
  };
  return h(
    'section.section',
    h('h3', 'Hold a cell'),
    h('p', 'A cell that always says one value.'),
    h(
      'div.controls',
      choice('cells', pathsOf(record.cells), cells.path, (path) => choose({ cells: path }), 'cells'),
      h('label', 'cell', unit),
      h('label', 'at', value),
      button('button.button', hold, { id: 'hold' }, 'Hold'),
    ),
  );
}
