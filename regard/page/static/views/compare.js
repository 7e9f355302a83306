// Edit and compare: change a token, a head or a cell, or take another run, and see what changes.

import { choice, segments, state } from '../controls.js';
import { byId, h } from '../dom.js';
import { heatmap, legend } from '../heatmap.js';
import { figure, percent } from '../words.js';
import { HONEST, chooseHead, chooseScale, headOf, layerOf, scaleOf } from './common.js';
import { editor } from './editor.js';

/** @import { Question, Run } from '../ask.js' */
/** @import { Part } from '../dom.js' */
/** @import { Grid } from '../heatmap.js' */
/** @import { Looked, View } from '../main.js' */
/** @import { Attention, Record } from '../record.js' */

/**
 * Two passes and how they are called.
 * @typedef {{records: [Record, Record], names: [string, string]}} Pair
 */

const NOTHING =
  'Replace a token, switch off a head or hold a cell above; the answer, the probabilities and the map are then shown ' +
  'side by side, on one scale.';

/** @type {View} */
export const compare = {
  key: 'compare',
  title: 'Edit and compare',
  hint: 'The same text twice: as it is, and with something changed.',
  draw(stage, look) {
    const { record, selection, runs, run } = look;
    if (run.kept) {
      stage.append(state('There is nothing to change', run.kept));
      return null;
    }
    const other = selection.other === '' ? undefined : runs[Number(selection.other)];
    const side = h('div');
    stage.append(controls(look, other), other ? side : h('div.editing', editor(look), side));
    let records = [record, record];
    const shown = { table: () => table(records) };
    if (!other && !selection.off && !selection.held && !selection.replaced) {
      side.append(state('Nothing is changed yet', NOTHING));
      return shown;
    }
    side.append(h('p.note', 'Computing the other side…'));
    pairOf(look, other)
      .then((pair) => {
        records = pair.records;
        side.replaceChildren(h('div', bothSides(look, pair)));
      })
      .catch((error) => side.replaceChildren(state('That did not work', error.message, 'wrong')));
    return shown;
  },
};

/**
 * Against what: an edit, or another run of the same task.
 * @param {Looked} look
 * @param {Run | undefined} other
 */
function controls({ run, runs, selection, choose }, other) {
  const others = runs
    .map((one, i) => /** @type {[string, Run]} */ ([String(i), one]))
    .filter(([, one]) => one !== run && one.task.name === run.task.name);
  if (!others.length) return h('div.controls');
  const modes = /** @type {[string, string][]} */ ([
    ['edit', 'an edit'],
    ['run', 'another run'],
  ]);
  const names = others.map(([i, one]) => /** @type {[string, string]} */ ([i, one.name]));
  return h(
    'div.controls',
    segments('against', modes, other ? 'run' : 'edit', (mode) => choose({ other: mode === 'run' ? others[0][0] : '' })),
    other && choice('run', names, selection.other, (i) => choose({ other: i }), 'other'),
  );
}

/**
 * The pass as it is and the other one, which is asked for.
 * @param {Looked} look
 * @param {Run | undefined} other
 * @returns {Promise<Pair>}
 */
async function pairOf(look, other) {
  const { record, selection, run } = look;
  const asked = look.question();
  const { off, held, ...bare } = asked;
  if (other) {
    const found = await look.recordFor({ ...bare, run: Number(selection.other) });
    return { records: [record, found], names: [run.name, other.name] };
  }
  /** @type {Question} */
  const changed = selection.replaced ? { ...asked, text: selection.replaced } : asked;
  const before = off || held ? look.recordFor(bare) : record;
  const records = await Promise.all([before, look.recordFor(changed)]);
  return { records, names: ['as it is', 'changed'] };
}

/**
 * @param {Looked} look
 * @param {Pair} pair
 * @returns {Part}
 */
function bothSides(look, pair) {
  return [answers(look, pair), probabilities(pair), maps(look, pair)];
}

/**
 * @param {Looked} look
 * @param {Pair} pair
 */
function answers({ run }, { records, names }) {
  const texts = records.map((one) => answerOf(one, run));
  const same = texts[0] === texts[1];
  const sides = names.map((name, i) => {
    const words = marked(texts[i], texts[1 - i], i ? 'ins' : 'del');
    return h('section', h('h3', { class: 'sub' }, name), h('p.ribbon.flow.diff', words));
  });
  return h('section', h('h3', same ? 'The answer is the same' : 'The answer changes'), h('div.pair', sides));
}

/**
 * @param {Record} record
 * @param {Run} run
 */
function answerOf(record, { task }) {
  if (task.steps) return record.texts.written;
  if (task.each)
    return record.written
      .slice(1)
      .map((token) => token.text)
      .join(' ');
  return record
    .top(0)
    .slice(0, 3)
    .map((one) => `${one.text} ${percent(one.p)}`)
    .join('  ');
}

/**
 * The words of one answer, those that the other has not marked: all but a longest common subsequence.
 * @param {string} mine
 * @param {string} other
 * @param {string} tag
 */
function marked(mine, other, tag) {
  const [a, b] = [mine, other].map((text) => text.split(/(\s+)/).filter((word) => word !== ''));
  const longest = common(a, b);
  const found = [];
  let j = 0;
  for (let i = 0; i < a.length; i++) {
    while (j < b.length && a[i] !== b[j] && longest[i][j + 1] >= longest[i + 1][j]) j += 1;
    const shared = j < b.length && a[i] === b[j];
    found.push(shared ? a[i] : h(tag, a[i]));
    if (shared) j += 1;
  }
  return found;
}

/**
 * How long a subsequence a[i:] and b[j:] have in common, for every i and j.
 * @param {string[]} a
 * @param {string[]} b
 */
function common(a, b) {
  const longest = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const apart = Math.max(longest[i + 1][j], longest[i][j + 1]);
      longest[i][j] = a[i] === b[j] ? longest[i + 1][j + 1] + 1 : apart;
    }
  }
  return longest;
}

/**
 * How probable each side found what it said.
 * @param {Pair} pair
 */
function probabilities({ records, names }) {
  const head = h(
    'tr',
    ['', 'Σ log p', 'tokens', 'log p a token'].map((name) => h('th', name)),
  );
  const rows = records.map((one, i) => {
    const { data } = one.blob('top.said');
    let sum = 0;
    for (const log of data) sum += log;
    const mean = sum / Math.max(1, data.length);
    return h('tr', h('td', names[i]), h('td.n', figure(sum)), h('td.n', data.length), h('td.n', figure(mean)));
  });
  return h('section.section', h('h3', 'How probable it found it'), h('table.numbers', head, rows));
}

/**
 * The maps of both on one scale, and what the second has more than the first.
 * @param {Looked} look
 * @param {Pair} pair
 */
function maps(look, { records, names }) {
  const { selection } = look;
  const layers = records.map((one) => layerOf(one, selection));
  const there = layers.filter((one) => one !== null);
  if (!there.length) return null;
  const scale = scaleOf(selection, Math.max(...there.map((one) => one.columns)));
  const causal = there.some((one) => one.causal);
  const room = roomFor(selection.other === '');
  const grids = layers.map((one) => one && gridOf(one, headOf(one, selection)));
  const sides = grids.map((grid, i) => {
    const wishes = { causal: layers[i]?.causal, scale, room, id: `grip-${i}` };
    const none = h('p.note', 'This run has no attention: it never looks back.');
    const figure_ = grid ? h('div.scroller', heatmap({ ...grid, ...wishes })) : none;
    return h('div', h('h3', { class: 'sub' }, names[i]), figure_);
  });
  return h(
    'section.section',
    h('h3', 'Where it looked'),
    h('div.controls', layers[0] && chooseHead(look, layers[0]), chooseScale(look, scale), legend({ scale, causal })),
    h('div.pair', sides),
    difference(grids, there[0].causal, room),
    h('p.honest', HONEST),
  );
}

/**
 * @param {Attention} attention
 * @param {number | 'mean'} head
 * @returns {Grid}
 */
function gridOf(attention, head) {
  const { rows, columns } = attention;
  return { weights: attention.weights(head), rows, columns, names: attention.names() };
}

/**
 * How wide each of two maps may be, in pixels; beside an editor there is less.
 * @param {boolean} editing
 */
function roomFor(editing) {
  const large = innerWidth > 960;
  const beside = large && editing ? 21 * 16 + 40 : 0;
  return Math.max(240, (byId('stage').clientWidth - beside) / (large ? 2 : 1) - 40);
}

/**
 * @param {(Grid | null)[]} grids
 * @param {boolean} causal
 * @param {number} room
 */
function difference([a, b], causal, room) {
  if (!a || !b || a.rows !== b.rows || a.columns !== b.columns) return null;
  const weights = b.weights.map((w, i) => w - a.weights[i]);
  const most = Math.max(0.01, ...weights.map(Math.abs));
  const figure_ = heatmap({ ...a, weights, causal, signed: true, most, room, id: 'grip-difference' });
  return h(
    'div',
    { style: { 'margin-top': '1.2rem' } },
    h('h3', { class: 'sub' }, 'the second less the first'),
    h('div.scroller', figure_),
    h('p', legend({ most, signed: true })),
  );
}

/** @param {Record[]} records */
function table(records) {
  const rows = records.flatMap((one, side) =>
    one.written.slice(1).map((token, t) => [side + 1, t, token.text, one.said(t) ?? '']),
  );
  return [['side', 'step', 'token', 'log p'], ...rows];
}
