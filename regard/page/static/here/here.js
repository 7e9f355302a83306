// The model in the page answers, in the place of a server: the same questions, the same records.

import { Wrong } from '../wrong.js';
import { attribution } from './attribution.js';
import { opened, withHeld } from './opened.js';
import { partsOf } from './recording.js';
import { encoded } from './coding.js';
import { heldIn } from './units.js';
import { written } from './writing.js';

/** @import { Answers, Line, Question, Run, Story } from '../ask.js' */
/** @import { Opened, Published } from './opened.js' */

/**
 * What stands in the page itself: which runs there are, each with the file that has it, and the stories.
 * @typedef {{runs: (Run & {file: string})[], stories: Story[]}} Contents
 */

const SLICE = 12; // milliseconds of work before the page may draw

/** @implements {Answers} */
export class Here {
  /** @param {Contents} contents */
  constructor({ runs, stories }) {
    this.all = runs;
    this.told = stories;
    /** @type {Map<number, Promise<Opened>>} */
    this.open = new Map();
  }

  async runs() {
    return this.all;
  }

  async stories() {
    return this.told;
  }

  /**
   * @param {Question} asked
   * @param {AbortSignal} [signal]
   */
  async record(asked, signal) {
    const run = await this.asked(asked);
    return encoded(await partsOf(run, asked, pauses(signal)));
  }

  /**
   * @param {string} path
   * @param {Question} asked
   */
  async plain(path, asked) {
    if (path !== '/api/attribution') throw new Wrong(`there is nothing to ask at '${path}'`);
    return attribution(await this.asked(asked), asked, pauses());
  }

  /**
   * @param {string} path
   * @param {Question} asked
   * @param {AbortSignal} [signal]
   * @returns {AsyncGenerator<Line>}
   */
  async *lines(path, asked, signal) {
    const run = await this.asked(asked);
    if (path === '/api/write') yield* written(run, asked, pauses(signal));
    else if (path === '/api/find') yield* run.found[asked.property ?? ''] ?? [];
    else throw new Wrong(run.about.lacks?.gradient ?? `there is nothing to ask at '${path}'`);
  }

  /** @param {number} number */
  async picture(number) {
    const runs = await Promise.all(this.all.flatMap((run, i) => (run.scenes ? [this.run(i)] : [])));
    return `data:image/png;base64,${runs[0].scenes[number]}`;
  }

  /** The page as one file, without its runs. */
  async template() {
    return FIRST.replace(/(<script type="application\/json" id=")published">[^<]*/, '$1saved">');
  }

  /**
   * The run of a question, with what the question holds still.
   * @param {Question} asked
   */
  async asked(asked) {
    const run = await this.run(asked.run);
    return withHeld(run, heldIn(run.taps, asked));
  }

  /**
   * A run's file is read when somebody asks for the run.
   * @param {number} number
   */
  run(number) {
    const found = this.open.get(number) ?? published(this.all[number]).then((file) => opened(file.run, file.weights));
    this.open.set(number, found);
    found.catch(() => this.open.delete(number));
    return found;
  }
}

const FIRST = `<!doctype html>\n${document.documentElement.outerHTML}`;

/**
 * What a file beside the page holds. It is a script: of all that a page from the disk might read, only that is allowed.
 * @param {Run & {file: string}} run
 * @returns {Promise<{run: Published, weights: string}>}
 */
function published({ file, name }) {
  return new Promise((resolve, reject) => {
    /** @type {any} */ (globalThis).publish = (/** @type {Published} */ run, /** @type {string} */ weights) =>
      resolve({ run, weights });
    const script = document.createElement('script');
    script.src = file;
    script.onerror = () => reject(new Wrong(`${file} is not beside this page, and has ${name}; copy the whole folder`));
    document.head.append(script);
  });
}

/**
 * Lets the page draw and listen when enough has been done; ends the work where nobody waits for it any more.
 * @param {AbortSignal} [signal]
 */
function pauses(signal) {
  let since = performance.now();
  return async () => {
    signal?.throwIfAborted();
    if (performance.now() - since < SLICE) return;
    await new Promise((resolve) => setTimeout(resolve));
    since = performance.now();
    signal?.throwIfAborted();
  };
}
