// Positions: what tells self-attention, which knows no order, where a token stands.

import { beside, plus, zeros } from './tensor.js';

/** @import { Tensor } from './tensor.js' */

/** @typedef {{cos: Tensor, sin: Tensor}} Rotation cos and sin of each angle, (T, e), for every head */

/** @typedef {{number: number, base: number, moving: number}} SinCos ω_i = base^(−i/moving); behind them ω_i = 0 */

/**
 * The angles t · ω_i of the positions from `first` on. Shapes: (T, number).
 * @param {SinCos} sinCos
 * @param {number} first
 * @param {number} steps
 */
function angles({ number, base, moving }, first, steps) {
  const found = zeros(steps, number);
  for (let t = 0; t < steps; t++) {
    for (let i = 0; i < moving; i++) found.data[t * number + i] = (first + t) * base ** (-i / moving);
  }
  return found;
}

/**
 * cos and sin of the angles at positions from `first` on.
 * @param {SinCos} sinCos
 * @param {number} first
 * @param {number} steps
 * @returns {Rotation}
 */
function rotationAt(sinCos, first, steps) {
  const { shape, data } = angles(sinCos, first, steps);
  return { cos: { shape, data: data.map(Math.cos) }, sin: { shape, data: data.map(Math.sin) } };
}

/** p_t = row t of a table that was trained. The table ends. */
export class Learned {
  /** @param {{table: Tensor, longest: number}} given */
  constructor({ table, longest }) {
    this.table = table;
    this.longest = longest;
  }

  /**
   * @param {number} first
   * @param {number} steps
   * @returns {Tensor}
   */
  at(first, steps) {
    const width = this.table.shape[1];
    if (first + steps > this.longest) {
      throw new Error(`position ${first + steps} is past the end of the position table (longest = ${this.longest})`);
    }
    return { shape: [steps, width], data: this.table.data.subarray(first * width, (first + steps) * width) };
  }
}

/** p_t = [sin(t ω_1) … cos(t ω_1) …]. (Vaswani et al. 2017) */
export class Sinusoid {
  /** @param {{sin_cos: SinCos}} given */
  constructor({ sin_cos }) {
    this.sinCos = sin_cos;
  }

  /**
   * @param {number} first
   * @param {number} steps
   */
  at(first, steps) {
    const { cos, sin } = rotationAt(this.sinCos, first, steps);
    return beside(sin, cos);
  }
}

/** No positions: a set of tokens, not a sequence. The base of the others. */
export class Positions {
  /**
   * What the first block reads; `first` positions stand before.
   * @param {Tensor} x
   * @param {number} _first
   */
  forward(x, _first) {
    return x;
  }

  /**
   * By how much every block rotates its queries and keys.
   * @param {number} _first
   * @param {number} _steps
   * @returns {Rotation | null}
   */
  rotation(_first, _steps) {
    return null;
  }

  /**
   * What every block adds to its scores. Shapes: (H, T, N) with N = first + T.
   * @param {number} _first
   * @param {number} _steps
   * @returns {Tensor | null}
   */
  bias(_first, _steps) {
    return null;
  }
}

/** x_t + p_t. */
export class Added extends Positions {
  /** @param {{encoding: Learned | Sinusoid}} given */
  constructor({ encoding }) {
    super();
    this.encoding = encoding;
  }

  /**
   * @override
   * @param {Tensor} x
   * @param {number} first
   */
  forward(x, first) {
    return plus(x, this.encoding.at(first, x.shape[0]));
  }
}

/** [x_t; p_t], as the notes have it. */
export class Concatenated extends Added {
  /**
   * @override
   * @param {Tensor} x
   * @param {number} first
   */
  forward(x, first) {
    return beside(x, this.encoding.at(first, x.shape[0]));
  }
}

/** norm(…) of what other positions make of a token. (Devlin et al. 2019) */
export class Normed extends Positions {
  /** @param {{inner: Positions, norm: {forward(x: Tensor): Tensor}}} given */
  constructor({ inner, norm }) {
    super();
    this.inner = inner;
    this.norm = norm;
  }

  /**
   * @override
   * @param {Tensor} x
   * @param {number} first
   */
  forward(x, first) {
    return this.norm.forward(this.inner.forward(x, first));
  }

  /**
   * @override
   * @param {number} first
   * @param {number} steps
   */
  rotation(first, steps) {
    return this.inner.rotation(first, steps);
  }

  /**
   * @override
   * @param {number} first
   * @param {number} steps
   */
  bias(first, steps) {
    return this.inner.bias(first, steps);
  }
}

/** Queries and keys are rotated by an angle t ω_i, so that q_t · k_s depends on t − s alone. (Su et al. 2021) */
export class Rotary extends Positions {
  /** @param {{sin_cos: SinCos}} given */
  constructor({ sin_cos }) {
    super();
    this.sinCos = sin_cos;
  }

  /**
   * @override
   * @param {number} first
   * @param {number} steps
   */
  rotation(first, steps) {
    return rotationAt(this.sinCos, first, steps);
  }
}

/** e_{t,s} + b_h[bucket(s − t)]: how a head likes a distance, the same in every block. (Raffel et al. 2020) */
export class Relative extends Positions {
  /** @param {{table: Tensor, farthest: number, buckets: number[]}} given */
  constructor({ table, farthest, buckets }) {
    super();
    this.table = table; // (buckets, H)
    this.farthest = farthest;
    this.buckets = buckets; // of each distance from −farthest to farthest
  }

  /**
   * @override
   * @param {number} first
   * @param {number} steps
   */
  bias(first, steps) {
    const [heads, seen] = [this.table.shape[1], first + steps];
    const found = zeros(heads, steps, seen);
    for (let t = 0; t < steps; t++) {
      for (let s = 0; s < seen; s++) {
        const ahead = Math.max(-this.farthest, Math.min(this.farthest, s - first - t));
        const from = this.buckets[ahead + this.farthest] * heads;
        for (let h = 0; h < heads; h++) found.data[(h * steps + t) * seen + s] = this.table.data[from + h];
      }
    }
    return found;
  }
}

/** The same where nobody looks ahead: its buckets say so. */
export class RelativePast extends Relative {}

/**
 * Each pair (x_i, x_{i+M/2}) of a row as a point in the plane, rotated about the origin; `each` rows in a row stand at
 * one position. Shapes: (T · each, M) → the same.
 * @param {Tensor} x
 * @param {Rotation | null} rotation
 * @param {number} each
 */
export function rotate(x, rotation, each) {
  if (!rotation) return x;
  const [rows, width] = x.shape;
  const half = width / 2;
  const y = zeros(rows, width);
  for (let r = 0; r < rows; r++) {
    const angle = Math.floor(r / each) * half;
    for (let i = 0; i < half; i++) {
      const [cos, sin] = [rotation.cos.data[angle + i], rotation.sin.data[angle + i]];
      const [left, right] = [x.data[r * width + i], x.data[r * width + half + i]];
      y.data[r * width + i] = left * cos - right * sin;
      y.data[r * width + half + i] = right * cos + left * sin;
    }
  }
  return y;
}
