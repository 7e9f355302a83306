// The Transformer's block, attention and feed-forward each with a residual path and a norm; and the stack of them.

import { halves, times } from './basic.js';
import { plus, row } from './tensor.js';

/** @import { AttentionInputs } from './attention.js' */
/** @import { Linear, ModuleList } from './basic.js' */
/** @import { Encoded, Layer, Passed, State } from './layer.js' */
/** @import { Positions } from './position.js' */
/** @import { Tap } from './tap.js' */
/** @import { Tensor } from './tensor.js' */

/** @typedef {{forward(x: Tensor): Tensor}} Map a layer that remembers nothing */

/**
 * What a block is made of: self-attention, cross-attention, feed-forward.
 * @typedef {{start(source?: Encoded): State,
 *   forward(x: Tensor, state: State, inputs: AttentionInputs): Passed}} Sublayer
 */

/**
 * y = W_2 φ(W_1 x + b_1) + b_2 at every position by itself. Shapes: (T, D) → (T, F) → (T, D).
 * @implements {Sublayer}
 */
export class FeedForward {
  /** @param {{W_1: Linear, W_2: Linear, activation: Map, units: Tap}} given */
  constructor({ W_1, W_2, activation, units }) {
    this.W_1 = W_1;
    this.W_2 = W_2;
    this.activation = activation;
    this.units = units;
  }

  start() {
    return null;
  }

  /** @param {Tensor} x */
  active(x) {
    return this.activation.forward(this.W_1.forward(x));
  }

  /**
   * @param {Tensor} x
   * @returns {Passed}
   */
  forward(x) {
    return [this.W_2.forward(this.units.pass(this.active(x))), null];
  }
}

/** [g; u] = W_1 x + b_1, y = W_2 (φ(g) ⊙ u) + b_2. (Shazeer 2020) */
export class GatedFeedForward extends FeedForward {
  /**
   * @override
   * @param {Tensor} x
   */
  active(x) {
    const [gate, value] = halves(this.W_1.forward(x));
    return times(this.activation.forward(gate), value);
  }
}

/** x + f(norm(x)). (Xiong et al. 2020) */
export class NormBefore {
  /** @param {{norm: Map}} given */
  constructor({ norm }) {
    this.norm = norm;
  }

  /** @param {Tensor} x */
  enter(x) {
    return this.norm.forward(x);
  }

  /**
   * @param {Tensor} x
   * @param {Tensor} y
   */
  leave(x, y) {
    return plus(x, y);
  }
}

/** norm(x + f(x)). (Vaswani et al. 2017) */
export class NormAfter extends NormBefore {
  /**
   * @override
   * @param {Tensor} x
   */
  enter(x) {
    return x;
  }

  /**
   * @override
   * @param {Tensor} x
   * @param {Tensor} y
   */
  leave(x, y) {
    return this.norm.forward(plus(x, y));
  }
}

/**
 * Sublayers in order, each inside its residual path. The state is the list of theirs.
 * @implements {Sublayer}
 */
export class Block {
  /** @param {{parts: string[], residuals: ModuleList, hidden: Tap} & {[name: string]: any}} given */
  constructor({ parts, residuals, hidden, ...given }) {
    /** @type {Sublayer[]} */
    this.sublayers = parts.map((name) => given[name]);
    /** @type {NormBefore[]} */
    this.residuals = residuals.children;
    this.hidden = hidden;
  }

  /** @param {Encoded} [source] */
  start(source) {
    return this.sublayers.map((sublayer) => sublayer.start(source));
  }

  /**
   * @param {Tensor} x
   * @param {State[]} state
   * @param {AttentionInputs} inputs
   * @returns {Passed}
   */
  forward(x, state, inputs) {
    const first = x;
    const states = this.sublayers.map((sublayer, i) => {
      const path = this.residuals[i];
      const [y, after] = sublayer.forward(path.enter(this.read(first, x)), state[i], inputs);
      x = path.leave(x, y);
      return after;
    });
    return [this.hidden.pass(x), states];
  }

  /**
   * What a sublayer reads: what the one before it has left.
   * @param {Tensor} _first
   * @param {Tensor} now
   */
  read(_first, now) {
    return now;
  }
}

/** x + Σ_i f_i(norm_i(x)): all sublayers read what the block was given. (Wang and Komatsuzaki 2021: GPT-J) */
export class ParallelBlock extends Block {
  /**
   * @override
   * @param {Tensor} first
   * @param {Tensor} _now
   */
  read(first, _now) {
    return first;
  }
}

/**
 * Positions, then L blocks, then a last norm where norms come before. In an encoder everybody looks at everybody.
 * @implements {Layer}
 */
export class Transformer {
  /** @param {{position: Positions, blocks: ModuleList, last_norm: Map}} given */
  constructor({ position, blocks, last_norm }) {
    this.position = position;
    /** @type {Block[]} */
    this.blocks = blocks.children;
    this.lastNorm = last_norm;
    this.causal = false;
  }

  /** @param {Encoded} [source] */
  start(source) {
    return { seen: 0, blocks: this.blocks.map((block) => block.start(source)) };
  }

  /**
   * @param {Tensor} x
   * @param {{seen: number, blocks: State[]}} state
   * @returns {Passed}
   */
  forward(x, { seen, blocks }) {
    const steps = x.shape[0];
    x = this.position.forward(x, seen);
    const [rotation, bias] = [this.position.rotation(seen, steps), this.position.bias(seen, steps)];
    const inputs = { first: seen, causal: this.causal, rotation, bias };
    const after = this.blocks.map((block, i) => {
      const [y, now] = block.forward(x, blocks[i], inputs);
      x = y;
      return now;
    });
    return [this.lastNorm.forward(x), { seen: seen + steps, blocks: after }];
  }

  /** @param {Tensor} y */
  summary(y) {
    return row(y, y.shape[0] - 1);
  }
}

/** A Transformer with the causal mask: nobody looks at what comes later. */
export class CausalTransformer extends Transformer {
  /** @param {ConstructorParameters<typeof Transformer>[0]} given */
  constructor(given) {
    super(given);
    this.causal = true;
  }
}
