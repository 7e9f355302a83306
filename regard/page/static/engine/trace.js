// Reading at taps: path → tensor. What passed in several calls is joined along time, as Python joins it.

import { listening } from './tap.js';
import { backwards, below, zeros } from './tensor.js';

/** @import { AboutTap, Tap } from './tap.js' */
/** @import { Tensor } from './tensor.js' */

export class Trace {
  /** @param {Iterable<Tap>} taps */
  constructor(taps) {
    this.taps = [...taps];
    /** @type {Map<string, Tensor[]>} */
    this.calls = new Map();
  }

  /**
   * Does something, and notes what passes meanwhile.
   * @template T
   * @param {() => T} act
   * @returns {T}
   */
  over(act) {
    const note = (/** @type {Tap} */ tap) => (/** @type {Tensor} */ value) => {
      const before = this.calls.get(tap.path);
      if (before) before.push(value);
      else this.calls.set(tap.path, [value]);
      return value;
    };
    return listening(
      this.taps.map((tap) => [tap, note(tap)]),
      act,
    );
  }

  /**
   * Every tap that was heard, with all that passed there.
   * @returns {[Tap, Tensor][]}
   */
  heard() {
    return this.taps.flatMap((tap) => {
      const calls = this.calls.get(tap.path);
      return calls ? [/** @type {[Tap, Tensor]} */ ([tap, joined(calls, tap.about)])] : [];
    });
  }
}

/**
 * One tensor out of several calls at a tap. Where later steps could see more, earlier ones are filled up.
 * @param {Tensor[]} calls
 * @param {AboutTap} about
 */
function joined(calls, { axes, filler, from_the_end: fromTheEnd }) {
  if (calls.length === 1 && !fromTheEnd) return calls[0];
  if (!axes.includes('T')) return /** @type {Tensor} */ (calls.at(-1)); // all keys and values: the last call has them
  if (axes[0] !== 'T') return alongTime(calls, Number(filler));
  return fromTheEnd ? backwards(below(calls)) : below(calls);
}

/**
 * Shapes: several of (H, T_i, S_i) → (H, Σ T_i, max S_i).
 * @param {Tensor[]} calls
 * @param {number} filler
 */
function alongTime(calls, filler) {
  const widest = Math.max(...calls.map((call) => call.shape[2]));
  const steps = calls.reduce((sum, call) => sum + call.shape[1], 0);
  const found = zeros(calls[0].shape[0], steps, widest);
  found.data.fill(filler);
  let before = 0;
  for (const { shape, data } of calls) {
    const [heads, here, width] = shape;
    for (let r = 0; r < heads * here; r++) {
      const to = Math.floor(r / here) * steps + before + (r % here);
      found.data.set(data.subarray(r * width, (r + 1) * width), to * widest);
    }
    before += here;
  }
  return found;
}
