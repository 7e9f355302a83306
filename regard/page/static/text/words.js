// Text as words and punctuation marks: each mark with the spaces beside it, so that words carry none.

import { NAMES, PADDING, Tokenizer, UNKNOWN, utf8 } from './tokenizer.js';

const UNKNOWN_WORD = '⁇';
const SEPARATORS = String.fromCharCode(0x1c, 0x1d, 0x1e, 0x1f); // of files, groups, records, units: blanks to Python
const SPACE = new RegExp(`[\\p{White_Space}${SEPARATORS}]+`, 'u');
const LETTER = `(?:(?![\\u{E0100}-\\u{E01EF}])[\\p{L}\\p{N}\\p{M}_${UNKNOWN_WORD}])`;
const ENDING = `(?:[sS\\u017f]|[tT]|[dD]|[mM]|[rR][eE]|[vV][eE]|[lL][lL])(?!${LETTER})`;
const WORD = `${LETTER}+(?:['’](?!${ENDING})(?=${LETTER}))?|(?<=${LETTER})['’]${ENDING}`;
const PATTERN = new RegExp(`( ?)(?:(${WORD})|([^ ]))(?=( ?))`, 'gu');
const WHOLE_LETTER = new RegExp(`^${LETTER}$`, 'u');

/** The most frequent words and marks of the training text; all others are unknown and come back as ⁇. */
export class Words extends Tokenizer {
  /** @param {{tokens: string[]}} data */
  constructor({ tokens }) {
    super(tokens.map(utf8));
    this.tokens = tokens;
    this.ids = new Map(tokens.map((token, place) => [token, NAMES.length + place]));
  }

  /**
   * @override
   * @param {string} text
   */
  encode(text) {
    return split(text).map((token) => this.ids.get(token) ?? UNKNOWN);
  }

  /**
   * A word that is not known, with the sign of such words behind it.
   * @override
   * @param {string} text
   */
  faces(text) {
    return split(text).map((token) => {
      const id = this.ids.get(token);
      return id === undefined ? trimmed(token).replace(/⁇$/u, '') + UNKNOWN_WORD : this.label(id);
    });
  }

  /**
   * A space comes with the token after it, so that nothing is taken back when a text ends.
   * @override
   * @param {number[]} ids
   */
  pieces(ids) {
    let before = '';
    return ids.map((id) => {
      if (id < UNKNOWN) {
        if (id !== PADDING) before = ''; // a text begins after start or stop
        return new Uint8Array();
      }
      const token = id === UNKNOWN ? UNKNOWN_WORD : this.tokens[id - NAMES.length];
      const piece = after(before, token);
      before = token;
      return utf8(piece);
    });
  }
}

/**
 * The tokens of a text, each mark with the spaces beside it.
 * @param {string} text
 */
function split(text) {
  utf8(text);
  const spaced = ` ${text.normalize('NFC').split(SPACE).filter(Boolean).join(' ')} `;
  return [...spaced.matchAll(PATTERN)].map(([, left, word, mark, right]) => word || left + mark + right);
}

/**
 * What a token adds to a text after the token before it, or '' at the start.
 * @param {string} before
 * @param {string} token
 */
function after(before, token) {
  if (!before) return trimmed(token);
  const wish = wished([...before].at(-1) ?? '') ?? wished([...token][0]) ?? ' ';
  return wish + trimmed(token);
}

/**
 * What a token with this character at its edge wants beside it: a space, nothing, or either (a word).
 * @param {string} edge
 */
function wished(edge) {
  if (edge === ' ') return ' ';
  return WHOLE_LETTER.test(edge) ? null : '';
}

/** @param {string} token */
function trimmed(token) {
  return token.replace(/^ +| +$/g, '');
}
