// From what Python saved of a tokenizer to a tokenizer: the only place that knows which kinds there are.

import { BPE } from './bpe.js';
import { Characters } from './characters.js';
import { Bytes, Tokenizer, utf8 } from './tokenizer.js';
import { Words } from './words.js';

/** Names of classes and tags: each is one token. Several read with spaces between them. */
class Labels extends Tokenizer {
  /** @param {{labels: string[]}} data */
  constructor({ labels }) {
    super(labels.map(utf8));
  }

  /**
   * @override
   * @param {number[]} ids
   */
  pieces(ids) {
    let begun = false;
    return ids.map((id) => {
      const name = this.bytes[id];
      const piece = begun && name.length ? Uint8Array.of(0x20, ...name) : name;
      begun ||= name.length > 0;
      return piece;
    });
  }
}

/** Any tokenizer, without capitals. */
class Lower extends Tokenizer {
  /** @param {{inner: {[name: string]: any}}} data */
  constructor({ inner }) {
    super([]);
    this.inner = tokenizerFrom(inner);
    this.bytes = this.inner.bytes;
  }

  /**
   * @override
   * @param {string} text
   */
  encode(text) {
    return this.inner.encode(text.toLowerCase());
  }

  /**
   * @override
   * @param {number[]} ids
   */
  pieces(ids) {
    return this.inner.pieces(ids);
  }

  /**
   * @override
   * @param {string} text
   */
  faces(text) {
    return this.inner.faces(text.toLowerCase());
  }

  /**
   * @override
   * @param {number} id
   */
  label(id) {
    return this.inner.label(id);
  }
}

/** @type {{[kind: string]: new (data: any) => Tokenizer}} */
const KINDS = { bpe: BPE, bytes: Bytes, characters: Characters, labels: Labels, lower: Lower, words: Words };

/**
 * @param {{[name: string]: any}} data
 * @returns {Tokenizer}
 */
export function tokenizerFrom(data) {
  const Kind = KINDS[data.kind];
  if (!Kind) throw new Error(`this page does not know a tokenizer of the kind '${data.kind}'; publish it again`);
  return new Kind(data);
}
