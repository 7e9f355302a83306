// The ribbon: text coloured by one cell, or by where a token looked, with what might have come next beneath.

import { h, s, named, choice, segments, tick, short, visible, figure, showTip, hideTip } from '../dom.js';
import { css, inkOn, signColour, weightColour, strength } from '../colour.js';
import { legend } from '../heatmap.js';
import { film } from '../picture.js';
import { HONEST, mapOf, headOf, chooseMap, mapKeys, cellsOf, scaleOf, largest, ladder } from './common.js';

const MANY = 240; // tokens from which what might have come is shown for one of them only

export const ribbon = {
  key: 'ribbon',
  title: 'Ribbon',
  hint: 'The text itself, coloured by one cell or by where a token looked.',
  draw(stage, look) {
    const { record, selection, choose } = look;
    const attention = mapOf(record, selection);
    const cells = cellsOf(record, selection);
    const ink = !attention
      ? 'cell'
      : !cells
        ? 'look'
        : selection.ink || (record.kind === 'language model' ? 'cell' : 'look');
    const switches =
      attention &&
      cells &&
      segments(
        'colour',
        [
          ['look', 'where it looked'],
          ['cell', 'one cell'],
        ],
        ink,
        (value) => choose({ ink: value }),
      );
    return ink === 'look' ? looks(stage, look, attention, switches) : activity(stage, look, cells, switches);
  },
};

/** A line of tokens: colour(t) → [rgb, …], and what happens when one is pointed at. */
function flow(tokens, { colour, at, pick, tip, enter, leave, label }) {
  const line = h('div.ribbon.flow', {
    class: tokens.length <= 64 ? 'large' : '',
    id: `flow-${label}`,
    tabindex: 0,
    role: 'group',
    'aria-label': `${label}: left and right move`,
  });
  tokens.forEach((token, t) => {
    const paint = colour(t);
    const text = token.special ? visible(token.text) : token.text;
    const blank = text.match(/^ +(?=\S)/)?.[0] ?? ''; // the space before a word is not coloured
    const seen = text.slice(blank.length);
    const shown = h(
      'span.t',
      {
        'data-t': t,
        class: `${t === at ? 'at' : ''} ${token.special ? 'invisible' : ''}`,
        style: paint && { background: css(paint), color: inkOn(paint) },
      },
      seen === '\n' ? '⏎' : seen.replaceAll('\n', ''),
    );
    line.append(
      token.special && t > 0 ? ' ' : '',
      blank,
      shown,
      text.endsWith('\n') ? h('br') : '',
      token.special && t === 0 ? ' ' : '',
    );
  });
  const under = (event) => {
    const found = event.target.closest('.t');
    return found ? Number(found.dataset.t) : null;
  };
  line.addEventListener('click', (event) => {
    const t = under(event);
    if (t !== null) pick(t);
  });
  line.addEventListener('pointermove', (event) => {
    const t = under(event);
    if (t === null) {
      hideTip();
      return;
    }
    enter?.(t);
    showTip(event.clientX, event.clientY, tip(t));
  });
  line.addEventListener('pointerleave', () => {
    hideTip();
    leave?.();
  });
  line.addEventListener('keydown', (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!move) return;
    const next = Math.min(tokens.length - 1, Math.max(0, (at ?? -1) + move));
    pick(next);
    event.preventDefault();
    event.stopPropagation();
  });
  return line;
}

function activity(stage, look, cells, switches) {
  const { record, selection, choose } = look;
  const unit = Math.min(cells.width - 1, Math.max(0, selection.unit));
  const values = cells.values(unit);
  const { tokens } = cells;
  const most = cells.gate ? 1 : Math.max(1e-6, ...values.map(Math.abs));
  const colour = (t) => (cells.gate ? weightColour(values[t]) : signColour(values[t] / most));
  const at = selection.at === '' || Number(selection.at) >= tokens.length ? null : Number(selection.at);
  const predictions = cells.over === 'written' && record.kind !== 'classifier' && record.kind !== 'tagger';
  const beneath = predictions && (selection.grid === '' ? tokens.length <= MANY : selection.grid === 'true');
  const number = h('input', {
    type: 'number',
    id: 'unit',
    min: 0,
    max: cells.width - 1,
    value: unit,
    'aria-label': 'cell',
    onchange: (event) => choose({ unit: Number(event.target.value) }),
  });
  stage.append(
    h(
      'div.controls',
      switches,
      choice(
        'cells',
        record.cells.map((one) => [one.path, named(one.path)]),
        cells.path,
        (path) => choose({ cells: path, at: '' }),
        'cells',
      ),
      h(
        'span.field',
        'cell',
        h('button.quiet', { type: 'button', 'aria-label': 'previous cell', onclick: () => flip(-1) }, '◀'),
        number,
        h('button.quiet', { type: 'button', 'aria-label': 'next cell', onclick: () => flip(1) }, '▶'),
        `of ${cells.width}`,
      ),
      predictions && tick('top 5 beneath', beneath, (value) => choose({ grid: String(value) })),
      legend({ most, signed: !cells.gate }),
    ),
  );
  const pick = (t) => choose({ at: String(t) });
  const tip = (t) => [h('span.big', figure(values[t])), h('div', 'behind ', h('b', short(tokens[t].text, 24)))];
  const body = beneath
    ? columns(record, tokens, { colour, at, pick, tip })
    : flow(tokens, { colour, at, pick, tip, label: cells.over });
  const aside = h(
    'div.aside',
    h('h3', `${named(cells.path)} · cell ${unit}`),
    curve(values, most, at),
    h(
      'p',
      cells.gate
        ? 'A gate: 0 is shut, 1 is open.'
        : `From −${figure(most, 2)} (orange) to ${figure(most, 2)} (blue), the largest it reaches in this text.`,
    ),
  );
  if (at !== null) {
    aside.append(
      h('h3', 'behind ', h('span.token', short(tokens[at].text, 20))),
      h('p', `the cell says ${figure(values[at])}`),
    );
    if (predictions) aside.append(h('h3', 'might come next'), ladder(record, at));
  } else
    aside.append(
      h('p', { style: { 'margin-top': '0.7rem' } }, 'Up and down flip through cells; click a token to keep it here.'),
    );
  stage.append(h('div.columns.wide', h('div', body), aside));
  function flip(by) {
    choose({ unit: (unit + by + cells.width) % cells.width });
    return true;
  }
  return {
    table: () => [
      ['token', 'value', ...(predictions ? ['next', 'probability'] : [])],
      ...tokens.map((token, t) => [
        token.text,
        values[t].toPrecision(6),
        ...(predictions ? [record.top(t)[0]?.text ?? '', record.top(t)[0]?.p.toPrecision(4) ?? ''] : []),
      ]),
    ],
    key: (key) => {
      if (key === 'ArrowUp' || key === 'ArrowDown') return flip(key === 'ArrowDown' ? 1 : -1);
      if (key === 'ArrowLeft' || key === 'ArrowRight') {
        pick(Math.min(tokens.length - 1, Math.max(0, (at ?? -1) + (key === 'ArrowRight' ? 1 : -1))));
        return true;
      }
      const list = record.cells.indexOf(cells);
      if ((key === '[' || key === ']') && record.cells[list + (key === ']' ? 1 : -1)]) {
        choose({ cells: record.cells[list + (key === ']' ? 1 : -1)].path, at: '' });
        return true;
      }
      return false;
    },
  };
}

/** Each token with the five most probable next ones beneath it. (Karpathy 2015) */
function columns(record, tokens, { colour, at, pick, tip }) {
  const grid = h('div.ribbon.grid');
  tokens.forEach((token, t) => {
    const paint = colour(t);
    const next = tokens[t + 1]?.id;
    grid.append(
      h(
        'div.column',
        { 'data-t': t },
        h(
          'span.t',
          {
            class: `${t === at ? 'at' : ''} ${token.special ? 'special' : ''}`,
            style: { background: css(paint), color: inkOn(paint) },
          },
          token.special ? short(token.text, 7) : token.text.replaceAll('\n', '⏎').replaceAll('\t', '⇥'),
        ),
        record
          .top(t)
          .slice(0, 5)
          .map((one) => {
            const tint = weightColour(0.75 * Math.sqrt(one.p) * 0.6);
            return h(
              'span.p',
              { style: { background: css(tint), color: inkOn(tint), 'font-weight': one.id === next ? 600 : 400 } },
              short(one.text, 8),
            );
          }),
      ),
    );
    if (token.text.endsWith('\n')) grid.append(h('div.break'));
  });
  const under = (event) => {
    const found = event.target.closest('.column');
    return found ? Number(found.dataset.t) : null;
  };
  grid.addEventListener('click', (event) => {
    const t = under(event);
    if (t !== null) pick(t);
  });
  grid.addEventListener('pointermove', (event) => {
    const t = under(event);
    if (t === null) {
      hideTip();
      return;
    }
    showTip(
      event.clientX,
      event.clientY,
      tip(t),
      h(
        'table.numbers',
        record
          .top(t)
          .slice(0, 5)
          .map((one) => h('tr', h('td.token', short(one.text)), h('td.n', `${(100 * one.p).toFixed(1)}%`))),
      ),
    );
  });
  grid.addEventListener('pointerleave', hideTip);
  return grid;
}

/** A cell over the text, as a line. */
function curve(values, most, at) {
  const [width, height] = [250, 54];
  const x = (t) => (values.length < 2 ? width / 2 : (t / (values.length - 1)) * (width - 4) + 2);
  const y = (v) => height / 2 - (v / most) * (height / 2 - 3);
  return s(
    'svg.chart',
    { viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' },
    s('line.grid', { x1: 0, x2: width, y1: height / 2, y2: height / 2 }),
    s('path.curve', {
      d: [...values].map((v, t) => `${t ? 'L' : 'M'}${x(t).toFixed(1)} ${y(v).toFixed(1)}`).join(''),
      stroke: 'var(--accent)',
    }),
    at !== null && s('circle', { cx: x(at), cy: y(values[at]), r: 3, fill: 'var(--warm)' }),
  );
}

/** Point at a token, and see where it looked. */
function looks(stage, look, attention, switches) {
  const { record, selection, choose } = look;
  const head = headOf(attention, selection);
  const weights = attention.weights(head);
  const reading = attention.from === 'written' ? selection.reading || attention.reading : 'fed';
  const names = attention.names(reading);
  const scale = scaleOf(selection, attention.columns);
  const kept =
    selection.from === '' || Number(selection.from) >= attention.rows
      ? attention.rows === 1
        ? 0
        : null
      : Number(selection.from);
  const one = attention.from === attention.to;
  stage.append(
    h(
      'div.controls',
      switches,
      chooseMap(look, attention),
      attention.from === 'written' &&
        record.kind !== 'classifier' &&
        segments(
          'rows',
          [
            ['predicted', 'as predicted'],
            ['fed', 'as fed'],
          ],
          reading,
          (value) => choose({ reading: value }),
        ),
      legend({ scale }),
    ),
  );
  const body = h('div');
  const aside = h('div.aside');
  stage.append(h('div.columns.wide', h('div', body, h('p.honest', HONEST)), aside));
  let now = null;
  const paint = (t) => {
    if (t === now) return;
    now = t;
    const row = t === null ? null : weights.subarray(t * attention.columns, (t + 1) * attention.columns);
    if (attention.grid) {
      body.querySelector('.film canvas').replaceWith(film(record.picture, row, record.grid));
    } else {
      body.querySelectorAll(`#flow-${one ? 'text' : 'read'} .t`).forEach((element, i) => {
        const colour = row && i < row.length ? weightColour(strength(row[i], scale)) : null;
        element.style.background = colour ? css(colour) : '';
        element.style.color = colour ? inkOn(colour) : '';
      });
    }
    body
      .querySelectorAll(`#flow-${one ? 'text' : 'written'} .t`)
      .forEach((element, i) => element.classList.toggle('at', i === t));
    aside.replaceChildren(
      ...(row
        ? [
            h('h3', 'from ', h('span.token', short(names.rows[t].text, 20))),
            attention.grid ? h('p', `largest weight ${Math.max(...row).toFixed(3)}`) : largest(names.columns, row),
            ...(attention.from === 'written' && record.kind !== 'tagger'
              ? [h('h3', record.kind === 'classifier' ? 'classes' : 'might have been'), ladder(record, t)]
              : []),
          ]
        : [
            h('h3', named(attention.path)),
            h('p', 'Point at a token to see where it looked; click to keep it, arrows to walk.'),
          ]),
    );
  };
  const tip = (t) => [
    h('b', short(names.rows[t]?.text ?? '', 24)),
    h(
      'div',
      t < attention.rows
        ? `looked most at ${short(names.columns[most(weights, attention, t)].text, 20)} (${Math.max(...weights.subarray(t * attention.columns, (t + 1) * attention.columns)).toFixed(2)})`
        : '',
    ),
  ];
  const pick = (t) => choose({ from: String(t) });
  const enter = (t) => paint(t < attention.rows ? t : null);
  const leave = () => paint(kept);
  const plain = () => null;
  if (attention.grid)
    body.append(h('div.side', h('div.film', { style: { width: '16rem' } }, film(record.picture, null, record.grid))));
  else if (!one)
    body.append(
      h(
        'div.side',
        h('h3', 'read'),
        flow(names.columns, {
          colour: plain,
          at: null,
          pick: () => {},
          tip: (i) => [
            h('span.big', now === null ? '–' : figure(weights[now * attention.columns + i])),
            h('div', h('b', short(names.columns[i].text, 24))),
          ],
          label: 'read',
        }),
      ),
    );
  if (record.kind === 'classifier')
    body.append(h('p.note', 'The class was read off at once: these are the words that got the weight.'));
  else
    body.append(
      h(
        'div.side',
        h('h3', one ? 'text' : 'written'),
        flow(names.rows, { colour: plain, at: kept, pick, tip, enter, leave, label: one ? 'text' : 'written' }),
      ),
    );
  paint(kept);
  if (kept === null) {
    now = 0;
    paint(null);
  }
  return {
    table: () => [
      ['from', 'to', 'weight'],
      ...names.rows.flatMap((row, t) =>
        names.columns.map((column, i) => [row.text, column.text, weights[t * attention.columns + i].toPrecision(6)]),
      ),
    ],
    key: (key) => {
      if (key === 'ArrowLeft' || key === 'ArrowRight') {
        pick(Math.min(attention.rows - 1, Math.max(0, (kept ?? -1) + (key === 'ArrowRight' ? 1 : -1))));
        return true;
      }
      if (key === 'ArrowUp' || key === 'ArrowDown')
        return mapKeys(look, attention, key === 'ArrowUp' ? 'ArrowLeft' : 'ArrowRight');
      return mapKeys(look, attention, key);
    },
  };
}

function most(weights, attention, t) {
  let best = 0;
  for (let i = 1; i < attention.columns; i++)
    if (weights[t * attention.columns + i] > weights[t * attention.columns + best]) best = i;
  return best;
}
