// The finder: which cells and heads follow a property of the text, and whether that is more than chance.

import { lines } from '../ask.js';
import { painted, signColour } from '../colour.js';
import { button, choice, state } from '../controls.js';
import { h } from '../dom.js';
import { figure, named } from '../words.js';

/** @import { Line } from '../ask.js' */
/** @import { Look, Shown, View } from '../main.js' */

/** @type {[string, string, string, string][]} key, name, class and meaning of each column */
const HEAD = [
  ['unit', 'unit', '', 'the cell or head that was chosen on the first half'],
  ['score', 'held out', 'n', 'how well it follows the property on the second half, which had no say in the choice'],
  ['low', '95 % interval', 'n', 'of the held-out score'],
  ['null', 'null', 'n', 'what the best of all units reaches in 95 % of the circular shifts: chance'],
  ['q', 'q', 'n', 'the share of false findings among those at least as sure'],
  ['untrained', 'untrained', 'n', 'what the best unit of the same model with new weights reaches'],
  ['last_characters', 'last k', 'n', 'what the last k characters alone tell of the property'],
  ['change', 'effect', 'n', 'the change of log p, in nats a token, when the unit is held still'],
  ['failed', 'verdict', '', 'whether it passes every control'],
];
const NOTHING =
  'Choose a property. Every unit is then held against chance (labels shifted in a circle), new weights, the last few ' +
  'characters, and what changes when it is held still; this takes some seconds to a minute.';

/** @type {View} */
export const finder = {
  key: 'finder',
  title: 'Finder',
  hint: 'Which cells and heads follow a property of the text: chosen on one half, every figure of the other.',
  alone: true,
  draw(stage, look) {
    const { run, selection, choose } = look;
    if (!run.properties.length) {
      const why = run.kept || run.lacks?.search || 'This run kept too little held-out text to search in.';
      stage.append(state('Nothing to search', why));
      return null;
    }
    const { property } = selection;
    const names = /** @type {[string, string][]} */ ([['', 'choose…'], ...run.properties]);
    const chooser = choice('property', names, property, (value) => choose({ property: value }), 'property');
    const place = h('div', !property && state('What should a unit follow?', NOTHING));
    stage.append(h('div.controls', chooser), place);
    return property ? search(place, look) : null;
  },
};

/**
 * @param {HTMLElement} place
 * @param {Look} look
 * @returns {Shown}
 */
function search(place, look) {
  const { run, runs, selection } = look;
  /** @type {Line[]} */
  let rows = [];
  const progress = h('p.note', { role: 'status' }, 'Reading the held-out text…');
  place.append(progress);
  lines('/api/find', { run: runs.indexOf(run), property: selection.property }, (line) => {
    if (line.progress) progress.textContent = line.progress;
  })
    .then((found) => {
      rows = found.filter((line) => line.unit);
      place.replaceChildren(...answered(look, rows));
    })
    .catch((error) => place.replaceChildren(state('The search did not work', error.message, 'wrong')));
  return {
    table: () => {
      const keys = Object.keys(rows[0] || { unit: '' }).filter((key) => key !== 'evidence');
      return [keys, ...rows.map((row) => keys.map((key) => row[key]))];
    },
  };
}

/**
 * @param {Look} look
 * @param {Line[]} rows
 */
function answered(look, rows) {
  const chosen = rows.find((row) => row.unit === look.selection.found) || rows[0];
  const count = (rows[0]?.searched ?? 0).toLocaleString('en');
  const note = `${count} signals searched, scored by ${rows[0]?.measure}. Grey rows fail a control. `;
  return [
    h('div.scroller', table(look, rows, chosen)),
    h('p.note', { style: { 'margin-top': '0.9rem' } }, note, 'It says what a unit follows, not why the model answers.'),
    chosen ? proof(look, chosen) : '',
  ];
}

/**
 * A unit's path and its number there.
 * @param {Line} row
 * @returns {[string, number]}
 */
function unitOf(row) {
  const [, path, number] = row.unit.match(/^(.+)\[(\d+)\]$/);
  return [path, Number(number)];
}

/** @param {Line} row */
function nameOf(row) {
  const [path, number] = unitOf(row);
  const unit = row.head ? `head ${number}, ${row.what}` : `cell ${number}`;
  const side = row.side === 'text' ? '' : `${row.side}: `;
  return `${row.sign < 0 ? '−' : ''}${side}${named(path)} · ${unit}`;
}

/**
 * The largest first; words by the alphabet.
 * @param {Line[]} rows
 * @param {string} key
 */
function sorted(rows, key) {
  if (!HEAD.some(([name]) => name === key)) return rows;
  /** @type {(a: Line, b: Line) => number} */
  const order = (a, b) =>
    typeof a[key] === 'string' ? a[key].localeCompare(b[key]) : (b[key] ?? -Infinity) - (a[key] ?? -Infinity);
  return [...rows].sort(order);
}

/**
 * @param {Look} look
 * @param {Line[]} rows
 * @param {Line} chosen
 */
function table({ selection: { sort }, choose }, rows, chosen) {
  const head = HEAD.map(([key, name, kind, title]) => {
    const attributes = { class: kind, title, 'aria-sort': key === sort ? 'descending' : null };
    return h(
      'th',
      attributes,
      button('button', () => choose({ sort: key }), name),
    );
  });
  const body = sorted(rows, sort).map((row) => {
    const numbers = [
      figure(row.score),
      `${figure(row.low)} – ${figure(row.high)}`,
      ...[row.null, row.q, row.untrained, row.last_characters].map((value) => figure(value)),
      figure(row.change, 4),
    ];
    return h(
      'tr',
      { class: row.failed ? 'failing' : '', 'aria-selected': String(row === chosen) },
      h(
        'td',
        button('button.link', () => choose({ found: row.unit }), { title: row.unit }, nameOf(row)),
      ),
      numbers.map((text) => h('td.n', text)),
      h('td', row.failed ? `fails ${row.failed}` : 'passes'),
    );
  });
  return h('table.table', h('thead', h('tr', head)), h('tbody', body));
}

/**
 * Held-out text coloured by the unit; the property is underlined.
 * @param {Look} look
 * @param {Line} row
 */
function proof({ choose, run, selection }, row) {
  const [path, number] = unitOf(row);
  const text = row.evidence.map((/** @type {[string, number, number]} */ [piece]) => piece).join('');
  // A text that goes on is shown where the evidence is; what has a source is shown on what it reads now, or an example.
  const shown = (/** @type {number} */ most) =>
    run.task.continues ? { text: text.slice(0, most), length: '0' } : { text: selection.text || run.examples[0] || '' };
  const open = () =>
    row.head
      ? choose({ view: 'map', layer: path, head: String(number), ...shown(300) })
      : choose({ view: 'ribbon', ink: 'cell', cells: path, unit: number, ...shown(600) });
  const meaning = 'Held-out text: orange below the unit’s mean, blue above it; what has the property is underlined. ';
  const spans = row.evidence.map((/** @type {[string, number, number]} */ [piece, value, label]) => {
    const line = label > 0 ? 'inset 0 -2px 0 var(--ink)' : 'none';
    return h('span.t', { style: { ...painted(signColour(value)), 'box-shadow': line }, title: `${value}` }, piece);
  });
  return h(
    'section.section',
    h('h3', `Evidence for ${nameOf(row)}`),
    h('p', meaning, button('button.link', open, row.head ? 'See its map' : 'See it in the Ribbon')),
    h('div.ribbon.flow', spans),
  );
}
