// A heat map from canvas: any size, masked cells hatched, labels as text, a hover that redraws nothing.

import { h, s, short, showTip, hideTip, figure } from './dom.js';
import { table, signColour } from './colour.js';

const CHARACTER = 7.3; // width of a label's letters in pixels
const FEWEST = 12; // pixels between two labels

/** The picture of some weights, one pixel for each: row by row. */
export function raw(weights, rows, columns, { scale = 'linear', most = 1, signed = false } = {}) {
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [columns, rows];
  const context = canvas.getContext('2d', { willReadFrequently: true });
  const image = context.createImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  if (signed) {
    const colours = Uint32Array.from({ length: 511 }, (_, i) => packed(signColour((i - 255) / 255)));
    for (let i = 0; i < pixels.length; i++)
      pixels[i] = colours[255 + Math.round(255 * Math.max(-1, Math.min(1, weights[i] / most)))];
  } else {
    const colours = table(scale, most);
    for (let i = 0; i < pixels.length; i++)
      pixels[i] = colours[Math.round(255 * Math.sqrt(Math.min(1, Math.max(0, weights[i]))))];
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

function packed([r, g, b]) {
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

/** Diagonal lines over what could not be looked at. */
export function hatch(context, colour) {
  const tile = document.createElement('canvas');
  const size = 6 * (window.devicePixelRatio || 1);
  [tile.width, tile.height] = [size, size];
  const pen = tile.getContext('2d');
  pen.strokeStyle = colour;
  pen.lineWidth = size / 7;
  pen.beginPath();
  for (const shift of [-size, 0, size]) {
    pen.moveTo(shift, size);
    pen.lineTo(shift + size, 0);
  }
  pen.stroke();
  return context.createPattern(tile, 'repeat');
}

/** The area right of the diagonal as a path, in cells of a size. */
function later(context, rows, columns, cell) {
  context.beginPath();
  for (let t = 0; t < rows; t++)
    if (t + 1 < columns) context.rect((t + 1) * cell, t * cell, (columns - t - 1) * cell, cell);
}

/**
 * options: weights, rows, columns, names {rows, columns}, causal, scale, most, signed, at [row, column], pick(row, column),
 * tip(row, column) → nodes, room in pixels, axes [from, to], id.
 */
export function heatmap(options) {
  const {
    weights,
    rows,
    columns,
    names,
    causal = false,
    at,
    pick,
    tip,
    room = 700,
    axes = ['from ↓', 'to →'],
    id = 'grip',
    zoom = 1,
  } = options;
  const picture = raw(weights, rows, columns, options);
  const rowNames = names.rows.map((token) => short(token.text));
  const columnNames = names.columns.map((token) => short(token.text));
  const left = 26 + CHARACTER * Math.min(14, Math.max(3, ...rowNames.map((name) => name.length)));
  const cell =
    zoom *
    Math.max(
      1,
      Math.min(
        38,
        (room - left - 8) / columns,
        Math.max(columns, rows) <= 64 ? Math.max(13, 560 / rows) : 640 / Math.max(rows, columns),
      ),
    );
  const tall = Math.max(...columnNames.map((name) => name.length), 2);
  const top = 24 + CHARACTER * Math.min(14, tall) * (cell < 22 || tall > 3 ? 0.86 : 0.4);
  const [width, height] = [columns * cell, rows * cell];
  const ratio = window.devicePixelRatio || 1;
  const canvas = h('canvas', {
    style: { width: `${width}px`, height: `${height}px`, 'margin-left': `${left}px`, 'margin-top': `${top}px` },
  });
  [canvas.width, canvas.height] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
  const context = canvas.getContext('2d');
  context.imageSmoothingEnabled = false;
  context.drawImage(picture, 0, 0, canvas.width, canvas.height);
  if (causal) {
    const style = getComputedStyle(document.documentElement);
    context.scale(canvas.width / width, canvas.height / height);
    later(context, rows, columns, cell);
    context.fillStyle = style.getPropertyValue('--paper');
    context.fill();
    context.setTransform(1, 0, 0, 1, 0, 0);
    const pattern = hatch(context, style.getPropertyValue('--hatch'));
    context.scale(canvas.width / width, canvas.height / height);
    later(context, rows, columns, cell);
    context.fillStyle = pattern;
    context.fill();
  }
  const edge = left + width + 60;
  const drawing = s('svg', { width: edge, height: top + height + 4, 'aria-hidden': 'true' });
  const every = Math.max(1, Math.ceil(FEWEST / cell));
  const size = Math.min(13, Math.max(10, cell * 0.62));
  for (let t = 0; t < rows; t += every)
    drawing.append(
      s(
        'text',
        {
          x: left - 6,
          y: top + (t + 0.5) * cell + size * 0.36,
          'text-anchor': 'end',
          'font-size': size,
          class: names.rows[t].special ? 'faint' : '',
        },
        rowNames[t],
      ),
    );
  for (let i = 0; i < columns; i += every) {
    const [x, y] = [left + (i + 0.5) * cell, top - 6];
    const flat = tall <= 3 && cell >= 22;
    drawing.append(
      s(
        'text',
        {
          x: flat ? x : x + 3,
          y,
          'font-size': size,
          'text-anchor': flat ? 'middle' : 'start',
          transform: flat ? null : `rotate(-55 ${x} ${y})`,
          class: names.columns[i].special ? 'faint' : '',
        },
        columnNames[i],
      ),
    );
  }
  drawing.append(
    s('text.axis', { x: 0, y: top - 8 }, axes[0]),
    s('text.axis', { x: left + width / 2, y: 11, 'text-anchor': 'middle' }, axes[1]),
  );
  drawing.append(s('rect', { x: left, y: top, width, height, fill: 'none', stroke: 'var(--line)' }));
  const cross = s('g', { visibility: 'hidden' });
  const [across, down] = [
    s('rect', { fill: 'none', stroke: 'var(--ink)', 'stroke-opacity': 0.55 }),
    s('rect', { fill: 'none', stroke: 'var(--ink)', 'stroke-opacity': 0.55 }),
  ];
  cross.append(across, down);
  const chosen = s('rect', { fill: 'none', stroke: 'var(--warm)', 'stroke-width': 2, visibility: 'hidden' });
  drawing.append(cross, chosen);
  const place = (rect, x, y, w, tallness) =>
    Object.entries({ x, y, width: w, height: tallness }).forEach(([key, value]) => rect.setAttribute(key, value));
  const mark = (row, column) => {
    place(across, left, top + row * cell, width, cell);
    place(down, left + column * cell, top, cell, height);
    cross.setAttribute('visibility', 'visible');
  };
  if (at && at[0] >= 0 && at[0] < rows && at[1] < columns) {
    place(
      chosen,
      left + Math.max(0, at[1]) * cell - 0.5,
      top + at[0] * cell - 0.5,
      (at[1] < 0 ? columns : 1) * cell + 1,
      cell + 1,
    );
    chosen.setAttribute('visibility', 'visible');
  }
  const grip = h('div.grip', {
    id,
    tabindex: 0,
    role: 'img',
    'aria-label': `${rows} rows, ${columns} columns; arrow keys move, Enter selects`,
    style: { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` },
  });
  const content =
    tip ||
    ((row, column) => [
      h('span.big', figure(weights[row * columns + column])),
      h('div', 'from ', h('b', rowNames[row]), ' to ', h('b', columnNames[column])),
    ]);
  const under = (event) => {
    const box = grip.getBoundingClientRect();
    return [
      Math.min(rows - 1, Math.max(0, Math.floor((event.clientY - box.top) / cell))),
      Math.min(columns - 1, Math.max(0, Math.floor((event.clientX - box.left) / cell))),
    ];
  };
  grip.addEventListener('pointermove', (event) => {
    const [row, column] = under(event);
    mark(row, column);
    showTip(event.clientX, event.clientY, content(row, column));
  });
  grip.addEventListener('pointerleave', () => {
    cross.setAttribute('visibility', 'hidden');
    hideTip();
  });
  grip.addEventListener('blur', hideTip);
  let now = at && at[0] >= 0 ? [Math.min(rows - 1, at[0]), Math.min(columns - 1, Math.max(0, at[1]))] : [0, 0];
  const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  grip.addEventListener('keydown', (event) => {
    if (step[event.key] && !event.ctrlKey && !event.metaKey && !event.altKey) {
      now = [
        Math.min(rows - 1, Math.max(0, now[0] + step[event.key][0])),
        Math.min(columns - 1, Math.max(0, now[1] + step[event.key][1])),
      ];
      mark(...now);
      const box = grip.getBoundingClientRect();
      showTip(box.left + (now[1] + 0.5) * cell, box.top + (now[0] + 0.5) * cell, content(...now));
      event.preventDefault();
      event.stopPropagation();
    } else if (event.key === 'Enter' && pick) pick(...now);
  });
  if (pick) grip.addEventListener('click', (event) => pick(...under(event)));
  const element = h('div.heat', { style: { width: `${edge}px` } }, canvas, drawing, grip);
  element.raw = picture;
  element.cell = cell;
  return element;
}

/** What the colours mean. */
export function legend({ scale = 'linear', most = 1, signed = false, causal = false }) {
  const values = Float32Array.from({ length: 128 }, (_, i) => (signed ? (i / 127) * 2 - 1 : i / 127) * most);
  const canvas = raw(values, 1, 128, { scale, most, signed });
  canvas.setAttribute('aria-hidden', 'true');
  return h(
    'span.legend',
    h('span', signed ? figure(-most, 2) : '0'),
    canvas,
    h('span', figure(most, 2), scale === 'root' ? ' (root scale)' : ''),
    causal && [h('span.swatch.hatched'), 'could not look'],
  );
}

/** A small picture: the largest weight in each block, so that a lone bright cell is never lost. */
export function thumbnail(attention, head, side, scale) {
  const { rows, columns } = attention;
  const [tall, wide] = [Math.min(rows, side), Math.min(columns, side)];
  const { data } = attention.record.blob(attention.blob);
  const begin = head * rows * columns;
  const small = new Float32Array(tall * wide);
  const column = Uint16Array.from({ length: columns }, (_, i) => Math.floor((i * wide) / columns));
  for (let t = 0; t < rows; t++) {
    const line = Math.floor((t * tall) / rows) * wide;
    const from = begin + t * columns;
    const end = attention.causal ? Math.min(columns, t + 1) : columns;
    for (let i = 0; i < end; i++) {
      const value = data[from + i];
      const place = line + column[i];
      if (value > small[place]) small[place] = value;
    }
  }
  if (!attention.exact) for (let i = 0; i < small.length; i++) small[i] = (small[i] * small[i]) / 65025;
  return raw(small, tall, wide, { scale });
}
