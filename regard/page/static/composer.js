// What is read and what is answered: the run, its text or picture, what is set besides, and the answer.

import { offline, picture } from './ask.js';
import { button, choice, number } from './controls.js';
import { canvasOf, clear, h } from './dom.js';
import { LENGTH } from './question.js';
import { list } from './selection.js';
import { percent, unitNamed, visible } from './words.js';

/** @import { Run } from './ask.js' */
/** @import { Look } from './main.js' */
/** @import { Record } from './record.js' */

const SIDE = 96; // pixels of one's own picture, small enough for an address
const MOMENT = 150; // milliseconds
let timer = 0;
let composed = '';
let cut = ''; // what was left out of the text that was typed
let place = h('div.answer', { 'aria-live': 'polite' });

/**
 * Builds it anew where something of it has changed: whoever types is not disturbed.
 * @param {Look} look
 * @param {HTMLElement} top
 * @param {HTMLElement} box
 */
export function compose(look, top, box) {
  const { run, selection } = look;
  const { text, picture: image, answer, off, held, length, temperature, seed } = selection;
  const key = JSON.stringify([run.path, text, image, answer, off, held, length, temperature, seed]);
  if (key === composed) return;
  composed = key;
  const before = box.querySelector('textarea');
  const typed = run.live && before && before === document.activeElement ? before : null;
  clear(top).append(...about(look));
  place = h('div.answer', { 'aria-live': 'polite' });
  clear(box).append(...reading(look), place);
  if (cut) box.append(h('p.note.cut', { role: 'status' }, cut));
  box.append(...examples(look), chips(look));
  const area = box.querySelector('textarea');
  if (area && typed) goOnTyping(area, typed);
  if (area) fit(area);
}

/**
 * Whoever types goes on typing: with what is written by now, at the same place.
 * @param {HTMLTextAreaElement} area
 * @param {{value: string, selectionStart: number, selectionEnd: number}} typed
 */
function goOnTyping(area, { value, selectionStart, selectionEnd }) {
  area.value = value;
  area.focus({ preventScroll: true });
  area.setSelectionRange(selectionStart, selectionEnd);
}

/**
 * What is read: a text or a picture to choose, or what was read when a record was made.
 * @param {Look} look
 */
function reading(look) {
  const { kept, text, task } = look.run;
  if (kept) return [h('p', text), h('p.note', 'A saved record: what it holds is shown, and no model is asked.')];
  return task.reads === 'picture' ? pictures(look) : writing(look);
}

/**
 * Which run it is, and how large.
 * @param {Look} look
 */
function about({ run, runs, choose }) {
  const other = { answer: '', off: '', held: '', layer: '', cells: '' };
  const names = runs.map((one, i) => /** @type {[number, string]} */ ([i, one.name]));
  const name =
    runs.length > 1
      ? choice('', names, runs.indexOf(run), (i) => choose({ run: Number(i), ...other }), 'run')
      : h('b', run.name);
  if (run.kept) return [name, h('span', `a record of a ${run.task.name}`)];
  const size = (run.parameters / 1e6).toFixed(run.parameters < 1e6 ? 2 : 1);
  return [name, h('span', `${run.task.name}, ${size} million parameters, ${TOKENS[run.tokens] || run.tokens}`)];
}

/** @type {{[kind: string]: string}} */
const TOKENS = { bpe: 'BPE tokens', bytes: 'bytes' };

/**
 * A text to be read.
 * @param {Look} look
 */
function writing({ run, selection, choose }) {
  const text = h('textarea', {
    id: 'text',
    rows: 1,
    spellcheck: 'false',
    readonly: offline,
    'aria-label': 'text to look at',
    placeholder: run.task.continues ? 'Begin a text, and it goes on' : 'A sentence to look at',
    onkeydown: (event) => {
      if (event.key !== 'Enter' || event.shiftKey) return;
      event.preventDefault();
      submit();
    },
    oninput: () => {
      fit(text);
      if (run.live) again(submit);
    },
  });
  text.value = selection.text;
  const submit = () => {
    const whole = [...text.value];
    const [most, found] = [run.longest, whole.length].map((count) => count.toLocaleString('en'));
    cut = whole.length > run.longest ? `Cut after ${most} of ${found} characters: no more is shown here.` : '';
    choose({ text: whole.slice(0, run.longest).join(''), answer: '', from: '', to: '', at: '' });
  };
  const why = offline && { disabled: true, title: 'a saved page shows what it holds' };
  return [text, button('button.button.main', submit, why, 'Look')];
}

/**
 * Does something as soon as nobody has typed for a moment.
 * @param {() => void} act
 */
function again(act) {
  clearTimeout(timer);
  timer = window.setTimeout(act, MOMENT);
}

/** @param {HTMLTextAreaElement} text */
function fit(text) {
  text.style.height = 'auto';
  text.style.height = `${text.scrollHeight + 1}px`;
}

/**
 * Pictures to be read.
 * @param {Look} look
 */
function pictures(look) {
  const { selection, run, choose } = look;
  const now = selection.picture || 'scene:0';
  const scenes = Array.from({ length: run.scenes }, (_, i) => {
    const image = h('img', { alt: `built-in scene ${i + 1}`, width: 48, height: 48 });
    picture(i).then(
      (address) => {
        image.src = address;
      },
      () => {},
    );
    const take = () => choose({ picture: `scene:${i}`, answer: '' });
    return button('button', take, { 'aria-pressed': String(now === `scene:${i}`) }, image);
  });
  const all = h('div.pictures', { role: 'group', 'aria-label': 'pictures' }, scenes);
  return [all, button('button.button.main', () => ownPicture(look), 'Own picture…')];
}

/**
 * A picture from a file: its middle square, made small.
 * @param {Look} look
 */
function ownPicture(look) {
  const input = h('input', { type: 'file', accept: 'image/*' });
  input.addEventListener('change', async () => {
    const file = input.files?.[0];
    const image = file && (await createImageBitmap(file).catch(() => null));
    if (!image) return look.fail('this is no picture that the browser can read');
    const side = Math.min(image.width, image.height);
    const [canvas, context] = canvasOf(SIDE, SIDE);
    const corner = [(image.width - side) / 2, (image.height - side) / 2];
    context.drawImage(image, corner[0], corner[1], side, side, 0, 0, SIDE, SIDE);
    return look.choose({ picture: canvas.toDataURL('image/jpeg', 0.9).split(',')[1], answer: '' });
  });
  input.click();
}

/**
 * Something to begin with.
 * @param {Look} look
 */
function examples({ run, selection, choose }) {
  const some = run.examples.filter(Boolean);
  if (!some.length || offline) return [];
  const links = some.map((text) => {
    const seen = visible(text.slice(0, 70)).replaceAll('␣', ' ');
    return button('button.link', () => choose({ text, answer: '', from: '', to: '', at: '' }), seen);
  });
  const { text } = selection;
  const before = some[0].slice(0, Math.max(0, run.longest - text.length));
  const warm =
    run.task.continues &&
    text.trim() &&
    !text.startsWith(before) &&
    button(
      'button.link',
      () => choose({ text: before + text, answer: '', from: '', to: '', at: '' }),
      { id: 'warm', title: 'a text of its own begins with an empty state, which training seldom did' },
      'Begin after a held-out passage',
    );
  return [h('div.examples', 'Held out:', links, warm)];
}

/**
 * What is set besides the text, each with a way to undo it; and how a text goes on.
 * @param {Look} look
 */
function chips(look) {
  const { selection, run, choose } = look;
  /** @type {(label: string, undo: () => void, title?: string) => HTMLElement} */
  const chip = (label, undo, title = '') =>
    h('span.chip', { title }, label, button('button', undo, { 'aria-label': `undo: ${label}` }, '×'));
  /** @type {(all: string, name: string) => string} */
  const without = (all, name) =>
    list(all)
      .filter((one) => one !== name)
      .join(';');
  return h(
    'div.chips',
    selection.answer && chip('going on from a chosen token', () => choose({ answer: '' })),
    list(selection.off).map((name) =>
      chip(`${unitNamed(name, 'head')} off`, () => choose({ off: without(selection.off, name) }), name),
    ),
    list(selection.held).map((name) => {
      const [unit, value] = name.split('=');
      const label = `${unitNamed(unit, 'cell')} held at ${value}`;
      return chip(label, () => choose({ held: without(selection.held, name) }), name);
    }),
    run.task.continues && !offline && !run.kept && goingOn(look),
  );
}

/** @param {Look} look */
function goingOn({ selection, choose }) {
  const { length, temperature, seed } = selection;
  const many = number({ min: 0, max: 512, step: 8, value: length === '' ? LENGTH : length, id: 'length' }, (value) =>
    choose({ length: value }),
  );
  const heat = number({ min: 0, max: 2, step: 0.1, value: temperature, id: 'temperature' }, (value) =>
    choose({ temperature: Math.max(0, Number(value)) }),
  );
  return h(
    'span.controls',
    { style: { 'margin-bottom': 0 } },
    h('label', 'goes on for', many, 'tokens'),
    h('label', 'temperature', heat),
    temperature > 0 && button('button.quiet', () => choose({ seed: seed + 1 }), 'Draw again'),
  );
}

/**
 * The answer, as it is made and when it is there.
 * @param {Look} look
 */
export function answer({ run, record, live, waiting }) {
  const label = h('span.label', run.task.verb);
  clear(place);
  if (live?.length) {
    const text = live.map((line) => line.text ?? '').join('');
    place.append(label, ...begun(text), h('span.caret'));
  } else if (waiting) place.append(label, h('span.caret'));
  else if (record) {
    const said = saidIn(record, run);
    if (said.length) place.append(label, ...said);
  }
}

/**
 * What an answer says: labels, or the text behind what was given.
 * @param {Record} record
 * @param {Run} run
 */
function saidIn(record, { task }) {
  if (task.steps) return begun(record.wording);
  if (task.each)
    return [
      record.written
        .slice(1)
        .map((token) => token.text)
        .join(' '),
    ];
  if (!record.top(0).length) return []; // it says nothing
  const [best, ...others] = record
    .top(0)
    .slice(0, 5)
    .map((one) => `${one.text} ${percent(one.p)}`);
  return [h('span', h('b', best), h('span.given', others.length ? `  ${others.join('  ')}` : ''))];
}

/**
 * Line ends at the beginning as signs, so that an answer begins where people look for it.
 * @param {string} text
 * @returns {(string | Node)[]}
 */
function begun(text) {
  const ends = text.match(/^\n*/)?.[0].length ?? 0;
  const signs = ends ? [h('span.given', '⏎'.repeat(ends))] : [];
  return text.length > ends ? [...signs, text.slice(ends)] : signs;
}
