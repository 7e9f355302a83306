// What a saved page will be asked for, asked before it is saved.

import { record as askRecord, lines, plain } from './ask.js';
import { attentionOf, oneLayer } from './views/common.js';
import { measureQuestion } from './views/measure.js';
import { benchQuestion } from './views/own_head.js';

/** @import { Looked } from './main.js' */

/**
 * Gradients, every measure of the map, and the numbers of a head, of the answer that is shown.
 * @param {Looked} look
 */
export async function ahead({ record, run, selection }) {
  if (run.kept) return;
  /** @type {Promise<unknown>[]} */
  const wanted = [lines('/api/gradients', record.asked, () => {})];
  const [attention, layer] = [attentionOf(record, selection), oneLayer(record, selection.layer)];
  if (attention) wanted.push(plain('/api/attribution', measureQuestion(record, attention)));
  if (layer) wanted.push(askRecord(benchQuestion(record, layer)));
  await Promise.allSettled(wanted);
}
