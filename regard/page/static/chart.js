// Curves on two axes, log or plain, told apart by colour, dash and name.

import { LINES, lineColour } from './colour.js';
import { h, hideTip, s, showTip } from './dom.js';
import { figure } from './words.js';

const [WIDE, TALL, LEFT, BOTTOM, TOP] = [820, 330, 62, 40, 14];
const LETTER = 6.6; // pixels of a name's letters
const MIDDLE = TOP + (TALL - BOTTOM - TOP) / 2;

/**
 * across: what the horizontal axis counts, xs: how its places are called; up: what the vertical one is.
 * @typedef {{name: string, values: number[]}} Curve
 * @typedef {{curves: Curve[], across: string, up: string, log?: boolean, low?: number, high?: number,
 *   xs?: string[]}} Wishes
 *
 * Where a value stands, and whether it can be drawn: zero has no logarithm.
 * `right`: where curves end and their names begin.
 * @typedef {{longest: number, right: number, x: (k: number) => number, y: (value: number) => number,
 *   there: (value: number) => boolean, marks: [number, string][]}} Axes
 */

/** @param {Wishes} wishes */
export function chart(wishes) {
  const { curves, across, up } = wishes;
  const axes = axesOf(wishes);
  if (!axes) return h('p.note', 'There is nothing to draw: every value is zero.');
  const drawing = s('svg.chart', {
    viewBox: `0 0 ${WIDE} ${TALL}`,
    role: 'img',
    'aria-label': `${up} against ${across}`,
  });
  drawing.append(...grid(axes, wishes), ...curves.map((curve, number) => line(curve, number, axes)));
  drawing.append(...labels(curves, axes), ruler(drawing, axes, wishes));
  return drawing;
}

/**
 * @param {Wishes} wishes
 * @returns {Axes | null} nothing where there is nothing to draw
 */
function axesOf({ curves, log = false, low, high }) {
  const there = (/** @type {number} */ v) => Number.isFinite(v) && (!log || v > 0);
  const every = curves.flatMap((one) => one.values).filter(there);
  if (!every.length) return null;
  const [least, most] = [Math.min(...every), Math.max(...every)];
  const [bottom, top] = log
    ? [Math.floor(Math.log10(least)), Math.ceil(Math.log10(most) + 1e-9)]
    : [low ?? Math.min(0, least), high ?? most];
  const longest = Math.max(...curves.map((one) => one.values.length));
  const right = WIDE - 24 - LETTER * Math.max(4, ...curves.map((one) => one.name.length));
  const height = (/** @type {number} */ v) => ((log ? Math.log10(v) : v) - bottom) / Math.max(1e-9, top - bottom);
  return {
    longest,
    there,
    right,
    x: (k) => LEFT + (longest < 2 ? 0.5 : k / (longest - 1)) * (right - LEFT),
    y: (v) => TALL - BOTTOM - height(v) * (TALL - BOTTOM - TOP),
    marks: log ? powers(bottom, top) : quarters(bottom, top),
  };
}

/**
 * Powers of ten from one to another, not more than seven of them.
 * @param {number} bottom
 * @param {number} top
 * @returns {[number, string][]}
 */
function powers(bottom, top) {
  const every = Math.max(1, Math.ceil((top - bottom + 1) / 7));
  const count = Math.floor((top - bottom) / every) + 1;
  return Array.from({ length: count }, (_, i) => [10 ** (bottom + i * every), power(bottom + i * every)]);
}

/** @param {number} n */
function power(n) {
  const raised = String(n)
    .replace('-', '⁻')
    .replace(/\d/g, (d) => '⁰¹²³⁴⁵⁶⁷⁸⁹'[Number(d)]);
  return n === 0 ? '1' : `10${raised}`;
}

/**
 * @param {number} bottom
 * @param {number} top
 * @returns {[number, string][]}
 */
function quarters(bottom, top) {
  return Array.from({ length: 5 }, (_, i) => {
    const mark = bottom + ((top - bottom) * i) / 4;
    return [mark, figure(mark, 2)];
  });
}

/**
 * Lines across with what they stand for, places below, and what both axes are.
 * @param {Axes} axes
 * @param {Wishes} wishes
 */
function grid({ x, y, longest, marks, right }, { across, up, xs }) {
  const found = marks.flatMap(([mark, name]) => [
    s('line.grid', { x1: LEFT, x2: right, y1: y(mark), y2: y(mark) }),
    s('text.axis', { x: LEFT - 8, y: y(mark) + 4, 'text-anchor': 'end' }, name),
  ]);
  const jump = Math.max(1, Math.ceil(longest / 9));
  for (let k = 0; k < longest; k += jump) {
    found.push(s('text.axis', { x: x(k), y: TALL - BOTTOM + 18, 'text-anchor': 'middle' }, xs ? xs[k] : k));
  }
  const middle = { 'text-anchor': 'middle' };
  return [
    ...found,
    s('text.axis', { x: (LEFT + right) / 2, y: TALL - 4, ...middle }, across),
    s('text.axis', { x: 14, y: MIDDLE, ...middle, transform: `rotate(-90 14 ${MIDDLE})` }, up),
  ];
}

/**
 * @param {Curve} curve
 * @param {number} number
 * @param {Axes} axes
 */
function line({ values }, number, { x, y, there }) {
  let d = '';
  const shown = [...values.keys()].filter((k) => there(values[k]));
  for (const k of shown) d += `${d ? 'L' : 'M'}${x(k).toFixed(1)} ${y(values[k]).toFixed(1)}`;
  const stroke = lineColour(number);
  if (shown.length === 1) return s('circle', { cx: x(shown[0]), cy: y(values[shown[0]]), r: 3, fill: stroke });
  return s('path.curve', { d, stroke, 'stroke-dasharray': LINES[number % LINES.length].dash });
}

/**
 * Names stand to the right of all curves, each with a line from the end of its own, pushed apart where they would
 * overlap.
 * @param {Curve[]} curves
 * @param {Axes} axes
 */
function labels(curves, { x, y, there, right }) {
  const ends = curves.map(({ name, values }, number) => {
    const last = values.reduce((found, v, k) => (there(v) ? k : found), 0);
    return { name, colour: lineColour(number), x: x(last), y: y(values[last]) };
  });
  ends.sort((a, b) => a.y - b.y);
  let below = TOP + 4;
  return ends.flatMap((end) => {
    const place = Math.max(end.y, below);
    below = place + 15;
    const from = { x1: end.x + 2, y1: end.y, x2: right + 7, y2: place };
    return [
      s('text.axis', { x: right + 10, y: place + 4, style: { fill: end.colour } }, end.name),
      s('line', { ...from, stroke: end.colour, 'stroke-opacity': 0.35 }),
    ];
  });
}

/**
 * A line that follows the pointer, and the numbers where it stands.
 * @param {SVGElement} drawing
 * @param {Axes} axes
 * @param {Wishes} wishes
 */
function ruler(drawing, { longest, x, right }, { curves, across, xs }) {
  const rule = s('line', { y1: TOP, y2: TALL - BOTTOM, stroke: 'var(--strong)', visibility: 'hidden' });
  const hide = () => {
    rule.setAttribute('visibility', 'hidden');
    hideTip();
  };
  drawing.addEventListener('pointermove', (event) => {
    const box = drawing.getBoundingClientRect();
    const share = ((event.clientX - box.left) * (WIDE / box.width) - LEFT) / (right - LEFT);
    const k = Math.round(share * (longest - 1));
    if (k < 0 || k >= longest) return hide();
    rule.setAttribute('x1', String(x(k)));
    rule.setAttribute('x2', String(x(k)));
    rule.setAttribute('visibility', 'visible');
    const rows = curves.map((one) => h('tr', h('td', one.name), h('td.n', figure(one.values[k]))));
    const place = h('div', `${across.split(' ')[0]} ${xs ? xs[k] : k}`);
    return showTip(event.clientX, event.clientY, place, h('table.numbers', rows));
  });
  drawing.addEventListener('pointerleave', hide);
  return rule;
}
