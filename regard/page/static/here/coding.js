// A record as the bytes that Python would send: a safetensors file with a JSON header in its metadata.

import { writeTensors } from '../blobs.js';
import { top } from '../decode/choose.js';

/** @import { Blob } from '../blobs.js' */
/** @import { AboutTap } from '../engine/tap.js' */
/** @import { Parts } from './recording.js' */

const EXACT = 2 ** 20; // weights of attention up to which they are sent as they are; more of them in bytes

/**
 * @param {Parts} parts
 * @returns {ArrayBuffer}
 */
export function encoded({ kind, sequences, passed, shown, writer, tree, picture, run }) {
  const { logs, calls } = passed;
  const count = Math.min(shown, logs[0].length);
  const best = logs.map((row) => top(row, count));
  const said = sequences.written.tokens.slice(1).map(({ id }, t) => logs[t][id]);
  const likely = logs.flatMap((row, t) => best[t].map((token) => Math.exp(row[token])));
  /** @type {{[name: string]: Blob}} */
  const blobs = {
    'top.tokens': { shape: [logs.length, count], data: Int32Array.from(best.flat()) },
    'top.probabilities': { shape: [logs.length, count], data: Float32Array.from(likely) },
    'top.said': { shape: [said.length], data: Float32Array.from(said) },
  };
  if (picture) blobs.picture = { shape: picture.shape, data: Uint8Array.from(picture.data) };
  const attention = passed.seen.filter(([tap]) => tap.about.role === 'weights');
  const exact = attention.reduce((sum, [, { data }]) => sum + data.length, 0) <= EXACT;
  /** @type {{[path: string]: object}} */
  const seen = {};
  for (const [{ path, about }, { shape, data }] of passed.seen) {
    const coding = about.role === 'weights' && !exact ? 'root' : 'exact';
    blobs[`seen.${path}`] = { shape, data: coding === 'root' ? roots(data) : data };
    seen[path] = { ...described(about), layer: layerOf(path), coding };
  }
  const named = [...new Set([...best.flat(), ...tree.map((node) => node.token)])].sort((a, b) => a - b);
  const names = Object.fromEntries(named.map((token) => [token, writer.label(token)]));
  const header = { version: 1, kind, sequences, seen, names, calls, tree, about: { run } };
  return writeTensors(blobs, { 'regard.record': JSON.stringify(header) });
}

/**
 * What a record says of a tap; see regard/look/record.py.
 * @param {AboutTap} about
 */
function described({ axes, role, rows, columns, carried, from_the_end }) {
  const attention = role === 'weights';
  const within = rows === 'source' ? 'encoder' : 'self';
  const group = rows === columns ? within : 'cross';
  const reading = attention && group === 'cross' ? 'predicted' : 'fed';
  const causal = rows === columns && rows === 'written';
  return { axes, role, rows, columns, reading, causal, group: attention ? group : '', carried, from_the_end };
}

/**
 * code = round(255 √a), for a from 0 to 1.
 * @param {Float32Array} weights
 */
function roots(weights) {
  return Uint8Array.from(weights, (a) => Math.round(255 * Math.sqrt(Math.min(Math.max(a, 0), 1))));
}

/**
 * The path of the layer that a tap belongs to; one that belongs to the model itself stands for itself.
 * @param {string} path
 */
export function layerOf(path) {
  return path.includes('.') ? path.slice(0, path.lastIndexOf('.')) : path;
}
