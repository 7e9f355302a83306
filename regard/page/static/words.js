// Numbers, tokens and paths as people read them.

/**
 * A number with three figures and a real minus.
 * @param {number | null | undefined} x
 */
export function figure(x, digits = 3) {
  if (x === null || x === undefined || Number.isNaN(x)) return '–';
  if (!Number.isFinite(x)) return x > 0 ? '∞' : '−∞';
  const size = Math.abs(x);
  const before = (size >= 10 ? 1 : 0) + (size >= 100 ? 1 : 0);
  const far = size !== 0 && (size < 1e-3 || size >= 1e5);
  return (far ? x.toExponential(1) : x.toFixed(Math.max(0, digits - before))).replaceAll('-', '−');
}

/**
 * A probability: one figure behind the point, and never 0 or 100 unless it is.
 * @param {number} p
 */
export function percent(p) {
  if (p > 0 && p < 0.0005) return '<0.1%';
  if (p < 1 && p >= 0.9995) return '>99.9%';
  return `${(100 * p).toFixed(1)}%`;
}

/** @param {number} n */
export function bytes(n) {
  if (n < 1000) return `${n} B`;
  return n < 1e6 ? `${(n / 1e3).toFixed(n < 1e4 ? 1 : 0)} kB` : `${(n / 1e6).toFixed(1)} MB`;
}

/** @type {{[sign: string]: string}} */
const SIGNS = { ' ': '␣', '\n': '⏎', '\r': '␍', '\t': '⇥' };

/**
 * A token's text with nothing invisible in it.
 * @param {string} text
 */
export function visible(text) {
  return text === '' ? '∅' : text.replace(/^ (?=\S)/, '').replace(/[ \n\r\t]/g, (c) => SIGNS[c]);
}

/**
 * A token's text, visible and cut to so many characters.
 * @param {string} text
 */
export function short(text, most = 14) {
  const seen = [...visible(text)];
  return seen.length > most ? `${seen.slice(0, most - 1).join('')}…` : seen.join('');
}

/**
 * A tap's path in words: decoder.layer.blocks.0.cross_attention → decoder · layer 0 · cross attention. Layers, heads
 * and cells are counted from 0, as paths, files, the command line and Python count them.
 * @param {string} path
 */
export function named(path) {
  const parts = path.split('.').filter((part) => !['layer', 'layers', 'blocks'].includes(part));
  const words = parts.map((part) => (/^\d+$/.test(part) ? `layer ${part}` : part.replaceAll('_', ' ')));
  return words.join(' · ') || path;
}

/**
 * One cell or head in words; `path[number]` is its name everywhere else.
 * @param {string} name
 * @param {string} kind head or cell
 */
export function unitNamed(name, kind) {
  const [, path, number] = name.match(/^(.+)\[(\d+)\]$/) ?? [];
  return path ? `${named(path)} · ${kind} ${number}` : name;
}
