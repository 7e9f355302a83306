// How a record is made in the page: one traced pass over what is given, then one step for each token of the answer.

import { beam } from '../decode/beam.js';
import { argmax } from '../decode/choose.js';
import { sizeOf } from '../engine/layer.js';
import { logSoftmax } from '../engine/tensor.js';
import { listening } from '../engine/tap.js';
import { Trace } from '../engine/trace.js';
import { NAMES, START, STOP, together, UNKNOWN } from '../text/tokenizer.js';
import { layerOf } from './coding.js';
import { BeamTree } from './tree.js';

/** @import { Question } from '../ask.js' */
/** @import { Source } from '../engine/models.js' */
/** @import { Tap } from '../engine/tap.js' */
/** @import { Tensor } from '../engine/tensor.js' */
/** @import { Call, Node, Sequence } from '../record.js' */
/** @import { Tokenizer } from '../text/tokenizer.js' */
/** @import { Opened } from './opened.js' */

/**
 * What one pass and the steps behind it gave: log p of every token at every step, what passed, and the calls.
 * @typedef {{logs: Float64Array[], seen: [Tap, Tensor][], calls: Call[]}} Passed
 *
 * What was answered, stop included, and how it was found.
 * @typedef {{made: number[], nodes: Node[]}} Answer
 *
 * All that is in a record; see regard/look/record.py. `shown`: how many alternatives there are at each step.
 * @typedef {{kind: string, sequences: {source?: Sequence, written: Sequence}, passed: Passed, shown: number,
 *   writer: Tokenizer, tree: Node[], picture?: Tensor, run: string}} Parts
 */

const TOP = 8; // alternatives in a ladder
const CAPTION = 60; // tokens of a caption at most

/**
 * All that is in the record that answers a question.
 * @param {Opened} run
 * @param {Question} asked
 * @param {() => Promise<void>} pause
 * @returns {Promise<Parts>}
 */
export async function partsOf(run, asked, pause) {
  const { task } = run.about;
  if (task.continues) return ofText(run, asked, pause);
  if (task.reads === 'picture') return ofPicture(run, asked, pause);
  return task.steps ? ofTranslation(run, asked, pause) : ofLabels(run, asked);
}

/**
 * A language model reads a text, in one pass, and may go on with it, step by step.
 * @param {Opened} run
 * @param {Question} asked
 * @param {() => Promise<void>} pause
 * @returns {Promise<Parts>}
 */
async function ofText(run, asked, pause) {
  const { writer } = run;
  const read = [START, ...writer.encode(asked.text ?? '')];
  const begin = asked.answer ?? [];
  const known = given(writer, asked);
  const found = known.length ? { made: known, nodes: [] } : await goneOn(run, [...read, ...begin], asked, pause);
  const made = known.length ? known : [...begin, ...found.made];
  const written = sequence(writer, [...read, ...made], asked.text);
  return parts(run, { written }, await passed(run, null, read, made, asked.head, pause), found.nodes);
}

/**
 * How a text goes on.
 * @param {Opened} run
 * @param {number[]} begun
 * @param {Question} asked
 * @param {() => Promise<void>} pause
 * @returns {Promise<Answer>}
 */
async function goneOn({ model }, begun, { length = 0, beam: width = 1 }, pause) {
  const limit = Math.min(length, (model.longest ?? Number.POSITIVE_INFINITY) - begun.length + 1);
  if (limit <= 0) return { made: [], nodes: [] };
  return searched(model, begun, model.start(null), { beam: width, limit, stop: STOP }, pause);
}

/**
 * A translator reads a line in one pass and writes its translation, step by step.
 * @param {Opened} run
 * @param {Question} asked
 * @param {() => Promise<void>} pause
 */
async function ofTranslation(run, asked, pause) {
  const read = reading(run.reader, asked.text ?? '');
  const source = read.tokens.map((token) => token.id);
  const bucket = Math.max(16, 2 ** Math.ceil(Math.log2(source.length)));
  const { made, nodes } = await answered(run, source, 2 * bucket + 20, asked, pause);
  const written = sequence(run.writer, [START, ...made]);
  return parts(run, { source: read, written }, await passed(run, source, [START], made, asked.head, pause), nodes);
}

/**
 * A captioner reads a picture and writes its caption, step by step.
 * @param {Opened} run
 * @param {Question} asked
 * @param {() => Promise<void>} pause
 */
async function ofPicture(run, asked, pause) {
  const picture = await run.pixels(asked.picture || 'scene:0');
  const { made, nodes } = await answered(run, picture, CAPTION, asked, pause);
  const found = await passed(run, picture, [START], made, asked.head, pause);
  const weights = found.seen.find(([tap]) => tap.about.role === 'weights' && tap.about.columns === 'source');
  const written = sequence(run.writer, [START, ...made]);
  const sequences = weights ? { source: regions(weights[1].shape[2], picture), written } : { written };
  return { ...parts(run, sequences, found, nodes), picture };
}

/**
 * Labels are no text that goes on: what is fed says how many are wanted, and they are known behind the pass. One that
 * says nothing is asked for none.
 * @param {Opened} run
 * @param {Question} asked
 */
function ofLabels(run, asked) {
  const { each } = run.about.task;
  const read = reading(run.reader, each ? (asked.text ?? '').trim().split(/\s+/u).join(' ') : (asked.text ?? ''));
  const source = read.tokens.map((token) => token.id);
  const fed = new Array(each ? source.length - 1 : 1).fill(START);
  const found = throughAll(run, source, [fed], asked.head);
  if (!run.labelled) {
    return { ...parts(run, { source: read, written: sequence(run.writer, [START]) }, found, []), shown: 0 };
  }
  for (const logs of found.logs) logs.fill(Number.NEGATIVE_INFINITY, 0, NAMES.length); // special tokens are no labels
  found.logs = found.logs.map(logSoftmax);
  const said = found.logs.map(argmax);
  return parts(run, { source: read, written: sequence(run.writer, [START, ...said]) }, found, []);
}

/**
 * What it is made to say, as tokens or as text; nothing where it speaks for itself.
 * @param {Tokenizer} writer
 * @param {Question} asked
 */
function given(writer, { said, wording }) {
  if (said?.length) return said;
  return wording ? writer.encode(wording) : [];
}

/**
 * What the model says of a source, stop included; or what it is made to say.
 * @param {Opened} run
 * @param {Source} source
 * @param {number} usual
 * @param {Question} asked
 * @param {() => Promise<void>} pause
 * @returns {Promise<Answer>}
 */
async function answered({ model, writer }, source, usual, asked, pause) {
  const known = given(writer, asked);
  if (known.length) return { made: asked.said?.length ? known : [...known, STOP], nodes: [] };
  const begin = asked.answer ?? [];
  const limit = Math.min(usual, model.longest ?? usual) - begin.length;
  if (limit <= 0) throw new Error(`the answer begins with ${begin.length} tokens and leaves no room for more`);
  const search = { beam: asked.beam ?? 1, limit, stop: STOP };
  const { made, nodes } = await searched(model, [START, ...begin], model.start(source), search, pause);
  return { made: [...begin, ...made], nodes };
}

/**
 * The best answer of a search, and its tree where several hypotheses were followed.
 * @param {import('../engine/models.js').Model} model
 * @param {number[]} prompt
 * @param {any} start
 * @param {import('../decode/beam.js').Search} search
 * @param {() => Promise<void>} pause
 * @returns {Promise<Answer>}
 */
async function searched(model, prompt, start, search, pause) {
  const tree = new BeamTree();
  const best = await beam(model, prompt, start, search, (rows, found, going) => tree.watch(rows, found, going), pause);
  return { made: best.finished ? [...best.tokens, STOP] : best.tokens, nodes: search.beam > 1 ? tree.nodes : [] };
}

/**
 * The prompt in one call, then what was made one by one; its last token is not fed.
 * @param {Opened} run
 * @param {Source | null} source
 * @param {number[]} prompt
 * @param {number[]} made
 * @param {string | undefined} head
 * @param {() => Promise<void>} pause
 */
async function passed(run, source, prompt, made, head, pause) {
  await pause();
  return throughAll(run, source, [prompt, ...made.slice(0, -1).map((token) => [token])], head);
}

/**
 * Several calls of the model, one behind the other.
 * @param {Opened} run
 * @param {Source | null} source
 * @param {number[][]} calls
 * @param {string} [head]
 * @returns {Passed}
 */
function throughAll({ model, taps, held }, source, calls, head = '') {
  const trace = new Trace(wanted([...taps.values()], head));
  /** @type {Float64Array[]} */
  const logs = [];
  /** @type {Call[]} */
  const made = [];
  const through = () => {
    let state = model.start(source);
    let reused = 0;
    for (const fed of calls) {
      const [{ shape, data }, after] = model.forward(fed, state);
      for (let t = 0; t < shape[0]; t++) logs.push(logSoftmax(data.subarray(t * shape[1], (t + 1) * shape[1])));
      made.push({ computed: fed.length, reused, bytes: sizeOf(after) });
      [state, reused] = [after, reused + fed.length];
    }
  };
  listening(held, () => trace.over(through)); // what is held is held before it is noted
  return { logs, seen: trace.heard(), calls: made };
}

/**
 * The taps of a record: weights, vectors at each position, embeddings and units; all of a head's layer, if it is asked.
 * @param {Tap[]} taps
 * @param {string} head
 */
function wanted(taps, head) {
  const layer = head.split('[')[0];
  return taps.filter(({ path, about }) => {
    const usual = ['weights', 'embedding', 'units'].includes(about.role) || about.axes.join(' ') === 'T D';
    return usual || (layer && layerOf(path) === layer);
  });
}

/**
 * What a model that reads a source is given.
 * @param {Tokenizer} tokenizer
 * @param {string} text
 */
function reading(tokenizer, text) {
  if (!text.trim()) throw new Error('there is no text to look at, found an empty one; write one above');
  return sequence(tokenizer, [...tokenizer.encode(text), STOP], text);
}

/**
 * Tokens with their names, bytes and places. Unknown words keep the faces that they have in the text.
 * @param {Tokenizer} tokenizer
 * @param {number[]} ids
 * @param {string} text
 * @returns {Sequence}
 */
function sequence(tokenizer, ids, text = '') {
  const faces = text ? tokenizer.faces(text) : [];
  const first = Number(ids[0] === START);
  let begin = 0;
  const pieces = tokenizer.pieces(ids);
  const tokens = ids.map((id, place) => {
    const face = id === UNKNOWN ? faces[place - first] : undefined;
    const token = { id, label: face ?? tokenizer.label(id), piece: hex(pieces[place]), begin };
    begin += pieces[place].length;
    return token;
  });
  return { tokens, text: new TextDecoder().decode(together(pieces)), grid: 0 };
}

/**
 * The regions of a picture row by row, by their places counted from 1.
 * @param {number} count
 * @param {Tensor} picture
 * @returns {Sequence}
 */
function regions(count, { shape }) {
  const across = Math.round(Math.sqrt((count * shape[2]) / shape[1]));
  const tokens = Array.from({ length: count }, (_, i) => {
    const label = `row ${Math.floor(i / across) + 1}, column ${(i % across) + 1}`;
    return { id: i, label, piece: '', begin: 0 };
  });
  return { tokens, text: '', grid: across };
}

/** @param {Uint8Array} bytes */
function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/**
 * @param {Opened} run
 * @param {{source?: Sequence, written: Sequence}} sequences
 * @param {Passed} passed
 * @param {Node[]} tree
 * @returns {Parts}
 */
function parts(run, sequences, passed, tree) {
  const { task, name } = run.about;
  return { kind: task.name, sequences, passed, shown: TOP, writer: run.writer, tree, run: name };
}
