// Beside attention weights: other answers to what an output depended on. See regard/look/attribution.py.

import { listening } from '../engine/tap.js';
import { logSumExp, zeros } from '../engine/tensor.js';
import { Trace } from '../engine/trace.js';
import { layerOf } from './coding.js';
import { partsOf } from './recording.js';

/** @import { Question } from '../ask.js' */
/** @import { AboutTap, Tap } from '../engine/tap.js' */
/** @import { Tensor } from '../engine/tensor.js' */
/** @import { Opened } from './opened.js' */
/** @import { Parts } from './recording.js' */

/** @typedef {number[][][]} Heads rows over columns, of one head or of several */

/**
 * What is asked about: the layers, what passed there, and the tokens read and written.
 * @typedef {{layers: [Tap, Tensor][], about: AboutTap, source: number[] | null, written: number[]}} Subject
 */

/**
 * `norms`: a ‖v W_O‖ for each head; `rollout`, an approximation; `off`: the change of log p when a token is not there.
 * One that does not apply is left out, and so is what wants gradients: they are not computed here.
 * @param {Opened} run
 * @param {Question} asked
 * @param {() => Promise<void>} pause
 */
export async function attribution(run, asked, pause) {
  const { head = '', ...rest } = asked;
  const parts = await partsOf(run, rest, pause);
  const subject = subjectOf(parts, head.split('[')[0]);
  const { rows, columns } = subject.about;
  /** @type {{[measure: string]: Heads}} */
  const found = {};
  if (subject.layers.every(([tap]) => run.taps.has(`${layerOf(tap.path)}.values`))) {
    found.norms = valueNorms(run, parts, subject);
  }
  if (rows === columns) found.rollout = [rollout(parts, rows)];
  if (rows === 'written' && !parts.picture) found.off = [await tokenEffects(run, subject, pause)];
  return found;
}

/**
 * An attention layer, or all layers of a group.
 * @param {Parts} parts
 * @param {string} name
 * @returns {Subject}
 */
function subjectOf({ sequences, passed }, name) {
  const attention = passed.seen.filter(([tap]) => tap.about.role === 'weights');
  const layers = attention.filter(([{ path, about }]) => layerOf(path) === name || groupOf(about) === name);
  if (!layers.length) throw new Error(`there is no attention layer '${name}' in this run`);
  const ids = (/** @type {{tokens: {id: number}[]}} */ { tokens }) => tokens.map(({ id }) => id);
  const source = sequences.source ? ids(sequences.source) : null;
  return { layers, about: layers[0][0].about, source, written: ids(sequences.written) };
}

/** @param {AboutTap} about */
function groupOf({ rows, columns }) {
  if (rows !== columns) return 'cross';
  return rows === 'source' ? 'encoder' : 'self';
}

/**
 * a_{t,i} ‖v_i W_O‖ for each head, the mean over layers. (Kobayashi et al. 2020)
 * @param {Opened} run
 * @param {Parts} parts
 * @param {Subject} subject
 * @returns {Heads}
 */
function valueNorms(run, { picture, passed }, { layers, source, written }) {
  const wanted = layers.map(([tap]) => /** @type {Tap} */ (run.taps.get(`${layerOf(tap.path)}.values`)));
  const trace = new Trace(wanted);
  listening(run.held, () =>
    trace.over(() => run.model.forward(written.slice(0, passed.logs.length), run.model.start(picture ?? source))),
  );
  const values = new Map(trace.heard().map(([tap, value]) => [layerOf(tap.path), value]));
  return meanOf(
    layers.map(([tap, weights]) => {
      const layer = layerOf(tap.path);
      const lengths = outputLengths(run.parts.get(layer).output, /** @type {Tensor} */ (values.get(layer)));
      return nested(weights, (h, _, i) => lengths[h][i]);
    }),
  );
}

/**
 * ‖v_i W_O‖ of each head: its values alone, with zeros for the other heads'.
 * @param {{forward(x: Tensor): Tensor}} output
 * @param {Tensor} values (H, S, L)
 */
function outputLengths(output, { shape: [heads, seen, width], data }) {
  const nothing = output.forward(zeros(1, heads * width)).data; // W_O's bias
  return Array.from({ length: heads }, (_, h) =>
    Array.from({ length: seen }, (_, i) => {
      const alone = zeros(1, heads * width);
      alone.data.set(data.subarray((h * seen + i) * width, (h * seen + i + 1) * width), h * width);
      return Math.hypot(...output.forward(alone).data.map((x, j) => x - nothing[j]));
    }),
  );
}

/**
 * R = Ã_L … Ã_1 with Ã = ½ (Ā + I), Ā the mean over heads. (Abnar and Zuidema 2020)
 * @param {Parts} parts
 * @param {string} side
 */
function rollout({ passed }, side) {
  const layers = passed.seen.filter(
    ([{ about }]) => about.role === 'weights' && about.rows === side && about.columns === side,
  );
  const mixes = layers.map(([, weights]) => {
    const all = nested(weights, () => 1);
    return all[0].map((row, t) =>
      row.map((_, i) => (all.reduce((sum, head) => sum + head[t][i], 0) / all.length + Number(t === i)) / 2),
    );
  });
  return mixes.reduce((total, mixed) =>
    mixed.map((row) => total[0].map((_, i) => row.reduce((sum, x, j) => sum + x * total[j][i], 0))),
  );
}

/**
 * Δ log p(y_{t+1}) with token i left out, as if it were not there, for every step t and token i. The start token never
 * is. (Zeiler and Fergus 2014)
 * @param {Opened} run
 * @param {Subject} subject
 * @param {() => Promise<void>} pause
 */
async function tokenEffects({ model }, { about, source, written }, pause) {
  const logs = (/** @type {number[] | null} */ read, /** @type {number} */ without) => {
    const fed = written.slice(0, -1);
    const kept = fed.filter((_, t) => t !== without);
    const [{ shape, data }] = model.forward(kept, model.start(read));
    return fed.map((_, t) => {
      const at = without >= 0 && t >= without ? t - 1 : t; // what is said follows the last token before it
      const row = data.subarray(at * shape[1], (at + 1) * shape[1]);
      return row[written[t + 1]] - logSumExp(row);
    });
  };
  const before = logs(source, -1);
  const ofSource = about.columns === 'source';
  const tokens = ofSource ? /** @type {number[]} */ (source) : written;
  /** @type {number[][]} */
  const effects = [];
  for (let i = 0; i < tokens.length; i++) {
    await pause();
    const after = ofSource
      ? logs(
          tokens.filter((_, s) => s !== i),
          -1,
        )
      : logs(source, i || -1);
    effects.push(after.map((log, t) => log - before[t]));
  }
  return before.map((_, t) => effects.map((row) => row[t]));
}

/**
 * A tensor (H, T, S) as lists, each number times what `factor` says of its place.
 * @param {Tensor} weights
 * @param {(h: number, t: number, i: number) => number} factor
 * @returns {Heads}
 */
function nested({ shape: [heads, steps, seen], data }, factor) {
  return Array.from({ length: heads }, (_, h) =>
    Array.from({ length: steps }, (_, t) =>
      Array.from({ length: seen }, (_, i) => data[(h * steps + t) * seen + i] * factor(h, t, i)),
    ),
  );
}

/**
 * @param {Heads[]} several
 * @returns {Heads}
 */
function meanOf(several) {
  return several[0].map((head, h) =>
    head.map((row, t) => row.map((_, i) => several.reduce((sum, one) => sum + one[h][t][i], 0) / several.length)),
  );
}
