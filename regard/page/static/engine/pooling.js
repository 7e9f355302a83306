// Many vectors to one: what stands for a whole text. Shapes: Encoded (S, D) → (1, D).

import { each, mean, row } from './tensor.js';

/** @import { KeyValueAttention } from './attention.js' */
/** @import { Linear } from './basic.js' */
/** @import { Encoded } from './layer.js' */
/** @import { Tensor } from './tensor.js' */

/** c = h_S: the vector at the stop token, which has seen all the others. The base of the others. */
export class Pooling {
  /** @param {Encoded} encoded */
  forward(encoded) {
    return encoded.summary;
  }
}

/** c = Σ_i h_i / S. */
export class MeanPooling extends Pooling {
  /**
   * @override
   * @param {Encoded} encoded
   */
  forward({ vectors }) {
    return mean(vectors);
  }
}

/** e_i = f_att(q, h_i), a = softmax(e), c = Σ_i a_i h_i, with one learned query q. (Yang et al. 2016) */
export class AttentionPooling extends Pooling {
  /** @param {{query: Tensor, attention: KeyValueAttention}} given */
  constructor({ query, attention }) {
    super();
    this.query = query;
    this.attention = attention;
  }

  /**
   * @override
   * @param {Encoded} encoded
   */
  forward({ vectors }) {
    const query = { shape: [1, this.query.data.length], data: this.query.data };
    return this.attention.attend(query, this.attention.keysValues(vectors));
  }
}

/** c = h_1: the vector at the first token, such as [CLS], which has looked at all. (Devlin et al. 2019) */
export class FirstPooling extends Pooling {
  /**
   * @override
   * @param {Encoded} encoded
   */
  forward({ vectors }) {
    return row(vectors, 0);
  }
}

/** c = φ(W h_1 + b), with h_1 as above. (Devlin et al. 2019) */
export class StartPooling extends FirstPooling {
  /** @param {{W: Linear, activation: {forward(x: Tensor): Tensor}}} given */
  constructor({ W, activation }) {
    super();
    this.W = W;
    this.activation = activation;
  }

  /**
   * @override
   * @param {Encoded} encoded
   */
  forward(encoded) {
    return this.activation.forward(this.W.forward(super.forward(encoded)));
  }
}

/** c / ‖c‖, of another pooling's c. (Reimers and Gurevych 2019) */
export class UnitLength extends Pooling {
  /** @param {{pooling: Pooling}} given */
  constructor({ pooling }) {
    super();
    this.pooling = pooling;
  }

  /**
   * @override
   * @param {Encoded} encoded
   */
  forward(encoded) {
    const c = this.pooling.forward(encoded);
    const length = Math.max(Math.hypot(...c.data), 1e-12);
    return each(c, (x) => x / length);
  }
}
