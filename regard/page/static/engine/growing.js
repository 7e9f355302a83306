// Keys and values of all positions seen: they grow without being copied, and are still a value.

/** @import { Tensor } from './tensor.js' */

const ROOM = 64; // positions that a new buffer has at least

/**
 * Rows of numbers. The buffer has spare room and one note of how far it is filled; appending writes there only when
 * this value is the newest on that buffer, and copies first otherwise, the way a slice grows in Go.
 */
export class Growing {
  /**
   * @param {number} width
   * @param {{data: Float32Array, filled: number}} buffer
   * @param {number} length
   */
  constructor(width, buffer = { data: new Float32Array(0), filled: 0 }, length = 0) {
    this.width = width;
    this.buffer = buffer;
    this.length = length;
  }

  /** @param {Tensor} rows (T, width) */
  append(rows) {
    const { width, length } = this;
    const after = length + rows.shape[0];
    let { buffer } = this;
    if (buffer.filled !== length || buffer.data.length < after * width) {
      const data = new Float32Array(Math.max(ROOM, 2 * after) * width);
      data.set(this.value.data);
      buffer = { data, filled: length };
    }
    buffer.data.set(rows.data, length * width);
    buffer.filled = after;
    return new Growing(width, buffer, after);
  }

  /** @returns {Tensor} (length, width) */
  get value() {
    const { width, buffer, length } = this;
    return { shape: [length, width], data: buffer.data.subarray(0, length * width) };
  }

  /** What it holds, less the spare room. */
  get bytes() {
    return 4 * this.length * this.width;
  }
}
