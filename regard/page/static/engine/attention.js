// Attention as the notes grow it: E = f_att(Q, K);  A = softmax(E);  Y = A V.

import { Growing } from './growing.js';
import { Rotary, rotate } from './position.js';
import { beside, dot, logSumExp, product, zeros } from './tensor.js';

/** @import { Identity, Linear } from './basic.js' */
/** @import { Encoded, Passed } from './layer.js' */
/** @import { Rotation } from './position.js' */
/** @import { Tap } from './tap.js' */
/** @import { Tensor } from './tensor.js' */

/**
 * What every block of a stack knows of the positions fed, besides their vectors: how many stood before, whether nobody
 * looks past itself, by how much queries and keys are rotated, and what is added to each score.
 * @typedef {{first: number, causal: boolean, rotation: Rotation | null, bias: Tensor | null}} AttentionInputs
 */

/** @type {AttentionInputs} */
export const EVERYWHERE = { first: 0, causal: false, rotation: null, bias: null };

/** e = s · (q · k), here with s = 1. (Luong et al. 2015) Shapes: (H, T, M), (H, S, M) → (H, T, S). */
export class Dot {
  /** @param {{scale?: number}} given */
  constructor({ scale }) {
    this.scale = scale ?? 1;
  }

  /**
   * What depends on the key alone, computed once per key. Shapes: (S · H, M) → (S · H, N).
   * @param {Tensor} keys
   */
  prepare(keys) {
    return keys;
  }

  /**
   * @param {Tensor} queries
   * @param {Tensor} keys
   */
  compare(queries, keys) {
    const width = keys.shape[2];
    return scores(queries, keys, (i, j) => this.scale * dot(queries.data, i, keys.data, j, width));
  }
}

/** e = q · k / √D_Q: Python says the scale. (Vaswani et al. 2017) */
export class ScaledDot extends Dot {}

/** e = qᵀ W k: with W k prepared, a dot product. (Luong et al. 2015) */
export class Bilinear extends Dot {
  /** @param {{W: Linear}} given */
  constructor({ W }) {
    super({});
    this.W = W;
  }

  /**
   * @override
   * @param {Tensor} keys
   */
  prepare(keys) {
    return this.W.forward(keys);
  }
}

/** e = vᵀ tanh(W q + U k). (Bahdanau et al. 2015) */
export class Additive extends Dot {
  /** @param {{W: Linear, U: Linear, v: Linear}} given */
  constructor({ W, U, v }) {
    super({});
    this.W = W;
    this.U = U;
    this.v = v.weight.data;
  }

  /**
   * @override
   * @param {Tensor} keys
   */
  prepare(keys) {
    return this.U.forward(keys);
  }

  /**
   * @override
   * @param {Tensor} queries
   * @param {Tensor} keys
   */
  compare(queries, keys) {
    const asked = product(queries, this.W.weight, this.W.bias);
    const width = keys.shape[2];
    return scores({ shape: [...queries.shape.slice(0, 2), width], data: asked.data }, keys, (i, j) => {
      let sum = 0;
      for (let a = 0; a < width; a++) sum += this.v[a] * Math.tanh(asked.data[i + a] + keys.data[j + a]);
      return sum;
    });
  }
}

/**
 * E from a function of where a query and a key begin.
 * @param {Tensor} queries (H, T, M)
 * @param {Tensor} keys (H, S, N)
 * @param {(query: number, key: number) => number} compare
 */
function scores(queries, keys, compare) {
  const [heads, steps, asked] = queries.shape;
  const [, seen, width] = keys.shape;
  const found = zeros(heads, steps, seen);
  let at = 0;
  for (let h = 0; h < heads; h++) {
    for (let t = 0; t < steps; t++) {
      for (let s = 0; s < seen; s++) found.data[at++] = compare((h * steps + t) * asked, (h * seen + s) * width);
    }
  }
  return found;
}

/**
 * a_i = exp(e_i) / Σ exp(e_j) over what each query may look at.
 * @param {Tensor} scores (H, T, S)
 * @param {AttentionInputs} inputs
 */
function maskedSoftmax({ shape, data }, { first, causal }) {
  const [heads, steps, seen] = shape;
  const weights = zeros(...shape);
  for (let r = 0; r < heads * steps; r++) {
    const end = causal ? first + (r % steps) + 1 : seen;
    const all = logSumExp(data.subarray(r * seen, r * seen + end));
    for (let s = r * seen; s < r * seen + end; s++) weights.data[s] = Math.exp(data[s] - all);
  }
  return weights;
}

/**
 * Y = A V. Shapes: (H, T, S), (H, S, L) → (H, T, L).
 * @param {Tensor} weights
 * @param {Tensor} values
 */
function weighted(weights, values) {
  const [heads, steps, seen] = weights.shape;
  const width = values.shape[2];
  const found = zeros(heads, steps, width);
  for (let h = 0; h < heads; h++) {
    for (let t = 0; t < steps; t++) {
      const [to, row] = [(h * steps + t) * width, (h * steps + t) * seen];
      for (let s = 0; s < seen; s++) {
        const [a, from] = [weights.data[row + s], (h * seen + s) * width];
        if (a) for (let i = 0; i < width; i++) found.data[to + i] += a * values.data[from + i];
      }
    }
  }
  return found;
}

/**
 * Some columns of each of N parts of a row, as rows of their own. Shapes: (T, N · width) → (T · N · each, size).
 * @param {Tensor} x
 * @param {{parts: number, from: number, each: number, size: number}} where
 */
function taken(x, { parts, from, each, size }) {
  const [steps, wide] = x.shape;
  const found = zeros(steps * parts * each, size);
  const [step, many] = [wide / parts, each * size];
  for (let p = 0; p < steps * parts; p++) {
    found.data.set(x.data.subarray(p * step + from, p * step + from + many), p * many);
  }
  return found;
}

/**
 * Rows by position as rows by head. Shapes: (T · N, M) → (N · each, T, M), each of N repeated for heads that share it.
 * @param {Tensor} x
 * @param {number} parts
 * @param {number} each
 */
function byHead(x, parts, each = 1) {
  const [rows, width] = x.shape;
  const steps = rows / parts;
  const found = zeros(parts * each, steps, width);
  for (let h = 0; h < parts * each; h++) {
    for (let t = 0; t < steps; t++) {
      const from = (t * parts + Math.floor(h / each)) * width;
      found.data.set(x.data.subarray(from, from + width), (h * steps + t) * width);
    }
  }
  return found;
}

/**
 * Q = X_Q W_Q, K = X W_K, V = X W_V;  A = softmax(f_att(Q, K));  Y = concat_h(A_h V_h) W_O, for H heads.
 *
 * What is kept of each position is a row of N memories, prepared key and value side by side: (S, N · (K + L)). H / N
 * heads in a row share one. (Vaswani et al. 2017; Ainslie et al. 2023)
 */
export class Attention {
  /**
   * @param {{heads: number, key_width: number, similarity: Dot, output: Linear | Identity, sharing?: number,
   *   queries: Tap, keys: Tap, values: Tap, scores: Tap, weights: Tap, mixed: Tap}} given
   */
  constructor({ heads, key_width, similarity, output, sharing, ...taps }) {
    this.heads = heads;
    this.width = key_width; // M, of a key as it comes out of its matrix
    this.sharing = sharing ?? 1;
    this.memories = heads / this.sharing;
    this.similarity = similarity;
    this.output = output;
    this.queries = taps.queries;
    this.keys = taps.keys;
    this.values = taps.values;
    this.scores = taps.scores;
    this.weights = taps.weights;
    this.mixed = taps.mixed;
  }

  /**
   * Keys, prepared and rotated, and values as they are kept, of rows in which each memory's key stands at `from`.
   * @param {Tensor} both
   * @param {number} from
   * @param {Rotation | null} rotation
   */
  lines(both, from, rotation) {
    const [steps, wide] = both.shape;
    const [parts, begin] = [this.memories, from + this.width];
    const plain = taken(both, { parts, from, each: 1, size: this.width });
    const keys = rotate(this.similarity.prepare(plain), rotation, parts);
    const values = taken(both, { parts, from: begin, each: 1, size: wide / parts - begin });
    const lines = beside(keys, values);
    return { shape: [steps, parts * lines.shape[1]], data: lines.data };
  }

  /**
   * y_t = Σ_i a_{t,i} v_i over what a query may look at. Shapes: queries (T · H, M), memory (S, N · (K + L)) → (T, D).
   * @param {Tensor} queries
   * @param {Tensor} memory
   * @param {AttentionInputs} inputs
   */
  mix(queries, memory, inputs) {
    const { heads, memories: parts, sharing } = this;
    const keyWidth = this.similarity.prepare(zeros(1, this.width)).shape[1];
    const valueWidth = memory.shape[1] / parts - keyWidth;
    const q = this.queries.pass(byHead(rotate(queries, inputs.rotation, heads), heads));
    const keys = taken(memory, { parts, from: 0, each: 1, size: keyWidth });
    const values = taken(memory, { parts, from: keyWidth, each: 1, size: valueWidth });
    const k = this.keys.pass(byHead(keys, parts, sharing));
    const v = this.values.pass(byHead(values, parts, sharing));
    const compared = this.similarity.compare(q, k);
    if (inputs.bias) for (let i = 0; i < compared.data.length; i++) compared.data[i] += inputs.bias.data[i];
    const weights = this.weights.pass(maskedSoftmax(this.scores.pass(compared), inputs));
    const mixed = this.mixed.pass(weighted(weights, v)); // (H, T, L)
    const steps = mixed.shape[1];
    const together = byHead({ shape: [heads * steps, valueWidth], data: mixed.data }, steps); // (T, H, L)
    return this.output.forward({ shape: [steps, heads * valueWidth], data: together.data });
  }
}

/** One query per input: queries, keys and values all come from x. The state is all keys and values: the KV cache. */
export class SelfAttention extends Attention {
  /** @param {ConstructorParameters<typeof Attention>[0] & {query_key_value: Linear}} given */
  constructor(given) {
    super(given);
    this.queryKeyValue = given.query_key_value;
  }

  start() {
    return null;
  }

  /**
   * @param {Tensor} x
   * @param {Growing | null} state
   * @param {AttentionInputs} inputs
   * @returns {Passed}
   */
  forward(x, state, inputs) {
    const all = this.queryKeyValue.forward(x); // (T, N · (H / N · M + M + L))
    const queries = taken(all, { parts: this.memories, from: 0, each: this.sharing, size: this.width });
    const lines = this.lines(all, this.sharing * this.width, inputs.rotation);
    const memory = (state ?? new Growing(lines.shape[1])).append(lines);
    return [this.mix(queries, memory.value, inputs), memory];
  }
}

/** Fewer keys and values than queries, each for H / N heads in a row. (Ainslie et al. 2023) */
export class GroupedSelfAttention extends SelfAttention {}

/** Queries from one side, keys and values from another: K and V of the source are the state, which never changes. */
export class KeyValueAttention extends Attention {
  /** @param {ConstructorParameters<typeof Attention>[0] & {query: Linear | Identity, key_value: Linear}} given */
  constructor(given) {
    super(given);
    this.query = given.query;
    this.keyValue = given.key_value;
  }

  /**
   * K and V, to be attended to many times.
   * @param {Tensor} x
   * @param {Rotation | null} rotation
   */
  keysValues(x, rotation = null) {
    return this.lines(this.keyValue.forward(x), 0, rotation);
  }

  /**
   * @param {Tensor} x
   * @param {Tensor} memory
   * @param {Rotation | null} rotation
   */
  attend(x, memory, rotation = null) {
    const asked = this.query.forward(x); // (T, H · M), where M may be another width than a key's before it is prepared
    const queries = taken(asked, { parts: 1, from: 0, each: this.heads, size: asked.shape[1] / this.heads });
    return this.mix(queries, memory, { ...EVERYWHERE, rotation });
  }
}

/** [x; x]: the inputs are keys and values themselves. */
export class KeysAreValues {
  /** @param {Tensor} x */
  forward(x) {
    return beside(x, x);
  }
}

/** Queries from the decoder, keys and values from the encoder, read once. */
export class CrossAttention extends KeyValueAttention {
  /** @param {Encoded} source */
  start(source) {
    return this.keysValues(source.vectors);
  }

  /**
   * @param {Tensor} x
   * @param {Tensor} state
   * @param {AttentionInputs} _inputs
   * @returns {Passed}
   */
  forward(x, state, _inputs) {
    return [this.attend(x, state), state];
  }
}

/** The same with rotary positions: q_t rotated by its place in the target, k_s by its place in the source. */
export class CrossAttentionByPlace extends CrossAttention {
  /** @param {ConstructorParameters<typeof CrossAttention>[0] & {rotary: Rotary}} given */
  constructor(given) {
    super(given);
    this.rotary = given.rotary;
  }

  /**
   * @override
   * @param {Encoded} source
   */
  start(source) {
    return this.keysValues(source.vectors, this.rotary.rotation(0, source.vectors.shape[0]));
  }

  /**
   * @override
   * @param {Tensor} x
   * @param {Tensor} state
   * @param {AttentionInputs} inputs
   * @returns {Passed}
   */
  forward(x, state, { rotation }) {
    return [this.attend(x, state, rotation), state];
  }
}
