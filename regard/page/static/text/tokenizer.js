// What every tokenizer can do, whatever it takes for a token: text ⇄ ids, as regard/text has it.

export const PADDING = 0;
export const START = 1;
export const STOP = 2;
export const UNKNOWN = 3;
export const NAMES = ['<padding>', '<start>', '<stop>', '<unknown>'];

const BLANKS = new Map([
  [' ', '␣'],
  ['\n', '⏎'],
  ['\r', '␍'],
  ['\t', '⇥'],
]);

/** The bytes of each token's text are known from the start; `encode` is what kinds differ in. */
export class Tokenizer {
  /** @param {Uint8Array[]} tokens the bytes that each id after the special ones stands for */
  constructor(tokens) {
    this.bytes = [...NAMES.map(() => new Uint8Array()), ...tokens];
  }

  /**
   * The ids of a text, without start and stop.
   * @param {string} text
   * @returns {number[]}
   */
  encode(text) {
    return [...utf8(text)].map((byte) => NAMES.length + byte);
  }

  /**
   * What each token adds to the text in UTF-8; nothing for special tokens. A piece never depends on what follows.
   * @param {number[]} ids
   */
  pieces(ids) {
    return ids.map((id) => this.bytes[id]);
  }

  /**
   * A token's name for people: nothing in it is invisible.
   * @param {number} id
   */
  label(id) {
    return NAMES[id] ?? visible(this.bytes[id]);
  }

  /**
   * How people call each token of a text; one that is not known keeps its letters.
   * @param {string} text
   */
  faces(text) {
    return this.encode(text).map((id) => this.label(id));
  }
}

/** Byte b has the id 4 + b. */
export class Bytes extends Tokenizer {
  constructor() {
    super(Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte)));
  }
}

/**
 * A text's bytes.
 * @param {string} text
 */
export function utf8(text) {
  const half = text.search(/\p{Surrogate}/u);
  if (half >= 0) throw new Error(`a text must be valid Unicode, found half a surrogate pair at position ${half}`);
  return new TextEncoder().encode(text);
}

/**
 * Bytes as people can see them: blanks get a sign, and what cannot be shown its code.
 * @param {Uint8Array} piece
 */
export function visible(piece) {
  let text = '';
  for (let at = 0; at < piece.length; ) {
    const character = characterAt(piece, at);
    text += character ? (BLANKS.get(character) ?? shown(character)) : escaped('\\x', piece[at], 2);
    at += character ? utf8(character).length : 1;
  }
  return text;
}

/**
 * The character whose bytes begin at a place; nothing where there is none.
 * @param {Uint8Array} piece
 * @param {number} at
 */
function characterAt(piece, at) {
  const length = piece[at] < 0x80 ? 1 : piece[at] < 0xe0 ? 2 : piece[at] < 0xf0 ? 3 : 4;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(piece.subarray(at, at + length));
  } catch {
    return '';
  }
}

/** @param {string} character */
function shown(character) {
  if (!/[\p{C}\p{Z}]/u.test(character)) return character;
  const code = /** @type {number} */ (character.codePointAt(0));
  if (code < 0x100) return escaped('\\x', code, 2);
  return code < 0x10000 ? escaped('\\u', code, 4) : escaped('\\U', code, 8);
}

/**
 * @param {string} sign
 * @param {number} code
 * @param {number} digits
 */
function escaped(sign, code, digits) {
  return sign + code.toString(16).padStart(digits, '0');
}

/**
 * @param {Uint8Array[]} pieces
 */
export function together(pieces) {
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
