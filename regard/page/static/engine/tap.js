// Taps: named identities where a model can be looked into or changed, without widening what it returns.

/** @import { Tensor } from './tensor.js' */

/** @typedef {(value: Tensor) => Tensor} Listener */

/**
 * What passes at a tap, as Python's tap says it: its axes, its role, whose rows and columns it has, what stands for
 * positions that a step could not see yet, whether a position hands it on, and whether it runs from the end.
 * @typedef {{axes: string[], role: string, rows: string, columns: string, filler: number, carried: boolean,
 *   from_the_end: boolean}} AboutTap
 */

/** @type {Map<Tap, Listener[]>} */
let heard = new Map();

/** y = x, unless somebody listens. Tensors have no batch here, so of the axes "B T D" the value has T and D. */
export class Tap {
  /** @param {AboutTap & {path: string}} given */
  constructor({ path, ...about }) {
    this.path = path;
    this.about = { ...about, axes: about.axes.slice(1) };
  }

  /** @param {Tensor} value */
  pass(value) {
    return (heard.get(this) ?? []).reduce((now, listener) => listener(now), value);
  }
}

/**
 * Does something while these listeners stand behind those already there.
 * @template T
 * @param {[Tap, Listener][]} listeners
 * @param {() => T} act
 * @returns {T}
 */
export function listening(listeners, act) {
  const before = heard;
  heard = new Map(before);
  for (const [tap, listener] of listeners) heard.set(tap, [...(heard.get(tap) ?? []), listener]);
  try {
    return act();
  } finally {
    heard = before;
  }
}
