// The contract of every layer: vectors and a state in, vectors and a state out. There is no batch here, and no padding.

/** @import { Tensor } from './tensor.js' */

/** @typedef {any} State a value: what is made of it never changes it */

/** @typedef {[Tensor, State]} Passed what a layer puts out (T, D), and the state behind it */

/**
 * What an encoder made of its source: h_1 … h_S (S, D), one vector for all of it (1, D), and its last state.
 * @typedef {{vectors: Tensor, summary: Tensor, state: State}} Encoded
 */

/**
 * y_1 … y_T, state' = f(x_1 … x_T, state), the same for T = 1 and for all of T at once.
 * `summary`: one vector for a whole sequence, from what `forward` returned.
 * @typedef {{start(source?: Encoded): State, forward(x: Tensor, state: State): Passed,
 *   summary(y: Tensor, state: State): Tensor}} Layer
 */

/**
 * How many bytes the numbers of a state take.
 * @param {State} state
 * @returns {number}
 */
export function sizeOf(state) {
  if (state === null || typeof state !== 'object') return typeof state === 'number' ? 8 : 0;
  if (state instanceof Float32Array || state instanceof Float64Array) return state.byteLength;
  if (typeof state.bytes === 'number') return state.bytes; // one that knows
  const parts = Array.isArray(state) ? state : Object.values('data' in state ? { data: state.data } : state);
  return parts.reduce((sum, part) => sum + sizeOf(part), 0);
}
