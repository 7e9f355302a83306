// Whole models. The contract: a sequence model is a function (tokens, state) → (scores, state).

import { below, mean, row } from './tensor.js';

/** @import { Embedding, Head } from './embedding.js' */
/** @import { Encoded, Layer, State } from './layer.js' */
/** @import { Pooling } from './pooling.js' */
/** @import { Tensor } from './tensor.js' */
/** @import { Regions } from './vision.js' */

/** @typedef {number[] | Tensor} Source what an encoder reads: tokens, or the pixels of a picture (3, Y, X) */

/**
 * `start`: s_0, which knows the source where there is one. `forward`: the scores of the token after each position
 * (T, V), and the state behind the last. The state is a value: feeding it never changes it.
 * @typedef {{start(source: Source | null): State, forward(tokens: number[], state: State): [Tensor, State],
 *   longest: number | null}} Model
 */

/**
 * The language model: scores_t = head(layer(embedding(x_1 … x_t))).
 * @implements {Model}
 */
export class Decoder {
  /** @param {{embedding: Embedding, layer: Layer, head: Head, longest: number | null}} given */
  constructor({ embedding, layer, head, longest }) {
    this.embedding = embedding;
    this.layer = layer;
    this.head = head;
    this.longest = longest;
  }

  /** @returns {State} */
  start() {
    return this.layer.start();
  }

  /**
   * As the decoder of a pair it starts from an encoded source.
   * @param {Encoded} encoded
   */
  startFrom(encoded) {
    return this.layer.start(encoded);
  }

  /**
   * @param {number[]} tokens
   * @param {State} state
   * @returns {[Tensor, State]}
   */
  forward(tokens, state) {
    const [y, after] = this.layer.forward(this.embedding.forward(tokens), state);
    return [this.head.forward(y, this.embedding), after];
  }
}

/** h_1 … h_S = layer(embedding(x_1 … x_S)), and one vector that stands for all of it. */
export class Encoder {
  /** @param {{embedding: Embedding, layer: Layer}} given */
  constructor({ embedding, layer }) {
    this.embedding = embedding;
    this.layer = layer;
  }

  /**
   * @param {Source} tokens
   * @returns {Encoded}
   */
  forward(tokens) {
    const x = this.embedding.forward(/** @type {number[]} */ (tokens));
    const [vectors, state] = this.layer.forward(x, this.layer.start());
    return { vectors, summary: this.layer.summary(vectors, state), state };
  }
}

/** h_1 … h_S: one vector for each region of a picture, and their mean, which stands for all of it. */
export class PictureEncoder {
  /** @param {{regions: Regions}} given */
  constructor({ regions }) {
    this.regions = regions;
  }

  /**
   * @param {Source} pixels
   * @returns {Encoded}
   */
  forward(pixels) {
    const vectors = this.regions.forward(/** @type {Tensor} */ (pixels));
    return { vectors, summary: mean(vectors), state: null };
  }
}

/**
 * p(y | x) = Π_t p(y_t | y_1 … y_{t−1}, x): a language model whose first state knows a source.
 * @implements {Model}
 */
export class EncoderDecoder {
  /** @param {{encoder: Encoder | PictureEncoder, decoder: Decoder, longest: number | null}} given */
  constructor({ encoder, decoder, longest }) {
    this.encoder = encoder;
    this.decoder = decoder;
    this.longest = longest;
  }

  /** @param {Source} source */
  start(source) {
    return this.decoder.startFrom(this.encoder.forward(source));
  }

  /**
   * @param {number[]} tokens
   * @param {State} state
   */
  forward(tokens, state) {
    return this.decoder.forward(tokens, state);
  }
}

/**
 * p(y | x) = softmax(W c), c = pooling(h_1 … h_S). The state is c alone; what is fed is counted, not read.
 * @implements {Model}
 */
export class Classifier {
  /** @param {{encoder: Encoder, pooling: Pooling, head: {forward(x: Tensor): Tensor}}} given */
  constructor({ encoder, pooling, head }) {
    this.encoder = encoder;
    this.pooling = pooling;
    this.head = head;
    /** @type {number | null} */
    this.longest = null;
  }

  /** @param {Source} source */
  start(source) {
    return this.pooling.forward(this.encoder.forward(source));
  }

  /**
   * @param {number[]} tokens
   * @param {State} state
   * @returns {[Tensor, State]}
   */
  forward(tokens, state) {
    const scores = this.head.forward(state);
    return [below(tokens.map(() => scores)), state];
  }
}

/**
 * p(y_t | x) = softmax(W h_t): the t-th answer is about the t-th token read; past the end, the last one answers.
 * @implements {Model}
 */
export class Tagger {
  /** @param {{encoder: Encoder, head: {forward(x: Tensor): Tensor}}} given */
  constructor({ encoder, head }) {
    this.encoder = encoder;
    this.head = head;
    /** @type {number | null} */
    this.longest = null;
  }

  /** @param {Source} source */
  start(source) {
    return { vectors: this.encoder.forward(source).vectors, asked: 0 };
  }

  /**
   * @param {number[]} tokens
   * @param {{vectors: Tensor, asked: number}} state
   * @returns {[Tensor, State]}
   */
  forward(tokens, { vectors, asked }) {
    const last = vectors.shape[0] - 1;
    const answering = tokens.map((_, t) => row(vectors, Math.min(asked + t, last)));
    return [this.head.forward(below(answering)), { vectors, asked: asked + tokens.length }];
  }
}
