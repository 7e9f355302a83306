// The lines and boxes of the picture of a model: one drawing language for every one of them.

import { s } from '../dom.js';
import { film } from '../picture.js';
import { named } from '../words.js';
import { blocksOf } from './stages.js';
import { looked, vectors } from './tiles.js';

/** @import { Looked } from '../main.js' */
/** @import { Draft, Plan, Row } from './draft.js' */
/** @import { Attention } from '../record.js' */

const SIDE = 150; // pixels of a picture
const LEAST = 0.03; // weights below it are not drawn

/**
 * Whether a position is computed already when step `at` is.
 * @param {Plan} plan
 * @param {number} t
 * @param {number} at
 */
function there({ body }, t, at) {
  return body.side === 'source' || t <= at;
}

/**
 * The head of an arrow, where what passes arrives: a gradient arrives where a number came from.
 * @param {boolean} now
 * @param {boolean} back
 */
export function arrow(now, back) {
  return { [back ? 'marker-start' : 'marker-end']: `url(#arrow${now ? '-now' : ''})` };
}

/**
 * From each stage to the next one, at every position.
 * @param {Plan} plan
 * @param {Draft} draft
 */
export function upArrows(plan, { at, bottom, back }) {
  const stages = plan.body.stages.map((stage) => plan.rows.filter((row) => row.stage === stage));
  const found = plan.places.flatMap((t) => {
    if (!there(plan, t, at)) return [];
    const now = plan.body.side === 'written' && t === at;
    let from = bottom + 4;
    return stages.map((rows) => {
      const to = rows[0].y + rows[0].height + 2;
      const line = s('line.up', {
        ...{ x1: plan.x(t), x2: plan.x(t), y1: from, y2: to, class: now ? 'now' : '' },
        ...arrow(now, back),
      });
      from = rows[rows.length - 1].y - 2;
      return line;
    });
  });
  return s('g', found);
}

/**
 * What is handed on from one position to the next.
 * @param {Plan} plan
 * @param {Draft} draft
 */
export function timeArrows(plan, { at, tile, back: turned }) {
  const carried = plan.rows.filter((row) => row.strip?.carried);
  const found = carried.flatMap((row) => {
    const y = row.y + row.height / 2;
    const back = row.strip?.backwards;
    return plan.places.slice(1).flatMap((t) => {
      if (!there(plan, t, at)) return [];
      const [left, right] = [plan.x(t - 1) + tile / 2 + 1, plan.x(t) - tile / 2 - 1];
      const now = plan.body.side === 'written' && t === at;
      const ends = back ? { x1: right, x2: left } : { x1: left, x2: right };
      return [s('line.over', { ...ends, y1: y, y2: y, class: now ? 'now' : '', ...arrow(now, turned) })];
    });
  });
  return s('g', found);
}

/**
 * Where nothing looks at the source, what was read goes over as it stands at its end.
 * @param {Draft} draft
 */
export function handover({ plans, bottom }) {
  const [source, written] = plans;
  const looks = plans.some((plan) => plan.rows.some((row) => row.attention?.to === 'source' && plan === written));
  if (!written || looks || !source.rows.length) return null;
  const [x, y] = [source.x(source.places.at(-1) ?? 0), source.top - 6];
  const [to, end] = [written.left + 96, written.rows.length ? bottom - 34 : source.top + 12];
  const d = `M${x} ${y}C${x + 40} ${y - 26} ${to - 30} ${y - 26} ${to} ${end}`;
  return s('path.look', { d, 'stroke-width': 1.6, 'marker-end': 'url(#arrow-now)' }, s('title', 'what was read'));
}

/**
 * Who the step that is being computed looks at, in every attention layer.
 * @param {Draft} draft
 */
export function attentionLines(draft) {
  return s(
    'g',
    draft.plans.flatMap((plan) => plan.rows.flatMap((row) => (row.attention ? linesOf(draft, plan, row) : []))),
  );
}

/**
 * @param {Draft} draft
 * @param {Plan} plan
 * @param {Row} row
 */
function linesOf({ plans, at, tile }, plan, row) {
  const attention = /** @type {Attention} */ (row.attention);
  const from = plans.find((one) => one.body.side === attention.to);
  const t = plan.body.side === 'written' ? at : (plan.places[plan.places.length >> 1] ?? 0);
  if (!from || t >= attention.rows || !plan.places.includes(t)) return [];
  if (attention.grid) return [sight(from, plan, row, t, tile)];
  const weights = attention.weights('mean').subarray(t * attention.columns, (t + 1) * attention.columns);
  const [x, y] = [plan.x(t), row.y + row.height];
  const below = plan === from ? beneath(plan, row) : from.top - 3;
  const looks = from.places.flatMap((i) => {
    if (!(weights[i] > LEAST)) return [];
    const start = from.x(i);
    const side = plan === from ? [x, y] : [x - tile / 2, row.y + row.height / 2];
    const d =
      plan === from
        ? `M${start} ${below}C${start} ${(below + y) / 2} ${x} ${(below + y) / 2} ${side[0]} ${side[1] + 1}`
        : `M${start} ${below}C${start} ${below - 30} ${side[0] - 60} ${side[1]} ${side[0]} ${side[1]}`;
    const wide = { 'stroke-width': (0.5 + 3.5 * weights[i]).toFixed(2), 'stroke-opacity': 0.25 + 0.75 * weights[i] };
    return [s('path.look', { d, ...wide }, s('title', weights[i].toFixed(3)))];
  });
  return [...looks, ...(attention.causal ? cache(plan, row, at, tile) : [])];
}

/**
 * From a picture to who looks at it: where it looks is lit in the picture.
 * @param {Plan} from
 * @param {Plan} plan
 * @param {Row} row
 * @param {number} t
 * @param {number} tile
 */
function sight(from, plan, row, t, tile) {
  const [x, y] = [plan.x(t) - tile / 2, row.y + row.height / 2];
  const [start, middle] = [from.left + SIDE + 10, from.top - SIDE / 2];
  const d = `M${start} ${middle}C${start + 60} ${middle} ${x - 60} ${y} ${x} ${y}`;
  return s('path.look', { d, 'stroke-width': 2, 'stroke-opacity': 0.7 });
}

/**
 * The upper edge of what stands beneath a row.
 * @param {Plan} plan
 * @param {Row} row
 */
function beneath({ rows }, row) {
  const under = rows[rows.indexOf(row) - 1];
  return under ? under.y - 2 : row.y + row.height + 16;
}

/**
 * The keys and values of what was seen: they are kept, and grow by a pair at each step.
 * @param {Plan} plan
 * @param {Row} row
 * @param {number} at
 * @param {number} tile
 */
function cache(plan, row, at, tile) {
  return plan.places.flatMap((t) => {
    if (t > at) return [];
    const place = { y: row.y + row.height + 3, width: 5, height: 5 };
    const x = plan.x(t) + tile / 2 - 11;
    const name = `key and value of position ${t}: ${t === at ? 'new' : 'kept (KV cache)'}`;
    const pair = [s('rect', { x, ...place }), s('rect', { x: x + 6, ...place })];
    return [s('g.cache', { class: t === at ? 'now' : '' }, s('title', name), pair)];
  });
}

/**
 * The rows with their names, and the picture that was read.
 * @param {Looked} look
 * @param {Plan} plan
 * @param {Draft} draft
 */
export function boxes(look, plan, draft) {
  const image = look.record.picture && plan.body.side === 'source' && photograph(look, plan, draft);
  return s(
    'g',
    plan.rows.map((row) => rowOf(look, plan, row, draft)),
    image,
  );
}

/**
 * A frame around each block, and around each layer with several vectors: a cell.
 * @param {Plan} plan
 * @param {Draft} draft
 */
export function frames({ body, rows, places, left, x }, { pitch }) {
  return s(
    'g',
    blocksOf(body.stages).map(({ layer, first, last }) => {
      const inside = rows.filter((row) => {
        const place = body.stages.indexOf(row.stage);
        return place >= first && place <= last;
      });
      const [bottom, top] = [inside[0].y + inside[0].height + 11, inside[inside.length - 1].y - 6];
      const wide = { x: left, width: x(places.at(-1) ?? 0) + pitch / 2 - left, y: top, height: bottom - top };
      return s('rect.block', { ...wide, rx: 8 }, s('title', named(layer)));
    }),
  );
}

/**
 * A row: its name, which opens its view, and a tile at each position.
 * @param {Looked} look
 * @param {Plan} plan
 * @param {Row} row
 * @param {Draft} draft
 */
function rowOf({ choose }, plan, row, { at, tile, pitch }) {
  const { path, strip, attention, y, height } = row;
  const places = plan.places.filter((t) => t < (row.attention ? row.attention.rows : (strip?.steps ?? 0)));
  if (!places.length) return null;
  const size = { width: tile, height };
  const href = attention ? looked(attention, places, size, pitch) : strip && vectors(strip, places, size, pitch);
  const left = plan.x(places[0]) - pitch / 2;
  const done = places.filter((t) => there(plan, t, at)).length;
  const veil = { x: left + done * pitch, y: y - 1, width: (places.length - done) * pitch, height: height + 2 };
  const now = plan.body.side === 'written' && places.includes(at);
  const open = () =>
    attention
      ? choose({ view: 'map', layer: path, head: 'mean' })
      : choose({ view: strip?.gate ? 'memory' : 'ribbon', ink: 'cell', cells: path, gates: strip?.layer ?? '' });
  const label = labelOf(plan, row);
  return s(
    'g.part',
    { id: `part-${path}`, onclick: open },
    s('title', `${named(path)}: ${row.shape.join(' × ')}. Click to open it.`),
    s(
      'text.name',
      { x: plan.left + 6, y: y + height / 2 + 4, class: height < 14 ? 'fine' : '' },
      label.length > 20 ? `${label.slice(0, 19)}…` : label,
    ),
    s('image', { href, x: left, y, width: places.length * pitch, height, preserveAspectRatio: 'none' }),
    places.length > done && s('rect.later', veil),
    now && s('rect.here', { x: plan.x(at) - tile / 2 - 1, y: y - 1, width: tile + 2, height: height + 2 }),
  );
}

/**
 * The name of a row beside it: its own; with its layer's where it is the last of one, or alone.
 * @param {Plan} plan
 * @param {Row} row
 */
function labelOf({ rows }, row) {
  const parts = named(row.path).split(' · ');
  if (row.strip?.role === 'embedding') return row.strip.role;
  const last = rows.filter((one) => one.stage === row.stage).at(-1) === row && !row.stage.within;
  return parts.slice(last ? -2 : -1).join(' · ');
}

/**
 * The picture that was read, lit where the step looks.
 * @param {Looked} look
 * @param {Plan} plan
 * @param {Draft} draft
 */
function photograph({ record, choose }, plan, { at, bottom }) {
  const attention = record.attention.find((one) => one.grid);
  const row =
    attention && at < attention.rows
      ? attention.weights('mean').subarray(at * attention.columns, (at + 1) * attention.columns)
      : null;
  const picture = /** @type {import('../blobs.js').Blob} */ (record.picture);
  const href = film(picture, row, record.grid).toDataURL();
  const place = { x: plan.left + 8, y: bottom - SIDE, width: SIDE, height: SIDE, href };
  return s(
    'g.part',
    { onclick: () => choose({ view: 'map' }) },
    s('image', { ...place, style: { 'image-rendering': 'pixelated' } }),
  );
}
