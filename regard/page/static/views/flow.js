// Tokens in a line, as the text they are, each coloured.

import { painted } from '../colour.js';
import { h, hideTip, showTip } from '../dom.js';
import { visible } from '../words.js';
import { moved, sideways } from './common.js';

/** @import { Colour } from '../colour.js' */
/** @import { Part } from '../dom.js' */
/** @import { Token } from '../record.js' */

/**
 * colour: of token t, null: none; at: the one that is kept; made: the first that was not given, which is marked;
 * pick, tip, enter, leave: what happens when one is clicked or pointed at; label: what the text is.
 * @typedef {{colour: (t: number) => Colour | null, at: number | null, made?: number, pick: (t: number) => void,
 *   tip: (t: number) => Part, enter?: (t: number) => void, leave?: () => void, label: string}} Wishes
 */

/**
 * @param {Token[]} tokens
 * @param {Wishes} wishes
 */
export function flow(tokens, { colour, at, made = 0, pick, tip, enter, leave, label }) {
  const line = h('div.ribbon.flow', {
    class: tokens.length <= 64 ? 'large' : '',
    id: `flow-${label}`,
    tabindex: 0,
    role: 'group',
    'aria-label': `${label}: left and right move`,
  });
  tokens.forEach((token, t) => {
    if (made > 0 && t === made) line.append(h('i.made', { title: 'from here on it was written' }));
    line.append(...span(token, t, colour(t), t === at));
  });
  pointed(line, '.t', {
    pick,
    leave,
    enter: (t, event) => {
      enter?.(t);
      showTip(event.clientX, event.clientY, tip(t));
    },
  });
  line.addEventListener('keydown', (event) => {
    if (!sideways(event.key)) return;
    pick(moved(at, sideways(event.key), tokens.length));
    event.preventDefault();
    event.stopPropagation();
  });
  return line;
}

/**
 * A token and what stands around it: the space before a word is not coloured. A line ends wherever one does in it.
 * @param {Token} token
 * @param {number} t
 * @param {Colour | null} paint
 * @param {boolean} kept
 */
function span(token, t, paint, kept) {
  const text = token.special ? visible(token.text) : token.text;
  const blank = text.match(/^ +(?=\S)/)?.[0] ?? '';
  const seen = text.slice(blank.length);
  const classes = `${kept ? 'at' : ''} ${token.special ? 'invisible' : ''}`;
  const lines = seen.split('\n');
  const parts = lines.flatMap((line, i) => (i < lines.length - 1 ? [line, '⏎', h('br')] : [line]));
  const shown = h('span.t', { 'data-t': t, class: classes, style: paint && painted(paint) }, parts);
  const before = token.special && t > 0 ? ' ' : '';
  const behind = token.special && t === 0 ? ' ' : '';
  return [before, blank, shown, behind];
}

/**
 * Listens to what happens over elements that carry their number.
 * @param {HTMLElement} place
 * @param {string} selector
 * @param {{pick: (t: number) => void, enter: (t: number, event: PointerEvent) => void, leave?: () => void}} acts
 */
export function pointed(place, selector, { pick, enter, leave }) {
  /** @param {Event} event */
  const under = (event) => {
    const found = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest(selector));
    return found ? Number(found.dataset.t) : null;
  };
  place.addEventListener('click', (event) => {
    const t = under(event);
    if (t !== null) pick(t);
  });
  place.addEventListener('pointermove', (event) => {
    const t = under(event);
    if (t === null) hideTip();
    else enter(t, event);
  });
  place.addEventListener('pointerleave', () => {
    hideTip();
    leave?.();
  });
}
