// What the page asks for a selection, and the record that answers it.

import { record as askRecord, lines } from './ask.js';
import { Record } from './record.js';
import { list } from './selection.js';

/** @import { Line, Question, Run } from './ask.js' */
/** @import { Selection } from './selection.js' */

export const LENGTH = 24; // tokens that a text goes on for, where nobody said how many

/**
 * What is asked of the server for a selection, without what was made on the way.
 * @param {Run[]} runs
 * @param {Selection} selection
 * @returns {Question}
 */
export function questionOf(runs, selection) {
  const run = runs[selection.run] || runs[0];
  if (run.kept) return { run: runs.indexOf(run) };
  /** @type {Question} */
  const asked = { run: runs.indexOf(run), text: selection.text };
  if (selection.picture) asked.picture = selection.picture;
  if (selection.answer) asked.answer = selection.answer.split(',').map(Number);
  if (run.task.continues) {
    asked.length = selection.length === '' ? LENGTH : Number(selection.length);
    if (selection.temperature) Object.assign(asked, { temperature: selection.temperature, seed: selection.seed });
  }
  asked.beam = beamOf(run, selection);
  if (selection.off) asked.off = list(selection.off);
  if (selection.held) asked.held = list(selection.held).map(heldIn);
  return asked;
}

/**
 * How many hypotheses are followed at once.
 * @param {Run} run
 * @param {Selection} selection
 */
export function beamOf(run, selection) {
  return Number(selection.beam) || run.task.beam;
}

/**
 * @param {string} text path[number]=value
 * @returns {[string, number]}
 */
function heldIn(text) {
  const [name, value] = text.split('=');
  return [name, Number(value)];
}

/**
 * The record that answers a question, which says how more is asked about the same answer. There is one answer: a text
 * that goes on is written token by token, and what was written is recorded; every other answer, and a beam's, comes
 * with its record.
 * @param {Run[]} runs
 * @param {Question} asked
 * @param {(line: Line) => void} [each]
 * @param {AbortSignal} [signal]
 */
export async function recordFor(runs, asked, each = () => {}, signal = undefined) {
  const { task, special } = runs[asked.run];
  const { temperature, seed, length, ...rest } = asked;
  /** @type {Question} */
  let wanted = rest;
  if (task.continues && length && asked.beam === 1) {
    const made = (await lines('/api/write', asked, each, signal)).filter((line) => 'token' in line);
    wanted = { ...rest, answer: [...(asked.answer || []), ...made.map((line) => line.token)] };
  } else if (task.continues) wanted = { ...rest, length };
  const record = new Record(await askRecord(wanted, signal), special, wanted);
  record.asked = about(record, wanted, task.steps);
  return record;
}

/**
 * How more is asked about a record: with the tokens of its answer, so that it is about these and no others.
 * @param {Record} record
 * @param {Question} asked
 * @param {boolean} steps
 * @returns {Question}
 */
function about(record, asked, steps) {
  const { answer, length, beam, wording, ...rest } = asked;
  const said = steps ? record.answer.map((token) => token.id) : [];
  return said.length ? { ...rest, beam: 1, said } : { ...rest, beam: 1 };
}
