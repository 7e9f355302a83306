// A record: everything a view asks of one pass through a model.

import { Broken, readTensors } from './blobs.js';

/** @import { Question } from './ask.js' */
/** @import { Blob } from './blobs.js' */

/**
 * Which tokens stand for no text: those below `count`; `stop` ends a text, `unknown` is any word that is not known.
 * @typedef {{count: number, stop: number, unknown: number}} Special
 *
 * As a file has a token: its bytes in hexadecimal, and how many stand before it.
 * @typedef {{id: number, label: string, piece: string, begin: number}} Written
 *
 * With the text it adds, and the word between blanks that it belongs to; −1: to none.
 * @typedef {{id: number, text: string, special: boolean, word: number, piece?: string, begin?: number}} Token
 *
 * @typedef {{tokens: Written[], text: string, grid: number}} Sequence
 * @typedef {{source?: Sequence, written: Sequence}} Sequences
 * @typedef {'source' | 'written'} Side
 * @typedef {'fed' | 'predicted'} Reading
 *
 * What passed at one tap: what it is, and of which layer. Axes: H heads, T rows, S columns, D cells.
 * `carried`: each position hands it on to the next; `from_the_end`: from the last token to the first.
 * @typedef {{axes: string[], role: string, layer: string, rows: Side, columns: Side | '', reading: Reading,
 *   causal: boolean, carried?: boolean, from_the_end?: boolean, coding: 'root' | 'exact',
 *   group: 'cross' | 'self' | 'encoder' | ''}} Seen
 *
 * One call of the model: so many positions were computed, so many reused; the bytes of the state behind it.
 * @typedef {{computed: number, reused: number, bytes: number}} Call
 *
 * A token that a beam search considered, behind its parent; −1: the prompt.
 * @typedef {{parent: number, token: number, log: number, total: number, fate: 'kept' | 'pruned' | 'finished'}} Node
 */

/** @param {string} text */
function unhex(text) {
  return Uint8Array.from({ length: text.length / 2 }, (_, i) => Number.parseInt(text.slice(2 * i, 2 * i + 2), 16));
}

/**
 * The regions of a picture by their places, row · column.
 * @param {Written} token
 * @param {number} grid
 * @returns {Token}
 */
function region(token, grid) {
  const [row, column] = [Math.floor(token.id / grid), token.id % grid];
  return { ...token, text: `${row + 1}·${column + 1}`, special: false, word: token.id };
}

/**
 * @param {Sequence | undefined} sequence
 * @param {Special} special
 * @returns {Token[]}
 */
function tokensOf(sequence, { count, unknown }) {
  if (!sequence) return [];
  if (sequence.grid) return sequence.tokens.map((token) => region(token, sequence.grid));
  let [begun, inside] = [0, false];
  return sequence.tokens.map((token) => {
    const raw = unhex(token.piece);
    const text = new TextDecoder().decode(raw);
    let word = -1;
    for (const byte of raw) {
      const blank = byte === 32 || (byte >= 9 && byte <= 13);
      if (!blank && !inside) begun += 1;
      if (!blank) word = begun - 1;
      inside = !blank;
    }
    const special = token.id < count && token.id !== unknown;
    const unreadable = special || !raw.length || text.includes('\uFFFD');
    const face = token.id === unknown ? `${text.match(/^ */)?.[0]}${token.label}` : text;
    return { ...token, text: unreadable ? token.label : face, special, word: special ? -1 : word };
  });
}

/** Everything a view asks of one pass. `written` begins with the start token: step t fed its token t. */
export class Record {
  /**
   * @param {ArrayBuffer} buffer
   * @param {Special} special
   * @param {Question} asked what it answers: asked again, it is the same pass
   */
  constructor(buffer, special, asked) {
    const { metadata, blob } = readTensors(buffer);
    if (!metadata['regard.record']) throw new Broken('this file has tensors, but no record');
    const header = JSON.parse(metadata['regard.record']);
    /** @type {Sequences} */
    const sequences = header.sequences;
    /** @type {[string, Seen][]} */
    const seen = Object.entries(header.seen);
    this.seen = seen;
    this.special = special;
    this.asked = asked;
    this.bytes = buffer;
    /** @type {{[id: string]: string}} */
    this.names = header.names;
    /** @type {Call[]} */
    this.calls = header.calls;
    /** @type {Node[]} */
    this.tree = header.tree;
    this.source = tokensOf(sequences.source, special);
    this.written = tokensOf(sequences.written, special);
    this.texts = { source: sequences.source?.text || '', written: sequences.written.text };
    this.grid = sequences.source?.grid || 0;
    this._blob = blob;
    /** @type {Map<string, Blob | null>} */
    this._kept = new Map();
    const layers = seen.filter(([, about]) => about.role === 'weights');
    const groups = seen.filter(([, about]) => about.axes.length === 2);
    this.attention = layers.map(([path, about]) => new Attention(this, path, about));
    this.cells = groups.map(([path, about]) => new Cells(this, path, about));
    this.picture = this.at('picture');
  }

  /**
   * A blob by its name, or nothing.
   * @param {string} name
   */
  at(name) {
    if (!this._kept.has(name)) this._kept.set(name, this._blob(name));
    return this._kept.get(name) || null;
  }

  /**
   * A blob that every record has.
   * @param {string} name
   */
  blob(name) {
    const found = this.at(name);
    if (!found) throw new Broken(`this record lacks ${name}; ask for it again`);
    return found;
  }

  /**
   * What passed at the tap of a layer that has a role, such as its queries.
   * @param {string} layer
   * @param {string} role
   */
  tap(layer, role) {
    const [path] = this.seen.find(([, about]) => about.layer === layer && about.role === role) ?? [role];
    return this.blob(`seen.${path}`);
  }

  /** @param {Side | ''} name */
  side(name) {
    return name === 'source' ? this.source : this.written;
  }

  /** How many tokens stand before the answer: they were given, and fed at once. */
  get given() {
    return this.calls[0].computed;
  }

  /** The tokens of the answer. */
  get answer() {
    return this.written.slice(this.given);
  }

  /** The answer as text. */
  get wording() {
    const answer = this.answer.filter((token) => !token.special);
    const pieces = answer.map((token) => unhex(token.piece ?? ''));
    const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
    let begin = 0;
    for (const piece of pieces) {
      whole.set(piece, begin);
      begin += piece.length;
    }
    return new TextDecoder().decode(whole);
  }

  /** How many tokens were fed. */
  get steps() {
    return this.blob('top.tokens').shape[0];
  }

  /**
   * How people call a token.
   * @param {number} id
   */
  name(id) {
    return this.names[id] ?? String(id);
  }

  /**
   * The most probable tokens behind position t.
   * @param {number} t
   */
  top(t) {
    const { shape, data } = this.blob('top.tokens');
    const likely = this.blob('top.probabilities').data;
    const k = shape[1];
    return Array.from({ length: t >= 0 && t < shape[0] ? k : 0 }, (_, i) => {
      const id = data[t * k + i];
      return { id, text: this.name(id), p: likely[t * k + i] };
    });
  }

  /**
   * log p of the token that followed position t.
   * @param {number} t
   */
  said(t) {
    const { data } = this.blob('top.said');
    return t < data.length ? data[t] : null;
  }

  /** @param {string} path */
  layer(path) {
    return this.attention.find((one) => one.path === path) || null;
  }

  /**
   * All attention layers of a group as one, their mean; nothing where there are not several.
   * @param {string} group
   */
  together(group) {
    const layers = this.attention.filter((one) => one.group === group);
    return layers.length > 1 ? new Together(layers) : null;
  }

  /** @param {string} path */
  group(path) {
    return this.cells.find((one) => one.path === path) || null;
  }
}

/** The weights of one attention layer: H heads, from rows to columns. A byte b stands for (b / 255)². */
export class Attention {
  /**
   * @param {Record} record
   * @param {string} path
   * @param {Seen} about
   */
  constructor(record, path, about) {
    this.record = record;
    this.tap = path;
    this.about = about;
    this.path = about.layer;
    this.blob = record.blob(`seen.${path}`);
    this.exact = about.coding === 'exact';
    this.from = about.rows;
    this.to = about.columns;
    this.reading = about.reading;
    this.causal = about.causal;
    this.group = about.group;
    this.grid = about.columns === 'source' ? record.grid : 0;
    this.heads = this.blob.shape[0];
    this.rows = this.blob.shape[1];
    this.columns = this.blob.shape[2];
  }

  /**
   * One head's weights (T, S), or the mean over all heads.
   * @param {number | 'mean'} head
   */
  weights(head) {
    const size = this.rows * this.columns;
    const found = new Float32Array(size);
    const heads = head === 'mean' ? [...Array(this.heads).keys()] : [head];
    const { data } = this.blob;
    for (const one of heads) {
      const begin = one * size;
      if (this.exact) for (let i = 0; i < size; i++) found[i] += data[begin + i] / heads.length;
      else for (let i = 0; i < size; i++) found[i] += (data[begin + i] * data[begin + i]) / 65025 / heads.length;
    }
    return found;
  }

  /**
   * @param {number} head
   * @param {number} row
   * @param {number} column
   */
  weight(head, row, column) {
    const x = this.blob.data[(head * this.rows + row) * this.columns + column];
    return this.exact ? x : (x * x) / 65025;
  }

  /**
   * Whether a row was not allowed to look at a column.
   * @param {number} row
   * @param {number} column
   */
  masked(row, column) {
    return this.causal && column > row;
  }

  /** The names of rows, as the tokens fed or those predicted; and of columns. */
  names(reading = this.reading) {
    const behind = { text: '…', special: true, word: -1, id: -1 };
    const shift = reading === 'predicted' && this.from === 'written' ? 1 : 0;
    const rows = Array.from({ length: this.rows }, (_, t) => this.record.side(this.from)[t + shift] || behind);
    return { rows, columns: this.record.side(this.to).slice(0, this.columns) };
  }
}

/** Several layers of attention as one: the mean of their weights, as the command line draws it. */
export class Together extends Attention {
  /** @param {Attention[]} layers */
  constructor(layers) {
    super(layers[0].record, layers[0].tap, layers[0].about);
    this.layers = layers;
    this.path = this.group;
    this.heads = layers.every((one) => one.heads === layers[0].heads) ? layers[0].heads : 1;
  }

  /**
   * @override
   * @param {number | 'mean'} head
   */
  weights(head) {
    const found = new Float32Array(this.rows * this.columns);
    for (const layer of this.layers) {
      const each = layer.weights(this.heads > 1 ? head : 'mean');
      for (let i = 0; i < found.length; i++) found[i] += each[i] / this.layers.length;
    }
    return found;
  }
}

/** The cells at one place: D numbers at each position. */
export class Cells {
  /**
   * @param {Record} record
   * @param {string} path
   * @param {Seen} about
   */
  constructor(record, path, about) {
    this.record = record;
    this.path = path;
    this.over = about.rows;
    this.layer = about.layer;
    this.role = about.role;
    this.carried = about.carried ?? false;
    this.backwards = about.from_the_end ?? false;
    this.blob = record.blob(`seen.${path}`);
    this.steps = this.blob.shape[0];
    this.width = this.blob.shape[1];
  }

  /** The largest of its numbers, whatever its sign. */
  get largest() {
    let most = 0;
    for (const x of this.blob.data) if (Math.abs(x) > most) most = Math.abs(x);
    return most;
  }

  /** A gate goes from 0, shut, to 1, open; other cells to both sides of 0. */
  get gate() {
    return this.role === 'gate';
  }

  /**
   * One cell at every position.
   * @param {number} unit
   */
  values(unit) {
    const { data } = this.blob;
    return Float32Array.from({ length: this.steps }, (_, t) => data[t * this.width + unit]);
  }

  get tokens() {
    return this.record.side(this.over).slice(0, this.steps);
  }
}
