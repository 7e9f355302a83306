// Tensors as small pictures: a vector folded into a tile, a row of attention as one line for each head.

import { packed, signColour, weightColour } from '../colour.js';
import { canvasOf } from '../dom.js';

/** @import { Attention, Cells } from '../record.js' */

/**
 * How a tile is drawn: so many pixels wide and high.
 * @typedef {{width: number, height: number}} Size
 */

/**
 * A picture of some positions of a vector, a tile for each, with room between them.
 * @param {Cells} cells
 * @param {number[]} places
 * @param {Size} size
 * @param {number} pitch pixels from one tile to the next
 */
export function vectors(cells, places, size, pitch) {
  const most = cells.gate ? 1 : Math.max(1e-6, cells.largest);
  const across = Math.max(1, Math.round(Math.sqrt((cells.width * size.width) / size.height)));
  const down = Math.ceil(cells.width / across);
  const colour = cells.gate ? weightColour : signColour;
  return row(places, size, pitch, (t) => {
    const [begin, { data }] = [t * cells.width, cells.blob];
    return tile(down, across, (i) => (i < cells.width ? packed(colour(data[begin + i] / most)) : 0));
  });
}

/**
 * A picture of some rows of attention: a line for each head, a column for each token that is looked at.
 * @param {Attention} attention
 * @param {number[]} places
 * @param {Size} size
 * @param {number} pitch
 */
export function looked(attention, places, size, pitch) {
  const { heads, columns } = attention;
  return row(places, size, pitch, (t) => {
    const weight = (/** @type {number} */ i) => attention.weight(Math.floor(i / columns), t, i % columns);
    return tile(heads, columns, (i) => packed(weightColour(Math.sqrt(weight(i)))));
  });
}

/**
 * @param {number} rows
 * @param {number} columns
 * @param {(i: number) => number} pixel
 */
function tile(rows, columns, pixel) {
  const [canvas, context] = canvasOf(columns, rows);
  const image = context.createImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  for (let i = 0; i < pixels.length; i++) pixels[i] = pixel(i);
  context.putImageData(image, 0, 0);
  return canvas;
}

/**
 * Tiles beside each other, twice as fine as the screen.
 * @param {number[]} places
 * @param {Size} size
 * @param {number} pitch
 * @param {(t: number) => HTMLCanvasElement} make
 */
function row(places, { width, height }, pitch, make) {
  const [canvas, context] = canvasOf(2 * pitch * places.length, 2 * height);
  context.imageSmoothingEnabled = false;
  places.forEach((t, i) => {
    context.drawImage(make(t), 2 * (i * pitch + (pitch - width) / 2), 0, 2 * width, 2 * height);
  });
  return canvas.toDataURL();
}
