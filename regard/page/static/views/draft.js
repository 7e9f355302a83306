// Where everything stands in the picture of a model, before a line of it is drawn.

import { named } from '../words.js';
import { bodiesOf } from './stages.js';

/** @import { Attention, Cells, Record } from '../record.js' */
/** @import { Body, Stage } from './stages.js' */

const [CLOSE, WIDE] = [46, 76]; // pixels from column to column, at least and at most
const [APART, FEWEST] = [12, 4]; // pixels between tiles; columns at least
const [LABELS, BETWEEN, TOP, EDGE] = [132, 34, 92, 46]; // pixels of names, between the sides, above and below
const PHOTOGRAPH = 60; // pixels that a picture wants besides the names' place
const [GAP, INSIDE] = [20, 3]; // pixels between stages, and between the vectors of one

/**
 * One row of tiles: a vector at each position, or attention. `y`: its upper edge.
 * @typedef {{path: string, stage: Stage, strip: Cells | null, attention: Attention | null, y: number, height: number,
 *   shape: number[]}} Row
 *
 * One side: the columns that are shown, where they stand, and its rows from below.
 * @typedef {{body: Body, places: number[], left: number, x: (t: number) => number, rows: Row[], top: number,
 *   title: string}} Plan
 *
 * @typedef {{record: Record, plans: Plan[], at: number, width: number, height: number, bottom: number, tile: number,
 *   pitch: number, back: boolean}} Draft
 */

/**
 * @param {Record} record
 * @param {number} at the step that is being computed
 * @param {number} room how wide it may be, in pixels
 * @returns {Draft}
 */
export function draftOf(record, at, room) {
  const bodies = bodiesOf(record);
  const wide = (room - BETWEEN * (bodies.length - 1)) / bodies.length - LABELS;
  const most = Math.max(FEWEST, Math.floor(wide / CLOSE));
  const longest = Math.max(...bodies.map((body) => body.steps));
  const pitch = Math.max(CLOSE, Math.min(WIDE, Math.floor(wide / longest)));
  const tallest = Math.max(record.grid ? 160 : 0, ...bodies.map((body) => heightOf(body.stages)));
  const bottom = TOP + tallest;
  let left = 0;
  const plans = bodies.map((body) => {
    const other = bodies.length > 1 ? bodies.find((one) => one !== body) : undefined;
    const spare = other ? Math.max(0, most - other.steps) : 0; // what the other side leaves
    const places = shownOf(record, body, at, most + spare);
    const plan = planOf(body, places, { left, bottom, pitch }, bodies.length > 1);
    left += LABELS + (places.length * pitch || PHOTOGRAPH) + BETWEEN;
    return plan;
  });
  const size = { width: left - BETWEEN + 34, height: bottom + EDGE, bottom };
  return { record, plans, at, ...size, tile: pitch - APART, pitch, back: false };
}

/**
 * The positions that are shown: around the one that is being computed, or where it looks.
 * @param {Record} record
 * @param {Body} body
 * @param {number} at
 * @param {number} most
 */
function shownOf(record, body, at, most) {
  const count = Math.min(body.steps, most);
  const middle = body.side === 'written' ? at - Math.floor(count * 0.35) : focus(record, at);
  const first = Math.max(0, Math.min(body.steps - count, Math.round(middle - count / 2)));
  return Array.from({ length: count }, (_, i) => first + i);
}

/**
 * The position of what was read that a step looks at most; without attention, the last one.
 * @param {Record} record
 * @param {number} at
 */
function focus(record, at) {
  const attention = record.attention.find((one) => one.group === 'cross');
  if (!attention || at >= attention.rows) return record.source.length;
  const row = attention.weights('mean').subarray(at * attention.columns, (at + 1) * attention.columns);
  return row.indexOf(Math.max(...row));
}

/** @param {Cells | null} strip */
function stripHeight(strip) {
  return strip && (strip.gate || strip.role === 'candidate') ? 11 : 22;
}

/** @param {Attention} attention */
function headsHeight({ heads }) {
  return Math.max(14, Math.min(32, 5 * heads));
}

/** @param {Stage} stage */
function stageHeight({ strips, attention }) {
  const inside = strips.reduce((sum, strip) => sum + stripHeight(strip) + INSIDE, 0);
  return inside + (attention ? headsHeight(attention) + INSIDE : 0);
}

/** @param {Stage[]} stages */
function heightOf(stages) {
  return stages.reduce((sum, stage) => sum + stageHeight(stage) + GAP, 0);
}

/**
 * @param {Body} body
 * @param {number[]} places
 * @param {{left: number, bottom: number, pitch: number}} at
 * @param {boolean} two
 * @returns {Plan}
 */
function planOf(body, places, { left, bottom, pitch }, two) {
  /** @type {Row[]} */
  const rows = [];
  let y = bottom;
  for (const stage of body.stages) {
    y -= GAP;
    const { attention } = stage;
    if (attention) {
      const height = headsHeight(attention);
      const shape = [attention.heads, attention.rows, attention.columns];
      y -= height + INSIDE;
      rows.push({ path: stage.layer, stage, strip: null, attention, y, height, shape });
    }
    for (const strip of stage.strips) {
      const height = stripHeight(strip);
      y -= height + INSIDE;
      rows.push({ path: strip.path, stage, strip, attention: null, y, height, shape: [strip.steps, strip.width] });
    }
  }
  const title = !two ? 'the text' : body.side === 'source' ? 'what it reads' : 'what it writes';
  const x = (/** @type {number} */ t) => left + LABELS + (t - (places[0] ?? 0) + 0.5) * pitch;
  return { body, places, left, x, rows, top: y, title };
}

/**
 * What a row is, in words: its own name behind its layer's.
 * @param {Row} row
 */
export function nameOf({ path, attention, strip }) {
  if (attention) return named(path);
  return strip ? named(path) : path;
}
