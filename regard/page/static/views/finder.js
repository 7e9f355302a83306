// The finder: which cells and heads follow a property of the text, and whether that is more than chance.

import { h, state, choice, figure, named } from '../dom.js';
import { lines } from '../ask.js';
import { css, inkOn, signColour } from '../colour.js';

const HEAD = [
  ['unit', 'unit', ''],
  ['score', 'held out', 'n'],
  ['low', '95 % interval', 'n'],
  ['null', 'null', 'n'],
  ['q', 'q', 'n'],
  ['untrained', 'untrained', 'n'],
  ['last_characters', 'last k', 'n'],
  ['change', 'effect', 'n'],
  ['verdict', 'verdict', ''],
];

export const finder = {
  key: 'finder',
  title: 'Finder',
  hint: 'Which cells and heads follow a property of the text: chosen on one half, every figure of the other.',
  alone: true,
  draw(stage, look) {
    const { run, selection, choose } = look;
    if (run.kind !== 'language model') {
      stage.append(
        state(
          'Only a language model can be searched',
          `The finder reads a long text as it is written. This run is a ${run.kind}; its heads and cells are under Heads.`,
        ),
      );
      return null;
    }
    if (!run.properties?.length) {
      stage.append(state('Nothing to search', 'This run kept no held-out text to search in.'));
      return null;
    }
    const property = selection.property;
    stage.append(
      h(
        'div.controls',
        choice(
          'property',
          [['', 'choose…'], ...run.properties],
          property,
          (value) => choose({ property: value }),
          'property',
        ),
      ),
    );
    const place = h('div');
    stage.append(place);
    if (!property) {
      place.append(
        state(
          'What should a unit follow?',
          'Choose a property. Every unit is then held against chance (labels shifted in a circle), new weights, the last few characters, and what changes when it is held still; this takes some seconds to a minute.',
        ),
      );
      return null;
    }
    let rows = [];
    const progress = h('p.note', { role: 'status' }, 'Reading the held-out text…');
    place.append(progress);
    lines('/api/find', { run: look.runs.indexOf(run), property }, (line) => {
      if (line.progress) progress.textContent = line.progress;
    })
      .then((found) => {
        rows = found.filter((line) => line.unit);
        const chosen = rows.find((row) => row.unit === selection.map) || rows[0];
        place.replaceChildren(
          h('div.scroller', table(look, rows, selection.sort, chosen)),
          h(
            'p.note',
            { style: { 'margin-top': '0.9rem' } },
            `${rows[0]?.searched.toLocaleString('en') ?? 0} signals searched, scored by ${rows[0]?.measure}. Grey rows fail a control. It says what a unit follows, not why the model answers.`,
          ),
          chosen ? proof(look, chosen) : '',
        );
      })
      .catch((error) => place.replaceChildren(state('The search did not work', error.message, 'wrong')));
    return {
      table: () => {
        const keys = Object.keys(rows[0] || { unit: '' }).filter((key) => key !== 'evidence');
        return [keys, ...rows.map((row) => keys.map((key) => row[key]))];
      },
    };
  },
};

function nameOf(row) {
  const [, path, number] = row.unit.match(/^(.+)\[(\d+)\]$/);
  return `${row.sign < 0 ? '−' : ''}${named(path)} · ${row.head ? `head ${Number(number) + 1}, ${row.what}` : `cell ${number}`}`;
}

function table(look, rows, sort, chosen) {
  const { choose } = look;
  const sorted = [...rows];
  if (HEAD.some(([key]) => key === sort))
    sorted.sort((a, b) =>
      typeof a[sort] === 'string'
        ? String(a[sort]).localeCompare(b[sort])
        : (b[sort] ?? -Infinity) - (a[sort] ?? -Infinity),
    );
  return h(
    'table.table',
    h(
      'thead',
      h(
        'tr',
        HEAD.map(([key, name, kind]) =>
          h(
            'th',
            { class: kind, 'aria-sort': key === sort ? 'descending' : null },
            h('button', { type: 'button', onclick: () => choose({ sort: key }) }, name),
          ),
        ),
      ),
    ),
    h(
      'tbody',
      sorted.map((row) =>
        h(
          'tr',
          { class: row.failed ? 'failing' : '', 'aria-selected': String(row === chosen) },
          h('td', h('button.link', { type: 'button', onclick: () => choose({ map: row.unit }) }, nameOf(row))),
          h('td.n', figure(row.score)),
          h('td.n', `${figure(row.low)} – ${figure(row.high)}`),
          h('td.n', figure(row.null)),
          h('td.n', figure(row.q)),
          h('td.n', figure(row.untrained)),
          h('td.n', figure(row.last_characters)),
          h('td.n', figure(row.change, 4)),
          h('td', row.failed ? `fails ${row.failed}` : 'passes'),
        ),
      ),
    ),
  );
}

/** Held-out text coloured by the unit; the property is underlined. */
function proof(look, row) {
  const { choose } = look;
  const [, path, number] = row.unit.match(/^(.+)\[(\d+)\]$/);
  const open = () =>
    choose(
      row.head
        ? {
            view: 'map',
            map: path,
            head: number,
            text: row.evidence
              .map(([text]) => text)
              .join('')
              .slice(0, 300),
            length: '0',
          }
        : {
            view: 'ribbon',
            ink: 'cell',
            cells: path,
            unit: Number(number),
            text: row.evidence
              .map(([text]) => text)
              .join('')
              .slice(0, 600),
            length: '0',
          },
    );
  return h(
    'section.section',
    h('h3', `Evidence for ${nameOf(row)}`),
    h(
      'p',
      'Held-out text: orange below the unit’s mean, blue above it; what has the property is underlined. ',
      h('button.link', { type: 'button', onclick: open }, row.head ? 'See its map' : 'See it in the Ribbon'),
    ),
    h(
      'div.ribbon.flow',
      row.evidence.map(([text, value, label]) => {
        const colour = signColour(value);
        return h(
          'span.t',
          {
            style: {
              background: css(colour),
              color: inkOn(colour),
              'box-shadow': label > 0 ? `inset 0 -2px 0 var(--ink)` : 'none',
            },
            title: `${value}`,
          },
          text,
        );
      }),
    ),
  );
}
