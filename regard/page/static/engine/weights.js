// Weights of a published run: a safetensors file in which matrices are rounded, as regard/page/rounded.py wrote it.

import { readTensors } from '../blobs.js';
import { build } from './build.js';

/** @import { Description } from './build.js' */

/**
 * A model with its taps, out of its description and the bytes of its weights.
 * @param {Description} description
 * @param {ArrayBuffer} buffer
 */
export function opened(description, buffer) {
  const { blob } = readTensors(buffer);
  return build(description, (name) => {
    const found = blob(name);
    if (!found) throw new Error(`the weights of this run lack '${name}'; publish it again`);
    const { shape, data } = found;
    if (data instanceof Float32Array) return { shape, data };
    const scale = blob(`${name}.scale`)?.data;
    return { shape, data: scale ? scaled(data, scale) : Float32Array.from(data, half) };
  });
}

/**
 * w = q · s, with a scale s for each row.
 * @param {ArrayLike<number>} whole
 * @param {ArrayLike<number>} scales
 */
function scaled(whole, scales) {
  const width = whole.length / scales.length;
  return Float32Array.from(whole, (q, i) => q * scales[Math.floor(i / width)]);
}

/**
 * A number of 16 bits: a sign, five bits of exponent, ten behind the point. (IEEE 754)
 * @param {number} bits
 */
function half(bits) {
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  const size = exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -24 * fraction;
  return bits & 0x8000 ? -size : size;
}
