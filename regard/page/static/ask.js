// What the page asks of its own server; in a saved page, of what was saved.

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
 * @typedef {{name: string, path: string, task: Task, special: Special, kept: string, text?: string,
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
 */

const element = document.getElementById('saved');

/** @type {{address: string, answers: {[key: string]: any}} | null} */
const saved = element?.textContent?.trim() ? JSON.parse(element.textContent) : null;
export const offline = element !== null;

/** @type {Map<string, Promise<any>>} */
const kept = new Map();
const first = offline ? `<!doctype html>\n${document.documentElement.outerHTML}` : '';

/** Something that the server, or its absence, says in one line. */
export class Wrong extends Error {}

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

/**
 * @param {string} path
 * @param {Question} [question]
 * @param {AbortSignal} [signal]
 */
async function asked(path, question, signal) {
  const wish = question && {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(question),
  };
  let response;
  try {
    response = await fetch(path, { ...wish, signal });
  } catch (error) {
    if (gaveUp(error)) throw error;
    throw new Wrong('the server does not answer; is the command that opened this page still running?');
  }
  if (response.ok) return response;
  throw new Wrong((await response.json().catch(() => ({}))).error || `the server answered ${response.status}`);
}

/**
 * Whether nobody waits for an answer any more.
 * @param {unknown} error
 */
export function gaveUp(error) {
  return error instanceof Error && error.name === 'AbortError';
}

/** @returns {Promise<Run[]>} */
export function runs() {
  return once('runs', async () => (await asked('/api/runs')).json());
}

/** @returns {Promise<Story[]>} */
export function stories() {
  return once('stories', async () => (await asked('/api/stories')).json());
}

/**
 * The answer at a path, read as JSON.
 * @param {string} path
 * @param {Question} question
 */
export function plain(path, question) {
  return once(path + JSON.stringify(question), async () => (await asked(path, question)).json());
}

/**
 * Lines of JSON, all of them; each is handed on as it comes.
 * @param {string} path
 * @param {Question} question
 * @param {(line: Line) => void} each
 * @param {AbortSignal} [signal]
 * @returns {Promise<Line[]>}
 */
export function lines(path, question, each, signal) {
  return once(path + JSON.stringify(question), async () => {
    const { body } = await asked(path, question, signal);
    /** @type {Line[]} */
    const every = [];
    for await (const text of linesOf(/** @type {ReadableStream<any>} */ (body))) {
      const line = JSON.parse(text);
      if (line.error) throw new Wrong(line.error);
      every.push(line);
      each(line);
    }
    return every;
  });
}

/**
 * @param {ReadableStream<any>} body
 * @returns {AsyncGenerator<string>}
 */
async function* linesOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    const whole = (rest + (value || '')).split('\n');
    rest = whole.pop() ?? '';
    yield* whole;
    if (done) return;
  }
}

/**
 * The bytes of a record.
 * @param {Question} question
 * @param {AbortSignal} [signal]
 * @returns {Promise<ArrayBuffer>}
 */
export async function record(question, signal) {
  const make = async () => (await asked('/api/record', question, signal)).arrayBuffer();
  /** @type {ArrayBuffer | string} */
  const found = await once(`record${JSON.stringify(question)}`, make);
  return typeof found === 'string' ? fromText(found) : found;
}

/**
 * A picture of the page as text, so that a saved page has it too.
 * @param {number} number
 */
export function picture(number) {
  return once(`scene${number}`, async () => {
    const content = await (await asked(`/api/scene?number=${number}`)).arrayBuffer();
    return `data:image/png;base64,${toText(content)}`;
  });
}

/** The page as one file, without its records. */
export async function template() {
  return offline ? first : (await asked('/standalone.html')).text();
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
