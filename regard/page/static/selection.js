// One selection for all views, kept in the address: a view can be sent to a colleague.

const USUAL = {
  view: '',
  run: 0,
  other: '',
  text: '',
  picture: '',
  answer: '',
  length: '',
  temperature: 0,
  seed: 0,
  beam: '',
  off: '',
  held: '',
  replaced: '',
  map: '',
  head: 'mean',
  from: '',
  to: '',
  reading: '',
  words: false,
  scale: '',
  zoom: '',
  cells: '',
  unit: 0,
  ink: '',
  side: '',
  sort: '',
  grid: '',
  at: '',
  property: '',
  bench: '',
  step: '',
  against: '',
  measure: '',
};

export function read(address) {
  const found = { ...USUAL };
  for (const [key, value] of new URLSearchParams(address.replace(/^#/, ''))) {
    if (!(key in USUAL)) continue;
    const usual = USUAL[key];
    found[key] = typeof usual === 'number' ? Number(value) || 0 : typeof usual === 'boolean' ? value === 'true' : value;
  }
  return found;
}

export function written(selection) {
  const parts = new URLSearchParams();
  for (const [key, usual] of Object.entries(USUAL)) {
    if (selection[key] !== usual && selection[key] !== undefined) parts.set(key, String(selection[key]));
  }
  return `#${parts}`;
}

/** A list of names in one field. */
export function list(text) {
  return text ? text.split(';') : [];
}
