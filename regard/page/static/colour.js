// Two scales that people with any colour vision can read, on light and on dark paper.

/** @typedef {number[]} Colour red, green and blue, from 0 to 255 */

const STOPS = {
  light: {
    weight: ['#fcfbf8', '#d3e2ef', '#8fb8da', '#3f83bb', '#14528a', '#08284d'],
    low: '#a4520f',
    middle: '#fcfbf8',
    high: '#1b5e96',
  },
  dark: {
    weight: ['#14161a', '#173450', '#1f5f92', '#3f93c8', '#8fcdf0', '#f0faff'],
    low: '#f09a4d',
    middle: '#14161a',
    high: '#63b4ea',
  },
};

/** @returns {'light' | 'dark'} */
export function theme() {
  return document.documentElement.dataset.theme === 'dark' ? 'dark' : 'light';
}

/**
 * @param {string} hex
 * @returns {Colour}
 */
function parts(hex) {
  return [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
}

/**
 * The colour at x, from 0 to 1, along some that stand at equal distances.
 * @param {string[]} stops
 * @param {number} x
 */
function between(stops, x) {
  const place = Math.min(Math.max(x, 0), 1) * (stops.length - 1);
  const left = Math.min(Math.floor(place), stops.length - 2);
  const [a, b] = [parts(stops[left]), parts(stops[left + 1])];
  return a.map((value, i) => Math.round(value + (b[i] - value) * (place - left)));
}

/**
 * From 0 (paper) to 1 (dark on light paper, bright on dark): how much weight.
 * @param {number} x
 */
export function weightColour(x) {
  return between(STOPS[theme()].weight, x);
}

/**
 * From −1 (orange) over 0 (paper) to 1 (blue): which way, and how far.
 * @param {number} x
 */
export function signColour(x) {
  const { low, middle, high } = STOPS[theme()];
  return x < 0 ? between([middle, low], -x) : between([middle, high], x);
}

/** @param {Colour} colour */
export function css([r, g, b]) {
  return `rgb(${r} ${g} ${b})`;
}

/**
 * Text that can be read on a colour.
 * @param {Colour} colour
 */
export function inkOn([r, g, b]) {
  return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? '#201e1a' : '#ffffff';
}

/**
 * A background and the text that can be read on it, as a style.
 * @param {Colour} colour
 */
export function painted(colour) {
  return { background: css(colour), color: inkOn(colour) };
}

/**
 * One number for a pixel, as a little-endian machine reads its four bytes.
 * @param {Colour} colour
 */
export function packed([r, g, b]) {
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

/**
 * The shown strength of a weight: as it is, or its root, which lifts what is faint; `most` is drawn darkest.
 * @param {number} weight
 * @param {string} scale
 */
export function strength(weight, scale, most = 1) {
  const share = most > 0 ? weight / most : 0;
  return scale === 'root' ? Math.sqrt(share) : share;
}

/**
 * 256 colours as one number for each pixel: index i stands for weight (i / 255)², as records code it.
 * @param {string} scale
 */
export function table(scale, most = 1) {
  return Uint32Array.from({ length: 256 }, (_, i) => packed(weightColour(strength((i / 255) ** 2, scale, most))));
}

/** One colour for each run, told apart by any eye, and by dashes as well. */
export const LINES = [
  { light: '#1b5e96', dark: '#7fc1ee', dash: '' },
  { light: '#b3560e', dark: '#f0a45d', dash: '6 3' },
  { light: '#4d4a44', dark: '#c9c4ba', dash: '2 3' },
  { light: '#12755a', dark: '#6fd0b0', dash: '9 3 2 3' },
  { light: '#8a3c78', dark: '#e39ad2', dash: '4 2' },
];

/** @param {number} number */
export function lineColour(number) {
  return LINES[number % LINES.length][theme()];
}
