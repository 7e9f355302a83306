// Numbers with their axes, and what is done with them. Sums are made in 64 bits and kept in 32.

/**
 * The last axis lies closest together. T positions, D columns: row t begins at t · D.
 * @typedef {{shape: number[], data: Float32Array}} Tensor
 */

/**
 * @param {number[]} shape
 * @returns {Tensor}
 */
export function zeros(...shape) {
  return { shape, data: new Float32Array(shape.reduce((size, n) => size * n, 1)) };
}

/**
 * y = f(x), number by number.
 * @param {Tensor} x
 * @param {(x: number) => number} f
 * @returns {Tensor}
 */
export function each({ shape, data }, f) {
  return { shape, data: data.map(f) };
}

/**
 * z = f(x, y), number by number.
 * @param {Tensor} x
 * @param {Tensor} y
 * @param {(x: number, y: number) => number} f
 * @returns {Tensor}
 */
export function both({ shape, data }, y, f) {
  const found = new Float32Array(data.length);
  for (let i = 0; i < found.length; i++) found[i] = f(data[i], y.data[i]);
  return { shape, data: found };
}

/**
 * @param {Tensor} x
 * @param {Tensor} y
 */
export function plus(x, y) {
  return both(x, y, (a, b) => a + b);
}

/**
 * Σ_i a_i b_i over `width` numbers from two places on; four sums at once, which do not wait for each other.
 * @param {Float32Array} a
 * @param {number} i
 * @param {Float32Array} b
 * @param {number} j
 * @param {number} width
 */
export function dot(a, i, b, j, width) {
  let [s0, s1, s2, s3] = [0, 0, 0, 0];
  const whole = i + width - (width % 4);
  const end = i + width;
  for (; i < whole; i += 4, j += 4) {
    s0 += a[i] * b[j];
    s1 += a[i + 1] * b[j + 1];
    s2 += a[i + 2] * b[j + 2];
    s3 += a[i + 3] * b[j + 3];
  }
  for (; i < end; i++, j++) s0 += a[i] * b[j];
  return s0 + s1 + (s2 + s3);
}

/**
 * y = W x + b at every position. Shapes: (T, I), W (O, I), b (O) → (T, O).
 * @param {Tensor} x
 * @param {Tensor} W
 * @param {Tensor | null} b
 */
export function product(x, W, b = null) {
  const [outputs, inputs] = W.shape;
  const steps = x.data.length / inputs;
  const y = zeros(steps, outputs);
  for (let o = 0; o < outputs; o++) {
    const more = b ? b.data[o] : 0;
    for (let t = 0; t < steps; t++)
      y.data[t * outputs + o] = dot(W.data, o * inputs, x.data, t * inputs, inputs) + more;
  }
  return y;
}

/**
 * Row t alone. Shapes: (T, D) → (1, D).
 * @param {Tensor} x
 * @param {number} t
 */
export function row(x, t) {
  const width = x.shape[1];
  return { shape: [1, width], data: x.data.subarray(t * width, (t + 1) * width) };
}

/**
 * Some columns of every row. Shapes: (T, D) → (T, to − from).
 * @param {Tensor} x
 * @param {number} from
 * @param {number} to
 */
export function columns({ shape: [steps, width], data }, from, to) {
  const found = zeros(steps, to - from);
  for (let t = 0; t < steps; t++) found.data.set(data.subarray(t * width + from, t * width + to), t * (to - from));
  return found;
}

/**
 * [x_t; y_t] in every row. Shapes: (T, D), (T, E) → (T, D + E).
 * @param {Tensor} x
 * @param {Tensor} y
 */
export function beside(x, y) {
  const [steps, left] = x.shape;
  const right = y.shape[1];
  const found = zeros(steps, left + right);
  for (let t = 0; t < steps; t++) {
    found.data.set(x.data.subarray(t * left, (t + 1) * left), t * (left + right));
    found.data.set(y.data.subarray(t * right, (t + 1) * right), t * (left + right) + left);
  }
  return found;
}

/**
 * Rows below each other. Shapes: several of (T_i, D) → (Σ T_i, D).
 * @param {Tensor[]} rows
 */
export function below(rows) {
  const found = zeros(
    rows.reduce((steps, one) => steps + one.shape[0], 0),
    rows[0].shape[1],
  );
  let at = 0;
  for (const { data } of rows) {
    found.data.set(data, at);
    at += data.length;
  }
  return found;
}

/**
 * The last row first.
 * @param {Tensor} x
 */
export function backwards(x) {
  return below(Array.from({ length: x.shape[0] }, (_, t) => row(x, x.shape[0] - 1 - t)));
}

/**
 * The mean of all rows. Shapes: (T, D) → (1, D).
 * @param {Tensor} x
 */
export function mean({ shape: [steps, width], data }) {
  const found = zeros(1, width);
  for (let i = 0; i < width; i++) {
    let sum = 0;
    for (let t = 0; t < steps; t++) sum += data[t * width + i];
    found.data[i] = sum / steps;
  }
  return found;
}

/** @param {number} x */
export function sigmoid(x) {
  return 1 / (1 + Math.exp(-x));
}

/**
 * log Σ exp x_i; −∞ where nothing can be.
 * @param {ArrayLike<number>} x
 */
export function logSumExp(x) {
  let most = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < x.length; i++) if (x[i] > most) most = x[i];
  if (most === Number.NEGATIVE_INFINITY) return most;
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum += Math.exp(x[i] - most);
  return most + Math.log(sum);
}

/**
 * log softmax of some numbers.
 * @param {ArrayLike<number>} x
 */
export function logSoftmax(x) {
  const all = logSumExp(x);
  return Float64Array.from(x, (one) => one - all);
}
