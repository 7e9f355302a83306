// What an element shows, as a drawing of its own: boxes, text as text, canvases as pictures. Works for any view.

import { theme } from './colour.js';

const COPIED = [
  ...['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'stroke-opacity', 'opacity'],
  ...['font-family', 'font-size', 'font-weight', 'font-style'],
];
const CLEAR = 'rgba(0, 0, 0, 0)';
const LEFT_OUT = '.grip, .sr, select, img, input, .aside, .hint, .editor';

const MARGIN = 16; // pixels of paper on each side
const LINE = 18; // pixels from one line of the caption to the next

/**
 * A drawing of what an element shows, as far as it goes, with a caption above: what can be pressed is left out.
 * @param {HTMLElement} element
 * @param {string[]} caption
 */
export function drawing(element, caption = []) {
  const whole = element.getBoundingClientRect();
  /** @type {Sheet} */
  const sheet = { parts: [], origin: whole, right: 320, bottom: 0 };
  walk(element, sheet);
  const style = getComputedStyle(document.documentElement);
  const [ink, dark] = [style.getPropertyValue('--ink').trim(), theme() === 'dark'];
  const lines = caption.flatMap((text, i) => folded(text, Math.floor(sheet.right / 7)).map((line) => ({ line, i })));
  const above = lines.length * LINE + 8;
  const words = lines.map(({ line, i }, n) => {
    const look = { x: 0, y: 12 + n * LINE, 'font-family': 'sans-serif', 'font-size': 13, 'font-weight': i ? 400 : 600 };
    return `<text ${spelled({ ...look, fill: ink })}>${escaped(line)}</text>`;
  });
  const [width, height] = [Math.ceil(sheet.right) + 2 * MARGIN, Math.ceil(sheet.bottom) + above + 2 * MARGIN];
  const spaces = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"';
  const size = { width, height, viewBox: `0 0 ${width} ${height}` };
  const paper = dark ? style.getPropertyValue('--paper').trim() : '#ffffff';
  const ground = tag('rect', { width: '100%', height: '100%', fill: paper });
  const drawn = `<g transform="translate(0 ${above})">\n${sheet.parts.join('\n')}\n</g>`;
  const inside = `<g transform="translate(${MARGIN} ${MARGIN})">\n${words.join('\n')}\n${drawn}\n</g>`;
  return `<svg ${spaces} ${spelled(size)}>\n${ground}\n${inside}\n</svg>\n`;
}

/**
 * A text in lines of at most so many letters, four lines of it.
 * @param {string} text
 * @param {number} most
 */
function folded(text, most) {
  /** @type {string[]} */
  const lines = [];
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < most) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word.slice(0, most));
  }
  return lines.length > 4 ? [...lines.slice(0, 3), `${lines[3]} …`] : lines;
}

/**
 * What was drawn, measured from where the element begins, and how far it reaches.
 * @typedef {{parts: string[], origin: DOMRect, right: number, bottom: number}} Sheet
 */

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
 * @param {Sheet} sheet
 */
function walk(element, sheet) {
  const style = getComputedStyle(element);
  if (unseen(element, style)) return;
  const { parts, origin } = sheet;
  const box = element.getBoundingClientRect();
  const at = { x: round(box.left - origin.left), y: round(box.top - origin.top) };
  const frame = { ...at, width: round(box.width), height: round(box.height) };
  if (element instanceof HTMLCanvasElement) parts.push(image(element, frame));
  else if (element instanceof SVGSVGElement) parts.push(copied(element, frame));
  else {
    if (!element.matches('.controls')) parts.push(...boxOf(style, frame));
    for (const child of element.childNodes) {
      if (child instanceof Text) words(child, style, sheet);
      else if (child instanceof Element) walk(child, sheet);
    }
    return;
  }
  reach(sheet, frame);
}

/**
 * @param {Sheet} sheet
 * @param {Frame} frame
 */
function reach(sheet, { x, y, width, height }) {
  sheet.right = Math.max(sheet.right, x + width);
  sheet.bottom = Math.max(sheet.bottom, y + height);
}

/**
 * @param {Element} element
 * @param {CSSStyleDeclaration} style
 */
function unseen(element, style) {
  const pressed = element.parentElement?.matches('.controls') && !element.matches('.legend');
  return style.display === 'none' || style.visibility === 'hidden' || pressed || element.matches(LEFT_OUT);
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
 * @param {Sheet} sheet
 */
function words(node, style, sheet) {
  const { parts, origin } = sheet;
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
    const [x, y] = [box.left - origin.left, box.top - origin.top];
    reach(sheet, { x, y, width: box.width, height: box.height });
    const at = { x: round(x), y: round(y + box.height / 2 + size * 0.34) };
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
