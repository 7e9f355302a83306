// A record: the header and typed blobs of one pass through a model, read as they are (a safetensors file).

const TYPES = {
  F64: Float64Array,
  F32: Float32Array,
  F16: Uint16Array,
  I64: BigInt64Array,
  I32: Int32Array,
  I16: Int16Array,
  I8: Int8Array,
  U8: Uint8Array,
  BOOL: Uint8Array,
};
const SPECIAL = 4; // tokens that stand for no text have the numbers below

export class Broken extends Error {}

/** {metadata, blob(name) → {shape, data}} from the bytes of a file. */
export function readTensors(buffer) {
  if (buffer.byteLength < 8) throw new Broken('this is no record: it is shorter than its own header');
  const length = Number(new DataView(buffer).getBigUint64(0, true));
  if (length > buffer.byteLength - 8) throw new Broken('this record is cut short; ask for it again');
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  const begin = 8 + length;
  const blob = (name) => {
    const found = header[name];
    if (!found) return null;
    const [from, to] = found.data_offsets;
    const kind = TYPES[found.dtype];
    const aligned = (begin + from) % kind.BYTES_PER_ELEMENT === 0;
    const data = aligned
      ? new kind(buffer, begin + from, (to - from) / kind.BYTES_PER_ELEMENT)
      : new kind(buffer.slice(begin + from, begin + to));
    return { shape: found.shape, data: found.dtype === 'F16' ? halves(data) : data };
  };
  return { metadata: header.__metadata__ || {}, blob };
}

let half = null;

/** Sixteen-bit numbers as ordinary ones, by a table of all there are. */
function halves(data) {
  half ||= Float32Array.from({ length: 65536 }, (_, bits) => {
    const sign = bits >> 15 ? -1 : 1;
    const exponent = (bits >> 10) & 31;
    const rest = bits & 1023;
    if (exponent === 0) return sign * rest * 2 ** -24;
    return exponent === 31 ? (rest ? NaN : sign * Infinity) : sign * (1 + rest / 1024) * 2 ** (exponent - 15);
  });
  return Float32Array.from(data, (bits) => half[bits]);
}

function unhex(text) {
  return Uint8Array.from({ length: text.length / 2 }, (_, i) => parseInt(text.slice(2 * i, 2 * i + 2), 16));
}

/** Tokens with the text each adds, and the word between blanks that it belongs to; −1: to none. */
function tokensOf(sequence) {
  if (!sequence) return [];
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
    if (sequence.grid)
      return {
        ...token,
        text: `${Math.floor(token.id / sequence.grid) + 1}·${(token.id % sequence.grid) + 1}`,
        special: false,
        word: token.id,
      };
    const special = token.id < SPECIAL;
    return {
      ...token,
      text: special || !raw.length || text.includes('\uFFFD') ? token.label : text,
      special,
      word: special ? -1 : word,
    };
  });
}

/** Everything a view asks of one pass. `written` begins with the start token: step t fed its token t. */
export class Record {
  constructor(buffer) {
    const { metadata, blob } = readTensors(buffer);
    if (!metadata['regard.record']) throw new Broken('this file has tensors, but no record');
    const header = JSON.parse(metadata['regard.record']);
    this.buffer = buffer;
    this.kind = header.kind;
    this.about = header.about;
    this.names = header.names;
    this.calls = header.calls;
    this.tree = header.tree;
    this.best = header.best;
    this._blob = blob;
    this._kept = new Map();
    this.source = tokensOf(header.sequences.source);
    this.written = tokensOf(header.sequences.written);
    this.texts = { source: header.sequences.source?.text || '', written: header.sequences.written.text };
    const all = Object.entries(header.seen);
    this.attention = all
      .filter(([, about]) => about.role === 'weights')
      .map(([path, about]) => new Attention(this, path, about, header.sequences));
    this.cells = all
      .filter(([, about]) => about.axes.length === 2)
      .map(([path, about]) => new Cells(this, path, about));
    this.seen = header.seen;
    this.picture = blob('picture');
    this.grid = header.sequences.source?.grid || 0;
  }

  blob(name) {
    if (!this._kept.has(name)) this._kept.set(name, this._blob(name));
    return this._kept.get(name);
  }

  side(name) {
    return name === 'source' ? this.source : this.written;
  }

  /** How many tokens were fed. */
  get steps() {
    return this.blob('top.tokens').shape[0];
  }

  /** The most probable tokens behind position t. */
  top(t) {
    const { shape, data } = this.blob('top.tokens');
    const likely = this.blob('top.probabilities').data;
    const k = shape[1];
    return Array.from({ length: t >= 0 && t < shape[0] ? k : 0 }, (_, i) => {
      const id = Number(data[t * k + i]);
      return { id, text: this.names[id] ?? String(id), p: likely[t * k + i] };
    });
  }

  /** log p of the token that followed position t. */
  said(t) {
    const { data } = this.blob('top.said');
    return t < data.length ? data[t] : null;
  }

  find(path) {
    return this.attention.find((one) => one.path === path) || null;
  }

  group(path) {
    return this.cells.find((one) => one.path === path) || null;
  }

  /** What passed at a tap besides, such as the queries of an attention layer: {shape, data}, or nothing. */
  at(path) {
    return this.blob(`seen.${path}`);
  }
}

/** The weights of one attention layer: H heads, from rows to columns. */
class Attention {
  constructor(record, path, about, sequences) {
    this.record = record;
    this.path = about.layer;
    this.blob = `seen.${path}`;
    this.exact = about.coding === 'exact';
    [this.from, this.to, this.reading, this.causal, this.group] = [
      about.rows,
      about.columns,
      about.reading,
      about.causal,
      about.group,
    ];
    this.grid = sequences[about.columns]?.grid || 0;
    [this.heads, this.rows, this.columns] = record.blob(this.blob).shape;
  }

  /** One head's weights, or the mean over all heads (head = 'mean'). A byte b stands for (b / 255)². */
  weights(head) {
    const size = this.rows * this.columns;
    const found = new Float32Array(size);
    const heads = head === 'mean' ? [...Array(this.heads).keys()] : [Number(head)];
    const { data } = this.record.blob(this.blob);
    for (const one of heads) {
      const begin = one * size;
      if (this.exact) for (let i = 0; i < size; i++) found[i] += data[begin + i] / heads.length;
      else for (let i = 0; i < size; i++) found[i] += (data[begin + i] * data[begin + i]) / 65025 / heads.length;
    }
    return found;
  }

  weight(head, row, column) {
    const x = this.record.blob(this.blob).data[(head * this.rows + row) * this.columns + column];
    return this.exact ? x : (x * x) / 65025;
  }

  /** Whether a row was not allowed to look at a column. */
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

/** The cells at one place: D numbers at each position. */
class Cells {
  constructor(record, path, about) {
    this.record = record;
    this.path = path;
    this.over = about.rows;
    this.blob = `seen.${path}`;
    [this.role, this.layer, this.gate] = [about.role, about.layer, about.role === 'gate'];
    [this.steps, this.width] = record.blob(this.blob).shape;
  }

  /** One cell at every position. */
  values(unit) {
    const { data } = this.record.blob(this.blob);
    return Float32Array.from({ length: this.steps }, (_, t) => data[t * this.width + unit]);
  }

  get tokens() {
    return this.record.side(this.over).slice(0, this.steps);
  }
}
