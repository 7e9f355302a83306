// Taking a view along: as a drawing, a picture, a table, or one page that opens by a double click.

import { everything, template } from './ask.js';

const COPIED = [
  'fill',
  'stroke',
  'stroke-width',
  'stroke-dasharray',
  'stroke-opacity',
  'opacity',
  'font-family',
  'font-size',
  'font-weight',
  'font-style',
];

/** What an element shows, as a drawing of its own: boxes, text as text, canvases as pictures. Works for any view. */
export function drawing(element) {
  const whole = element.getBoundingClientRect();
  const parts = [];
  const style = getComputedStyle(document.documentElement);
  const [width, height] = [
    Math.ceil(Math.max(whole.width, element.scrollWidth)),
    Math.ceil(Math.max(whole.height, element.scrollHeight)),
  ];
  walk(element, whole, parts);
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">\n` +
    `<rect width="100%" height="100%" fill="${style.getPropertyValue('--paper').trim()}"/>\n${parts.join('\n')}\n</svg>\n`
  );
}

function walk(element, whole, parts) {
  const style = getComputedStyle(element);
  if (
    style.display === 'none' ||
    style.visibility === 'hidden' ||
    element.classList.contains('grip') ||
    element.classList.contains('sr') ||
    element.tagName === 'SELECT'
  )
    return;
  const box = element.getBoundingClientRect();
  const [x, y] = [round(box.left - whole.left), round(box.top - whole.top)];
  if (element.tagName === 'CANVAS') {
    parts.push(
      `<image x="${x}" y="${y}" width="${round(box.width)}" height="${round(box.height)}" preserveAspectRatio="none" style="image-rendering:pixelated" href="${element.toDataURL()}"/>`,
    );
    return;
  }
  if (element.tagName === 'IMG') return;
  if (element.tagName === 'svg') {
    parts.push(copied(element, x, y, box));
    return;
  }
  const filled = style.backgroundColor !== 'rgba(0, 0, 0, 0)';
  if (filled)
    parts.push(
      `<rect x="${x}" y="${y}" width="${round(box.width)}" height="${round(box.height)}" fill="${style.backgroundColor}" rx="${parseFloat(style.borderTopLeftRadius) || 0}"/>`,
    );
  if (
    parseFloat(style.borderBottomWidth) > 0 &&
    style.borderBottomStyle !== 'none' &&
    style.borderBottomColor !== 'rgba(0, 0, 0, 0)'
  ) {
    parts.push(
      `<line x1="${x}" x2="${round(x + box.width)}" y1="${round(y + box.height)}" y2="${round(y + box.height)}" stroke="${style.borderBottomColor}"/>`,
    );
  }
  for (const child of element.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) text(child, style, whole, parts);
    else if (child.nodeType === Node.ELEMENT_NODE) walk(child, whole, parts);
  }
}

/** Each word where it stands. */
function text(node, style, whole, parts) {
  const range = document.createRange();
  for (const match of node.data.matchAll(/\S+/g)) {
    range.setStart(node, match.index);
    range.setEnd(node, match.index + match[0].length);
    const box = range.getClientRects()[0];
    if (!box || !box.width) continue;
    const size = parseFloat(style.fontSize);
    const base = box.top - whole.top + box.height / 2 + size * 0.34;
    parts.push(
      `<text x="${round(box.left - whole.left)}" y="${round(base)}" font-family="${escaped(style.fontFamily)}" font-size="${size}" font-weight="${style.fontWeight}" font-style="${style.fontStyle}" fill="${style.color}" xml:space="preserve">${escaped(match[0])}</text>`,
    );
  }
}

/** A drawing inside the page, with the style that the page gives it written out. */
function copied(element, x, y, box) {
  const copy = element.cloneNode(true);
  const [from, to] = [
    [element, ...element.querySelectorAll('*')],
    [copy, ...copy.querySelectorAll('*')],
  ];
  from.forEach((one, i) => {
    const style = getComputedStyle(one);
    for (const name of COPIED) to[i].setAttribute(name, style.getPropertyValue(name));
    to[i].removeAttribute('class');
    if (style.visibility === 'hidden') to[i].setAttribute('visibility', 'hidden');
  });
  for (const [name, value] of Object.entries({
    x,
    y,
    width: round(box.width),
    height: round(box.height),
    overflow: 'visible',
  }))
    copy.setAttribute(name, value);
  return new XMLSerializer().serializeToString(copy);
}

function round(number) {
  return Math.round(number * 100) / 100;
}

function escaped(words) {
  return words.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]);
}

/** The drawing as pixels, twice as fine as on the screen. */
export async function pixels(element) {
  const source = drawing(element);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(source)}`;
  await image.decode();
  const canvas = document.createElement('canvas');
  const fine = Math.min(2, 8192 / Math.max(image.width, image.height));
  [canvas.width, canvas.height] = [image.width * fine, image.height * fine];
  canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, 'image/png'));
}

/** Rows as comma-separated values. */
export function commas(rows) {
  return (
    rows
      .map((row) =>
        row
          .map((value) => (/[",\n\r]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value)))
          .join(','),
      )
      .join('\r\n') + '\r\n'
  );
}

/** This page with all that it has shown, in one file. */
export async function page(address) {
  const content = JSON.stringify({ address, answers: await everything() }).replaceAll('<', '\\u003c');
  const whole = await template();
  const mark = '<script type="application/json" id="saved">';
  const begin = whole.indexOf(mark) + mark.length;
  return whole.slice(0, begin) + content + whole.slice(whole.indexOf('</script>', begin));
}

export function download(content, kind, name) {
  const blob = content instanceof Blob ? content : new Blob([content], { type: kind });
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
