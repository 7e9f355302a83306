// Every head, or every cell, as a small picture that can be sorted by what it does.

import { h, named, choice, segments, figure } from '../dom.js';
import { thumbnail, raw, legend } from '../heatmap.js';
import { HONEST, cellsOf, scaleOf } from './common.js';
import { list } from '../selection.js';

const SIDE = 96;
const CELLS = 96; // cells that are shown at once

export const SCORES = {
  '': ['order', 'as they stand'],
  confidence: ['confidence', 'mean of the largest weight of each row'],
  entropy: ['entropy', 'mean of −Σ a log₂ a, in bits'],
  first: ['first token', 'share of the weight on the first token'],
  stop: ['last token', 'share of the weight on the last token'],
  before: ['token before', 'share of the weight one to the left'],
  itself: ['itself', 'share of the weight on the row’s own token'],
  reach: ['reach', 'mean distance of what is looked at'],
};

const WEIGHT = Float64Array.from({ length: 256 }, (_, b) => (b * b) / 65025);
const BITS = WEIGHT.map((a) => (a > 0 ? -a * Math.log2(a) : 0));

/** What a head does, as numbers, over this text. Bytes are looked up in tables: there may be millions of them. */
export function scores(attention, head) {
  attention.scores ||= [];
  attention.scores[head] ||= counted(attention, head);
  return attention.scores[head];
}

function counted(attention, head) {
  const { rows, columns, exact, causal } = attention;
  const { data } = attention.record.blob(attention.blob);
  let [confidence, entropy, first, stop, before, itself, reach] = [0, 0, 0, 0, 0, 0, 0];
  for (let t = 0; t < rows; t++) {
    const begin = (head * rows + t) * columns;
    const end = causal ? Math.min(columns, t + 1) : columns;
    const at = (i) => (i < 0 || i >= columns ? 0 : exact ? data[begin + i] : WEIGHT[data[begin + i]]);
    let largest = 0;
    for (let i = 0; i < end; i++) {
      const x = data[begin + i];
      if (x === 0) continue;
      const a = exact ? x : WEIGHT[x];
      if (a > largest) largest = a;
      entropy += exact ? -a * Math.log2(a) : BITS[x];
      reach += a * Math.abs(t - i);
    }
    confidence += largest;
    first += at(0);
    stop += at(columns - 1);
    before += at(t - 1);
    itself += at(t);
  }
  return Object.fromEntries(
    Object.entries({ confidence, entropy, first, stop, before, itself, reach }).map(([name, value]) => [
      name,
      value / rows,
    ]),
  );
}

export const heads = {
  key: 'heads',
  title: 'Heads',
  hint: 'All of them at once; click one to see its map.',
  draw(stage, look) {
    const { record, selection } = look;
    const grid = selection.grid === 'cells' || !record.attention.length ? 'cells' : 'heads';
    const both = record.attention.length > 0 && record.cells.length > 0;
    const switches =
      both &&
      segments(
        'show',
        [
          ['', 'heads'],
          ['cells', 'cells'],
        ],
        grid === 'cells' ? 'cells' : '',
        (value) => look.choose({ grid: value, sort: '' }),
      );
    return grid === 'heads' ? allHeads(stage, look, switches) : allCells(stage, look, switches);
  },
};

function allHeads(stage, look, switches) {
  const { record, selection, choose } = look;
  const sort = selection.sort in SCORES ? selection.sort : '';
  const off = list(selection.off);
  const every = record.attention.flatMap((attention) =>
    Array.from({ length: attention.heads }, (_, head) => ({ attention, head, scores: scores(attention, head) })),
  );
  const scale = scaleOf(selection, Math.max(...record.attention.map((one) => one.columns)));
  if (sort) every.sort((a, b) => b.scores[sort] - a.scores[sort]);
  stage.append(
    h(
      'div.controls',
      switches,
      choice(
        'sort by',
        Object.entries(SCORES).map(([key, [name]]) => [key, name]),
        sort,
        (value) => choose({ sort: value }),
        'sort',
      ),
      segments(
        'scale',
        [
          ['linear', 'weight'],
          ['root', 'its root'],
        ],
        scale,
        (value) => choose({ scale: value }),
      ),
      legend({ scale }),
      sort && h('span', SCORES[sort][1]),
    ),
  );
  const thumb = ({ attention, head, scores: found }) => {
    const name = `${attention.path}[${head}]`;
    const canvas = thumbnail(attention, head, SIDE, scale);
    const wide = attention.grid ? null : `${attention.columns} / ${attention.rows}`;
    if (wide) canvas.style.aspectRatio = Math.abs(Math.log(attention.columns / attention.rows)) > 1 ? '1' : wide;
    return h(
      'button.thumb',
      {
        type: 'button',
        id: `thumb-${name}`,
        class: `${attention.path === selection.map && String(head) === selection.head ? 'at' : ''} ${off.includes(name) ? 'off' : ''}`,
        title: `${named(attention.path)}, head ${head + 1}`,
        onclick: () => choose({ view: 'map', map: attention.path, head: String(head) }),
      },
      h('span.pane', canvas, attention.causal && h('i.hatched')),
      h(
        'span',
        sort
          ? `${named(attention.path)
              .replace(/self.attention|cross.attention|attention/, '')
              .replace(/ · $/, '')} ${head + 1}`
          : `head ${head + 1}`,
        h('em', figure(found[sort || 'confidence'], 2)),
      ),
    );
  };
  const across = Math.max(...record.attention.map((one) => one.heads));
  const body =
    sort || across === 1
      ? h('div.thumbs', every.map(thumb))
      : h(
          'div.thumbs.layers',
          { style: { '--across': across } },
          record.attention.map((attention) => [
            h('h3', named(attention.path)),
            every.filter((one) => one.attention === attention).map(thumb),
            Array.from({ length: across - attention.heads }, () => h('span')),
          ]),
        );
  stage.append(
    body,
    h('p.honest', { style: { 'margin-top': '1.2rem' } }, HONEST),
    h(
      'p.note',
      `Below each, its ${SCORES[sort || 'confidence'][0]}: ${SCORES[sort || 'confidence'][1]}, over this text alone. Rows are who looks, columns what is looked at.`,
    ),
  );
  return {
    table: () => [
      ['layer', 'head', ...Object.keys(SCORES).slice(1)],
      ...every.map((one) => [
        one.attention.path,
        one.head,
        ...Object.keys(SCORES)
          .slice(1)
          .map((key) => one.scores[key].toPrecision(5)),
      ]),
    ],
    key: (key) => walk(key, '.thumb'),
  };
}

const MEASURES = { '': 'order', spread: 'spread', largest: 'largest', saturated: 'saturated' };

function allCells(stage, look, switches) {
  const { record, selection, choose } = look;
  const cells = cellsOf(record, selection);
  const sort = selection.sort in MEASURES ? selection.sort : '';
  const all = Array.from({ length: cells.width }, (_, unit) => {
    const values = cells.values(unit);
    const mean = values.reduce((a, b) => a + b, 0) / values.length;
    const spread = Math.sqrt(values.reduce((a, b) => a + (b - mean) ** 2, 0) / values.length);
    return {
      unit,
      values,
      spread,
      largest: Math.max(...values.map(Math.abs)),
      saturated: values.filter((v) => (cells.gate ? v < 0.1 || v > 0.9 : Math.abs(v) > 0.9)).length / values.length,
    };
  });
  if (sort) all.sort((a, b) => b[sort] - a[sort]);
  stage.append(
    (!record.attention.length &&
      h(
        'p.note',
        { style: { 'margin-bottom': '0.9rem' } },
        `This ${record.kind} has no heads, since it never looks back: here are its cells, each over the whole text.`,
      )) ||
      '',
    h(
      'div.controls',
      switches,
      choice(
        'cells',
        record.cells.map((one) => [one.path, named(one.path)]),
        cells.path,
        (path) => choose({ cells: path }),
        'cells',
      ),
      choice('sort by', Object.entries(MEASURES), sort, (value) => choose({ sort: value }), 'sort'),
    ),
  );
  const grid = h(
    'div.thumbs',
    all.slice(0, CELLS).map((one) => {
      const strip = raw(one.values, 1, one.values.length, {
        most: cells.gate ? 1 : Math.max(1e-6, one.largest),
        signed: !cells.gate,
      });
      strip.style.height = '1.6rem';
      return h(
        'button.thumb',
        {
          type: 'button',
          id: `cell-${one.unit}`,
          class: one.unit === selection.unit && cells.path === selection.cells ? 'at' : '',
          onclick: () => choose({ view: 'ribbon', ink: 'cell', cells: cells.path, unit: one.unit }),
        },
        strip,
        h('span', `cell ${one.unit}`, h('em', figure(one[sort || 'spread'], 2))),
      );
    }),
  );
  stage.append(
    grid,
    h(
      'p.note',
      { style: { 'margin-top': '1rem' } },
      `${Math.min(CELLS, cells.width)} of ${cells.width} cells; time runs from left to right over ${cells.steps} tokens; ${cells.gate ? 'dark is open' : 'orange is below zero, blue above, each on its own scale'}; below each, its ${MEASURES[sort] === 'order' ? 'spread' : MEASURES[sort]} over this text. Click one to see it on the text.`,
    ),
  );
  return {
    table: () => [
      ['cell', 'spread', 'largest', 'saturated'],
      ...all.map((one) => [
        one.unit,
        one.spread.toPrecision(5),
        one.largest.toPrecision(5),
        one.saturated.toPrecision(5),
      ]),
    ],
    key: (key) => walk(key, '.thumb'),
  };
}

/** Arrows walk through the pictures. */
function walk(key, selector) {
  const move = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: 'up', ArrowDown: 'down' }[key];
  if (!move) return false;
  const every = [...document.querySelectorAll(selector)];
  const at = every.indexOf(document.activeElement);
  if (at < 0) {
    every[0]?.focus();
    return true;
  }
  if (typeof move === 'number') {
    every[at + move]?.focus();
    return true;
  }
  const here = every[at].getBoundingClientRect();
  const line = every.filter((one) => {
    const box = one.getBoundingClientRect();
    return Math.abs(box.left - here.left) < 8 && (move === 'up' ? box.top < here.top - 4 : box.top > here.top + 4);
  });
  (move === 'up' ? line.at(-1) : line[0])?.focus();
  return true;
}
