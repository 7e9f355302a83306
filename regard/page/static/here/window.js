// The context window: a language model of attention, held to the length that it was trained with.

import { zeros } from '../engine/tensor.js';

/** @import { Model } from '../engine/models.js' */

/**
 * After `length` tokens the last half of them is read again from a new state: distances that never came in training are
 * unknown to any kind of position. The scores are those behind the last token.
 * @param {Model} model
 * @param {number} length
 * @returns {Model}
 */
export function inWindow(model, length) {
  return {
    longest: null,
    start: () => ({ inner: model.start(null), recent: [] }),
    forward(tokens, { inner, recent }) {
      let scores = zeros(0, 0);
      let left = tokens;
      while (left.length) {
        if (recent.length === length) {
          recent = recent.slice(-Math.floor(length / 2));
          [, inner] = model.forward(recent, model.start(null));
        }
        const now = left.slice(0, length - recent.length);
        left = left.slice(now.length);
        [scores, inner] = model.forward(now, inner);
        recent = [...recent, ...now];
      }
      return [scores, { inner, recent }];
    },
  };
}
