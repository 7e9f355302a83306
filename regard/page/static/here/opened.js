// A published run, opened: its model with its taps, its tokenizers, its pictures.

import { listening } from '../engine/tap.js';
import { opened as openedModel } from '../engine/weights.js';
import { tokenizerFrom } from '../text/kinds.js';

/** @import { Run } from '../ask.js' */
/** @import { Description } from '../engine/build.js' */
/** @import { Held } from './units.js' */
/** @import { Tensor } from '../engine/tensor.js' */

/**
 * What Python publishes of a run besides its weights; see regard/page/publish.py. `window`: how many tokens a language
 * model of attention may look back on; `side`: of a picture, in pixels; `found`: what searches found, by property.
 * @typedef {{about: Run, model: Description, reader: {[name: string]: any}, writer: {[name: string]: any},
 *   window: number | null, side: number, scenes: string[], found: {[property: string]: object[]}}} Published
 */

/** @typedef {Awaited<ReturnType<typeof opened>>} Opened */

/**
 * @param {Published} published
 * @param {string} weights a safetensors file, packed by gzip, in base 85
 */
export async function opened(published, weights) {
  const { about, model, reader, writer, window, side, scenes, found } = published;
  return {
    about,
    ...openedModel(model, await unpacked(weights)),
    reader: tokenizerFrom(reader),
    writer: tokenizerFrom(writer),
    labelled: writer.kind === 'labels',
    window,
    scenes,
    found,
    /** @type {Held} */
    held: [],
    /** @param {string} name */
    pixels: (name) => pixelsOf(name.startsWith('scene:') ? scenes[Number(name.slice(6))] : name, side),
  };
}

/**
 * The same run with some of its units held still, in every pass.
 * @param {Opened} run
 * @param {Held} held
 * @returns {Opened}
 */
export function withHeld(run, held) {
  const { model } = run;
  const holding = {
    longest: model.longest,
    start: (/** @type {any} */ source) => listening(held, () => model.start(source)),
    forward: (/** @type {number[]} */ tokens, /** @type {any} */ state) =>
      listening(held, () => model.forward(tokens, state)),
  };
  return { ...run, held, model: holding };
}

/**
 * @param {string} text
 * @returns {Promise<ArrayBuffer>}
 */
async function unpacked(text) {
  const packed = new Blob([bytesIn(text)]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(packed).arrayBuffer();
}

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~';

/**
 * Five digits of base 85 are four bytes, where base 64 takes five and a third. As Python's `base64.b85encode` has it,
 * the last digits may be fewer.
 * @param {string} text
 */
function bytesIn(text) {
  const digit = new Uint8Array(128);
  for (let i = 0; i < DIGITS.length; i++) digit[DIGITS.charCodeAt(i)] = i;
  const found = new Uint8Array(Math.ceil(text.length / 5) * 4);
  const view = new DataView(found.buffer);
  for (let at = 0, to = 0; at < text.length; at += 5, to += 4) {
    let number = 0;
    for (let i = at; i < at + 5; i++) number = 85 * number + (i < text.length ? digit[text.charCodeAt(i)] : 84);
    view.setUint32(to, number % 2 ** 32);
  }
  return found.subarray(0, Math.floor((text.length * 4) / 5));
}

/** @param {string} text in base 64 */
function bytesOf(text) {
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}

/**
 * The pixels of a picture: its middle square, so many on each side. Shapes: (3, Y, X), from 0 to 255.
 * @param {string | undefined} content a file in base 64
 * @param {number} side
 * @returns {Promise<Tensor>}
 */
async function pixelsOf(content, side) {
  const image = await createImageBitmap(new Blob([bytesOf(content ?? '')])).catch(() => null);
  if (!image) throw new Error('this is no picture that the browser can read');
  const canvas = new OffscreenCanvas(side, side);
  const context = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext('2d'));
  const square = Math.min(image.width, image.height);
  const [left, top] = [(image.width - square) / 2, (image.height - square) / 2];
  context.imageSmoothingQuality = 'high';
  context.drawImage(image, left, top, square, square, 0, 0, side, side);
  const { data } = context.getImageData(0, 0, side, side);
  const place = side * side;
  const found = new Float32Array(3 * place);
  for (let i = 0; i < 3 * place; i++) found[i] = data[4 * (i % place) + Math.floor(i / place)];
  return { shape: [3, side, side], data: found };
}
