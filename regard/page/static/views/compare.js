// Edit and compare: change a token, a head or a cell, or take another run, and see what changes.

import { choice, segments, state } from '../controls.js';
import { byId, h } from '../dom.js';
import { heatmap, legend } from '../heatmap.js';
import { figure, percent } from '../words.js';
import { HONEST, attentionOf, chooseHead, chooseScale, headOf, scaleOf } from './common.js';
import { editor } from './editor.js';

/** @import { Question, Run } from '../ask.js' */
/** @import { Part } from '../dom.js' */
/** @import { Grid } from '../heatmap.js' */
/** @import { Looked, View } from '../main.js' */
/** @import { Attention, Record } from '../record.js' */

/**
 * Two passes and how they are called. `judged`: of two runs, how each found what either said, judged[run][answer].
 * @typedef {{records: [Record, Record], names: [string, string], judged: Record[][] | null}} Pair
 */

const NOTHING =
  'Replace a token, switch off a head or hold a cell; the answer, the probabilities and the map are then shown ' +
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
    const { answer, ...given } = bare; // tokens that were chosen are this run's own
    const found = await look.recordFor({ ...given, run: Number(selection.other) });
    const judged = run.task.steps ? await judgedBy(look, given, [record, found]) : null;
    return { records: [record, found], names: [run.name, other.name], judged };
  }
  /** @type {Question} */
  const changed = selection.replaced ? { ...asked, text: selection.replaced } : asked;
  const before = off || held ? look.recordFor(bare) : record;
  const records = await Promise.all([before, look.recordFor(changed)]);
  return { records, names: ['as it is', 'changed'], judged: null };
}

/**
 * How each of two runs finds what either said: the same text, in its own tokens.
 * @param {Looked} look
 * @param {Question} asked
 * @param {[Record, Record]} records
 */
async function judgedBy(look, asked, records) {
  const { text, picture } = asked;
  const about = picture ? { text, picture } : { text };
  const judge = (/** @type {number} */ i, /** @type {number} */ j) => {
    const { wording } = records[j];
    if (i === j || !wording) return records[i];
    return look.recordFor({ run: records[i].asked.run, ...about, beam: 1, wording });
  };
  return Promise.all([0, 1].map((i) => Promise.all([0, 1].map((j) => judge(i, j)))));
}

/**
 * @param {Looked} look
 * @param {Pair} pair
 * @returns {Part}
 */
function bothSides(look, pair) {
  return [answers(look, pair), pair.judged ? judgements(pair, pair.judged) : probabilities(pair), maps(look, pair)];
}

/**
 * @param {Looked} look
 * @param {Pair} pair
 */
function answers({ run }, { records, names }) {
  const texts = records.map((one) => answerOf(one, run));
  const same = texts[0] === texts[1];
  const sides = names.map((name, i) => {
    const given =
      run.task.continues && h('span.given', records[i].texts.written.slice(0, -texts[i].length || undefined));
    const words = marked(texts[i], texts[1 - i], i ? 'ins' : 'del');
    return h('section', h('h3', { class: 'sub' }, name), h('p.ribbon.flow.diff', given, words));
  });
  return h('section', h('h3', same ? 'The answer is the same' : 'The answer changes'), h('div.pair', sides));
}

/**
 * @param {Record} record
 * @param {Run} run
 */
function answerOf(record, { task }) {
  if (task.steps) return record.wording;
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
  /** @type {{text: string, shared: boolean}[]} */
  const runs = [];
  let j = 0;
  for (let i = 0; i < a.length; i++) {
    while (j < b.length && a[i] !== b[j] && longest[i][j + 1] >= longest[i + 1][j]) j += 1;
    const shared = j < b.length && a[i] === b[j];
    const last = runs.at(-1);
    if (last && last.shared === shared) last.text += a[i];
    else runs.push({ text: a[i], shared });
    if (shared) j += 1;
  }
  return together(runs).flatMap(({ text, shared }) => {
    if (shared) return [text];
    const [, before, inner, behind] = text.match(/^(\s*)([\s\S]*?)(\s*)$/) ?? ['', '', text, ''];
    return [before, inner && h(tag, inner), behind];
  });
}

/**
 * Marked words with nothing but blanks between them are marked as one.
 * @param {{text: string, shared: boolean}[]} runs
 */
function together(runs) {
  /** @type {{text: string, shared: boolean}[]} */
  const found = [];
  runs.forEach((one, i) => {
    const between = one.shared && !one.text.trim() && i > 0 && i < runs.length - 1;
    const shared = one.shared && !between;
    const last = found.at(-1);
    if (last && last.shared === shared) last.text += one.text;
    else found.push({ text: one.text, shared });
  });
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
 * log p of the answer, what was given left out; where nothing was written, of what was read.
 * @param {Record} record
 */
function logsOf(record) {
  const data = Array.from(record.blob('top.said').data);
  return record.answer.length ? data.slice(record.given - 1) : data;
}

/** @param {number[]} values */
function sumOf(values) {
  return values.reduce((a, b) => a + b, 0);
}

/**
 * −Σ log₂ p for each byte of the answer: what two runs with different tokens can be compared by.
 * @param {Record} record
 * @param {string} wording
 */
function bitsOf(record, wording) {
  const size = new TextEncoder().encode(wording).length;
  return size ? -sumOf(logsOf(record)) / Math.LN2 / size : Number.NaN;
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
    const logs = logsOf(one);
    const sum = sumOf(logs);
    const mean = sum / Math.max(1, logs.length);
    return h('tr', h('td', names[i]), h('td.n', figure(sum)), h('td.n', logs.length), h('td.n', figure(mean)));
  });
  return h('section.section', h('h3', 'How probable it found it'), h('table.numbers', head, rows));
}

/**
 * Each run on each answer, in bits for each byte.
 * @param {Pair} pair
 * @param {Record[][]} judged
 */
function judgements({ records, names }, judged) {
  const whose = names.map((name) => h('th.n', `what ${name} said`));
  const rows = judged.map((each, i) => {
    const cells = each.map((one, j) => h('td.n', figure(bitsOf(one, records[j].wording))));
    return h('tr', h('th', names[i]), cells);
  });
  return h(
    'section.section',
    h('h3', 'How probable each found either answer'),
    h('p', 'Bits for each byte of the same text, whatever its tokens: less is more probable.'),
    h('table.numbers.judged', h('tr', h('th'), whose), rows),
  );
}

/**
 * The maps of both on one scale, and what the second has more than the first.
 * @param {Looked} look
 * @param {Pair} pair
 */
function maps(look, { records, names }) {
  const { selection } = look;
  const layers = records.map((one) => attentionOf(one, selection));
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
