// One selection for all views, kept in the address: a view can be sent to a colleague.

const USUAL = {
  // what is asked
  run: 0,
  text: '',
  picture: '',
  answer: '', // tokens that it begins with, by number
  length: '',
  temperature: 0,
  seed: 0,
  beam: '',
  off: '', // heads that are off
  held: '', // cells that are held
  // what is shown of it
  view: '',
  step: '', // of the model: the position that is being computed
  direction: '', // backwards: where the loss reaches
  layer: '', // of attention
  head: 'mean',
  from: '',
  to: '',
  reading: '',
  words: false,
  scale: '',
  zoom: '',
  measure: '',
  cells: '',
  unit: -1, // −1: the one that varies most
  at: '',
  ink: '',
  beneath: '', // whether predictions stand beneath the ribbon
  gallery: '', // heads or cells
  sort: '',
  turned: false, // the least first
  gates: '', // the layer whose gates are drawn
  against: '',
  property: '',
  found: '', // the unit whose evidence is shown
  bench: '',
  window: '', // where the workbench's window begins: row.column.dimension
  other: '',
  replaced: '',
  story: '', // the one that is told
  tale: 0, // and its step
};

/** What is asked; the rest is what is shown of it. */
const ASKED = [
  'run',
  'text',
  'picture',
  'answer',
  'length',
  'temperature',
  'seed',
  'beam',
  'off',
  'held',
  'story',
  'tale',
];

/** @typedef {typeof USUAL} Selection */

/**
 * Names that meant several things once, so that an address from then still brings its view back.
 * @type {{[name: string]: (value: string) => Partial<Selection>}}
 */
const BEFORE = {
  map: (value) => ({ layer: value, gates: value, found: value }),
  grid: (value) => (value === 'cells' ? { gallery: value } : { beneath: value }),
};

/**
 * @param {string} address
 * @returns {Selection}
 */
export function read(address) {
  /** @type {{[name: string]: string | number | boolean}} */
  const found = { ...USUAL };
  for (const [key, value] of new URLSearchParams(address.replace(/^#/, ''))) {
    if (key in BEFORE) Object.assign(found, BEFORE[key](value));
    if (!(key in USUAL)) continue;
    const usual = USUAL[/** @type {keyof Selection} */ (key)];
    if (typeof usual === 'number') found[key] = Number(value) || 0;
    else found[key] = typeof usual === 'boolean' ? value === 'true' : value;
  }
  return /** @type {any} */ (found);
}

/**
 * A step of a story: what is asked stays unless the address says otherwise, what is shown begins anew.
 * @param {Selection} selection
 * @param {string} address
 * @returns {Partial<Selection>}
 */
export function stepped(selection, address) {
  const named = new Set(new URLSearchParams(address).keys());
  const wanted = Object.entries(read(address));
  return Object.fromEntries(
    wanted.map(([key, value]) => {
      const kept = ASKED.includes(key) && !named.has(key);
      return [key, kept ? selection[/** @type {keyof Selection} */ (key)] : value];
    }),
  );
}

/** @param {Selection} selection */
export function written(selection) {
  const parts = new URLSearchParams();
  for (const [key, usual] of Object.entries(USUAL)) {
    const value = selection[/** @type {keyof Selection} */ (key)];
    if (value !== usual && value !== undefined) parts.set(key, String(value));
  }
  return `#${parts}`;
}

/**
 * A list of names in one field.
 * @param {string} text
 */
export function list(text) {
  return text ? text.split(';') : [];
}

/**
 * A number in a field that may be empty.
 * @param {string} text
 */
export function numberIn(text) {
  return text === '' ? null : Number(text);
}
