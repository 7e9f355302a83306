// What an element shows, as a drawing of its own: boxes, text as text, canvases as pictures. Works for any view.

const COPIED = [
  ...['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'stroke-opacity', 'opacity'],
  ...['font-family', 'font-size', 'font-weight', 'font-style'],
];
const CLEAR = 'rgba(0, 0, 0, 0)';

/** @param {HTMLElement} element */
export function drawing(element) {
  const whole = element.getBoundingClientRect();
  const paper = getComputedStyle(document.documentElement).getPropertyValue('--paper').trim();
  const width = Math.ceil(Math.max(whole.width, element.scrollWidth));
  const height = Math.ceil(Math.max(whole.height, element.scrollHeight));
  /** @type {string[]} */
  const parts = [];
  walk(element, whole, parts);
  const spaces = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"';
  const size = { width, height, viewBox: `0 0 ${width} ${height}` };
  const ground = tag('rect', { width: '100%', height: '100%', fill: paper });
  return `<svg ${spaces} ${spelled(size)}>\n${ground}\n${parts.join('\n')}\n</svg>\n`;
}

/**
 * @param {string} name
 * @param {{[name: string]: string | number}} attributes
 */
function tag(name, attributes) {
  return `<${name} ${spelled(attributes)}/>`;
}

/** @param {{[name: string]: string | number}} attributes */
function spelled(attributes) {
  const parts = Object.entries(attributes).map(([name, value]) => `${name}="${escaped(String(value))}"`);
  return parts.join(' ');
}

/** @param {string} words */
function escaped(words) {
  /** @type {{[sign: string]: string}} */
  const names = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return words.replace(/[&<>"]/g, (c) => names[c]);
}

/** @param {number} number */
function round(number) {
  return Math.round(number * 100) / 100;
}

/**
 * @param {Element} element
 * @param {DOMRect} whole
 * @param {string[]} parts
 */
function walk(element, whole, parts) {
  const style = getComputedStyle(element);
  if (unseen(element, style)) return;
  const box = element.getBoundingClientRect();
  const at = { x: round(box.left - whole.left), y: round(box.top - whole.top) };
  const frame = { ...at, width: round(box.width), height: round(box.height) };
  if (element instanceof HTMLCanvasElement) parts.push(image(element, frame));
  else if (element instanceof SVGSVGElement) parts.push(copied(element, frame));
  else {
    parts.push(...boxOf(style, frame));
    for (const child of element.childNodes) {
      if (child instanceof Text) words(child, style, whole, parts);
      else if (child instanceof Element) walk(child, whole, parts);
    }
  }
}

/**
 * @param {Element} element
 * @param {CSSStyleDeclaration} style
 */
function unseen(element, style) {
  return style.display === 'none' || style.visibility === 'hidden' || element.matches('.grip, .sr, select, img');
}

/** @typedef {{x: number, y: number, width: number, height: number}} Frame */

/**
 * @param {HTMLCanvasElement} canvas
 * @param {Frame} frame
 */
function image(canvas, frame) {
  const look = { preserveAspectRatio: 'none', style: 'image-rendering:pixelated' };
  return tag('image', { ...frame, ...look, href: canvas.toDataURL() });
}

/**
 * An element's background and the line below it.
 * @param {CSSStyleDeclaration} style
 * @param {Frame} frame
 */
function boxOf(style, frame) {
  const found = [];
  if (style.backgroundColor !== CLEAR) {
    const rx = Number.parseFloat(style.borderTopLeftRadius) || 0;
    found.push(tag('rect', { ...frame, fill: style.backgroundColor, rx }));
  }
  const line = Number.parseFloat(style.borderBottomWidth) > 0 && style.borderBottomStyle !== 'none';
  if (line && style.borderBottomColor !== CLEAR) {
    const y = round(frame.y + frame.height);
    const ends = { x1: frame.x, x2: round(frame.x + frame.width), y1: y, y2: y };
    found.push(tag('line', { ...ends, stroke: style.borderBottomColor }));
  }
  return found;
}

/**
 * Each word where it stands.
 * @param {Text} node
 * @param {CSSStyleDeclaration} style
 * @param {DOMRect} whole
 * @param {string[]} parts
 */
function words(node, style, whole, parts) {
  const range = document.createRange();
  const size = Number.parseFloat(style.fontSize);
  const font = {
    'font-family': style.fontFamily,
    'font-size': size,
    'font-weight': style.fontWeight,
    'font-style': style.fontStyle,
  };
  for (const match of node.data.matchAll(/\S+/g)) {
    range.setStart(node, match.index);
    range.setEnd(node, match.index + match[0].length);
    const box = range.getClientRects()[0];
    if (!box?.width) continue;
    const at = { x: round(box.left - whole.left), y: round(box.top - whole.top + box.height / 2 + size * 0.34) };
    const look = spelled({ ...at, ...font, fill: style.color, 'xml:space': 'preserve' });
    parts.push(`<text ${look}>${escaped(match[0])}</text>`);
  }
}

/**
 * A drawing inside the page, with the style that the page gives it written out.
 * @param {SVGSVGElement} element
 * @param {Frame} frame
 */
function copied(element, frame) {
  const copy = /** @type {SVGSVGElement} */ (element.cloneNode(true));
  const [from, to] = [element, copy].map((one) => [one, ...one.querySelectorAll('*')]);
  from.forEach((one, i) => {
    const style = getComputedStyle(one);
    for (const name of COPIED) to[i].setAttribute(name, style.getPropertyValue(name));
    to[i].removeAttribute('class');
    if (style.visibility === 'hidden') to[i].setAttribute('visibility', 'hidden');
  });
  for (const [name, value] of Object.entries({ ...frame, overflow: 'visible' })) copy.setAttribute(name, String(value));
  return new XMLSerializer().serializeToString(copy);
}
