// A safetensors file as it is: the length of its header, the header, and typed blobs behind it.

/**
 * Numbers of 16 bits come as their bits.
 * @typedef {{shape: number[], data: Float32Array | Int32Array | Uint8Array | Int8Array | Uint16Array}} Blob
 * @typedef {{dtype: string, shape: number[], data_offsets: [number, number]}} Entry
 */

/** All that records have, and published weights besides. */
const TYPES = { F32: Float32Array, I32: Int32Array, U8: Uint8Array, I8: Int8Array, F16: Uint16Array };

export class Broken extends Error {}

/**
 * What a file holds, and its blobs by name.
 * @param {ArrayBuffer} buffer
 * @returns {{metadata: {[name: string]: string}, blob: (name: string) => Blob | null}}
 */
export function readTensors(buffer) {
  if (buffer.byteLength < 8) throw new Broken('this is no record: it is shorter than its own header');
  const length = Number(new DataView(buffer).getBigUint64(0, true));
  if (length > buffer.byteLength - 8) throw new Broken('this record is cut short; ask for it again');
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  return {
    metadata: header.__metadata__ || {},
    blob: (name) => (name in header ? read(buffer, 8 + length, header[name]) : null),
  };
}

/**
 * One blob, in place where it is aligned.
 * @param {ArrayBuffer} buffer
 * @param {number} begin of the first blob
 * @param {Entry} entry
 */
function read(buffer, begin, { dtype, shape, data_offsets: [from, to] }) {
  const Type = TYPES[/** @type {keyof typeof TYPES} */ (dtype)];
  if (!Type) throw new Broken(`this record has numbers of type ${dtype}, which this page cannot read`);
  const aligned = (begin + from) % Type.BYTES_PER_ELEMENT === 0;
  const data = aligned
    ? new Type(buffer, begin + from, (to - from) / Type.BYTES_PER_ELEMENT)
    : new Type(buffer.slice(begin + from, begin + to));
  return { shape, data };
}

/**
 * The bytes of a file with these blobs.
 * @param {{[name: string]: Blob}} blobs
 * @param {{[name: string]: string}} metadata
 * @returns {ArrayBuffer}
 */
export function writeTensors(blobs, metadata) {
  const all = Object.entries(blobs).sort(([, a], [, b]) => b.data.BYTES_PER_ELEMENT - a.data.BYTES_PER_ELEMENT);
  /** @type {{[name: string]: any}} */
  const header = { __metadata__: metadata };
  let end = 0;
  for (const [name, { shape, data }] of all) {
    const [dtype] = Object.entries(TYPES).find(([, Type]) => data instanceof Type) ?? [''];
    header[name] = { dtype, shape, data_offsets: [end, end + data.byteLength] };
    end += data.byteLength;
  }
  const text = new TextEncoder().encode(JSON.stringify(header));
  const begin = 8 + Math.ceil(text.length / 8) * 8; // so that numbers lie where they can be read in place
  const whole = new Uint8Array(begin + end).fill(0x20, 8, begin);
  new DataView(whole.buffer).setBigUint64(0, BigInt(begin - 8), true);
  whole.set(text, 8);
  for (const [name, { data }] of all) {
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    whole.set(bytes, begin + header[name].data_offsets[0]);
  }
  return whole.buffer;
}
