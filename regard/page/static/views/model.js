// The model as one picture: tokens in below, the next word out above, and between them the numbers of this text.

import { lines, offline } from '../ask.js';
import { css, weightColour } from '../colour.js';
import { button, segments } from '../controls.js';
import { h, s } from '../dom.js';
import { numberIn } from '../selection.js';
import { bytes, percent, short } from '../words.js';
import { ladder, moved, sideways } from './common.js';
import { draftOf, nameOf } from './draft.js';
import { arrow, attentionLines, boxes, frames, handover, timeArrows, upArrows } from './strokes.js';

/** @import { Looked, View } from '../main.js' */
/** @import { Draft, Plan } from './draft.js' */

const FORWARDS =
  'Blue is above zero, orange below, each row on its own scale; gates and attention run from 0 to 1. ' +
  'Arrows that run sideways hand a state on, lines that spread are attention, the thicker the more weight.';
const BACKWARDS =
  'Backwards: the bars say how strongly a loss still reaches each vector, on a log scale; ' +
  'the mean over the last steps.';
const PACE = 900; // milliseconds of a step
let playing = 0;

/** @type {View} */
export const model = {
  key: 'model',
  title: 'Model',
  hint: 'Tokens in below, the next one out above: every box holds the numbers of this text. Click a part to open it.',
  draw(stage, look) {
    const { record, selection, choose } = look;
    const last = record.steps - 1;
    const at = Math.min(last, numberIn(selection.step) ?? last);
    const go = (/** @type {number} */ step) => choose({ step: String(Math.min(last, Math.max(0, step))) });
    const beside = innerWidth > 960 ? 17 * 16 + 40 : 0;
    const back = selection.direction === 'back';
    const draft = { ...draftOf(record, at, stage.clientWidth - beside), back };
    const place = h('div.scroller');
    stage.append(controls(look, at, last, go), h('div.columns.wide', place, h('div.aside', said(look, at))));
    place.append(picture(look, draft, null));
    if (back) {
      lengths(look).then(
        (found) => place.replaceChildren(picture(look, draft, found)),
        (error) => place.append(h('p.note', error.message)),
      );
    }
    return {
      what: `step ${at} of ${last + 1}${back ? ', backwards' : ''}`,
      table: () => table(draft),
      key: (key) => {
        if (!sideways(key)) return false;
        go(moved(at, sideways(key), last + 1));
        return true;
      },
    };
  },
};

/**
 * @param {Looked} look
 * @param {number} at
 * @param {number} last
 * @param {(step: number) => void} go
 */
function controls({ selection, choose, run }, at, last, go) {
  clearTimeout(playing);
  const play = (/** @type {number} */ step) => {
    go(step);
    if (step < last) playing = setTimeout(() => play(step + 1), PACE);
  };
  const ways = /** @type {[string, string][]} */ ([
    ['', 'forwards'],
    ['back', 'backwards (gradients)'],
  ]);
  const walk = [
    button('button.quiet', () => go(at - 1), { id: 'step-back', 'aria-label': 'the step before' }, '◀'),
    h('span', { id: 'step' }, `step ${at} of 0 – ${last}`),
    button('button.quiet', () => go(at + 1), { id: 'step-on', 'aria-label': 'the next step' }, '▶'),
    button('button.quiet', () => play(at < last ? at + 1 : 0), { id: 'play' }, 'Play'),
  ];
  return h(
    'div.controls',
    last > 0 && run.task.steps && h('span.field', walk),
    !run.kept && segments('direction', ways, selection.direction, (direction) => choose({ direction })),
  );
}

/**
 * ‖∂loss / ∂h‖ at each place, by path and then by how many positions before the loss.
 * @param {Looked} look
 * @returns {Promise<Map<string, number[]>>}
 */
async function lengths({ record }) {
  const found = await lines('/api/gradients', record.asked, () => {});
  return new Map(found.filter((line) => line.path).map((line) => [line.path, line.values]));
}

/**
 * @param {Looked} look
 * @param {Draft} draft
 * @param {Map<string, number[]> | null} gradients
 */
function picture(look, draft, gradients) {
  const { width, height, plans } = draft;
  const back = gradients !== null;
  const drawing = s(
    'svg.model',
    { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': 'the model on this text' },
    { class: back ? 'back' : '' },
    arrowHeads(),
    plans.map((plan) => frames(plan, draft)),
    plans.map((plan) => upArrows(plan, draft)),
    plans.map((plan) => timeArrows(plan, draft)),
    handover(draft),
    attentionLines(draft),
    plans.map((plan) => boxes(look, plan, draft)),
    plans.map((plan) => tokens(look, plan, draft)),
    plans.map((plan) => answers(look, plan, draft)),
    gradients && plans.map((plan) => reached(plan, draft, gradients)),
  );
  const note = back ? BACKWARDS : FORWARDS;
  return h('div', drawing, h('p.note', note));
}

function arrowHeads() {
  const shape = { viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 5, markerHeight: 5 };
  const head = (/** @type {string} */ id, /** @type {string} */ fill, /** @type {string} */ orient) =>
    s('marker', { id, orient, ...shape }, s('path', { d: 'M0 0L8 4L0 8z', fill }));
  return s(
    'defs',
    head('arrow', 'var(--strong)', 'auto-start-reverse'),
    head('arrow-now', 'var(--accent)', 'auto-start-reverse'),
  );
}

/**
 * What goes in: a token below each column.
 * @param {Looked} look
 * @param {Plan} plan
 * @param {Draft} draft
 */
function tokens({ choose, record }, plan, { at, bottom }) {
  const { body, places, x, title, left } = plan;
  const written = body.side === 'written';
  const found = places.map((t) => {
    const pick = () => written && choose({ step: String(t) });
    const name = body.tokens[t]?.text ?? '';
    const classes = `${written && t === at ? 'now' : ''} ${body.tokens[t]?.special ? 'faint' : ''}`;
    const place = { x: x(t), y: bottom + 16, 'text-anchor': 'middle' };
    return s('text.in', { class: classes, onclick: pick, ...place }, short(name, 7), s('title', name));
  });
  const whole = body.steps > places.length ? ` (${places[0]} – ${places.at(-1)} of ${body.steps})` : '';
  const given = written && record.source.length === 0 ? 'the text' : title;
  return s('g', s('text.axis', { x: left, y: bottom + 36 }, `${given}${whole}`), found);
}

/**
 * What comes out: above the column that is being computed the most probable tokens, above the others what was said.
 * @param {Looked} look
 * @param {Plan} plan
 * @param {Draft} draft
 */
function answers({ record, run, choose }, plan, { at, back }) {
  const { body, places, x, top, left } = plan;
  const each = run.task.each && body.side === 'source';
  if (!each && body.side !== 'written') return null;
  if (!record.top(at).length) return null; // it says nothing
  const open = () => choose({ view: 'decode' });
  const found = places.flatMap((t) => {
    if (t >= record.steps || (!each && t > at)) return [];
    const best = run.task.steps ? record.written[t + 1]?.text : record.top(t)[0]?.text;
    const place = { x: x(t), 'text-anchor': 'middle' };
    return [
      s('line.up', { x1: x(t), x2: x(t), y1: top - 2, y2: top - 14, ...arrow(t === at, back) }),
      s(
        'text.out',
        { ...place, y: top - 20, class: t === at ? 'now' : '' },
        short(best ?? '…', 7),
        s('title', best ?? ''),
      ),
    ];
  });
  const likely = record.top(at).slice(0, 3);
  const bars = each
    ? []
    : likely.flatMap((one, rank) => {
        const [y, wide] = [top - 78 + rank * 15, 70];
        const begin = Math.max(left, Math.min(x(at) - wide / 2, x(places.at(-1) ?? at) - wide / 2));
        return [
          s('rect.likely', { x: begin, y: y - 9, width: wide * one.p, height: 12 }),
          s('text.small', { x: begin + 2, y }, `${short(one.text, 7)} ${percent(one.p)}`),
        ];
      });
  return s('g.part', { onclick: open }, s('title', 'open Decode'), bars, found);
}

/**
 * How strongly the loss reaches each vector: a bar over its tile.
 * @param {Plan} plan
 * @param {Draft} draft
 * @param {Map<string, number[]>} gradients
 */
function reached({ rows, places, x, body }, { tile }, gradients) {
  const every = [...gradients.values()].flat().filter((value) => value > 0);
  const [least, most] = [Math.log(Math.min(...every)), Math.log(Math.max(...every))];
  const last = body.steps - 1;
  return rows.flatMap((row) => {
    const values = row.strip && gradients.get(row.strip.path);
    if (!values) return [];
    return places.flatMap((t) => {
      const value = values[last - t];
      if (!(value > 0)) return [];
      const share = most > least ? 0.15 + 0.85 * ((Math.log(value) - least) / (most - least)) : 1;
      const place = { x: x(t) - tile / 2, y: row.y + row.height + 1, width: tile * share, height: 4 };
      return [s('rect.reach', { ...place, fill: css(weightColour(share)) }, s('title', value.toPrecision(3)))];
    });
  });
}

/**
 * The step in words and numbers.
 * @param {Looked} look
 * @param {number} at
 */
function said({ record, run }, at) {
  const { task } = run;
  const call = record.calls[Math.max(0, Math.min(at - record.given + 1, record.calls.length - 1))];
  const state = `${bytes(call.bytes)} of state behind it: ${call.computed} computed, ${call.reused} reused.`;
  if (!task.steps) {
    return [h('h3', `it says ${task.labels}`), ladder(record, 0), h('p.hint', HINT)];
  }
  const [fed, next] = [record.written[at], record.written[at + 1]];
  const log = record.said(at);
  const sure = log === null ? '' : ` (${percent(Math.exp(log))})`;
  return [
    h('h3', 'fed ', h('span.token', short(fed.text, 20))),
    next && h('p', 'and said ', h('span.token', short(next.text, 20)), sure),
    h('h3', 'might have been'),
    ladder(record, at),
    h('h3', 'state'),
    h('p', state),
    !offline && h('p.hint', { style: { 'margin-top': '0.8rem' } }, HINT),
  ];
}

const HINT = 'Left and right, or a click on a token, go to another step; a click on a part opens its view.';

/**
 * Every stage with its path, what it is, and its shape.
 * @param {Draft} draft
 */
function table({ plans }) {
  const rows = plans.flatMap((plan) =>
    plan.rows.map((row) => [plan.body.side, row.path, nameOf(row), row.shape.join(' × ')]),
  );
  return [['side', 'path', 'part', 'shape'], ...rows];
}
