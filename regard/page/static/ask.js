// What the page asks, of whoever answers: its own server, the model in the page, or what was saved.

import { Wrong } from './wrong.js';

/** @import { Special } from './record.js' */

/**
 * What the server says of a run. `task` is what it does, as data: no view asks for a task by its name.
 *
 * name: what people call the model; verb: what it does with what it reads; reads: what that is;
 * continues: whether it goes on with what it reads, which is then part of what is written;
 * steps: whether it writes token by token, so that there is a beam; else it says all `labels` at once,
 * each: one for each token; beam: how many hypotheses are usual.
 * @typedef {{name: string, verb: string, reads: 'text' | 'picture', continues: boolean, steps: boolean,
 *   labels: string, each: boolean, beam: number}} Task
 *
 * `kept`: of a saved record without its run, what is said where the model would be asked; `text`: what it read.
 * `live`: it is asked again at every letter; `lacks`: what whoever answers cannot do, by its name, and why not.
 * @typedef {{name: string, path: string, task: Task, special: Special, kept: string, text?: string, live?: boolean,
 *   lacks?: Record<string, string>,
 *   parameters: number, tokens: string, longest: number, scenes: number, examples: string[],
 *   properties: [string, string][]}} Run
 *
 * What is asked: see regard/page/asked.py.
 * @typedef {{run: number, text?: string, picture?: string, answer?: number[], said?: number[], wording?: string,
 *   length?: number, temperature?: number, seed?: number, beam?: number, off?: string[], held?: [string, number][],
 *   head?: string, property?: string}} Question
 *
 * A walk over the page: see regard/page/story.py.
 * @typedef {{name: string, title: string, steps: {address: string, say: string, point: string, question: string,
 *   answer: string}[]}} Story
 *
 * @typedef {{[name: string]: any}} Line one of several that come as they are made
 *
 * Who answers; no view knows which it is. A path is one of those in regard/page/server.py. `template`: the page as one
 * file, without its records.
 * @typedef {{runs(): Promise<Run[]>, stories(): Promise<Story[]>, picture(number: number): Promise<string>,
 *   plain(path: string, question: Question): Promise<any>, template(): Promise<string>,
 *   lines(path: string, question: Question, signal?: AbortSignal): AsyncGenerator<Line>,
 *   record(question: Question, signal?: AbortSignal): Promise<ArrayBuffer>}} Answers
 */

const element = document.getElementById('saved');

/** @type {{address: string, answers: {[key: string]: any}} | null} */
const saved = element?.textContent?.trim() ? JSON.parse(element.textContent) : null;
export const offline = element !== null;

/** @type {Map<string, Promise<any>>} */
const kept = new Map();
const first = offline ? `<!doctype html>\n${document.documentElement.outerHTML}` : '';

/** @type {Answers} */
let answers;

/** @param {Answers} who */
export function answeredBy(who) {
  answers = who;
}

export function savedAddress() {
  return saved ? saved.address : '';
}

/**
 * A value that was asked for already is not asked for again.
 * @template T
 * @param {string} key
 * @param {() => Promise<T>} make
 * @returns {Promise<T>}
 */
async function once(key, make) {
  if (saved && key in saved.answers) return saved.answers[key];
  if (offline) {
    throw new Wrong('a saved page holds what was shown when it was saved; for more, open the run with regard look');
  }
  const found = kept.get(key) ?? make();
  kept.set(key, found);
  found.catch(() => kept.delete(key));
  return found;
}

/** @returns {Promise<Run[]>} */
export function runs() {
  return once('runs', () => answers.runs());
}

/** @returns {Promise<Story[]>} */
export function stories() {
  return once('stories', () => answers.stories());
}

/**
 * The answer at a path, as plain values.
 * @param {string} path
 * @param {Question} question
 */
export function plain(path, question) {
  return once(path + JSON.stringify(question), () => answers.plain(path, question));
}

/**
 * Lines, all of them; each is handed on as it comes.
 * @param {string} path
 * @param {Question} question
 * @param {(line: Line) => void} each
 * @param {AbortSignal} [signal]
 * @returns {Promise<Line[]>}
 */
export function lines(path, question, each, signal) {
  return once(path + JSON.stringify(question), async () => {
    /** @type {Line[]} */
    const every = [];
    for await (const line of answers.lines(path, question, signal)) {
      every.push(line);
      each(line);
    }
    return every;
  });
}

/**
 * The bytes of a record.
 * @param {Question} question
 * @param {AbortSignal} [signal]
 * @returns {Promise<ArrayBuffer>}
 */
export async function record(question, signal) {
  /** @type {ArrayBuffer | string} */
  const found = await once(`record${JSON.stringify(question)}`, () => answers.record(question, signal));
  return typeof found === 'string' ? fromText(found) : found;
}

/**
 * A picture of the page as text, so that a saved page has it too.
 * @param {number} number
 */
export function picture(number) {
  return once(`scene${number}`, () => answers.picture(number));
}

/** The page as one file, without its records. */
export async function template() {
  return offline ? first : answers.template();
}

/** All that was asked for and shown, to be saved. */
export async function everything() {
  const answers = { ...(saved ? saved.answers : {}) };
  for (const [key, promise] of kept) {
    const value = await promise.catch(() => undefined);
    if (value !== undefined) answers[key] = value instanceof ArrayBuffer ? toText(value) : value;
  }
  return answers;
}

/** @param {ArrayBuffer} buffer */
function toText(buffer) {
  const all = new Uint8Array(buffer);
  let text = '';
  for (let i = 0; i < all.length; i += 0x8000) text += String.fromCharCode(...all.subarray(i, i + 0x8000));
  return btoa(text);
}

/** @param {string} text */
function fromText(text) {
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
}
