// Edit and compare: change a token, a head or a cell, or take another run, and see what changes.

import { h, named, choice, segments, short, figure, state, percent } from '../dom.js';
import { heatmap, legend } from '../heatmap.js';
import { list } from '../selection.js';
import { HONEST, mapOf, headOf, chooseMap, scaleOf, cellsOf } from './common.js';

export const compare = {
  key: 'compare',
  title: 'Edit and compare',
  hint: 'The same text twice: as it is, and with something changed.',
  draw(stage, look) {
    const { record, selection, choose, runs, run } = look;
    const mode = selection.other !== '' && runs[Number(selection.other)] ? 'run' : 'edit';
    const others = runs.map((one, i) => [i, one]).filter(([, one]) => one !== run && one.kind === run.kind);
    const modes =
      others.length > 0 &&
      segments(
        'against',
        [
          ['edit', 'an edit'],
          ['run', 'another run'],
        ],
        mode,
        (value) => choose({ other: value === 'run' ? String(others[0][0]) : '' }),
      );
    const side = h('div');
    const controls = h(
      'div.controls',
      modes,
      mode === 'run' &&
        choice(
          'run',
          others.map(([i, one]) => [i, one.name]),
          selection.other,
          (other) => choose({ other }),
          'other',
        ),
    );
    stage.append(controls, mode === 'edit' ? h('div.editing', editor(look), side) : side);
    const now = look.question();
    const base = { ...now };
    delete base.off;
    delete base.held;
    const asked =
      mode === 'run'
        ? { ...now, run: Number(selection.other), off: undefined, held: undefined }
        : { ...now, ...(selection.replaced ? { text: selection.replaced } : {}) };
    const changed = mode === 'run' || selection.off || selection.held || selection.replaced;
    let pair = [record, record];
    const found = { table: () => table(pair, run) };
    if (!changed) {
      side.append(
        state(
          'Nothing is changed yet',
          'Replace a token, switch off a head or hold a cell above; the answer, the probabilities and the map are then shown side by side, on one scale.',
        ),
      );
      return found;
    }
    side.append(h('p.note', 'Computing the other side…'));
    const before =
      mode === 'edit' && (selection.off || selection.held) ? look.recordFor(base) : Promise.resolve(record);
    const clean = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined));
    Promise.all([before, look.recordFor(clean)])
      .then((both) => {
        pair = both;
        side.replaceChildren(
          both_sides(
            look,
            both,
            mode === 'run' ? [run.name, runs[Number(selection.other)].name] : ['as it is', 'changed'],
          ),
        );
      })
      .catch((error) => side.replaceChildren(state('That did not work', error.message, 'wrong')));
    return found;
  },
};

/** What can be changed: tokens, heads, cells. */
function editor(look) {
  const { record, selection, choose, run } = look;
  const [off, held] = [list(selection.off), list(selection.held)];
  const reading = run.kind === 'language model' ? record.written.slice(1) : record.source;
  const given = new TextEncoder().encode(selection.text).length;
  const tokens = reading.filter((token) => !token.special && (run.kind !== 'language model' || token.begin < given));
  const words = [];
  for (const token of tokens) {
    if (words.length && token.word >= 0 && words.at(-1).word === token.word) words.at(-1).text += token.text;
    else words.push({ word: token.word, text: token.text });
  }
  const current = selection.replaced || selection.text;
  const box = h('textarea', {
    id: 'replaced',
    rows: Math.min(6, current.split('\n').length + 1),
    'aria-label': 'the text with something replaced',
    onchange: (event) => choose({ replaced: event.target.value === selection.text ? '' : event.target.value }),
  });
  box.value = current;
  const drop = (i) =>
    choose({
      replaced: words
        .filter((_, j) => j !== i)
        .map((one) => one.text)
        .join('')
        .trim(),
    });
  const rows = [];
  if (run.kind !== 'captioner') {
    rows.push(
      h(
        'section.section',
        { style: { 'margin-top': 0 } },
        h('h3', 'Replace a token'),
        h('p', 'Write the text otherwise, or click a word to leave it out.'),
        box,
        words.length <= 60 &&
          h(
            'div.tokens',
            { style: { 'margin-top': '0.5rem' } },
            words.map((one, i) =>
              h(
                'button',
                { type: 'button', title: 'leave it out', onclick: () => drop(i) },
                one.text.trim() || short(one.text),
              ),
            ),
          ),
        selection.replaced &&
          h('button.quiet', { type: 'button', onclick: () => choose({ replaced: '' }) }, 'As it was'),
      ),
    );
  }
  if (record.attention.length) {
    const toggle = (name) =>
      choose({ off: (off.includes(name) ? off.filter((one) => one !== name) : [...off, name]).join(';') });
    rows.push(
      h(
        'section.section',
        h('h3', 'Switch off a head'),
        h('p', 'A head that is off adds nothing.'),
        h(
          'table.numbers',
          record.attention.map((one) =>
            h(
              'tr',
              h('th', named(one.path)),
              h(
                'td',
                h(
                  'span.segments',
                  Array.from({ length: one.heads }, (_, i) =>
                    h(
                      'button',
                      {
                        type: 'button',
                        id: `off-${one.path}-${i}`,
                        'aria-pressed': String(off.includes(`${one.path}[${i}]`)),
                        onclick: () => toggle(`${one.path}[${i}]`),
                      },
                      i + 1,
                    ),
                  ),
                ),
              ),
            ),
          ),
        ),
      ),
    );
  }
  const cells = cellsOf(record, selection);
  if (cells) {
    const value = h('input', { type: 'number', id: 'value', step: 0.1, value: 0, 'aria-label': 'value' });
    const unit = h('input', {
      type: 'number',
      id: 'held-unit',
      min: 0,
      max: cells.width - 1,
      value: selection.unit,
      'aria-label': 'cell',
      onchange: (event) => choose({ unit: Number(event.target.value) }),
    });
    const hold = () =>
      choose({
        held: [...held, `${cells.path}[${Math.min(cells.width - 1, Number(unit.value))}]=${Number(value.value)}`].join(
          ';',
        ),
      });
    rows.push(
      h(
        'section.section',
        h('h3', 'Hold a cell'),
        h('p', 'A cell that always says one value.'),
        h(
          'div.controls',
          choice(
            'cells',
            record.cells.map((one) => [one.path, named(one.path)]),
            cells.path,
            (path) => choose({ cells: path }),
            'cells',
          ),
          h('label', 'cell', unit),
          h('label', 'at', value),
          h('button.button', { type: 'button', id: 'hold', onclick: hold }, 'Hold'),
        ),
      ),
    );
  }
  return h('div.editor', rows);
}

/** The words of two answers, those that only one has marked. */
function marked(mine, other, tag) {
  const words = (text) => text.split(/(\s+)/).filter((word) => word !== '');
  const [a, b] = [words(mine), words(other)];
  const longest = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      longest[i][j] = a[i] === b[j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
  const found = [];
  let [i, j] = [0, 0];
  while (i < a.length) {
    if (j < b.length && a[i] === b[j]) {
      found.push(a[i]);
      i += 1;
      j += 1;
    } else if (j < b.length && longest[i][j + 1] >= longest[i + 1][j]) j += 1;
    else {
      found.push(h(tag, a[i]));
      i += 1;
    }
  }
  return found;
}

function answerOf(record, run, selection) {
  if (run.kind === 'classifier')
    return record
      .top(0)
      .slice(0, 3)
      .map((one) => `${one.text} ${percent(one.p)}`)
      .join('  ');
  if (run.kind === 'tagger')
    return record.written
      .slice(1)
      .map((token) => token.text)
      .join(' ');
  return run.kind === 'language model' ? record.texts.written : record.texts.written;
}

function both_sides(look, pair, names) {
  const { run, selection, choose } = look;
  const texts = pair.map((one) => answerOf(one, run, selection));
  const same = texts[0] === texts[1];
  const answers = h(
    'div.pair',
    pair.map((one, i) =>
      h(
        'section',
        h('h3', { class: 'sub' }, names[i]),
        h('p.ribbon.flow.diff', marked(texts[i], texts[1 - i], i ? 'ins' : 'del')),
      ),
    ),
  );
  const parts = [h('section', h('h3', same ? 'The answer is the same' : 'The answer changes'), answers)];
  parts.push(probabilities(pair, names));
  const maps = pair.map((one) => mapOf(one, selection));
  if (maps.some(Boolean)) {
    const scale = scaleOf(selection, Math.max(...maps.filter(Boolean).map((one) => one.columns)));
    const shown = maps.map(
      (one) =>
        one && {
          weights: one.weights(headOf(one, selection)),
          rows: one.rows,
          columns: one.columns,
          names: one.names(),
        },
    );
    const room = Math.max(
      240,
      (document.getElementById('stage').clientWidth - (innerWidth > 960 && selection.other === '' ? 21 * 16 + 40 : 0)) /
        (innerWidth > 960 ? 2 : 1) -
        40,
    );
    parts.push(
      h(
        'section.section',
        h('h3', 'Where it looked'),
        h(
          'div.controls',
          maps[0] && chooseMap(look, maps[0]),
          segments(
            'scale',
            [
              ['linear', 'weight'],
              ['root', 'its root'],
            ],
            scale,
            (value) => choose({ scale: value }),
          ),
          legend({ scale, causal: maps.some((one) => one?.causal) }),
        ),
        h(
          'div.pair',
          shown.map((one, i) =>
            h(
              'div',
              h('h3', { class: 'sub' }, names[i]),
              one
                ? h('div.scroller', heatmap({ ...one, causal: maps[i].causal, scale, room, id: `grip-${i}` }))
                : h('p.note', 'This run has no attention: it never looks back.'),
            ),
          ),
        ),
        shown.every(Boolean) &&
          shown[0].rows === shown[1].rows &&
          shown[0].columns === shown[1].columns &&
          difference(shown, maps, names, room),
        h('p.honest', HONEST),
      ),
    );
  }
  return h('div', parts);
}

function difference([a, b], maps, names, room) {
  const weights = b.weights.map((w, i) => w - a.weights[i]);
  const most = Math.max(0.01, ...weights.map(Math.abs));
  return h(
    'div',
    { style: { 'margin-top': '1.2rem' } },
    h('h3', { class: 'sub' }, `the second less the first`),
    h(
      'div.scroller',
      heatmap({ ...a, weights, causal: maps[0].causal, signed: true, most, room, id: 'grip-difference' }),
    ),
    h('p', legend({ most, signed: true })),
  );
}

/** How probable each side found what it said. */
function probabilities(pair, names) {
  const total = pair.map((one) => {
    const { data } = one.blob('top.said');
    return { sum: data.reduce((a, b) => a + b, 0), count: data.length };
  });
  return h(
    'section.section',
    h('h3', 'How probable it found it'),
    h(
      'table.numbers',
      h('tr', h('th', ''), h('th', 'Σ log p'), h('th', 'tokens'), h('th', 'log p a token')),
      pair.map((_, i) =>
        h(
          'tr',
          h('td', names[i]),
          h('td.n', figure(total[i].sum)),
          h('td.n', total[i].count),
          h('td.n', figure(total[i].sum / Math.max(1, total[i].count))),
        ),
      ),
    ),
  );
}

function table(pair) {
  return [
    ['side', 'step', 'token', 'log p'],
    ...pair.flatMap((one, side) =>
      one.written.slice(1).map((token, t) => [side + 1, t, token.text, one.said(t) ?? '']),
    ),
  ];
}
