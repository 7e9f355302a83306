// How a recurrent decoder comes to know its source: the forms of the notes, each around the same decoder.

import { below, beside, columns, each, row } from './tensor.js';

/** @import { KeyValueAttention } from './attention.js' */
/** @import { Linear } from './basic.js' */
/** @import { Encoded, Layer, Passed, State } from './layer.js' */
/** @import { Stack } from './recurrent.js' */
/** @import { Tensor } from './tensor.js' */

/** s_0 = tanh(W h_T), for every layer of the decoder and everything it carries. */
export class FirstState {
  /** @param {{W: Linear}} given */
  constructor({ W }) {
    this.W = W;
  }

  /**
   * @param {Tensor} summary
   * @param {Stack} decoder
   */
  forward(summary, decoder) {
    const all = each(this.W.forward(summary), Math.tanh);
    let from = 0;
    const next = (/** @type {Tensor} */ { shape: [, width] }) => {
      from += width;
      return columns(all, from - width, from);
    };
    return /** @type {Tensor[][]} */ (decoder.start()).map((cells) => cells.map(next));
  }
}

/** o_t = tanh(W [s_t; c_t]): what is said next may read the context directly. (Bahdanau et al. 2015) */
export class Readout {
  /** @param {{W: Linear}} given */
  constructor({ W }) {
    this.W = W;
  }

  /**
   * @param {Tensor} states
   * @param {Tensor} contexts
   */
  forward(states, contexts) {
    return each(this.W.forward(beside(states, contexts)), Math.tanh);
  }
}

/**
 * s_0 = h_T: the decoder goes on where the encoder stopped. (Sutskever et al. 2014)
 * @implements {Layer}
 */
export class Copied {
  /** @param {{decoder: Stack}} given */
  constructor({ decoder }) {
    this.decoder = decoder;
  }

  /**
   * @param {Encoded} source
   * @returns {State}
   */
  start(source) {
    return source.state;
  }

  /**
   * @param {Tensor} x
   * @param {State} state
   */
  forward(x, state) {
    return this.decoder.forward(x, state);
  }

  /** @param {Tensor} y */
  summary(y) {
    return row(y, y.shape[0] - 1);
  }
}

/** s_0 = tanh(W v): a picture's one vector starts the decoder, and is all it knows. (Vinyals et al. 2015) */
export class Started extends Copied {
  /** @param {{decoder: Stack, first_state: FirstState}} given */
  constructor({ decoder, first_state }) {
    super({ decoder });
    this.firstState = first_state;
  }

  /**
   * @override
   * @param {Encoded} source
   * @returns {State}
   */
  start(source) {
    return this.firstState.forward(source.summary, this.decoder);
  }
}

/** The decoder reads [y_t; c] with the same c = h_T at every step. (Cho et al. 2014) */
export class FixedContext extends Started {
  /** @param {ConstructorParameters<typeof Started>[0] & {readout: Readout}} given */
  constructor(given) {
    super(given);
    this.readout = given.readout;
  }

  /**
   * @override
   * @param {Encoded} source
   */
  start(source) {
    return { cells: super.start(source), context: source.summary };
  }

  /**
   * @override
   * @param {Tensor} x
   * @param {{cells: State, context: Tensor}} state
   * @returns {Passed}
   */
  forward(x, { cells, context }) {
    const everywhere = below(Array.from({ length: x.shape[0] }, () => context)); // (1, D) → (T, D)
    const [y, after] = this.decoder.forward(beside(x, everywhere), cells);
    return [this.readout.forward(y, everywhere), { cells: after, context }];
  }
}

/** e_{t,i} = f_att(s_{t−1}, h_i), a_t = softmax(e_t), c_t = Σ_i a_{t,i} h_i. (Bahdanau et al. 2015) */
export class AttendedContext extends FixedContext {
  /** @param {ConstructorParameters<typeof FixedContext>[0] & {attention: KeyValueAttention}} given */
  constructor(given) {
    super(given);
    this.attention = given.attention;
  }

  /**
   * @override
   * @param {Encoded} source
   */
  start(source) {
    const cells = this.firstState.forward(source.summary, this.decoder);
    return { cells, context: this.attention.keysValues(source.vectors) };
  }

  /**
   * @override
   * @param {Tensor} x
   * @param {{cells: State, context: Tensor}} state
   * @returns {Passed}
   */
  forward(x, { cells, context: memory }) {
    const [outputs, contexts] = [/** @type {Tensor[]} */ ([]), /** @type {Tensor[]} */ ([])];
    for (let t = 0; t < x.shape[0]; t++) {
      const context = this.attention.attend(this.decoder.lastHidden(cells), memory); // (1, D_source)
      const [y, after] = this.decoder.forward(beside(row(x, t), context), cells);
      cells = after;
      outputs.push(y);
      contexts.push(context);
    }
    return [this.readout.forward(below(outputs), below(contexts)), { cells, context: memory }];
  }
}
