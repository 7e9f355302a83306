// Beam search: the K most probable beginnings of an answer, carried on together.

import { logSoftmax } from '../engine/tensor.js';
import { top } from './choose.js';

/** @import { State } from '../engine/layer.js' */
/** @import { Model } from '../engine/models.js' */

/** @typedef {{tokens: number[], logs: number[], score: number, finished: boolean}} Hypothesis */

/**
 * One beginning: what was made, Σ log p, the scores behind it and the state there; `from` is the row it continues.
 * @typedef {{tokens: number[], logs: number[], sum: number, own: Float64Array, state: State, from: number}} Row
 */

/**
 * A continuation that was considered: of which row, by which token, and what became of it.
 * @typedef {{parent: number, token: number, log: number, sum: number, ended: boolean, going: boolean}} Candidate
 */

/**
 * One step as whoever watches it is told: the rows before it, the continuations considered last, those that go on.
 * @typedef {(rows: Row[], best: Candidate[], going: Candidate[]) => void} Watch
 */

/** @typedef {{beam: number, limit: number, stop: number}} Search */

const PENALTY = 0.6; // α of ((5 + n) / 6)^α, which divides Σ log p of n tokens (Wu et al. 2016)

/** @param {number} n */
function length(n) {
  return ((5 + n) / 6) ** PENALTY;
}

/**
 * The best answer. Of all continuations of K hypotheses the K best go on; one that stops takes one of the K places for
 * good. A search ends when its places are taken, or when what goes on can no longer win: a sum of log p only falls, so
 * divided by the greatest length it can reach it bounds every score to come.
 *
 * Pauses between steps, so that a page stays alive.
 * @param {Model} model
 * @param {number[]} prompt
 * @param {State} start
 * @param {Search} search
 * @param {Watch} watch
 * @param {() => Promise<void>} pause
 * @returns {Promise<Hypothesis>}
 */
export async function beam(model, prompt, start, { beam: width, limit, stop }, watch, pause) {
  /** @type {Hypothesis[]} */
  const found = [];
  /** @type {Row[]} */
  let rows = [{ tokens: [], logs: [], sum: 0, ...fed(model, prompt, start), from: -1 }];
  for (let made = 1; rows.length; made++) {
    await pause();
    const best = continued(rows, width).slice(0, width - found.length);
    for (const one of best) {
      one.ended = one.token === stop || made === limit;
      if (one.ended) found.push(hypothesis(rows[one.parent], one, stop));
    }
    const longest = Math.max(length(made + 1), length(limit));
    const going = best.filter((one) => !one.ended);
    const over = going.length > 0 && found.some((one) => one.score >= going[0].sum / longest);
    const on = over || made === limit ? [] : going;
    for (const one of on) one.going = true;
    watch(rows, best, on);
    rows = on.map((one) => next(model, rows[one.parent], one));
  }
  return found.reduce((a, b) => (b.score > a.score ? b : a));
}

/**
 * The scores behind the last of some tokens, and the state there.
 * @param {Model} model
 * @param {number[]} tokens
 * @param {State} state
 */
function fed(model, tokens, state) {
  const [{ shape, data }, after] = model.forward(tokens, state);
  return { own: logSoftmax(data.subarray((shape[0] - 1) * shape[1])), state: after };
}

/**
 * The best continuations of all rows, best first: log p(y_1 … y_t) = log p(y_1 … y_{t−1}) + log p(y_t).
 * @param {Row[]} rows
 * @param {number} width
 * @returns {Candidate[]}
 */
function continued(rows, width) {
  const every = rows.flatMap(({ own, sum }, parent) =>
    top(own, width).map((token) => {
      return { parent, token, log: own[token], sum: sum + own[token], ended: false, going: false };
    }),
  );
  return every.sort((a, b) => b.sum - a.sum).slice(0, width);
}

/**
 * @param {Row} row
 * @param {Candidate} one
 * @param {number} stop
 * @returns {Hypothesis}
 */
function hypothesis({ tokens, logs }, { token, log, sum }, stop) {
  const finished = token === stop;
  const all = [...logs, log];
  return { tokens: finished ? tokens : [...tokens, token], logs: all, score: sum / length(all.length), finished };
}

/**
 * @param {Model} model
 * @param {Row} row
 * @param {Candidate} one
 * @returns {Row}
 */
function next(model, { tokens, logs, state }, { token, log, sum, parent }) {
  return { tokens: [...tokens, token], logs: [...logs, log], sum, ...fed(model, [token], state), from: parent };
}
