// Elements of the page and of drawings, and the box beside the pointer.

const SVG = 'http://www.w3.org/2000/svg';

/**
 * What an element is made of: attributes, children, text; false, null and undefined are left out.
 * Attributes that are functions listen to an event, which is `any` since its target is what was listened to.
 * @typedef {{[on: `on${string}`]: ((event: any) => void) | null, [name: string]: unknown}} Attributes
 * @typedef {Node | Attributes | string | number | boolean | null | undefined | readonly Part[]} Part
 */

/**
 * @template {string} T
 * @typedef {T extends keyof HTMLElementTagNameMap ? HTMLElementTagNameMap[T] : HTMLElement} Tag
 */

/**
 * 'button.quiet' names a button.
 * @template {string} N
 * @typedef {N extends `${infer T}.${string}` ? Tag<T> : Tag<N>} Named
 */

/**
 * An element: h('div.note', { onclick }, 'text', child).
 * @template {string} N
 * @param {N} name
 * @param {...Part} parts
 * @returns {Named<N>}
 */
export function h(name, ...parts) {
  /** @type {any} */
  const element = document.createElement(name.split('.')[0]);
  return made(element, name, parts);
}

/**
 * The element of a drawing: s('rect.bar', { x, y }).
 * @param {string} name
 * @param {...Part} parts
 */
export function s(name, ...parts) {
  return made(document.createElementNS(SVG, name.split('.')[0]), name, parts);
}

/**
 * @template {Element} E
 * @param {E} element
 * @param {string} name
 * @param {readonly Part[]} parts
 */
function made(element, name, parts) {
  const classes = name.split('.').slice(1);
  if (classes.length) element.setAttribute('class', classes.join(' '));
  add(element, parts);
  return element;
}

/**
 * @param {Element} element
 * @param {readonly Part[]} parts
 */
function add(element, parts) {
  for (const part of parts) {
    if (part === null || part === undefined || part === false) continue;
    if (part instanceof Node) element.append(part);
    else if (Array.isArray(part)) add(element, part);
    else if (typeof part === 'object') set(element, /** @type {Attributes} */ (part));
    else element.append(String(part));
  }
}

/**
 * @param {any} element
 * @param {Attributes} attributes
 */
function set(element, attributes) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === 'class') element.setAttribute('class', `${element.getAttribute('class') || ''} ${value}`.trim());
    else if (typeof value === 'function') element.addEventListener(key.slice(2), value);
    else if (key === 'style') for (const [name, one] of Object.entries(value)) element.style.setProperty(name, one);
    else if (key === 'value') element.value = value;
    else element.setAttribute(key, value === true ? '' : value);
  }
}

/**
 * @template {Element} E
 * @param {E} element
 */
export function clear(element) {
  element.replaceChildren();
  return element;
}

/**
 * An element of the page that is always there.
 * @param {string} id
 */
export function byId(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

/**
 * A canvas of so many pixels, and what draws on it.
 * @param {number} width
 * @param {number} height
 * @param {CanvasRenderingContext2DSettings} [settings]
 * @returns {[HTMLCanvasElement, CanvasRenderingContext2D]}
 */
export function canvasOf(width, height, settings) {
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [width, height];
  return [canvas, /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d', settings))];
}

/**
 * Numbers beside the pointer.
 * @param {number} x
 * @param {number} y
 * @param {...Part} content
 */
export function showTip(x, y, ...content) {
  const box = clear(byId('tip'));
  add(box, content);
  box.hidden = false;
  const { width, height } = box.getBoundingClientRect();
  box.style.left = `${Math.max(4, Math.min(x + 16, innerWidth - width - 8))}px`;
  box.style.top = `${y + 18 + height > innerHeight ? Math.max(4, y - height - 12) : y + 18}px`;
}

export function hideTip() {
  byId('tip').hidden = true;
}
