// Elements and numbers: the few helpers that every view uses.

const SVG = 'http://www.w3.org/2000/svg';

/** An element: h('div.note', {onclick}, 'text', child). Attributes that are functions listen; false and null are left out. */
export function h(name, ...rest) {
  return made(document.createElement(name.split('.')[0]), name, rest);
}

/** The same for drawings. */
export function s(name, ...rest) {
  return made(document.createElementNS(SVG, name.split('.')[0]), name, rest);
}

function made(element, name, rest) {
  const classes = name.split('.').slice(1);
  if (classes.length) element.setAttribute('class', classes.join(' '));
  for (const part of rest.flat(9)) {
    if (part === null || part === undefined || part === false) continue;
    if (part instanceof Node) element.append(part);
    else if (typeof part === 'object') set(element, part);
    else element.append(String(part));
  }
  return element;
}

function set(element, attributes) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === 'class') element.setAttribute('class', `${element.getAttribute('class') || ''} ${value}`.trim());
    else if (typeof value === 'function') element.addEventListener(key.slice(2), value);
    else if (key === 'style')
      for (const [name, setting] of Object.entries(value)) element.style.setProperty(name, setting);
    else if (key === 'value') element.value = value;
    else element.setAttribute(key, value === true ? '' : value);
  }
}

export function clear(element) {
  element.replaceChildren();
  return element;
}

/** A number as people read it: three figures, and a real minus. */
export function figure(x, digits = 3) {
  if (x === null || x === undefined || Number.isNaN(x)) return '–';
  if (!Number.isFinite(x)) return x > 0 ? '∞' : '−∞';
  const size = Math.abs(x);
  const text =
    size !== 0 && (size < 1e-3 || size >= 1e5)
      ? x.toExponential(1)
      : x.toFixed(Math.max(0, digits - (size >= 10 ? 1 : 0) - (size >= 100 ? 1 : 0)));
  return text.replace('-', '−');
}

export function percent(p) {
  return p >= 0.0995 ? `${(100 * p).toFixed(0)}%` : p >= 0.001 ? `${(100 * p).toFixed(1)}%` : '<0.1%';
}

export function bytes(n) {
  if (n < 1000) return `${n} B`;
  return n < 1e6 ? `${(n / 1e3).toFixed(n < 1e4 ? 1 : 0)} kB` : `${(n / 1e6).toFixed(1)} MB`;
}

const SIGNS = { ' ': '␣', '\n': '⏎', '\r': '␍', '\t': '⇥' };

/** A token's text with nothing invisible in it. */
export function visible(text) {
  return text === '' ? '∅' : text.replace(/^ (?=\S)/, '').replace(/[ \n\r\t]/g, (c) => SIGNS[c]);
}

/** The same, cut to so many characters. */
export function short(text, most = 14) {
  const seen = visible(text);
  return [...seen].length > most ? `${[...seen].slice(0, most - 1).join('')}…` : seen;
}

/** A tap's path in words: decoder.layer.blocks.0.cross_attention → decoder · layer 1 · cross-attention. */
export function named(path) {
  const parts = path.split('.').filter((part) => !['layer', 'layers', 'blocks'].includes(part));
  const words = parts.map((part) => (/^\d+$/.test(part) ? `layer ${Number(part) + 1}` : part.replaceAll('_', ' ')));
  return words.join(' · ') || path;
}

/** Buttons of which one is pressed. */
export function segments(label, options, value, choose) {
  return h(
    'span.field',
    label && h('span', label),
    h(
      'span.segments',
      { role: 'group', 'aria-label': label || 'choice' },
      options.map(([key, text]) =>
        h('button', { type: 'button', 'aria-pressed': String(key === value), onclick: () => choose(key) }, text),
      ),
    ),
  );
}

/** A list to choose from. */
export function choice(label, options, value, choose, id) {
  const list = h(
    'select',
    { 'aria-label': label, id, onchange: (event) => choose(event.target.value) },
    options.map(([key, text]) => h('option', { value: key, selected: String(key) === String(value) }, text)),
  );
  return h('label', label, list);
}

/** A box to tick. */
export function tick(label, value, choose) {
  const box = h('input', { type: 'checkbox', onchange: (event) => choose(event.target.checked) });
  box.checked = value;
  return h('label', box, label);
}

/** A drawn state: nothing yet, nothing to show, or something wrong. */
export function state(title, text, kind = '') {
  return h(
    'div.state',
    { class: kind, role: kind === 'wrong' ? 'alert' : null },
    h('h3', title),
    typeof text === 'string' ? h('p', text) : text,
  );
}

const tip = () => document.getElementById('tip');

/** Numbers beside the pointer. */
export function showTip(x, y, ...content) {
  const box = tip();
  box.replaceChildren(...content.flat(9).filter((part) => part !== null && part !== false && part !== undefined));
  box.hidden = false;
  const { width, height } = box.getBoundingClientRect();
  box.style.left = `${Math.max(4, Math.min(x + 16, innerWidth - width - 8))}px`;
  box.style.top = `${y + 18 + height > innerHeight ? Math.max(4, y - height - 12) : y + 18}px`;
}

export function hideTip() {
  tip().hidden = true;
}
