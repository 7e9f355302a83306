// The shell: what is looked at, the nine views on one selection, the keyboard.

import { runs as askRuns, offline, savedAddress } from './ask.js';
import { answer, compose } from './composer.js';
import { button, state } from './controls.js';
import { byId, clear, h, hideTip } from './dom.js';
import { questionOf, recordFor } from './question.js';
import { saveButtons } from './saving.js';
import { read, written } from './selection.js';
import { learnStories, opening, pointAt, storyMenu, tell } from './story.js';
import { compare } from './views/compare.js';
import { decode } from './views/decode.js';
import { finder } from './views/finder.js';
import { heads } from './views/heads.js';
import { map } from './views/map.js';
import { memory } from './views/memory.js';
import { model } from './views/model.js';
import { ribbon } from './views/ribbon.js';
import { workbench } from './views/workbench.js';
import { gaveUp } from './wrong.js';

/** @import { Line, Question, Run } from './ask.js' */
/** @import { Table } from './figures.js' */
/** @import { Record } from './record.js' */
/** @import { Selection } from './selection.js' */

/**
 * What all views share. `live`: the lines of an answer that is being made; `key`: the question under way or answered.
 * @typedef {{runs: Run[], run: Run, selection: Selection, record: Record | null, wrong: string, waiting: boolean,
 *   live: Line[] | null, key: string, choose: (changes: Partial<Selection>) => void, fail: (why: string) => void,
 *   question: () => Question, recordFor: (asked: Question) => Promise<Record>}} Look
 *
 * @typedef {Look & {record: Record}} Looked
 *
 * What a view gives back: what exactly it shows, in words; its numbers as a table; and whether it took a key.
 * @typedef {{table: () => Table, what?: string, key?: (key: string) => boolean}} Shown
 *
 * `alone`: it can be drawn without a record.
 * @typedef {{key: string, title: string, hint: string, alone?: boolean,
 *   draw: (stage: HTMLElement, look: Looked) => Shown | null}} View
 */

/** @type {View[]} */
const VIEWS = [model, ribbon, map, heads, finder, memory, decode, workbench, compare];

/** @type {Look} */
const look = {
  runs: [],
  run: /** @type {any} */ (null), // from `begin` on there is one
  selection: read(location.hash || savedAddress()),
  record: null,
  wrong: '',
  waiting: false,
  live: null,
  key: '',
  choose,
  fail,
  question: () => questionOf(look.runs, look.selection),
  recordFor: (asked) => recordFor(look.runs, asked),
};
const OPENING = 60; // characters of a long text to begin with

/** @type {Shown | null} */
let shown = null; // what the view gave back
/** @type {AbortController | null} */
let going = null; // stops what is under way

const parts = {
  run: h('div.run'),
  composer: h('section.composer', { 'aria-label': 'what is read' }),
  nav: h('nav.views', { 'aria-label': 'views' }),
  waiting: h('div.waiting', { role: 'progressbar', 'aria-label': 'computing' }),
  notice: h('p.notice', { role: 'status' }),
  stories: h('span.stories'),
  story: h('section.story', { 'aria-live': 'polite' }),
  stage: h('main', { id: 'stage', tabindex: -1 }),
};

/** Fetches what there is, builds the page, and draws. */
export async function begin() {
  paint(localStorage.getItem('theme'));
  try {
    [look.runs] = await Promise.all([askRuns(), learnStories()]);
  } catch (error) {
    clear(byId('page')).append(state('No answer', messageOf(error), 'wrong'));
    return;
  }
  shell();
  beginWith();
  addEventListener('hashchange', () => {
    look.selection = read(location.hash);
    update();
  });
  addEventListener('keydown', keys);
  addEventListener('resize', later(draw));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    paint(localStorage.getItem('theme'));
    draw();
  });
  update();
}

/** Where nothing was asked for, there is something to see at once: the beginning of the first held-out example. */
function beginWith() {
  look.selection = { ...look.selection, ...opening(look) };
  const run = look.runs[look.selection.run] || look.runs[0];
  const [first = ''] = run.examples.filter((text) => text.trim());
  if (look.selection.text || offline || run.kept || !first) return;
  const text = run.task.continues
    ? (first
        .slice(0, OPENING)
        .match(/^[\s\S]*\s(?=\S)/)?.[0]
        .trimEnd() ?? first)
    : first;
  look.selection = { ...look.selection, text };
  history.replaceState(null, '', written(look.selection));
}

/** @param {unknown} error */
function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}

/** @param {string | null} wish */
function paint(wish) {
  const dark = wish ? wish === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
}

/** @param {() => void} action */
function later(action) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(action, 120);
  };
}

const HELD = 'A saved page cannot ask the model: this one shows the answer that it was saved with.';

/**
 * Changes the selection, and with it the address; in a saved page nothing that the model would have to be asked for.
 * @param {Partial<Selection>} changes
 */
function choose(changes) {
  const wanted = { ...look.selection, ...changes };
  const same = JSON.stringify(questionOf(look.runs, wanted)) === JSON.stringify(look.question());
  parts.notice.textContent = offline && !same ? HELD : '';
  if (offline && !same) return;
  look.selection = wanted;
  const address = written(look.selection);
  if (changes.view || changes.text !== undefined) history.pushState(null, '', address);
  else history.replaceState(null, '', address);
  update();
}

/** The menu of stories, and the step of the one that is told. */
function tellStory() {
  const menu = storyMenu(look);
  clear(parts.stories).append(...(menu ? [menu] : []));
  const views = VIEWS.map((view) => view.key);
  tell(look, parts.story, views);
}

/** @param {string} why */
function fail(why) {
  look.wrong = why;
  draw();
}

/** Fetches what the selection needs and draws it. */
async function update() {
  look.run = look.runs[look.selection.run] || look.runs[0];
  const { selection, run } = look;
  tellStory();
  if (!VIEWS.some((view) => view.key === selection.view)) selection.view = VIEWS[0].key;
  compose(look, parts.run, parts.composer);
  navigation();
  const asked = look.question();
  const key = JSON.stringify(asked);
  if (key === look.key) return draw();
  look.key = key;
  going?.abort();
  going = new AbortController();
  [look.wrong, look.live] = ['', []];
  if (run.task.reads === 'text' && !selection.text.trim() && !run.kept) {
    look.record = null;
    return wait(false);
  }
  wait(true);
  return fetchRecord(asked, key, going.signal);
}

/**
 * The record of a question, unless another was asked meanwhile.
 * @param {Question} asked
 * @param {string} key
 * @param {AbortSignal} signal
 */
async function fetchRecord(asked, key, signal) {
  /** @param {Line} line */
  const each = (line) => {
    if (look.key !== key) return;
    look.live?.push(line);
    answer(look);
  };
  try {
    const record = await recordFor(look.runs, asked, each, signal);
    if (look.key !== key) return;
    look.record = record;
  } catch (error) {
    if (gaveUp(error) || look.key !== key) return;
    [look.record, look.wrong] = [null, messageOf(error)];
  }
  look.live = null;
  wait(false);
}

/**
 * Says whether something is under way; a view stays until the next one is there.
 * @param {boolean} waiting
 */
function wait(waiting) {
  look.waiting = waiting;
  parts.waiting.classList.toggle('on', waiting);
  parts.stage.setAttribute('aria-busy', String(waiting));
  if (waiting && look.record) answer(look);
  else draw();
}

function shell() {
  const dark = button('button.quiet', turn, { title: 'light or dark (d)' }, 'Light / dark');
  const help = button('button.quiet', showHelp, { title: 'keys (?)' }, 'Keys');
  const where = offline
    ? 'A saved page: it holds what was shown when it was saved.'
    : 'Everything here is computed on this machine; nothing leaves it.';
  const hints = h('span', h('kbd', '1–9'), ' views  ', h('kbd', '/'), ' text  ', h('kbd', '?'), ' all keys');
  clear(byId('page')).append(
    h('header.top', h('h1.mark', 'regard'), parts.run, h('div.right', parts.stories, dark, help)),
    parts.composer,
    parts.nav,
    parts.waiting,
    parts.notice,
    parts.story,
    parts.stage,
    h('footer.footer', h('span', where), hints),
  );
}

function turn() {
  const now = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
  localStorage.setItem('theme', now);
  paint(now);
  draw();
}

function navigation() {
  const { selection } = look;
  const links = VIEWS.map((view, i) => {
    const attributes = {
      href: written({ ...selection, view: view.key }),
      id: `view-${view.key}`,
      'aria-current': view.key === selection.view ? 'page' : null,
    };
    /** @param {Event} event */
    const open = (event) => {
      event.preventDefault();
      choose({ view: view.key });
    };
    return h('a', attributes, { onclick: open }, h('kbd', i + 1), view.title);
  });
  clear(parts.nav).append(...links);
}

/** The view of the selection, or why there is none. */
function draw() {
  hideTip();
  answer(look);
  const focused = document.activeElement?.id;
  const view = VIEWS.find((one) => one.key === look.selection.view) ?? VIEWS[0];
  const figure = h('div', { id: 'figure' });
  document.title = `${view.title} · ${look.run.name} · regard`;
  const saves = saveButtons(look, view, figure, () => shown);
  clear(parts.stage).append(h('div.head', h('h2', view.title), h('p', view.hint), saves), figure);
  shown = show(view, figure);
  saves.hidden = !shown;
  if (look.selection.story) {
    tellStory();
    pointAt(look, parts.stage);
  }
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

/**
 * @param {View} view
 * @param {HTMLElement} figure
 */
function show(view, figure) {
  if (look.wrong) figure.append(state('That did not work', look.wrong, 'wrong'));
  else if (!look.record && look.waiting) {
    figure.append(state('Reading…', 'The model reads, and the views come when it has.'));
  } else if (!look.record && !view.alone) {
    figure.append(state('Nothing to look at yet', 'Type a text above, or take one of the held-out examples.'));
  } else {
    try {
      return view.draw(figure, /** @type {Looked} */ (look));
    } catch (error) {
      console.error(error);
      clear(figure).append(state('This view broke', messageOf(error), 'wrong'));
    }
  }
  return null;
}

const KEYS = [
  ['1 – 9', 'the views'],
  ['/', 'the text'],
  ['arrows', 'move: through tokens, cells, heads or a map'],
  ['[ and ]', 'the layer before, the next one'],
  ['Enter', 'select'],
  ['s p c h', 'save as SVG, PNG, CSV, HTML (with Shift)'],
  ['d', 'light or dark'],
  ['?', 'this list'],
  ['Esc', 'back to the view'],
];

function showHelp() {
  const rows = KEYS.map(([key, text]) => h('tr', h('th', h('kbd', key)), h('td', text)));
  const close = button('button.button', () => box.close(), 'Close');
  const box = h('dialog', h('h2', 'Keys'), h('table.numbers', rows), h('p', close));
  document.body.append(box);
  box.addEventListener('close', () => box.remove());
  box.showModal();
}

/** @type {{[key: string]: string}} */
const SAVES = { S: 'svg', P: 'png', C: 'csv', H: 'html' };

/** @param {KeyboardEvent} event */
function keys(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  const inside = target.closest?.('input, textarea, select, dialog');
  if (event.key === 'Escape' && inside && !target.closest('dialog')) {
    target.blur();
    parts.stage.focus();
  }
  if (inside || event.ctrlKey || event.metaKey || event.altKey) return;
  if (command(event) || shown?.key?.(event.key)) event.preventDefault();
}

/**
 * Does what a key means in every view; whether it means something.
 * @param {KeyboardEvent} event
 */
function command({ key, shiftKey }) {
  const view = VIEWS[Number(key) - 1];
  if (view) choose({ view: view.key });
  else if (key === '/') document.getElementById('text')?.focus();
  else if (key === '?') showHelp();
  else if (key === 'd') turn();
  else if (shiftKey && key in SAVES) document.getElementById(`save-${SAVES[key]}`)?.click();
  else return false;
  return true;
}
