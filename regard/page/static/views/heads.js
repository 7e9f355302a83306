// Every head, or every cell, as a small picture that can be sorted by what it does.

import { button, choice, segments, tick } from '../controls.js';
import { h } from '../dom.js';
import { legend, raw, thumbnail } from '../heatmap.js';
import { list } from '../selection.js';
import { figure, named } from '../words.js';
import { HONEST, cellsOf, chooseScale, pathsOf, scaleOf } from './common.js';
import { MEASURES, NAMES, SCORES, cellScores, scores } from './scores.js';

/** @import { Part } from '../dom.js' */
/** @import { Looked, Shown, View } from '../main.js' */
/** @import { Attention, Cells } from '../record.js' */
/** @import { Scores } from './scores.js' */

const SIDE = 96;
const CELLS = 96; // cells that are shown at once

/**
 * @typedef {{attention: Attention, head: number, scores: Scores}} Head
 * @typedef {{unit: number, values: Float32Array, scores: Scores}} Cell
 */

/** @type {View} */
export const heads = {
  key: 'heads',
  title: 'Heads',
  hint: 'All of them at once; click one to see its map.',
  draw(stage, look) {
    const { record, selection, choose } = look;
    const cells = cellsOf(record, selection);
    const both = record.attention.length > 0 && cells !== null;
    const gallery = selection.gallery === 'cells' ? 'cells' : '';
    const kinds = /** @type {[string, string][]} */ ([
      ['', 'heads'],
      ['cells', 'cells'],
    ]);
    const switches = both && segments('show', kinds, gallery, (value) => choose({ gallery: value, sort: '' }));
    if (cells && (gallery || !both)) return allCells(stage, look, cells, switches);
    return allHeads(stage, look, switches);
  },
};

/**
 * @param {HTMLElement} stage
 * @param {Looked} look
 * @param {Part} switches
 * @returns {Shown}
 */
function allHeads(stage, look, switches) {
  const { record, selection, choose } = look;
  const sort = selection.sort in SCORES ? selection.sort : '';
  const [title, meaning] = SCORES[sort || 'confidence'];
  const every = record.attention.flatMap(headsOf);
  const up = selection.turned ? -1 : 1;
  if (sort) every.sort((a, b) => up * (b.scores[sort] - a.scores[sort]));
  const scale = scaleOf(selection, Math.max(...record.attention.map((one) => one.columns)));
  const sorts = Object.entries(SCORES).map(([key, [name]]) => /** @type {[string, string]} */ ([key, name]));
  const thumb = (/** @type {Head} */ one) => headThumb(look, one, sort, scale);
  stage.append(
    h(
      'div.controls',
      switches,
      choice('sort by', sorts, sort, (value) => choose({ sort: value }), 'sort'),
      sort && tick('the least first', selection.turned, (value) => choose({ turned: value })),
      chooseScale(look, scale),
      legend({ scale, causal: record.attention.some((one) => one.causal) }),
      sort && h('span', meaning),
    ),
    sort ? h('div.thumbs', every.map(thumb)) : byLayer(record.attention, every, thumb),
    h('p.honest', { style: { 'margin-top': '1.2rem' } }, HONEST),
    h('p.note', `Below each, its ${title}: ${meaning}, over this text alone. `, WHOSE),
  );
  const row = (/** @type {Head} */ { attention, head, scores: found }) => [
    attention.path,
    head,
    ...NAMES.map((name) => found[name].toPrecision(5)),
  ];
  return { table: () => [['layer', 'head', ...NAMES], ...every.map(row)], key: walk };
}

const WHOSE = 'Rows are who looks, columns what is looked at.';

/**
 * @param {Attention} attention
 * @returns {Head[]}
 */
function headsOf(attention) {
  return Array.from({ length: attention.heads }, (_, head) => ({ attention, head, scores: scores(attention, head) }));
}

/**
 * A line for each layer; where every layer has one head, they follow each other.
 * @param {Attention[]} layers
 * @param {Head[]} every
 * @param {(head: Head) => HTMLElement} thumb
 */
function byLayer(layers, every, thumb) {
  const across = Math.max(...layers.map((one) => one.heads));
  if (across === 1) return h('div.thumbs', every.map(thumb));
  const lines = layers.map((attention) => [
    h('h3', named(attention.path)),
    every.filter((one) => one.attention === attention).map(thumb),
    Array.from({ length: across - attention.heads }, () => h('span')),
  ]);
  return h('div.thumbs.layers', { style: { '--across': across } }, lines);
}

/**
 * @param {Looked} look
 * @param {Head} one
 * @param {string} sort
 * @param {string} scale
 */
function headThumb({ selection, choose }, { attention, head, scores: found }, sort, scale) {
  const { path, rows, columns, grid } = attention;
  const name = `${path}[${head}]`;
  const canvas = thumbnail(attention, head, SIDE, scale);
  const oblong = Math.abs(Math.log(columns / rows)) > 1;
  if (!grid) canvas.style.aspectRatio = oblong ? '1' : `${columns} / ${rows}`;
  const at = path === selection.layer && String(head) === selection.head;
  const classes = `${at ? 'at' : ''} ${list(selection.off).includes(name) ? 'off' : ''}`;
  return button(
    'button.thumb',
    () => choose({ view: 'map', layer: path, head: String(head) }),
    { id: `thumb-${name}`, class: classes, title: name },
    h('span.pane', canvas),
    sort && h('small', named(path)),
    h('span', `head ${head}`, h('em', figure(found[sort || 'confidence'], 2))),
  );
}

/**
 * @param {HTMLElement} stage
 * @param {Looked} look
 * @param {Cells} cells
 * @param {Part} switches
 * @returns {Shown}
 */
function allCells(stage, look, cells, switches) {
  const { record, selection, choose, run } = look;
  const sort = selection.sort in MEASURES ? selection.sort : '';
  const all = Array.from({ length: cells.width }, (_, unit) => {
    const values = cells.values(unit);
    return { unit, values, scores: cellScores(values, cells.gate) };
  });
  if (sort) all.sort((a, b) => b.scores[sort] - a.scores[sort]);
  if (!record.attention.length) {
    const why = `This ${run.task.name} has no heads, since it never looks back: `;
    const what = 'here are its cells, each over the whole text.';
    stage.append(h('p.note', { style: { 'margin-bottom': '0.9rem' } }, why + what));
  }
  const inks = cells.gate ? 'dark is open' : 'orange is below zero, blue above, each on its own scale';
  stage.append(
    h(
      'div.controls',
      switches,
      choice('cells', pathsOf(record.cells), cells.path, (path) => choose({ cells: path }), 'cells'),
      choice('sort by', Object.entries(MEASURES), sort, (value) => choose({ sort: value }), 'sort'),
    ),
    h(
      'div.thumbs',
      all.slice(0, CELLS).map((one) => cellThumb(look, cells, one, sort || 'spread')),
    ),
    h(
      'p.note',
      { style: { 'margin-top': '1rem' } },
      `${Math.min(CELLS, cells.width)} of ${cells.width} cells; `,
      `time runs from left to right over ${cells.steps} tokens; `,
      `${inks}; below each, its ${sort || 'spread'} over this text. Click one to see it on the text.`,
    ),
  );
  const names = Object.keys(MEASURES).slice(1);
  const row = (/** @type {Cell} */ one) => [one.unit, ...names.map((name) => one.scores[name].toPrecision(5))];
  return { table: () => [['cell', ...names], ...all.map(row)], key: walk };
}

/**
 * @param {Looked} look
 * @param {Cells} cells
 * @param {Cell} one
 * @param {string} score
 */
function cellThumb({ selection, choose }, cells, { unit, values, scores: found }, score) {
  const most = cells.gate ? 1 : Math.max(1e-6, found.largest);
  const strip = raw(values, 1, values.length, { most, signed: !cells.gate });
  strip.style.height = '1.6rem';
  const at = unit === selection.unit && cells.path === selection.cells;
  return button(
    'button.thumb',
    () => choose({ view: 'ribbon', ink: 'cell', cells: cells.path, unit }),
    { id: `cell-${unit}`, class: at ? 'at' : '' },
    strip,
    h('span', `cell ${unit}`, h('em', figure(found[score], 2))),
  );
}

/**
 * Arrows walk through the pictures: along a line, and to the nearest above or below.
 * @param {string} key
 */
function walk(key) {
  const move = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 }[key];
  if (!move) return false;
  const every = /** @type {HTMLElement[]} */ ([...document.querySelectorAll('.thumb')]);
  const at = every.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  if (at < 0) every[0]?.focus();
  else if (key === 'ArrowLeft' || key === 'ArrowRight') every[at + move]?.focus();
  else beyond(every, every[at], move)?.focus();
  return true;
}

/**
 * The nearest picture in the same column, above (−1) or below (1).
 * @param {HTMLElement[]} every
 * @param {HTMLElement} one
 * @param {number} move
 */
function beyond(every, one, move) {
  const here = one.getBoundingClientRect();
  const there = every.filter((other) => {
    const box = other.getBoundingClientRect();
    return Math.abs(box.left - here.left) < 8 && move * (box.top - here.top) > 4;
  });
  return move < 0 ? there.at(-1) : there[0];
}
