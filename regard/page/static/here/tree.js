// A beam search watched: a node for every continuation that it considered.

import { top } from '../decode/choose.js';

/** @import { Candidate, Row } from '../decode/beam.js' */
/** @import { Node } from '../record.js' */

const SHOWN = 3; // continuations of each hypothesis that are told, besides those that were kept

export class BeamTree {
  constructor() {
    /** @type {Node[]} */
    this.nodes = [];
    this.rows = [-1]; // the node of each row
  }

  /**
   * One step: which of the continuations went on, and which of the others came close.
   * @param {Row[]} rows
   * @param {Candidate[]} best
   * @param {Candidate[]} going
   */
  watch(rows, best, going) {
    /** @type {Map<Candidate, number>} */
    const made = new Map();
    const taken = new Set();
    for (const one of best) {
      taken.add(`${one.parent} ${one.token}`);
      made.set(one, this.add(one.parent, one.token, one.log, fateOf(one)));
    }
    for (const [parent, { own }] of rows.entries()) {
      for (const token of top(own, SHOWN)) {
        if (!taken.has(`${parent} ${token}`)) this.add(parent, token, own[token], 'pruned');
      }
    }
    this.rows = going.map((one) => made.get(one) ?? -1);
  }

  /**
   * @param {number} row
   * @param {number} token
   * @param {number} log
   * @param {Node['fate']} fate
   */
  add(row, token, log, fate) {
    const parent = this.rows[row];
    const before = parent >= 0 ? this.nodes[parent].total : 0;
    return this.nodes.push({ parent, token, log, total: before + log, fate }) - 1;
  }
}

/**
 * @param {Candidate} one
 * @returns {Node['fate']}
 */
function fateOf({ ended, going }) {
  if (ended) return 'finished';
  return going ? 'kept' : 'pruned';
}
