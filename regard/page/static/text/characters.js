// Text as its characters: those of the training text, and a way to spell all others, as two half-bytes for each byte.

import { NAMES, Tokenizer, utf8 } from './tokenizer.js';

const NIBBLE = NAMES.length; // id of the half-byte 0; those up to 15 follow
const CHARACTER = NIBBLE + 16; // id of the first character

export class Characters extends Tokenizer {
  /** @param {{characters: string}} data */
  constructor({ characters }) {
    const each = [...characters];
    super([...Array.from({ length: 16 }, () => new Uint8Array()), ...each.map(utf8)]);
    this.ids = new Map(each.map((character, place) => [character, CHARACTER + place]));
  }

  /**
   * @override
   * @param {string} text
   */
  encode(text) {
    utf8(text); // says where it is not valid
    return [...text].flatMap((character) => this.ids.get(character) ?? spelled(character));
  }

  /**
   * The first half of a byte adds nothing and the second adds the byte; a half without its other half is lost.
   * @override
   * @param {number[]} ids
   */
  pieces(ids) {
    let high = -1;
    return ids.map((id) => {
      const half = id >= NIBBLE && id < CHARACTER ? id - NIBBLE : -1;
      const whole = half >= 0 && high >= 0;
      const piece = whole ? Uint8Array.of(16 * high + half) : this.bytes[id];
      high = whole ? -1 : half;
      return piece;
    });
  }

  /**
   * @override
   * @param {number} id
   */
  label(id) {
    return id >= NIBBLE && id < CHARACTER ? `<half-byte ${(id - NIBBLE).toString(16)}>` : super.label(id);
  }
}

/** @param {string} character */
function spelled(character) {
  return [...utf8(character)].flatMap((byte) => [NIBBLE + (byte >> 4), NIBBLE + (byte & 15)]);
}
