// How an answer was made: what might have stood at each step, the beam's tree, and what was reused.

import { button, choice } from '../controls.js';
import { h, hideTip, s, showTip } from '../dom.js';
import { beamOf } from '../question.js';
import { bytes, percent, short } from '../words.js';
import { sideways } from './common.js';
import { tree } from './tree.js';

/** @import { Looked, Shown, View } from '../main.js' */
/** @import { Call, Record } from '../record.js' */
/** @import { Part } from '../dom.js' */

const BEAMS = [1, 2, 3, 4, 5, 8];
const GO_ON = 'Click another token to go on from there.';

/** @type {View} */
export const decode = {
  key: 'decode',
  title: 'Decode',
  hint: `Step by step: what was said, what might have been said, and what it cost. ${GO_ON}`,
  draw(stage, look) {
    const { record, selection, choose, run } = look;
    if (!run.task.steps) return labels(stage, look);
    const beams = BEAMS.map((n) => /** @type {[number, Part]} */ ([n, n === 1 ? '1 (always the most probable)' : n]));
    const chooser = choice('beam', beams, beamOf(run, selection), (n) => choose({ beam: n }), 'beam');
    stage.append(
      h('div.controls', !run.kept && chooser),
      ladder(look),
      record.tree.length ? tree(look) : noTree(),
      states(record),
    );
    return { table: () => table(record), key: (key) => walk(stage, record.top(0).length, key) };
  },
};

function noTree() {
  const why = 'One hypothesis is followed, so there is no tree; choose a wider beam to see one.';
  return h('section.section', h('h3', 'Beam tree'), h('p', why));
}

/** @param {Record} record */
function table(record) {
  const rows = Array.from({ length: record.steps }, (_, t) =>
    record.top(t).map((one, rank) => [t, record.written[t]?.text ?? '', rank + 1, one.text, one.p.toPrecision(5)]),
  );
  return [['step', 'fed', 'rank', 'token', 'probability'], ...rows.flat()];
}

/**
 * Arrows walk over the ladder, whose rungs have so many alternatives.
 * @param {HTMLElement} stage
 * @param {number} rung
 * @param {string} key
 */
function walk(stage, rung, key) {
  const move = { ArrowUp: -1, ArrowDown: 1 }[key] ?? sideways(key) * rung;
  if (!move) return false;
  const every = /** @type {HTMLElement[]} */ ([...stage.querySelectorAll('.rung button')]);
  const at = every.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  (at < 0 ? every[0] : every[at + move])?.focus();
  return true;
}

/**
 * At each step the most probable tokens, and what was said where it is none of them.
 * @param {Looked} look
 */
function ladder(look) {
  const { record } = look;
  const first = record.given - 1; // the step that the first token of the answer came from
  const steps = Array.from({ length: record.steps - first }, (_, i) => first + i);
  return h(
    'section.section',
    { style: { 'margin-top': 0 } },
    h('h3', 'Ladder'),
    h('p', 'At each step the most probable tokens; what was said is bold.'),
    h(
      'div.ladder',
      { tabindex: 0, role: 'group', 'aria-label': 'steps' },
      steps.map((t) => rung(look, first, t)),
    ),
  );
}

/**
 * @param {Looked} look
 * @param {number} first
 * @param {number} t
 */
function rung({ record, choose, run }, first, t) {
  const next = record.written[t + 1];
  const [top, said] = [record.top(t), record.said(t)];
  const before = record.written.slice(record.given, t + 1).map((token) => token.id);
  const others = top.map((one, rank) =>
    alternative(one, one.id === next?.id, () => choose({ answer: [...before, one.id].join(',') }), {
      id: `rung-${t}-${rank}`,
      title: `go on with ${one.text}`,
      disabled: one.id === record.special.stop || run.kept !== '',
    }),
  );
  const unlikely = next && said !== null && !top.some((one) => one.id === next.id);
  const title = h(
    'h4',
    { title: next?.text ?? '' },
    h('small', `step ${t - first + 1}`),
    next ? short(next.text, 10) : '…',
  );
  return h(
    'div.rung',
    title,
    others,
    unlikely && h('button.took', { disabled: true }, named(next.text, Math.exp(said))),
  );
}

/**
 * A token, behind it a bar as long as it is probable.
 * @param {{text: string, p: number}} one
 * @param {boolean} took
 * @param {(() => void) | null} act
 * @param {{[name: string]: unknown}} attributes
 */
function alternative({ text, p }, took, act, attributes, most = 8) {
  const bar = h('i', { style: { width: `${(100 * p).toFixed(1)}%` } });
  return button('button', act, { class: took ? 'took' : '', ...attributes }, bar, named(text, p, most));
}

/**
 * @param {string} text
 * @param {number} p
 */
function named(text, p, most = 8) {
  return h('span', h('b', short(text, most)), h('em', percent(p)));
}

/**
 * The state at each step: what was there already, and what was computed anew.
 * @param {Record} record
 */
function states({ calls }) {
  const last = calls[calls.length - 1];
  const growing = calls.length > 1 && last.bytes > calls[0].bytes;
  const grows =
    'It grows: keys and values of everything seen. Grey was reused, blue computed at that step; ' +
    `${bytes(calls[0].bytes)} at first, ${bytes(last.bytes)} at last.`;
  const once = `Read in one pass: ${bytes(last.bytes)}. Let it write to see what each step adds.`;
  const stays =
    `It stays as large as it is, ${bytes(last.bytes)}, however much is written: ` +
    'each step hands on a new value of the same size.';
  const meaning = growing ? grows : calls.length === 1 ? once : stays;
  return h('section.section', h('h3', 'State'), h('p', meaning), h('div.scroller', strip(calls, growing)));
}

/**
 * A bar for each step, as high as the state has bytes.
 * @param {Call[]} calls
 * @param {boolean} growing
 */
function strip(calls, growing) {
  const largest = Math.max(...calls.map((call) => call.bytes), 1);
  const [height, step] = [70, Math.max(4, Math.min(26, 900 / calls.length))];
  const width = calls.length * step + 80;
  const bars = calls.map((call, t) => {
    const whole = (call.bytes / largest) * height;
    // A state that does not grow is one value for another: there is nothing in it to part into old and new.
    const parted = t > 0 && growing;
    const added = parted ? Math.max(1.5, ((call.bytes - calls[t - 1].bytes) / largest) * height) : whole;
    const place = { x: t * step, width: Math.max(1, step - 1.5) };
    const old = { y: height - whole, height: Math.max(0, whole - added), fill: 'var(--strong)', 'fill-opacity': 0.55 };
    const anew = { y: height - added, height: added, fill: 'var(--accent)' };
    const tip = (/** @type {PointerEvent} */ event) => showTip(event.clientX, event.clientY, costOf(call));
    return s('g', { onpointermove: tip, onpointerleave: hideTip }, s('rect', place, old), s('rect', place, anew));
  });
  const count = calls.length > 3 ? calls.length : '';
  return s(
    'svg.chart',
    { viewBox: `0 0 ${width} ${height + 22}`, width, style: { 'max-width': `${width}px` } },
    { role: 'img', 'aria-label': 'bytes of the state at each step' },
    bars,
    s('text.axis', { x: 0, y: height + 16 }, 'step 1'),
    s('text.axis', { x: calls.length * step, y: height + 16, 'text-anchor': 'end' }, count),
  );
}

/** @param {Call} call */
function costOf({ computed, reused, bytes: size }) {
  const positions = `${computed} position${computed > 1 ? 's' : ''} computed, ${reused} reused`;
  return [h('span.big', bytes(size)), h('div', positions)];
}

/**
 * What is said at once: labels, the most probable first.
 * @param {HTMLElement} stage
 * @param {Looked} look
 * @returns {Shown}
 */
function labels(stage, { record, run: { task } }) {
  const rows = task.each ? [...Array(record.steps).keys()] : [0];
  const rungs = rows.map((t) => {
    const title = h('h4', task.each ? short(record.source[t]?.text ?? '', 12) : 'class');
    const found = record.top(t).map((one, i) => alternative(one, i === 0, null, { disabled: true }, 12));
    return h('div.rung', { style: { width: '9rem' } }, title, found);
  });
  stage.append(
    h('p.note', `A ${task.name} decodes nothing: it reads the whole text and says ${task.labels} at once.`),
    h('div.ladder', { style: { 'margin-top': '1rem' } }, rungs),
  );
  const cells = rows.flatMap((t) => record.top(t).map((one) => [t, one.text, one.p.toPrecision(5)]));
  return { table: () => [['position', 'label', 'probability'], ...cells] };
}
