// Curves on two axes, log or plain, told apart by colour, dash and name.

import { h, s, figure, showTip, hideTip } from './dom.js';
import { lineColour, LINES } from './colour.js';

const [WIDE, TALL, LEFT, BOTTOM, TOP, RIGHT] = [820, 330, 62, 40, 14, 150];

/** curves: [{name, values, faint}], across: what the horizontal axis counts, up: what the vertical one is. */
export function chart({ curves, across, up, log = false, low = null, high = null, xs = null }) {
  const every = curves.flatMap((one) => [...one.values]).filter((v) => Number.isFinite(v) && (!log || v > 0));
  if (!every.length) return h('p.note', 'There is nothing to draw: every value is zero.');
  const [bottom, top] = log
    ? [Math.floor(Math.log10(Math.min(...every))), Math.ceil(Math.log10(Math.max(...every)) + 1e-9)]
    : [low ?? Math.min(0, ...every), high ?? Math.max(...every)];
  const longest = Math.max(...curves.map((one) => one.values.length));
  const x = (k) => LEFT + (longest < 2 ? 0.5 : k / (longest - 1)) * (WIDE - LEFT - RIGHT);
  const y = (v) =>
    TALL - BOTTOM - (((log ? Math.log10(v) : v) - bottom) / Math.max(1e-9, top - bottom)) * (TALL - BOTTOM - TOP);
  const drawing = s('svg.chart', {
    viewBox: `0 0 ${WIDE} ${TALL}`,
    role: 'img',
    'aria-label': `${up} against ${across}`,
  });
  const marks = log
    ? Array.from({ length: top - bottom + 1 }, (_, i) => 10 ** (bottom + i))
    : Array.from({ length: 5 }, (_, i) => bottom + ((top - bottom) * i) / 4);
  const every_ = log ? Math.max(1, Math.ceil(marks.length / 7)) : 1;
  marks.forEach((mark, i) => {
    if (i % every_) return;
    drawing.append(
      s('line.grid', { x1: LEFT, x2: WIDE - RIGHT, y1: y(mark), y2: y(mark) }),
      s(
        'text.axis',
        { x: LEFT - 8, y: y(mark) + 4, 'text-anchor': 'end' },
        log ? power(Math.round(Math.log10(mark))) : figure(mark, 2),
      ),
    );
  });
  const jump = Math.max(1, Math.ceil(longest / 9));
  for (let k = 0; k < longest; k += jump)
    drawing.append(s('text.axis', { x: x(k), y: TALL - BOTTOM + 18, 'text-anchor': 'middle' }, xs ? xs[k] : k));
  drawing.append(
    s('text.axis', { x: (LEFT + WIDE - RIGHT) / 2, y: TALL - 4, 'text-anchor': 'middle' }, across),
    s(
      'text.axis',
      {
        x: 14,
        y: TOP + (TALL - BOTTOM - TOP) / 2,
        'text-anchor': 'middle',
        transform: `rotate(-90 14 ${TOP + (TALL - BOTTOM - TOP) / 2})`,
      },
      up,
    ),
  );
  const ends = [];
  curves.forEach((one, number) => {
    const colour = one.colour ?? lineColour(number);
    let d = '';
    [...one.values].forEach((v, k) => {
      if (Number.isFinite(v) && (!log || v > 0))
        d += `${d && !d.endsWith(' ') ? 'L' : 'M'}${x(k).toFixed(1)} ${y(v).toFixed(1)}`;
    });
    drawing.append(
      s('path.curve', {
        d,
        stroke: colour,
        'stroke-dasharray': one.dash ?? LINES[number % LINES.length].dash,
        opacity: one.faint ? 0.45 : 1,
      }),
    );
    const last = one.values.reduce((found, v, k) => (Number.isFinite(v) && (!log || v > 0) ? k : found), 0);
    ends.push({ name: one.name, colour, x: x(last), y: y(one.values[last]) });
  });
  // Names stand at the ends of their curves, pushed apart where they would overlap.
  ends.sort((a, b) => a.y - b.y);
  ends.forEach((end, i) => {
    end.label = Math.max(end.y, i ? ends[i - 1].label + 15 : TOP + 4);
    end.at = end.x < WIDE - RIGHT - 60 ? end.x : WIDE - RIGHT;
  });
  for (const end of ends)
    drawing.append(
      s('text.axis', { x: end.at + 10, y: end.label + 4, style: { fill: end.colour } }, end.name),
      s('line', {
        x1: end.x + 2,
        x2: end.at + 7,
        y1: end.y,
        y2: end.label,
        stroke: end.colour,
        'stroke-opacity': 0.35,
      }),
    );
  const rule = s('line', { y1: TOP, y2: TALL - BOTTOM, stroke: 'var(--strong)', visibility: 'hidden' });
  drawing.append(rule);
  drawing.addEventListener('pointermove', (event) => {
    const box = drawing.getBoundingClientRect();
    const k = Math.round(
      (((event.clientX - box.left) * (WIDE / box.width) - LEFT) / (WIDE - LEFT - RIGHT)) * (longest - 1),
    );
    if (k < 0 || k >= longest) {
      rule.setAttribute('visibility', 'hidden');
      hideTip();
      return;
    }
    rule.setAttribute('x1', x(k));
    rule.setAttribute('x2', x(k));
    rule.setAttribute('visibility', 'visible');
    showTip(
      event.clientX,
      event.clientY,
      h('div', `${across.split(' ')[0]} ${xs ? xs[k] : k}`),
      h(
        'table.numbers',
        curves.map((one) => h('tr', h('td', one.name), h('td.n', figure(one.values[k])))),
      ),
    );
  });
  drawing.addEventListener('pointerleave', () => {
    rule.setAttribute('visibility', 'hidden');
    hideTip();
  });
  return drawing;
}

function power(n) {
  return n === 0
    ? '1'
    : `10${String(n)
        .replace('-', '⁻')
        .replace(/\d/g, (d) => '⁰¹²³⁴⁵⁶⁷⁸⁹'[d])}`;
}
