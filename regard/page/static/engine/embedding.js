// Between tokens and vectors: the embedding that a model reads with, and the head that it answers with.

import { product, zeros } from './tensor.js';

/** @import { Identity, Linear } from './basic.js' */
/** @import { Tap } from './tap.js' */
/** @import { Tensor } from './tensor.js' */

/** A row of numbers for each token. */
export class Table {
  /** @param {{weight: Tensor}} given */
  constructor({ weight }) {
    this.weight = weight;
  }
}

/** x_t = s · E[token], with s = √D, or 1 where rows are as they are. (Vaswani et al. 2017, 3.4) */
export class Embedding {
  /** @param {{lookup: Table, vectors: Tap, scale: number}} given */
  constructor({ lookup, vectors, scale }) {
    this.lookup = lookup;
    this.vectors = vectors;
    this.scale = scale;
  }

  /** @param {number[]} tokens */
  forward(tokens) {
    const { shape, data } = this.lookup.weight;
    const [most, width] = shape;
    const found = zeros(tokens.length, width);
    tokens.forEach((token, t) => {
      if (!(token >= 0 && token < most)) throw new Error(`token ${token} is not in the vocabulary, 0 to ${most - 1}`);
      for (let i = 0; i < width; i++) found.data[t * width + i] = this.scale * data[token * width + i];
    });
    return this.vectors.pass(found);
  }
}

/** The same with s = 1. (Radford et al. 2019) */
export class PlainEmbedding extends Embedding {}

/** scores = W h + b, one for every word of the vocabulary. */
export class Head {
  /** @param {{W: Linear | Identity}} given */
  constructor({ W }) {
    this.W = W;
  }

  /**
   * @param {Tensor} h
   * @param {Embedding} _embedding
   */
  forward(h, _embedding) {
    return this.W.forward(h);
  }
}

/** scores = E W h + b: the embedding read backwards. (Press and Wolf 2017; Junczys-Dowmunt et al. 2018) */
export class TiedHead extends Head {
  /** @param {{W: Linear | Identity, b?: Tensor}} given */
  constructor({ W, b }) {
    super({ W });
    this.b = b ?? null;
  }

  /**
   * @override
   * @param {Tensor} h
   * @param {Embedding} embedding
   */
  forward(h, embedding) {
    return product(this.W.forward(h), embedding.lookup.weight, this.b);
  }
}

/** The same with a bias, which says how frequent each word is. */
export class BiasedTiedHead extends TiedHead {}
