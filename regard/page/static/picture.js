// A picture, lit where it was looked at: x · (0.35 + 0.65 a_i / max a), as regard's own figures draw it.

import { canvasOf } from './dom.js';

/** @import { Blob } from './blobs.js' */

/**
 * A canvas of a picture (3, Y, X); with weights, one for each region of a grid so many across, the rest in the dark.
 * @param {Blob} picture
 * @param {Float32Array | null} weights
 * @param {number} across
 */
export function film({ shape, data }, weights, across) {
  const [, height, width] = shape;
  const [canvas, context] = canvasOf(width, height);
  const image = context.createImageData(width, height);
  const light = weights ? lights(weights) : null;
  const down = light ? light.length / across : 1;
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const region = Math.floor((y * down) / height) * across + Math.floor((x * across) / width);
      const place = y * width + x;
      for (let colour = 0; colour < 3; colour++) {
        image.data[4 * place + colour] = data[colour * height * width + place] * (light ? light[region] : 1);
      }
      image.data[4 * place + 3] = 255;
    }
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

/**
 * 0.35 + 0.65 a_i / max a.
 * @param {Float32Array} weights
 */
function lights(weights) {
  const most = Math.max(1e-9, ...weights);
  return Array.from(weights, (weight) => 0.35 + (0.65 * weight) / most);
}
