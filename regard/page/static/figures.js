// Taking a view along: as a drawing, a picture, a table, or one page that opens by a double click.

import { everything, template } from './ask.js';
import { canvasOf } from './dom.js';
import { drawing } from './drawing.js';

/** @typedef {(string | number | null | undefined)[][]} Table rows, the first with the names of columns */

/**
 * What an element shows as pixels, twice as fine as on the screen.
 * @param {HTMLElement} element
 * @param {string[]} caption
 * @returns {Promise<Blob>}
 */
export async function pixels(element, caption) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(drawing(element, caption))}`;
  await image.decode();
  const fine = Math.min(2, 8192 / Math.max(image.width, image.height));
  const [canvas, context] = canvasOf(image.width * fine, image.height * fine);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob((blob) => resolve(/** @type {Blob} */ (blob)), 'image/png'));
}

/**
 * Rows as comma-separated values.
 * @param {Table} rows
 */
export function commas(rows) {
  return rows.map((row) => `${row.map((value) => quoted(String(value))).join(',')}\r\n`).join('');
}

/** @param {string} value */
function quoted(value) {
  return /[",\n\r]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}

/**
 * This page with all that it has shown, in one file.
 * @param {string} address
 */
export async function page(address) {
  const content = JSON.stringify({ address, answers: await everything() }).replaceAll('<', '\\u003c');
  const whole = await template();
  const mark = '<script type="application/json" id="saved">';
  const begin = whole.indexOf(mark) + mark.length;
  return whole.slice(0, begin) + content + whole.slice(whole.indexOf('</script>', begin));
}

/**
 * @param {string | Blob} content
 * @param {string} kind
 * @param {string} name
 */
export function download(content, kind, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type: kind }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
