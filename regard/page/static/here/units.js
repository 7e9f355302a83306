// Single cells and heads by name, path[number], and what it takes to hold one still.

/** @import { Question } from '../ask.js' */
/** @import { Listener, Tap } from '../engine/tap.js' */

/** @typedef {[Tap, Listener][]} Held */

/**
 * What a question holds: heads that are off add nothing, cells that are held say their value.
 * @param {Map<string, Tap>} taps
 * @param {Question} asked
 * @returns {Held}
 */
export function heldIn(taps, { off = [], held = [] }) {
  /** @type {[string, number][]} */
  const all = [...off.map((name) => /** @type {[string, number]} */ ([name, 0])), ...held];
  return all.map(([name, value]) => unitHeld(taps, name, value));
}

/**
 * A cell is one number at a tap of vectors; a head is held at what it mixes, Σ_i a_{t,i} v_i.
 * @param {Map<string, Tap>} taps
 * @param {string} name
 * @param {number} value
 * @returns {[Tap, Listener]}
 */
function unitHeld(taps, name, value) {
  const [, path, number] = name.match(/^(.+)\[(\d+)\]$/) ?? [];
  const head = taps.get(`${path}.mixed`);
  const tap = head ?? taps.get(path);
  if (!tap || (!head && !/^T [DF]$/.test(tap.about.axes.join(' ')))) {
    throw new Error(`'${name}' is no cell and no head of this run; a unit is written path[number]`);
  }
  const unit = Number(number);
  return [
    tap,
    ({ shape, data }) => {
      const after = data.slice();
      const [size, each] = head ? [shape[1] * shape[2], shape[0]] : [1, shape[1]];
      if (unit >= each) throw new Error(`${path} has units 0 to ${each - 1}, found ${unit}`);
      if (head) after.fill(value, unit * size, (unit + 1) * size);
      else for (let at = unit; at < after.length; at += each) after[at] = value;
      return { shape, data: after };
    },
  ];
}
