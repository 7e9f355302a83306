// How a text goes on, token by token, each with the tokens that might have stood there.

import { argmax, sample, top } from '../decode/choose.js';
import { logSoftmax } from '../engine/tensor.js';
import { START, STOP } from '../text/tokenizer.js';
import { inWindow } from './window.js';

/** @import { Line, Question } from '../ask.js' */
/** @import { Opened } from './opened.js' */

const MOST = 512; // tokens to be written
const TOP = 8; // alternatives in a ladder

/**
 * @param {Opened} run
 * @param {Question} asked
 * @param {() => Promise<void>} pause
 * @returns {AsyncGenerator<Line>}
 */
export async function* written({ model, writer, window }, asked, pause) {
  const { text = '', answer = [], length, temperature = 0, seed = 0 } = asked;
  const tokens = [START, ...writer.encode(text), ...answer];
  const room = (model.longest ?? Number.POSITIVE_INFINITY) - tokens.length + 1;
  const limit = Math.min(length || MOST, Math.max(0, room));
  const answering = window ? inWindow(model, window) : model;
  const decoder = new TextDecoder();
  let [state, fed] = [answering.start(null), [...tokens]];
  for (let made = 0; made < limit; made++) {
    await pause();
    const [{ shape, data }, after] = answering.forward(fed, state);
    const scores = data.subarray((shape[0] - 1) * shape[1]);
    const likely = logSoftmax(scores).map(Math.exp);
    const token = temperature ? sample(scores, { temperature, seed, made }) : argmax(scores);
    tokens.push(token);
    const piece = /** @type {Uint8Array} */ (writer.pieces(tokens).at(-1));
    yield {
      token,
      label: writer.label(token),
      text: decoder.decode(piece, { stream: token !== STOP }),
      probability: likely[token],
      top: top(likely, TOP).map((one) => [one, writer.label(one), likely[one]]),
    };
    if (token === STOP) break;
    [state, fed] = [after, [token]];
  }
  yield { done: true, text: decoder.decode() };
}
