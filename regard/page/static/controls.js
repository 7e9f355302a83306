// What can be pressed, chosen and ticked, and what stands where there is nothing to show.

import { h } from './dom.js';

/** @import { Part } from './dom.js' */

/**
 * @param {string} name 'button', with classes behind it
 * @param {((event: any) => void) | null} act
 * @param {...Part} parts
 */
export function button(name, act, ...parts) {
  return h(/** @type {'button'} */ (name), { type: 'button', onclick: act }, ...parts);
}

/**
 * Buttons of which one is pressed.
 * @template {string | number} K
 * @param {string} label
 * @param {readonly (readonly [K, Part])[]} options
 * @param {K} value
 * @param {(key: K) => void} choose
 */
export function segments(label, options, value, choose) {
  const buttons = options.map(([key, text]) =>
    button('button', () => choose(key), { 'aria-pressed': String(key === value) }, text),
  );
  const group = h('span.segments', { role: 'group', 'aria-label': label || 'choice' }, buttons);
  return h('span.field', label && h('span', label), group);
}

/**
 * A list to choose from.
 * @param {string} label
 * @param {readonly (readonly [string | number, Part])[]} options
 * @param {string | number} value
 * @param {(key: string) => void} choose
 * @param {string} id
 */
export function choice(label, options, value, choose, id) {
  const every = options.map(([key, text]) =>
    h('option', { value: key, selected: String(key) === String(value) }, text),
  );
  return h('label', label, h('select', { 'aria-label': label, id, onchange: (e) => choose(e.target.value) }, every));
}

/**
 * A box to tick.
 * @param {string} label
 * @param {boolean} value
 * @param {(value: boolean) => void} choose
 */
export function tick(label, value, choose) {
  const box = h('input', { type: 'checkbox', onchange: (event) => choose(event.target.checked) });
  box.checked = value;
  return h('label', box, label);
}

/**
 * A number to set.
 * @param {{[name: string]: unknown}} attributes
 * @param {(value: string) => void} [choose]
 */
export function number(attributes, choose) {
  return h('input', { type: 'number', ...attributes, onchange: choose ? (e) => choose(e.target.value) : null });
}

/**
 * A drawn state: nothing yet, nothing to show, or something wrong.
 * @param {string} title
 * @param {Part} text
 */
export function state(title, text, kind = '') {
  const shown = typeof text === 'string' ? h('p', text) : text;
  return h('div.state', { class: kind, role: kind === 'wrong' ? 'alert' : null }, h('h3', title), shown);
}
