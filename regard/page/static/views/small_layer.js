// A layer small enough to show all its numbers, with tokens that can be moved.

import { button, tick } from '../controls.js';
import { h } from '../dom.js';
import { difference, drawn, hidden, multiply, place, plus, scaled, softmax, transpose } from '../tensors.js';
import { figure, short, visible } from '../words.js';
import { HONEST } from './common.js';
import { matrix, matrixTable, number, signed } from './matrix.js';

/** @import { Shown } from '../main.js' */
/** @import { Record } from '../record.js' */
/** @import { Matrix } from '../tensors.js' */
/** @import { Settings } from './workbench.js' */

const [WIDTH, KEY] = [4, 3]; // of a token's vector, and of a query, key and value
const TOKENS = 5; // at most

/**
 * Tokens in their order, their vectors as typed, and how many were read.
 * @typedef {{names: string[], vectors: Matrix, order: number[], shown: string[], steps: number}} Bench
 * @typedef {(changes: Partial<Settings>) => void} Change
 */

/**
 * The layer of the notes: Q = X W_Q, K = X W_K, V = X W_V, Y = softmax(Q Kᵀ / √M) V.
 * @param {Matrix} x
 * @param {Settings} settings
 */
function layer(x, { mask, scale, positions }) {
  const input = positions
    ? plus(
        x,
        x.map((_, t) => place(t, WIDTH)),
      )
    : x;
  const [q, k, v] = [11, 12, 13].map((seed) => multiply(input, drawn(WIDTH, KEY, seed)));
  const raw = multiply(q, transpose(k));
  const by = scale ? scaled(raw, 1 / Math.sqrt(KEY)) : raw;
  const seen = mask ? hidden(by) : by;
  const weights = softmax(seen);
  return { input, q, k, v, raw, by, seen, weights, y: multiply(weights, v) };
}

/**
 * @param {HTMLElement} stage
 * @param {Record | null} record
 * @param {Settings} set
 * @param {Change} change
 * @param {HTMLElement} bar
 * @returns {Shown}
 */
export function small(stage, record, set, change, bar) {
  bar.append(
    tick('causal mask', set.mask, (mask) => change({ mask, step: null })),
    tick('divide by √M', set.scale, (scale) => change({ scale })),
    tick('positions', set.positions, (positions) => change({ positions })),
  );
  const bench = benchOf(record, set);
  const { vectors, order, shown } = bench;
  const now = layer(
    order.map((i) => vectors[i]),
    set,
  );
  const typed = layer(vectors, set);
  const apart = difference(
    now.y,
    order.map((i) => typed.y[i]),
  ); // f(s(x)) and s(f(x))
  const moved = order.some((one, at) => one !== at);
  const back = moved && button('button.quiet', () => change({ order: [] }), 'As typed');
  const size = Math.max(1, ...[now.input, now.q, now.k, now.v, now.raw, now.y].flat(2).map(Math.abs));
  stage.append(
    h('div.controls', h('span', 'order'), cards(bench, change), back),
    h('p.note', { id: 'verdict', role: 'status', style: { 'margin-bottom': '1.3rem' } }, verdict(set, moved, apart)),
    matrices(now, bench, set, size),
    stepByStep(now, bench, size, change),
  );
  const { input: X, q: Q, k: K, v: V, raw: scores, by: scaled_, seen: masked, weights, y: Y } = now;
  const all = { X, Q, K, V, scores, scaled: scaled_, masked, weights, Y };
  return { table: () => matrixTable(all, (t) => shown[t], 1) };
}

/**
 * The first words of what was read, or some of ours; a word's vector depends on its letters and on its place.
 * @param {Record | null} record
 * @param {Settings} set
 * @returns {Bench}
 */
function benchOf(record, set) {
  const read = record?.source.length && !record.grid ? record.source : (record?.written ?? []);
  const words = read.filter((token) => !token.special).slice(0, TOKENS);
  const names = words.length >= 2 ? words.map((token) => visible(token.text)) : ['the', 'cat', 'sat', 'down'];
  const hash = (/** @type {string} */ name) =>
    [...name].reduce((sum, c) => (sum * 31 + (c.codePointAt(0) ?? 0)) % 9973, 0);
  const vectors = names.map((name, i) => drawn(1, WIDTH, 101 + 7 * i + hash(name))[0]);
  const whole = set.order.length === names.length && new Set(set.order).size === names.length;
  const order = whole ? set.order : names.map((_, i) => i);
  const steps = set.step === null ? names.length : Math.min(names.length, Math.max(1, set.step));
  return { names, vectors, order, shown: order.map((i) => names[i]), steps };
}

/**
 * Tokens that can be moved by buttons, or be drawn with the pointer.
 * @param {Bench} bench
 * @param {Change} change
 */
function cards({ order, shown }, change) {
  /** @type {(from: number, to: number) => void} */
  const move = (from, to) => {
    const next = [...order];
    next.splice(to, 0, ...next.splice(from, 1));
    change({ order: next });
  };
  const all = shown.map((name, at) => {
    const arrow = (/** @type {string} */ side, /** @type {number} */ to, /** @type {string} */ sign) => {
      const attributes = { id: `${side}-${order[at]}`, 'aria-label': `${name} to the ${side}` };
      return button('button', () => move(at, to), attributes, { disabled: to < 0 || to >= shown.length }, sign);
    };
    const [left, right] = [arrow('left', at - 1, '◀'), arrow('right', at + 1, '▶')];
    const card = h('span.card', { role: 'listitem', draggable: 'true', 'data-at': at }, left, h('b', name), right);
    dragged(card, at, move);
    return card;
  });
  return h('div.order', { role: 'list', 'aria-label': 'order of the tokens' }, all);
}

/**
 * @param {HTMLElement} card
 * @param {number} at
 * @param {(from: number, to: number) => void} move
 */
function dragged(card, at, move) {
  card.addEventListener('dragstart', (event) => event.dataTransfer?.setData('text/plain', String(at)));
  card.addEventListener('dragover', (event) => {
    event.preventDefault();
    card.classList.add('over');
  });
  card.addEventListener('dragleave', () => card.classList.remove('over'));
  card.addEventListener('drop', (event) => {
    event.preventDefault();
    move(Number(event.dataTransfer?.getData('text/plain')), at);
  });
}

/**
 * Whether moving tokens only moves outputs, f(s(x)) = s(f(x)); and what breaks it.
 * @param {Settings} set
 * @param {boolean} moved
 * @param {number} apart
 */
function verdict({ positions, mask }, moved, apart) {
  if (!moved) return 'Move a token: without positions the outputs move with it and change in nothing.';
  if (apart < 1e-9) {
    const same = 'f(s(x)) = s(f(x)): the outputs are the same vectors in the new order.';
    return `${same} Attention alone does not know what comes first.`;
  }
  const one = positions ? 'Positions break' : 'The mask breaks';
  const who = positions && mask ? 'Positions and the mask break' : one;
  return `f(s(x)) ≠ s(f(x)): they differ by up to ${figure(apart)}. ${who} the symmetry.`;
}

/**
 * Every matrix of the layer, as far as was read.
 * @param {ReturnType<typeof layer>} now
 * @param {Bench} bench
 * @param {Settings} set
 * @param {number} size
 */
function matrices(now, { shown, steps }, set, size) {
  const rows = shown.slice(0, steps);
  /** @type {(title: string, about: string, values: Matrix, letter: string) => HTMLElement} */
  const wide = (title, about, values, letter) => {
    const columns = values[0].map((_, i) => letter + '₁₂₃₄'[i]);
    return matrix(title, about, values.slice(0, steps), { rows, columns, size });
  };
  /** @type {(title: string, about: string, values: Matrix, more?: object) => HTMLElement} */
  const square = (title, about, values, more = {}) => {
    const read = values.slice(0, steps).map((row) => row.slice(0, steps));
    return matrix(title, about, read, { rows, columns: rows, size, ...more });
  };
  return h(
    'div.bench',
    wide(set.positions ? 'X + positions' : 'X', 'what the layer reads', now.input, 'x'),
    wide('Q = X W_Q', 'what each asks for', now.q, 'q'),
    wide('K = X W_K', 'what each answers to', now.k, 'k'),
    wide('V = X W_V', 'what each gives', now.v, 'v'),
    square('Q Kᵀ', 'scores, from ↓ to →', now.raw),
    set.scale && square('÷ √M', `scaled by 1 / √${KEY}`, now.by),
    set.mask && square('masked', 'nobody sees what comes later', now.seen),
    square('A = softmax', 'each row sums to 1', now.weights, { weights: true, causal: set.mask }),
    wide('Y = A V', 'what each takes along', now.y, 'y'),
  );
}

/**
 * The layer at test time.
 * @param {ReturnType<typeof layer>} now
 * @param {Bench} bench
 * @param {number} size
 * @param {Change} change
 */
function stepByStep(now, bench, size, change) {
  const { shown, steps } = bench;
  const slide = h('input', {
    type: 'range',
    id: 'step',
    min: 1,
    max: shown.length,
    value: steps,
    'aria-label': 'tokens read',
    oninput: (event) => change({ mask: true, step: Number(event.target.value) }),
  });
  const meaning =
    'At test time tokens come one by one. Keys and values of what was read are kept: ' +
    'each step adds one column and computes one row.';
  const [newest] = softmax([now.by[steps - 1].slice(0, steps)]);
  const wishes = { rows: [shown[steps - 1]], columns: shown.slice(0, steps), weights: true, fresh: 0 };
  return h(
    'section.section',
    h('h3', 'Step by step'),
    h('p', meaning),
    h('div.controls', h('label', 'tokens read', slide, h('span', `${steps} of ${shown.length}`))),
    h(
      'div.bench',
      { id: 'strip' },
      kept('K kept', now.k, bench, size),
      kept('V kept', now.v, bench, size),
      matrix('the newest row of A', `token ${steps} asks`, [newest], wishes),
    ),
    h('p.honest', { style: { 'margin-top': '1.2rem' } }, HONEST),
  );
}

/**
 * The keys or values kept: one column for each token read, the newest framed.
 * @param {string} title
 * @param {Matrix} values
 * @param {Bench} bench
 * @param {number} size
 */
function kept(title, values, { shown, steps }, size) {
  const head = shown.map((name, i) => h('th', { style: { opacity: i < steps ? 1 : 0.35 } }, short(name, 7)));
  const cell = (/** @type {number} */ i, /** @type {number} */ d) =>
    i < steps
      ? number(values[i][d], signed(values[i][d], size), i === steps - 1)
      : h('td', { style: { border: '1px dashed var(--line)' } }, ' ');
  const body = values[0].map((_, d) =>
    h(
      'tr',
      h('th', '₁₂₃₄'[d]),
      shown.map((_, i) => cell(i, d)),
    ),
  );
  return h('table.matrix', h('caption', title), h('thead', h('tr', h('th'), head)), h('tbody', body));
}
