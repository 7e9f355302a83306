// Letters to sounds: what is written goes along with what is read, never back.

import { STOP } from '../text/tokenizer.js';
import { logSoftmax, zeros } from './tensor.js';

/** @import { Linear } from './basic.js' */
/** @import { State } from './layer.js' */
/** @import { Decoder, Encoder, Model, Source } from './models.js' */
/** @import { Tap } from './tap.js' */
/** @import { Tensor } from './tensor.js' */

const NEVER = -1e4; // log p of what cannot be
const HARDLY = -50; // the same for more tokens than there are slots
const DOUBT = 1e-6; // no token is impossible

/**
 * How far the answer has come along the source, with N slots: log α_t, in front of the slots the beginning, behind them
 * the end; W_k h_i, (N, 1 + V); U g_t; the language model's own state; and whether anything has been fed.
 * @typedef {{spoke: Float64Array, letters: Tensor, told: Float32Array, history: State, begun: boolean}} Along
 */

/**
 * What each slot says, given what has been written: Σ_{r < s} log p_r(nothing), N + 1 of them, and log p_s(· ) of the V
 * tokens with the slot at the end, (N + 1) rows.
 * @typedef {{silence: Float64Array, said: Float64Array[]}} Saying
 */

/**
 * Each token read offers K slots; a slot writes one token or nothing; slots speak in their order.
 *
 *     log p_s(· | y_<t) = log softmax(W_k h_i + U g_t),  over "nothing" and the V tokens, for slot s = (i, k)
 *     a_t(s) = Σ_{s' < s} α_{t−1}(s') Π_{s' < r < s} p_r(nothing | y_<t)
 *     p(y_t) = Σ_s a_t(s) p_s(y_t | y_<t),  α_t(s) ∝ a_t(s) p_s(y_t | y_<t)
 *
 * The sum over all alignments is exact. (Graves 2012, here with K slots)
 * @implements {Model}
 */
export class Transducer {
  /**
   * @param {{encoder: Encoder, head: Linear, slots: number, history: Decoder, alignment: Tap,
   *   longest: number | null}} given
   */
  constructor({ encoder, head, slots, history, alignment, longest }) {
    this.encoder = encoder;
    this.head = head;
    this.slots = slots;
    this.history = history;
    this.alignment = alignment;
    this.longest = longest;
  }

  /**
   * @param {Source} source
   * @returns {Along}
   */
  start(source) {
    const { shape, data } = this.head.forward(this.encoder.forward(source).vectors); // (S, K · (1 + V))
    const letters = { shape: [shape[0] * this.slots, shape[1] / this.slots], data };
    const spoke = new Float64Array(letters.shape[0] + 2).fill(NEVER);
    spoke[0] = 0;
    const told = new Float32Array(letters.shape[1]);
    return { spoke, letters, told, history: this.history.start(), begun: false };
  }

  /**
   * @param {number[]} tokens
   * @param {Along} state
   * @returns {[Tensor, Along]}
   */
  forward(tokens, { spoke, letters, told, history, begun }) {
    const [scores, after] = this.history.forward(tokens, history);
    const outcomes = letters.shape[1];
    const found = zeros(tokens.length, outcomes - 1);
    let now = saying(letters, told);
    tokens.forEach((token, t) => {
      const reached = nextReached(spoke, now.silence);
      const wrote = [NEVER, ...reached.map((log, s) => log + now.said[s][token])];
      if (begun) spoke = logSoftmax(wrote); // the start token is written by nobody
      begun = true;
      told = scores.data.subarray(t * outcomes, (t + 1) * outcomes);
      now = saying(letters, told);
      const weights = this.watched(nextReached(spoke, now.silence).map(Math.exp), now.silence);
      for (let v = 0; v < outcomes - 1; v++) {
        let p = 0;
        for (let s = 0; s < weights.length; s++) p += weights[s] * Math.exp(now.said[s][v]);
        found.data[t * (outcomes - 1) + v] = Math.log(p + DOUBT);
      }
    });
    return [found, { spoke, letters, told, history: after, begun }];
  }

  /**
   * Shows which source token writes next, the end counted to the last; and the weights as a listener changed them.
   * @param {Float64Array} weights
   * @param {Float64Array} silence
   */
  watched(weights, silence) {
    const count = weights.length - 1;
    const speak = (/** @type {number} */ s) => (s < count ? -Math.expm1(silence[s + 1] - silence[s]) : 1);
    const place = (/** @type {number} */ s) => Math.floor(Math.min(s, count - 1) / this.slots);
    const tokens = zeros(1, 1, count / this.slots); // (H, T, S)
    weights.forEach((weight, s) => {
      tokens.data[place(s)] += weight * speak(s);
    });
    const changed = this.alignment.pass(tokens);
    return weights.map((weight, s) => {
      const before = tokens.data[place(s)];
      return before > 0 ? weight * (changed.data[place(s)] / before) : weight;
    });
  }
}

/**
 * @param {Tensor} letters
 * @param {Float32Array} told
 * @returns {Saying}
 */
function saying({ shape: [count, outcomes], data }, told) {
  const silence = new Float64Array(count + 1);
  const said = Array.from({ length: count }, (_, s) => {
    const logs = logSoftmax(told.map((log, v) => log + data[s * outcomes + v]));
    silence[s + 1] = silence[s] + logs[0];
    return logs.subarray(1);
  });
  const end = new Float64Array(outcomes - 1).fill(HARDLY);
  end[STOP] = 0;
  return { silence, said: [...said, end] };
}

/**
 * log a_{t+1} from log α_t. Behind the end there is nobody: it writes the stop token again.
 * @param {Float64Array} spoke
 * @param {Float64Array} silence
 */
function nextReached(spoke, silence) {
  let sum = Number.NEGATIVE_INFINITY; // log Σ_{j ≤ s}
  const reached = silence.map((quiet, s) => {
    sum = logPlus(sum, spoke[s] - quiet);
    return quiet + sum;
  });
  const last = reached.length - 1;
  reached[last] = logPlus(reached[last], spoke[last + 1]);
  return reached;
}

/**
 * log(exp a + exp b).
 * @param {number} a
 * @param {number} b
 */
function logPlus(a, b) {
  const most = Math.max(a, b);
  return most === Number.NEGATIVE_INFINITY ? most : most + Math.log1p(Math.exp(-Math.abs(a - b)));
}
