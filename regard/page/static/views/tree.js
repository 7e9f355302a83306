// Every hypothesis that a beam search considered: a column for each step, a line for each that was kept.

import { h, hideTip, s, showTip } from '../dom.js';
import { figure, short } from '../words.js';

/** @import { Looked } from '../main.js' */
/** @import { Node, Record, Token } from '../record.js' */

const [ACROSS, DOWN] = [138, 19]; // pixels between steps, and between lines
const NEAREST = 2; // pruned ones that are drawn beside the answer

/**
 * A node with what is known of its place. `best`: it is part of the answer; `y`: its line.
 * @typedef {Node & {children: Placed[], before: Placed | null, depth: number, best: boolean, y: number}} Placed
 */

/** @param {Looked} look */
export function tree(look) {
  const { record } = look;
  const nodes = grown(record.tree);
  const begun = look.selection.answer ? look.selection.answer.split(',').length : 0;
  markAnswer(record.answer.slice(begun), nodes);
  const useful = nodes.filter((node) => node.fate !== 'pruned' || near(node, nodes));
  const lines = placed(useful);
  const deepest = Math.max(...useful.map((node) => node.depth));
  const [width, height] = [(deepest + 1) * ACROSS + 90, lines * DOWN + 12];
  const drawing = s(
    'svg.tree',
    { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': 'tree of hypotheses' },
    useful.map((node) => edge(record, node)),
    useful.map((node) => mark(look, node)),
  );
  const meaning =
    'Solid lines were kept, dotted ones pruned; a dot marks a finished answer, the strong line the one given. ' +
    'Click a branch to go on from it.';
  return h('section.section', h('h3', 'Beam tree'), h('p', meaning), h('div.scroller', drawing));
}

/**
 * @param {Node[]} found every one behind its parent
 * @returns {Placed[]}
 */
function grown(found) {
  /** @type {Placed[]} */
  const nodes = [];
  for (const node of found) {
    const before = node.parent < 0 ? null : nodes[node.parent];
    const one = { ...node, before, children: [], depth: before ? before.depth + 1 : 0, best: false, y: 0 };
    before?.children.push(one);
    nodes.push(one);
  }
  return nodes;
}

/** @param {Placed[]} nodes */
function roots(nodes) {
  return nodes.filter((node) => !node.before);
}

/**
 * Marks the answer's own path: its tokens behind those that were chosen for it, which no search considered.
 * @param {Token[]} answer
 * @param {Placed[]} nodes
 */
function markAnswer(answer, nodes) {
  let level = roots(nodes);
  for (const { id } of answer) {
    const same = level.filter((node) => node.token === id);
    const next = same.find((node) => node.fate !== 'pruned') ?? same[0];
    if (!next) return;
    next.best = true;
    level = next.children;
  }
}

/**
 * Whether a pruned node is one of the first beside the answer.
 * @param {Placed} node
 * @param {Placed[]} nodes
 */
function near(node, nodes) {
  if (node.before && !node.before.best) return false;
  const beside = (node.before?.children ?? roots(nodes)).filter((one) => one.fate === 'pruned');
  return beside.indexOf(node) < NEAREST;
}

/**
 * Gives every node its line, the answer and what is more probable first; how many lines there are.
 * @param {Placed[]} useful
 */
function placed(useful) {
  const there = new Set(useful);
  let line = 0;
  /** @param {Placed[]} some */
  const inOrder = (some) =>
    some.filter((one) => there.has(one)).sort((a, b) => Number(b.best) - Number(a.best) || b.total - a.total);
  /** @param {Placed} node */
  const place = (node) => {
    const children = inOrder(node.children);
    children.forEach(place);
    node.y = children.length ? children[0].y : line++;
  };
  inOrder(roots(useful)).forEach(place);
  return line;
}

/** @param {Placed} node */
function at(node) {
  return [60 + node.depth * ACROSS, 14 + node.y * DOWN];
}

/**
 * @param {Record} record
 * @param {Placed} node
 */
function edge(record, node) {
  const [x, y] = at(node);
  const { before } = node;
  const letters = before ? short(record.name(before.token), 9).length : 0;
  const [px, py] = before ? [at(before)[0] + 8 * Math.min(9, letters) + 34, at(before)[1]] : [8, 14];
  const middle = (px + x) / 2;
  const d = `M${px} ${py - 4}C${middle} ${py - 4} ${middle} ${y - 4} ${x - 5} ${y - 4}`;
  return s('path.edge', { class: `${node.best ? 'best' : ''} ${node.fate}`, d });
}

/**
 * @param {Looked} look
 * @param {Placed} node
 */
function mark({ record, choose, selection, run }, node) {
  const [x, y] = at(node);
  const name = record.name(node.token);
  const cost = `${node.fate}; p ${figure(Math.exp(node.log))}, Σ log p ${figure(node.total)}`;
  const begun = selection.answer ? selection.answer.split(',') : [];
  const goOn = () => choose({ answer: [...begun, ...path(node)].join(',') });
  return s(
    'g.node',
    {
      class: `${node.fate} ${node.best ? 'best' : ''}`,
      onclick: node.token === record.special.stop || run.kept ? null : goOn,
      onpointermove: (event) => showTip(event.clientX, event.clientY, h('b', name), h('div', cost)),
      onpointerleave: hideTip,
    },
    s('text', { x, y }, short(name, 9), s('tspan.faint', { dx: 5 }, Math.exp(node.log).toFixed(2))),
    node.fate === 'finished' && s('circle', { cx: x - 10, cy: y - 4, r: 2.5, fill: 'var(--accent)' }),
  );
}

/**
 * The tokens from the prompt to a node.
 * @param {Placed} node
 * @returns {number[]}
 */
function path(node) {
  return [...(node.before ? path(node.before) : []), node.token];
}
