// A heat map from canvas: any size, masked cells hatched, labels as text, a hover that redraws nothing.

import { packed, signColour, table } from './colour.js';
import { canvasOf, h, hideTip, s, showTip } from './dom.js';
import { figure, short } from './words.js';

/** @import { Attention, Token } from './record.js' */
/** @import { Part } from './dom.js' */

const CHARACTER = 7.9; // width of a label's letters in pixels
const FEWEST = 12; // pixels between two labels

/**
 * How numbers become colours: `most` is the darkest; signed, they go to both sides of 0.
 * @typedef {{scale?: string, most?: number, signed?: boolean}} Inks
 *
 * @typedef {{weights: Float32Array, rows: number, columns: number, names: {rows: Token[], columns: Token[]}}} Grid
 *
 * at: the cell that is chosen, column −1: its whole row; pick: what happens when one is; tip: what is said beside the
 * pointer; room: how wide it may be, in pixels; axes: what rows and columns are.
 * @typedef {Grid & Inks & {causal?: boolean, at?: [number, number] | null,
 *   pick?: (row: number, column: number) => void, tip?: (row: number, column: number) => Part,
 *   room?: number, zoom?: number, axes?: [string, string], id?: string}} Wishes
 *
 * Where things stand, in pixels: labels to the left and on top, and the sides of a cell.
 * @typedef {{left: number, top: number, across: number, down: number, width: number, height: number, flat: boolean,
 *   rowNames: string[], columnNames: string[]}} Layout
 */

/**
 * The picture of some weights, one pixel for each: row by row.
 * @param {Float32Array} weights
 * @param {number} rows
 * @param {number} columns
 * @param {Inks} inks
 */
export function raw(weights, rows, columns, { scale = 'linear', most = 1, signed = false } = {}) {
  const [canvas, context] = canvasOf(columns, rows, { willReadFrequently: true });
  const image = context.createImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  if (signed) {
    const colours = Uint32Array.from({ length: 511 }, (_, i) => packed(signColour((i - 255) / 255)));
    const place = (/** @type {number} */ x) => 255 + Math.round(255 * Math.max(-1, Math.min(1, x / most)));
    for (let i = 0; i < pixels.length; i++) pixels[i] = colours[place(weights[i])];
  } else {
    const colours = table(scale, most);
    const place = (/** @type {number} */ x) => Math.round(255 * Math.sqrt(Math.min(1, Math.max(0, x))));
    for (let i = 0; i < pixels.length; i++) pixels[i] = colours[place(weights[i])];
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

/**
 * A map with labels, a cross that follows the pointer, and keys that walk over it.
 * @param {Wishes} wishes
 */
export function heatmap(wishes) {
  const { weights, rows, columns } = wishes;
  const picture = raw(weights, rows, columns, wishes);
  const layout = layoutOf(wishes);
  const { left, top, width, height } = layout;
  const edge = left + width + 60; // columns' names lean to the right
  const drawing = s('svg', { width: edge, height: top + height + 4, 'aria-hidden': 'true' });
  const cross = crossOf(layout);
  drawing.append(...labels(wishes, layout), s('rect', { x: left, y: top, width, height, ...FRAME }));
  drawing.append(cross.element, chosen(wishes, layout));
  const grip = gripOf(wishes, layout, cross);
  const element = h('div.heat', { style: { width: `${edge}px` } }, painted(picture, wishes, layout), drawing, grip);
  return Object.assign(element, { raw: picture, cell: layout.across });
}

const FRAME = { fill: 'none', stroke: 'var(--line)' };
const HAIR = { fill: 'none', stroke: 'var(--ink)', 'stroke-opacity': 0.55 };
const CHOSEN = { fill: 'none', stroke: 'var(--warm)', 'stroke-width': 2 };

/**
 * @param {Wishes} wishes
 * @returns {Layout}
 */
function layoutOf({ rows, columns, names, room = 700, zoom = 1 }) {
  const rowNames = names.rows.map((token) => short(token.text));
  const columnNames = names.columns.map((token) => short(token.text));
  const left = 26 + CHARACTER * Math.min(14, Math.max(3, ...rowNames.map((name) => name.length)));
  const [across, down] = sides(rows, columns, room - left - 8).map((side) => zoom * side);
  const longest = Math.max(...columnNames.map((name) => name.length), 2);
  const flat = longest <= 3 && across >= 22; // else names lean
  const top = 28 + CHARACTER * Math.min(14, longest) * (flat ? 0.4 : 0.86);
  return { left, top, across, down, width: columns * across, height: rows * down, flat, rowNames, columnNames };
}

/**
 * How wide and how high a cell is: square where that fills the room, else as long as names want it.
 * @param {number} rows
 * @param {number} columns
 * @param {number} room
 * @returns {[number, number]}
 */
function sides(rows, columns, room) {
  const longer = Math.max(rows, columns);
  const fitting = longer <= 64 ? Math.max(13, 560 / rows) : 640 / longer;
  const square = Math.max(1, Math.min(38, room / columns, fitting));
  if (longer <= 64 || Math.max(rows / columns, columns / rows) < 3) return [square, square];
  return [Math.max(square, Math.min(24, room / columns)), Math.max(square, Math.min(24, 560 / rows))];
}

/**
 * The picture in its size, hatched where nothing could be looked at.
 * @param {HTMLCanvasElement} picture
 * @param {Wishes} wishes
 * @param {Layout} layout
 */
function painted(picture, { rows, columns, causal }, { left, top, width, height }) {
  const ratio = window.devicePixelRatio || 1;
  const pixels = (/** @type {number} */ side) => Math.max(1, Math.round(side * ratio));
  const [canvas, context] = canvasOf(pixels(width), pixels(height));
  Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
  Object.assign(canvas.style, { marginLeft: `${left}px`, marginTop: `${top}px` });
  context.imageSmoothingEnabled = false;
  context.drawImage(picture, 0, 0, canvas.width, canvas.height);
  if (causal) veil(context, rows, columns, canvas.width / columns, canvas.height / rows);
  return canvas;
}

/**
 * Diagonal lines over what could not be looked at.
 * @param {CanvasRenderingContext2D} context
 * @param {string} colour
 */
function hatch(context, colour) {
  const size = 6 * (window.devicePixelRatio || 1);
  const [tile, pen] = canvasOf(size, size);
  pen.strokeStyle = colour;
  pen.lineWidth = size / 7;
  pen.beginPath();
  for (const shift of [-size, 0, size]) {
    pen.moveTo(shift, size);
    pen.lineTo(shift + size, 0);
  }
  pen.stroke();
  return /** @type {CanvasPattern} */ (context.createPattern(tile, 'repeat'));
}

/**
 * The names of rows and columns, as many as fit, and of the axes.
 * @param {Wishes} wishes
 * @param {Layout} layout
 */
function labels({ rows, columns, names, axes = ['from ↓', 'to →'] }, layout) {
  const { left, top, across, down, width, flat, rowNames, columnNames } = layout;
  const [eachRow, eachColumn] = [down, across].map((side) => Math.max(1, Math.ceil(FEWEST / side)));
  const size = Math.min(13, Math.max(10, Math.min(across, down) * 0.62));
  const ink = (/** @type {Token} */ token) => ({ 'font-size': size, class: token.special ? 'faint' : '' });
  const found = [];
  for (let t = 0; t < rows; t += eachRow) {
    const place = { x: left - 6, y: top + (t + 0.5) * down + size * 0.36, 'text-anchor': 'end' };
    found.push(s('text', place, ink(names.rows[t]), rowNames[t]));
  }
  for (let i = 0; i < columns; i += eachColumn) {
    const [x, y] = [left + (i + 0.5) * across, top - 6];
    const place = flat ? { x, y, 'text-anchor': 'middle' } : { x: x + 3, y, transform: `rotate(-55 ${x} ${y})` };
    found.push(s('text', place, ink(names.columns[i]), columnNames[i]));
  }
  found.push(s('text.axis', { x: 0, y: top - 8 }, axes[0]));
  found.push(s('text.axis', { x: left + width / 2, y: 11, 'text-anchor': 'middle' }, axes[1]));
  return found;
}

/**
 * A frame around the row and the column of a cell.
 * @param {Layout} layout
 */
function crossOf({ left, top, across, down, width, height }) {
  const [line, pillar] = [
    s('rect', HAIR, { x: left, width, height: down }),
    s('rect', HAIR, { y: top, width: across, height }),
  ];
  const element = s('g', { visibility: 'hidden' }, line, pillar);
  return {
    element,
    show(/** @type {number} */ row, /** @type {number} */ column) {
      line.setAttribute('y', String(top + row * down));
      pillar.setAttribute('x', String(left + column * across));
      element.setAttribute('visibility', 'visible');
    },
    hide: () => element.setAttribute('visibility', 'hidden'),
  };
}

/**
 * A frame around the cell that is chosen, or its row.
 * @param {Wishes} wishes
 * @param {Layout} layout
 */
function chosen({ at, rows, columns }, { left, top, across, down }) {
  if (!at || at[0] < 0 || at[0] >= rows || at[1] >= columns) return s('g');
  const place = { x: left + Math.max(0, at[1]) * across - 0.5, y: top + at[0] * down - 0.5 };
  return s('rect', CHOSEN, place, { width: (at[1] < 0 ? columns : 1) * across + 1, height: down + 1 });
}

/** @type {{[key: string]: [number, number]}} */
const STEP = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/**
 * What lies over the map and feels the pointer and the keys.
 * @param {Wishes} wishes
 * @param {Layout} layout
 * @param {ReturnType<typeof crossOf>} cross
 */
function gripOf(wishes, layout, cross) {
  const { rows, columns, at, pick, tip = tipOf(wishes), id = 'grip' } = wishes;
  const { left, top, width, height, across, down } = layout;
  const grip = h('div.grip', {
    id,
    tabindex: 0,
    role: 'img',
    'aria-label': `${rows} rows, ${columns} columns; arrow keys move, Enter selects`,
    style: { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` },
  });
  const inside = (/** @type {number} */ row, /** @type {number} */ column) =>
    /** @type {[number, number]} */ ([
      Math.min(rows - 1, Math.max(0, row)),
      Math.min(columns - 1, Math.max(0, column)),
    ]);
  const under = (/** @type {MouseEvent} */ event) => {
    const box = grip.getBoundingClientRect();
    return inside(Math.floor((event.clientY - box.top) / down), Math.floor((event.clientX - box.left) / across));
  };
  grip.addEventListener('pointermove', (event) => {
    cross.show(...under(event));
    showTip(event.clientX, event.clientY, tip(...under(event)));
  });
  grip.addEventListener('pointerleave', () => {
    cross.hide();
    hideTip();
  });
  grip.addEventListener('blur', hideTip);
  let now = at && at[0] >= 0 ? inside(...at) : inside(0, 0);
  grip.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') pick?.(...now);
    if (!STEP[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    now = inside(now[0] + STEP[event.key][0], now[1] + STEP[event.key][1]);
    cross.show(...now);
    const box = grip.getBoundingClientRect();
    showTip(box.left + (now[1] + 0.5) * across, box.top + (now[0] + 0.5) * down, tip(...now));
    event.preventDefault();
    event.stopPropagation();
  });
  if (pick) grip.addEventListener('click', (event) => pick(...under(event)));
  return grip;
}

/**
 * The number of a cell, and whose it is.
 * @param {Grid} grid
 * @returns {(row: number, column: number) => Part}
 */
export function tipOf({ weights, columns, names }) {
  return (row, column) => [
    h('span.big', figure(weights[row * columns + column])),
    h('div', 'from ', h('b', short(names.rows[row].text, 24)), ' to ', h('b', short(names.columns[column].text, 24))),
  ];
}

/**
 * What the colours mean.
 * @param {Inks & {causal?: boolean}} inks
 */
export function legend({ scale = 'linear', most = 1, signed = false, causal = false }) {
  const value = (/** @type {number} */ share) => (signed ? share * 2 - 1 : share) * most;
  const values = Float32Array.from({ length: 128 }, (_, i) => value(i / 127));
  const canvas = raw(values, 1, 128, { scale, most, signed });
  canvas.setAttribute('aria-hidden', 'true');
  const [low, high] = [signed ? figure(-most, 2) : '0', figure(most, 2)];
  const root = scale === 'root' ? ' (root scale)' : '';
  const masked = causal && [h('span.swatch.hatched'), 'could not look'];
  return h('span.legend', h('span', low), canvas, h('span', high, root), masked);
}

/**
 * A small picture: the largest weight in each block, so that a lone bright cell is never lost.
 * @param {Attention} attention
 * @param {number} head
 * @param {number} side
 * @param {string} scale
 */
export function thumbnail(attention, head, side, scale) {
  const { rows, columns, causal, exact, blob } = attention;
  const [tall, wide] = [Math.min(rows, side), Math.min(columns, side)];
  const small = new Float32Array(tall * wide);
  const column = Uint16Array.from({ length: columns }, (_, i) => Math.floor((i * wide) / columns));
  for (let t = 0; t < rows; t++) {
    const line = Math.floor((t * tall) / rows) * wide;
    const from = (head * rows + t) * columns;
    const end = causal ? Math.min(columns, t + 1) : columns;
    for (let i = 0; i < end; i++) {
      const place = line + column[i];
      if (blob.data[from + i] > small[place]) small[place] = blob.data[from + i];
    }
  }
  if (!exact) for (let i = 0; i < small.length; i++) small[i] = (small[i] * small[i]) / 65025;
  const picture = raw(small, tall, wide, { scale });
  return causal ? veiled(picture) : picture;
}

/**
 * The same, twice as fine or finer, with lines over what could not be looked at.
 * @param {HTMLCanvasElement} picture
 */
function veiled(picture) {
  const fine = Math.max(2, Math.ceil(192 / picture.width));
  const [canvas, context] = canvasOf(picture.width * fine, picture.height * fine);
  context.imageSmoothingEnabled = false;
  context.drawImage(picture, 0, 0, canvas.width, canvas.height);
  veil(context, picture.height, picture.width, fine, fine);
  return canvas;
}

/**
 * Paper and lines over what could not be looked at, in cells of a size.
 * @param {CanvasRenderingContext2D} context
 * @param {number} rows
 * @param {number} columns
 * @param {number} across
 * @param {number} down
 */
function veil(context, rows, columns, across, down) {
  const style = getComputedStyle(document.documentElement);
  context.beginPath();
  for (let t = 0; t < Math.min(rows, columns - 1); t++) {
    context.rect((t + 1) * across, t * down, (columns - t - 1) * across, down);
  }
  for (const ink of [style.getPropertyValue('--paper'), hatch(context, style.getPropertyValue('--hatch'))]) {
    context.fillStyle = ink;
    context.fill();
  }
}
