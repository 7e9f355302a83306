// The page's own server answers: what is asked goes to it, and to nobody else.

import { gaveUp, Wrong } from './wrong.js';

/** @import { Answers, Line, Question } from './ask.js' */

/** @implements {Answers} */
export class Server {
  async runs() {
    return (await asked('/api/runs')).json();
  }

  async stories() {
    return (await asked('/api/stories')).json();
  }

  /**
   * @param {Question} question
   * @param {AbortSignal} [signal]
   */
  async record(question, signal) {
    return (await asked('/api/record', question, signal)).arrayBuffer();
  }

  /**
   * @param {string} path
   * @param {Question} question
   */
  async plain(path, question) {
    return (await asked(path, question)).json();
  }

  /**
   * @param {string} path
   * @param {Question} question
   * @param {AbortSignal} [signal]
   * @returns {AsyncGenerator<Line>}
   */
  async *lines(path, question, signal) {
    const { body } = await asked(path, question, signal);
    for await (const text of linesOf(/** @type {ReadableStream<any>} */ (body))) {
      const line = JSON.parse(text);
      if (line.error) throw new Wrong(line.error);
      yield line;
    }
  }

  /** @param {number} number */
  async picture(number) {
    const content = await (await asked(`/api/scene?number=${number}`)).blob();
    return new Promise((resolve) => {
      const reader = new FileReader();
      reader.onload = () => resolve(/** @type {string} */ (reader.result));
      reader.readAsDataURL(content);
    });
  }

  async template() {
    return (await asked('/standalone.html')).text();
  }
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
