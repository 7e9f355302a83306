// Text as frequent runs of bytes, learnt by merging. (Sennrich et al. 2016, Radford et al. 2019)

import { NAMES, Tokenizer, utf8 } from './tokenizer.js';

/** Where a text is cut before it is merged: the pattern of GPT-2. */
const PIECE = new RegExp(
  [
    "'s|'t|'re|'ve|'m|'ll|'d",
    ' ?\\p{L}+| ?\\p{N}+| ?[^\\p{White_Space}\\p{L}\\p{N}]+',
    '\\p{White_Space}+(?!\\P{White_Space})|\\p{White_Space}+',
  ].join('|'),
  'gu',
);

/** Each byte as one printable character: itself, or one from U+0100 up, in order. */
const ALPHABET = alphabet();
const BYTE = new Map(ALPHABET.map((character, byte) => [character, byte]));

function alphabet() {
  const within = (/** @type {number} */ byte, /** @type {[number, number][]} */ ranges) =>
    ranges.some(([from, to]) => byte >= from && byte < to);
  let others = 0;
  return Array.from({ length: 256 }, (_, byte) => {
    const printable = within(byte, [
      [0x21, 0x7f],
      [0xa1, 0xad],
      [0xae, 0x100],
    ]);
    return String.fromCodePoint(printable ? byte : 0x100 + others++);
  });
}

/** Bytes have the ids 4 to 259; the merges follow, in the order in which they were learnt. */
export class BPE extends Tokenizer {
  /** @param {{merges: string[]}} data */
  constructor({ merges }) {
    const pairs = merges.map((merge) => merge.split(' '));
    const names = [...new Set([...ALPHABET, ...pairs.map(([left, right]) => left + right)])];
    super(names.map((name) => Uint8Array.from(name, (character) => BYTE.get(character) ?? 0)));
    this.ids = new Map(names.map((name, place) => [name, NAMES.length + place]));
    this.ranks = new Map(merges.map((merge, rank) => [merge, rank]));
    /** @type {Map<string, number[]>} */
    this.known = new Map();
  }

  /**
   * @override
   * @param {string} text
   */
  encode(text) {
    utf8(text);
    return (text.match(PIECE) ?? []).flatMap((piece) => {
      const found = this.known.get(piece) ?? this.merged(piece);
      this.known.set(piece, found);
      return found;
    });
  }

  /**
   * The pair that was learnt first is merged first, of equals the leftmost, until no pair was learnt.
   * @param {string} piece
   */
  merged(piece) {
    const parts = [...utf8(piece)].map((byte) => ALPHABET[byte]);
    for (;;) {
      let [best, place] = [Number.POSITIVE_INFINITY, -1];
      for (let i = 0; i + 1 < parts.length; i++) {
        const rank = this.ranks.get(`${parts[i]} ${parts[i + 1]}`);
        if (rank !== undefined && rank < best) [best, place] = [rank, i];
      }
      if (place < 0) return parts.map((part) => /** @type {number} */ (this.ids.get(part)));
      parts.splice(place, 2, parts[place] + parts[place + 1]);
    }
  }
}
