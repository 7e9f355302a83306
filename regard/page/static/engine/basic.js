// The parts that all layers are made of: matrices, norms, activations.

import { both, columns, each, product, sigmoid, zeros } from './tensor.js';

/** @import { Tensor } from './tensor.js' */

/** y = W x + b. Shapes: (T, I) → (T, O). */
export class Linear {
  /** @param {{weight: Tensor, bias: Tensor | null}} given */
  constructor({ weight, bias }) {
    this.weight = weight;
    this.bias = bias;
  }

  /** @param {Tensor} x */
  forward(x) {
    return product(x, this.weight, this.bias);
  }
}

/** y = x. */
export class Identity {
  /** @param {Tensor} x */
  forward(x) {
    return x;
  }
}

/** y = x: nothing is dropped in answering. */
export class Dropout extends Identity {}

/** y = γ (x − μ) / √(σ² + ε) + β over each row. (Ba et al. 2016) */
export class LayerNorm {
  /** @param {{weight: Tensor, bias: Tensor, eps: number}} given */
  constructor({ weight, bias, eps }) {
    this.weight = weight;
    this.bias = bias;
    this.eps = eps;
  }

  /** @param {Tensor} x */
  forward(x) {
    const y = zeros(...x.shape);
    const width = this.weight.data.length;
    for (let at = 0; at < x.data.length; at += width) {
      const [mean, deviation] = moments(x.data, at, at + width, this.eps);
      for (let i = 0; i < width; i++) {
        y.data[at + i] = ((x.data[at + i] - mean) / deviation) * this.weight.data[i] + this.bias.data[i];
      }
    }
    return y;
  }
}

/** y = γ x / √(mean(x²) + ε): only scales. (Zhang and Sennrich 2019) */
export class RMSNorm {
  /** @param {{weight: Tensor, eps: number | null}} given */
  constructor({ weight, eps }) {
    this.weight = weight;
    this.eps = eps ?? 2 ** -23; // torch's, of 32-bit floats
  }

  /** @param {Tensor} x */
  forward(x) {
    const y = zeros(...x.shape);
    const width = this.weight.data.length;
    for (let at = 0; at < x.data.length; at += width) {
      let squares = 0;
      for (let i = at; i < at + width; i++) squares += x.data[i] ** 2;
      const length = Math.sqrt(squares / width + this.eps);
      for (let i = 0; i < width; i++) y.data[at + i] = (x.data[at + i] / length) * this.weight.data[i];
    }
    return y;
  }
}

/**
 * μ and √(σ² + ε) of the numbers between two places.
 * @param {Float32Array} data
 * @param {number} from
 * @param {number} to
 * @param {number} epsilon
 */
export function moments(data, from, to, epsilon) {
  let [sum, squares] = [0, 0];
  for (let i = from; i < to; i++) sum += data[i];
  const mean = sum / (to - from);
  for (let i = from; i < to; i++) squares += (data[i] - mean) ** 2;
  return [mean, Math.sqrt(squares / (to - from) + epsilon)];
}

/** max(x, 0). */
export class ReLU {
  /** @param {Tensor} x */
  forward(x) {
    return each(x, (one) => Math.max(one, 0));
  }
}

/** x σ(x). */
export class SiLU {
  /** @param {Tensor} x */
  forward(x) {
    return each(x, (one) => one * sigmoid(one));
  }
}

/** tanh x. */
export class Tanh {
  /** @param {Tensor} x */
  forward(x) {
    return each(x, Math.tanh);
  }
}

/** x Φ(x), exactly or as GPT-2 has it: ½ x (1 + tanh(√(2/π) (x + 0.044715 x³))). (Hendrycks and Gimpel 2016) */
export class GELU {
  /** @param {{approximate: string}} given */
  constructor({ approximate }) {
    this.share = approximate === 'tanh' ? byTanh : normal;
  }

  /** @param {Tensor} x */
  forward(x) {
    return each(x, (one) => one * this.share(one));
  }
}

/** @param {number} x */
function byTanh(x) {
  return 0.5 * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));
}

/**
 * Φ(x) = ½ (1 + erf(x / √2)), off by less than 1e-7. (Abramowitz and Stegun 1964, 7.1.26)
 * @param {number} x
 */
function normal(x) {
  const z = Math.abs(x) / Math.SQRT2;
  const t = 1 / (1 + 0.3275911 * z);
  const tail = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
  const half = 0.5 * tail * Math.exp(-z * z);
  return x > 0 ? 1 - half : half;
}

/** Parts one behind the other, or a list of them for whoever knows what they are for. */
export class ModuleList {
  /** @param {{children: any[]}} given */
  constructor({ children }) {
    this.children = children;
  }
}

/** y = f_n(… f_1(x)). */
export class Sequential extends ModuleList {
  /** @param {Tensor} x */
  forward(x) {
    return this.children.reduce((now, part) => part.forward(now), x);
  }
}

/**
 * The two halves of every row. Shapes: (T, 2F) → (T, F), (T, F).
 * @param {Tensor} x
 */
export function halves(x) {
  const width = x.shape[1];
  return [columns(x, 0, width / 2), columns(x, width / 2, width)];
}

/**
 * x ⊙ y.
 * @param {Tensor} x
 * @param {Tensor} y
 */
export function times(x, y) {
  return both(x, y, (a, b) => a * b);
}
