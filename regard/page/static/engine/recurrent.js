// Recurrence: h_t = f_W(x_t, h_{t−1}). Vanilla RNN, LSTM, GRU; several deep; in both directions.

import { backwards, below, beside, both, columns, each, product, row, sigmoid, zeros } from './tensor.js';

/** @import { Linear, ModuleList } from './basic.js' */
/** @import { Layer, Passed } from './layer.js' */
/** @import { Tap } from './tap.js' */
/** @import { Tensor } from './tensor.js' */

/** @typedef {Tensor[]} Cells h first, each (1, D) */

/**
 * One layer of one cell. Shapes: x (T, D_in) → y (T, D).
 * @implements {Layer}
 */
export class Recurrent {
  /** @param {{W_hx: Linear, W_hh: Linear, hidden: Tap, width: number, remembers?: number}} given */
  constructor({ W_hx, W_hh, hidden, width, remembers }) {
    this.W_hx = W_hx;
    this.W_hh = W_hh;
    this.hidden = hidden;
    this.width = width;
    this.remembers = remembers ?? 1;
  }

  /** @returns {Cells} */
  start() {
    return Array.from({ length: this.remembers }, () => zeros(1, this.width));
  }

  /** @param {Cells} state */
  lastHidden(state) {
    return state[0];
  }

  /**
   * @param {Tensor} x
   * @param {Cells} state
   * @returns {Passed}
   */
  forward(x, state) {
    const inputs = this.W_hx.forward(x); // one product for all t: (T, G·D)
    const outputs = [];
    for (let t = 0; t < x.shape[0]; t++) {
      state = this.cell(row(inputs, t), this.W_hh.forward(state[0]), state);
      outputs.push(state[0]);
    }
    return [below(outputs), state];
  }

  /**
   * @param {Tensor} _
   * @param {Cells} state
   */
  summary(_, state) {
    return this.lastHidden(state);
  }

  /**
   * One step, from W_hx x_t + b and W_hh h_{t−1} + b, (1, G·D) each.
   * @param {Tensor} x
   * @param {Tensor} h
   * @param {Cells} state
   * @returns {Cells}
   */
  cell(x, h, state) {
    throw new Error(`a cell without equations: ${x.shape} ${h.shape} ${state.length}`);
  }
}

/**
 * σ of some columns of the sum of two rows, or another function of them.
 * @param {Tensor} x
 * @param {Tensor} h
 * @param {number} which
 * @param {number} width
 * @param {(x: number) => number} f
 */
function gate(x, h, which, width, f = sigmoid) {
  const from = which * width;
  const found = zeros(1, width);
  for (let i = 0; i < width; i++) found.data[i] = f(x.data[from + i] + h.data[from + i]);
  return found;
}

/** h_t = tanh(W_hh h_{t−1} + W_hx x_t). (Elman 1990) */
export class RNN extends Recurrent {
  /**
   * @override
   * @param {Tensor} x
   * @param {Tensor} h
   */
  cell(x, h) {
    return [this.hidden.pass(gate(x, h, 0, this.width, Math.tanh))];
  }
}

/**
 * i, f, o = σ(W_x x_t + W_h h_{t−1}), g = tanh(…);  c_t = f ⊙ c_{t−1} + i ⊙ g;  h_t = o ⊙ tanh(c_t).
 * (Hochreiter and Schmidhuber 1997; Gers et al. 2000)
 */
export class LSTM extends Recurrent {
  /** @param {ConstructorParameters<typeof Recurrent>[0] & {[gate: string]: Tap}} given */
  constructor(given) {
    super({ ...given, remembers: 2 });
    this.input_gate = given.input_gate;
    this.forget_gate = given.forget_gate;
    this.output_gate = given.output_gate;
    this.candidate = given.candidate;
    this.cells = given.cells;
  }

  /**
   * @override
   * @param {Tensor} x
   * @param {Tensor} h
   * @param {Cells} state
   */
  cell(x, h, [, before]) {
    const { width } = this;
    const i = this.input_gate.pass(gate(x, h, 0, width));
    const f = this.forget_gate.pass(gate(x, h, 1, width));
    const o = this.output_gate.pass(gate(x, h, 3, width));
    const g = this.candidate.pass(gate(x, h, 2, width, Math.tanh));
    const fresh = both(i, g, (a, b) => a * b);
    const kept = both(f, before, (a, b) => a * b);
    const c = this.cells.pass(both(kept, fresh, (a, b) => a + b));
    return [this.hidden.pass(both(o, c, (a, b) => a * Math.tanh(b))), c];
  }
}

/**
 * r, z = σ(W_x x_t + W_h h_{t−1});  n = tanh(W_x x_t + r ⊙ W_h h_{t−1});  h_t = (1 − z) ⊙ n + z ⊙ h_{t−1}.
 * (Cho et al. 2014, in the form that torch computes: r acts behind W_h.)
 */
export class GRU extends Recurrent {
  /** @param {ConstructorParameters<typeof Recurrent>[0] & {[gate: string]: Tap}} given */
  constructor(given) {
    super(given);
    this.reset_gate = given.reset_gate;
    this.update_gate = given.update_gate;
    this.candidate = given.candidate;
  }

  /**
   * @override
   * @param {Tensor} x
   * @param {Tensor} h
   * @param {Cells} state
   */
  cell(x, h, [before]) {
    const { width } = this;
    const r = this.reset_gate.pass(gate(x, h, 0, width));
    const z = this.update_gate.pass(gate(x, h, 1, width));
    const asked = both(r, columns(h, 2 * width, 3 * width), (a, b) => a * b);
    const n = this.candidate.pass(both(columns(x, 2 * width, 3 * width), asked, (a, b) => Math.tanh(a + b)));
    const fresh = both(z, n, (a, b) => (1 - a) * b);
    const kept = both(z, before, (a, b) => a * b);
    return [this.hidden.pass(both(fresh, kept, (a, b) => a + b))];
  }
}

/**
 * Layers on top of each other: y = f_L(… f_2(f_1(x))). The state is the list of theirs.
 * @implements {Layer}
 */
export class Stack {
  /** @param {{layers: ModuleList}} given */
  constructor({ layers }) {
    /** @type {(Recurrent | Bidirectional)[]} */
    this.layers = layers.children;
  }

  start() {
    return this.layers.map((layer) => layer.start());
  }

  /** @param {any[]} state */
  lastHidden(state) {
    return /** @type {Recurrent} */ (this.layers.at(-1)).lastHidden(state.at(-1));
  }

  /**
   * @param {Tensor} x
   * @param {any[]} state
   * @returns {Passed}
   */
  forward(x, state) {
    const states = this.layers.map((layer, depth) => {
      const [y, after] = layer.forward(x, state[depth]);
      x = y;
      return after;
    });
    return [x, states];
  }

  /**
   * @param {Tensor} _
   * @param {any[]} state
   */
  summary(_, state) {
    return this.lastHidden(state);
  }
}

/**
 * h_t = [h→_t; h←_t]: one layer reads from the left, one from the right. (Schuster and Paliwal 1997)
 * @implements {Layer}
 */
export class Bidirectional {
  /** @param {{forwards: Recurrent, backwards: Recurrent}} given */
  constructor({ forwards, backwards }) {
    this.forwards = forwards;
    this.backwards = backwards;
  }

  start() {
    return { left: this.forwards.start(), right: this.backwards.start() };
  }

  /** @param {{left: Cells, right: Cells}} state */
  lastHidden({ left, right }) {
    return beside(this.forwards.lastHidden(left), this.backwards.lastHidden(right));
  }

  /**
   * @param {Tensor} x
   * @param {{left: Cells, right: Cells}} state
   * @returns {Passed}
   */
  forward(x, state) {
    const [y, left] = this.forwards.forward(x, state.left);
    const [z, right] = this.backwards.forward(backwards(x), state.right);
    return [beside(y, backwards(z)), { left, right }];
  }

  /**
   * @param {Tensor} _
   * @param {{left: Cells, right: Cells}} state
   */
  summary(_, state) {
    return this.lastHidden(state);
  }
}

/**
 * f_t = σ(W_f x_t + b_f);  c_t = f_t ⊙ c_{t−1} + (1 − f_t) ⊙ W x_t;  y_t = relu(c_t): recurrence in the place of
 * self-attention. The state is c, (1, D). (Kim et al. 2019)
 */
export class SSRU {
  /** @param {{W_f: Linear, W: Linear, width: number, forget_gate: Tap, candidate: Tap, cells: Tap}} given */
  constructor({ W_f, W, width, forget_gate, candidate, cells }) {
    this.W_f = W_f;
    this.W = W;
    this.width = width;
    this.forget_gate = forget_gate;
    this.candidate = candidate;
    this.cells = cells;
  }

  start() {
    return zeros(1, this.width);
  }

  /**
   * @param {Tensor} x
   * @param {Tensor} state
   * @returns {Passed}
   */
  forward(x, state) {
    const forget = this.forget_gate.pass(each(this.W_f.forward(x), sigmoid));
    const added = both(forget, this.candidate.pass(product(x, this.W.weight)), (f, c) => (1 - f) * c);
    const cells = [];
    for (let t = 0; t < x.shape[0]; t++) {
      const kept = both(row(forget, t), state, (f, c) => f * c);
      state = this.cells.pass(both(kept, row(added, t), (a, b) => a + b));
      cells.push(state);
    }
    return [each(below(cells), (c) => Math.max(c, 0)), state];
  }
}
