// From pixels to regions: convolutions, and what makes a vector of each place in their grid.

import { moments } from './basic.js';
import { beside, both, each, zeros } from './tensor.js';

/** @import { Linear, ModuleList } from './basic.js' */
/** @import { Sinusoid } from './position.js' */
/** @import { Tensor } from './tensor.js' */

/** @typedef {{forward(x: Tensor): Tensor}} Map */

/**
 * How a window moves over a picture: Python has a pair for each, both of them alike, or one number.
 * @param {number | number[]} pair
 */
function one(pair) {
  return typeof pair === 'number' ? pair : pair[0];
}

/**
 * At how many places a window lies, down and across.
 * @param {Tensor} x
 * @param {{size: number, stride: number, padding: number}} window
 */
function grid({ shape: [, height, width] }, { size, stride, padding }) {
  const along = (/** @type {number} */ side) => Math.floor((side + 2 * padding - size) / stride) + 1;
  return [along(height), along(width)];
}

/** y = W ∗ x + b. Shapes: (C, Y, X), W (O, C, k, k) → (O, y, x). */
export class Conv2d {
  /** @param {{weight: Tensor, bias: Tensor | null, stride: number[], padding: number[]}} given */
  constructor({ weight, bias, stride, padding }) {
    this.weight = weight;
    this.bias = bias;
    this.window = { size: weight.shape[2], stride: one(stride), padding: one(padding) };
  }

  /** @param {Tensor} x */
  forward(x) {
    const [outputs] = this.weight.shape;
    const [down, across] = grid(x, this.window);
    const y = zeros(outputs, down, across);
    for (let o = 0; o < outputs; o++) {
      for (let i = 0; i < down; i++) {
        for (let j = 0; j < across; j++) y.data[(o * down + i) * across + j] = this.at(x, o, i, j);
      }
    }
    return y;
  }

  /**
   * One number of the answer.
   * @param {Tensor} x
   * @param {number} o
   * @param {number} i
   * @param {number} j
   */
  at({ shape: [channels, height, width], data }, o, i, j) {
    const { size, stride, padding } = this.window;
    const [top, left] = [i * stride - padding, j * stride - padding];
    const [from, to] = [Math.max(0, -left), Math.min(size, width - left)];
    let sum = this.bias ? this.bias.data[o] : 0;
    for (let c = 0; c < channels; c++) {
      for (let y = Math.max(0, -top); y < Math.min(size, height - top); y++) {
        const [w, p] = [((o * channels + c) * size + y) * size, (c * height + top + y) * width + left];
        for (let x = from; x < to; x++) sum += this.weight.data[w + x] * data[p + x];
      }
    }
    return sum;
  }
}

/** The largest of each window. */
export class MaxPool2d {
  /** @param {{kernel_size: number, stride: number, padding: number}} given */
  constructor({ kernel_size, stride, padding }) {
    this.window = { size: one(kernel_size), stride: one(stride), padding: one(padding) };
  }

  /** @param {Tensor} x */
  forward(x) {
    const [channels, height, width] = x.shape;
    const { size, stride, padding } = this.window;
    const [down, across] = grid(x, this.window);
    const y = zeros(channels, down, across).data.fill(Number.NEGATIVE_INFINITY);
    for (let at = 0; at < y.length; at++) {
      const [c, i, j] = [Math.floor(at / (down * across)), Math.floor(at / across) % down, at % across];
      const [top, left] = [i * stride - padding, j * stride - padding];
      for (let u = Math.max(0, top); u < Math.min(height, top + size); u++) {
        for (let v = Math.max(0, left); v < Math.min(width, left + size); v++) {
          y[at] = Math.max(y[at], x.data[(c * height + u) * width + v]);
        }
      }
    }
    return { shape: [channels, down, across], data: y };
  }
}

/** γ (x − μ) / √(σ² + ε) + β, with μ and σ over groups of channels. (Wu and He 2018) */
export class GroupNorm {
  /** @param {{weight: Tensor, bias: Tensor, num_groups: number, eps: number}} given */
  constructor({ weight, bias, num_groups, eps }) {
    this.weight = weight;
    this.bias = bias;
    this.groups = num_groups;
    this.eps = eps;
  }

  /** @param {Tensor} x */
  forward(x) {
    const size = x.data.length / this.groups;
    const place = x.data.length / x.shape[0];
    const y = zeros(...x.shape);
    for (let at = 0; at < x.data.length; at += size) {
      const [mean, deviation] = moments(x.data, at, at + size, this.eps);
      for (let i = at; i < at + size; i++) {
        const c = Math.floor(i / place);
        y.data[i] = ((x.data[i] - mean) / deviation) * this.weight.data[c] + this.bias.data[c];
      }
    }
    return y;
  }
}

/** y = γ (x − μ) / √(σ² + ε) + β with the μ and σ of pre-training. (Ioffe and Szegedy 2015) */
export class KnownNorm {
  /** @param {{weight: Tensor, bias: Tensor, mean: Tensor, variance: Tensor}} given */
  constructor({ weight, bias, mean, variance }) {
    this.factor = both(weight, variance, (gamma, square) => gamma / Math.sqrt(square + 1e-5));
    this.more = both(
      bias,
      both(mean, this.factor, (mu, f) => mu * f),
      (beta, moved) => beta - moved,
    );
  }

  /** @param {Tensor} x */
  forward({ shape, data }) {
    const place = data.length / shape[0];
    const channel = (/** @type {number} */ i) => Math.floor(i / place);
    return { shape, data: data.map((v, i) => v * this.factor.data[channel(i)] + this.more.data[channel(i)]) };
  }
}

/** y = relu(shortcut(x) + path(x)). (He et al. 2016) */
export class Residual {
  /** @param {{path: Map, shortcut: Map}} given */
  constructor({ path, shortcut }) {
    this.path = path;
    this.shortcut = shortcut;
  }

  /** @param {Tensor} x */
  forward(x) {
    return both(this.shortcut.forward(x), this.path.forward(x), (a, b) => Math.max(a + b, 0));
  }
}

/** Stages of convolutions one after the other, of colours x = (pixel − mean) / deviation. */
export class Body {
  /** @param {{stem: Map, stages: ModuleList, mean: Tensor, deviation: Tensor}} given */
  constructor({ stem, stages, mean, deviation }) {
    this.stem = stem;
    /** @type {Map[]} */
    this.stages = stages.children;
    this.mean = mean.data;
    this.deviation = deviation.data;
  }

  /**
   * What it finds in pictures. Shapes: (3, Y, X) from 0 to 255 → (C, y, x).
   * @param {Tensor} pixels
   */
  see({ shape, data }) {
    const place = shape[1] * shape[2];
    const colour = (/** @type {number} */ i) => Math.floor(i / place);
    return this.forward({ shape, data: data.map((x, i) => (x - this.mean[colour(i)]) / this.deviation[colour(i)]) });
  }

  /** @param {Tensor} x */
  forward(x) {
    return this.stages.reduce((now, stage) => stage.forward(now), this.stem.forward(x));
  }
}

/**
 * h_i = norm(W_2 φ(W_1 [f_i; p_i])): what a body says of place i, and where that is.
 * Shapes: pixels (3, Y, X) from 0 to 255 → (S, D), row by row from the top left.
 */
export class Regions {
  /**
   * @param {{body: Body, row: Sinusoid, column: Sinusoid, W_1: Linear, W_2: Linear, norm: Map}} given
   */
  constructor({ body, row, column, W_1, W_2, norm }) {
    this.body = body;
    this.row = row;
    this.column = column;
    this.W_1 = W_1;
    this.W_2 = W_2;
    this.norm = norm;
  }

  /** @param {Tensor} pixels */
  forward(pixels) {
    const found = this.body.see(pixels); // (C, y, x)
    const [channels, down, across] = found.shape;
    const seen = zeros(down * across, channels);
    for (let i = 0; i < seen.data.length; i++) {
      seen.data[i] = found.data[(i % channels) * down * across + Math.floor(i / channels)];
    }
    const regions = beside(seen, this.places(down, across)); // (S, C + P)
    return this.norm.forward(this.W_2.forward(each(this.W_1.forward(regions), (x) => Math.max(x, 0))));
  }

  /**
   * p_i = [sinusoid(row of i); sinusoid(column of i)]. Shapes: (S, P).
   * @param {number} down
   * @param {number} across
   */
  places(down, across) {
    const [rows, columns] = [this.row.at(0, down), this.column.at(0, across)];
    const [p, q] = [rows.shape[1], columns.shape[1]];
    const found = zeros(down * across, p + q);
    for (let i = 0; i < down * across; i++) {
      const [y, x] = [Math.floor(i / across), i % across];
      found.data.set(rows.data.subarray(y * p, (y + 1) * p), i * (p + q));
      found.data.set(columns.data.subarray(x * q, (x + 1) * q), i * (p + q) + p);
    }
    return found;
  }
}
