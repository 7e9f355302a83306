// The shell: what is looked at, the eight views on one selection, the keyboard.

import { h, clear, state, hideTip, visible, choice } from './dom.js';
import { read, written, list } from './selection.js';
import { runs as askRuns, record as askRecord, lines, picture, offline, savedAddress } from './ask.js';
import { Record } from './record.js';
import { drawing, pixels, commas, page, download } from './figures.js';
import { ribbon } from './views/ribbon.js';
import { map } from './views/map.js';
import { heads } from './views/heads.js';
import { finder } from './views/finder.js';
import { memory } from './views/memory.js';
import { decode } from './views/decode.js';
import { workbench } from './views/workbench.js';
import { compare } from './views/compare.js';

const VIEWS = [ribbon, map, heads, finder, memory, decode, workbench, compare];
const LENGTH = 24; // tokens that a language model goes on for, where nobody said how many
const TITLES = {
  'language model': 'goes on',
  translator: 'translates',
  captioner: 'says',
  classifier: 'says',
  tagger: 'tags',
};

const look = {
  runs: [],
  selection: read(location.hash || savedAddress()),
  record: null,
  wrong: null,
  waiting: false,
  live: null,
  key: '',
  choose,
  question,
  run: null,
  recordFor,
};
let shown = null; // what the view gave back
let going = null; // stops what is under way
const parts = {};

async function begin() {
  paint(localStorage.getItem('theme'));
  try {
    look.runs = await askRuns();
  } catch (error) {
    clear(document.getElementById('page')).append(state('No answer', error.message, 'wrong'));
    return;
  }
  shell();
  addEventListener('hashchange', () => {
    look.selection = read(location.hash);
    update();
  });
  addEventListener('keydown', keys);
  addEventListener(
    'resize',
    later(() => draw()),
  );
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    paint(localStorage.getItem('theme'));
    draw();
  });
  update();
}

function paint(wish) {
  const dark = wish ? wish === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
}

function later(action) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(action, 120);
  };
}

/** Changes the selection, and with it the address. */
function choose(changes) {
  look.selection = { ...look.selection, ...changes };
  const address = written(look.selection);
  if (changes.view || changes.text !== undefined) history.pushState(null, '', address);
  else history.replaceState(null, '', address);
  update();
}

/** What is asked of the server for a selection, without what was made on the way. */
function question(selection = look.selection) {
  const run = look.runs[selection.run] || look.runs[0];
  const asked = { run: look.runs.indexOf(run), text: selection.text };
  if (selection.picture) asked.picture = selection.picture;
  if (selection.answer) asked.answer = selection.answer.split(',').map(Number);
  if (run.kind === 'language model') asked.length = selection.length === '' ? LENGTH : Number(selection.length);
  if (selection.temperature && run.kind === 'language model')
    Object.assign(asked, { temperature: selection.temperature, seed: selection.seed });
  asked.beam = Number(selection.beam) || (run.kind === 'language model' ? 1 : 4);
  if (selection.off) asked.off = list(selection.off);
  if (selection.held) asked.held = list(selection.held).map((one) => [one.split('=')[0], Number(one.split('=')[1])]);
  return asked;
}

/** The record that answers a question. A language model first writes, token by token, and what it wrote is then recorded. */
async function recordFor(asked, each = () => {}, signal = undefined) {
  const { kind } = look.runs[asked.run];
  const { temperature, seed, length, ...rest } = asked;
  let wanted = rest;
  if (kind === 'language model' && length && asked.beam === 1) {
    const made = await lines('/api/write', asked, each, signal);
    wanted = {
      ...rest,
      answer: [...(asked.answer || []), ...made.filter((one) => 'token' in one).map((one) => one.token)],
    };
  } else if (kind === 'language model') wanted = { ...rest, length };
  else if ((kind === 'translator' || kind === 'captioner') && !offline)
    await lines('/api/write', rest, each, signal).catch((error) => {
      if (error.name === 'AbortError') throw error;
    });
  return new Record(await askRecord(wanted, signal));
}

/** Fetches what the selection needs and draws it. */
async function update() {
  look.run = look.runs[look.selection.run] || look.runs[0];
  const { selection, run } = look;
  if (!VIEWS.some((view) => view.key === selection.view))
    selection.view = run.kind === 'language model' ? 'ribbon' : 'map';
  const asked = question();
  const key = JSON.stringify(asked);
  composer();
  if (key === look.key) {
    draw();
    return;
  }
  look.key = key;
  going?.abort();
  going = new AbortController();
  [look.wrong, look.live] = [null, []];
  if (run.kind !== 'captioner' && !selection.text.trim()) {
    [look.record, look.waiting] = [null, false];
    wait();
    draw();
    return;
  }
  look.waiting = true;
  wait();
  answer();
  if (!look.record) draw();
  try {
    const each = (line) => {
      if (look.key === key) {
        look.live.push(line);
        answer();
      }
    };
    const record = await recordFor(asked, each, going.signal);
    if (look.key !== key) return;
    look.record = record;
  } catch (error) {
    if (error.name === 'AbortError' || look.key !== key) return;
    [look.record, look.wrong] = [null, error.message];
  }
  [look.waiting, look.live] = [false, null];
  wait();
  draw();
}

function wait() {
  parts.waiting.classList.toggle('on', look.waiting);
  parts.stage.setAttribute('aria-busy', String(look.waiting));
}

function shell() {
  const body = clear(document.getElementById('page'));
  parts.run = h('div.run');
  parts.composer = h('section.composer', { 'aria-label': 'what is read' });
  parts.nav = h('nav.views', { 'aria-label': 'views' });
  parts.waiting = h('div.waiting', { role: 'progressbar', 'aria-label': 'computing' });
  parts.stage = h('main', { id: 'stage', tabindex: -1 });
  const dark = h('button.quiet', { type: 'button', onclick: turn, title: 'light or dark (d)' }, 'Light / dark');
  const help = h('button.quiet', { type: 'button', onclick: showHelp, title: 'keys (?)' }, 'Keys');
  body.append(
    h('header.top', h('h1.mark', 'regard'), parts.run, h('div.right', dark, help)),
    parts.composer,
    parts.nav,
    parts.waiting,
    parts.stage,
    h(
      'footer.footer',
      h(
        'span',
        offline
          ? 'A saved page: it holds what was shown when it was saved.'
          : 'Everything here is computed on this machine; nothing leaves it.',
      ),
      h('span', h('kbd', '1–8'), ' views  ', h('kbd', '/'), ' text  ', h('kbd', '?'), ' all keys'),
    ),
  );
}

function turn() {
  const now = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
  localStorage.setItem('theme', now);
  paint(now);
  draw();
}

let composed = '';

/** The run, what it reads, and what it answers. */
function composer() {
  const { run, selection, runs } = look;
  const key = JSON.stringify([
    run.path,
    selection.text,
    selection.picture,
    selection.answer,
    selection.off,
    selection.held,
    selection.length,
    selection.temperature,
    selection.seed,
  ]);
  if (key !== composed) {
    composed = key;
    const name =
      runs.length > 1
        ? choice(
            '',
            runs.map((one, i) => [i, one.name]),
            runs.indexOf(run),
            (i) => choose({ run: Number(i), answer: '', off: '', held: '', map: '', cells: '' }),
            'run',
          )
        : h('b', run.name);
    clear(parts.run).append(
      name,
      h(
        'span',
        `${run.kind}, ${(run.parameters / 1e6).toFixed(run.parameters < 1e6 ? 2 : 1)} million parameters, ${{ bpe: 'BPE tokens', bytes: 'bytes' }[run.tokens] || run.tokens}`,
      ),
    );
    const box = clear(parts.composer);
    const text = h('textarea', {
      id: 'text',
      rows: 1,
      spellcheck: 'false',
      maxlength: run.longest,
      'aria-label': 'text to look at',
      placeholder: run.kind === 'language model' ? 'Begin a text, and it goes on' : 'A sentence to look at',
      onkeydown: (event) => {
        if (event.key === 'Enter' && !event.shiftKey) {
          event.preventDefault();
          submit();
        }
      },
      oninput: () => fit(text),
    });
    text.value = selection.text;
    const submit = () => choose({ text: text.value, answer: '', from: '', to: '', at: '' });
    if (run.kind === 'captioner') box.append(pictures());
    else box.append(text);
    box.append(
      h(
        'button.button.main',
        { type: 'button', onclick: run.kind === 'captioner' ? file : submit },
        run.kind === 'captioner' ? 'Own picture…' : 'Look',
      ),
    );
    parts.answer = h('div.answer', { 'aria-live': 'polite' });
    box.append(parts.answer);
    if (!selection.text && run.kind !== 'captioner' && run.examples.some(Boolean)) {
      box.append(
        h(
          'div.examples',
          'Held out:',
          run.examples
            .filter(Boolean)
            .map((one) =>
              h(
                'button.link',
                { type: 'button', onclick: () => choose({ text: one, answer: '' }) },
                visible(one.slice(0, 70)).replaceAll('␣', ' '),
              ),
            ),
        ),
      );
    }
    box.append(chips());
    fit(text);
  }
  answer();
  clear(parts.nav).append(
    ...VIEWS.map((view, i) => {
      const address = written({ ...selection, view: view.key });
      return h(
        'a',
        {
          href: address,
          id: `view-${view.key}`,
          'aria-current': view.key === selection.view ? 'page' : null,
          onclick: (event) => {
            event.preventDefault();
            choose({ view: view.key });
          },
        },
        h('kbd', i + 1),
        view.title,
      );
    }),
  );
}

function fit(text) {
  text.style.height = 'auto';
  text.style.height = `${text.scrollHeight + 1}px`;
}

/** What is set besides the text, each with a way to undo it; and how a language model goes on. */
function chips() {
  const { selection, run } = look;
  const found = [];
  const chip = (label, undo) =>
    h('span.chip', label, h('button', { type: 'button', 'aria-label': `undo: ${label}`, onclick: undo }, '×'));
  if (selection.answer) found.push(chip('going on from a chosen token', () => choose({ answer: '' })));
  for (const name of list(selection.off))
    found.push(
      chip(`${name} off`, () =>
        choose({
          off: list(selection.off)
            .filter((one) => one !== name)
            .join(';'),
        }),
      ),
    );
  for (const name of list(selection.held))
    found.push(
      chip(`${name} held`, () =>
        choose({
          held: list(selection.held)
            .filter((one) => one !== name)
            .join(';'),
        }),
      ),
    );
  if (run.kind === 'language model' && !offline) {
    const length = h('input', {
      type: 'number',
      min: 0,
      max: 512,
      step: 8,
      value: selection.length === '' ? LENGTH : selection.length,
      id: 'length',
      onchange: (event) => choose({ length: event.target.value }),
    });
    const heat = h('input', {
      type: 'number',
      min: 0,
      max: 2,
      step: 0.1,
      value: selection.temperature,
      id: 'temperature',
      onchange: (event) => choose({ temperature: Math.max(0, Number(event.target.value)) }),
    });
    found.push(
      h(
        'span.controls',
        { style: { 'margin-bottom': 0 } },
        h('label', 'goes on for', length, 'tokens'),
        h('label', 'temperature', heat),
        selection.temperature > 0 &&
          h('button.quiet', { type: 'button', onclick: () => choose({ seed: selection.seed + 1 }) }, 'Draw again'),
      ),
    );
  }
  return h('div.chips', found);
}

function pictures() {
  const { selection, run } = look;
  const now = selection.picture || 'scene:0';
  return h(
    'div.pictures',
    { role: 'group', 'aria-label': 'pictures' },
    Array.from({ length: run.scenes }, (_, i) => {
      const image = h('img', { alt: `built-in scene ${i + 1}`, width: 48, height: 48 });
      picture(i).then(
        (address) => {
          image.src = address;
        },
        () => {},
      );
      return h(
        'button',
        {
          type: 'button',
          'aria-pressed': String(now === `scene:${i}`),
          onclick: () => choose({ picture: `scene:${i}`, answer: '' }),
        },
        image,
      );
    }),
  );
}

/** A picture from a file, made small enough for an address. */
function file() {
  const input = h('input', { type: 'file', accept: 'image/*' });
  input.addEventListener('change', async () => {
    const image = await createImageBitmap(input.files[0]).catch(() => null);
    if (!image) {
      look.wrong = 'this is no picture that the browser can read';
      draw();
      return;
    }
    const canvas = document.createElement('canvas');
    const side = Math.min(image.width, image.height);
    [canvas.width, canvas.height] = [96, 96];
    canvas
      .getContext('2d')
      .drawImage(image, (image.width - side) / 2, (image.height - side) / 2, side, side, 0, 0, 96, 96);
    choose({ picture: canvas.toDataURL('image/jpeg', 0.9).split(',')[1], answer: '' });
  });
  input.click();
}

/** The answer, as it is made and when it is there. */
function answer() {
  const { run, record, live, selection } = look;
  if (!parts.answer) return;
  const label = h('span.label', TITLES[run.kind]);
  if (live && live.length) {
    const text = live
      .filter((one) => 'text' in one)
      .map((one) => one.text)
      .join('');
    clear(parts.answer).append(label, ...begun(text), h('span.caret'));
  } else if (look.waiting) clear(parts.answer).append(label, h('span.caret'));
  else if (record) {
    const whole = record.texts.written;
    const given = run.kind === 'language model' ? selection.text.length : 0;
    if (run.kind === 'classifier' || run.kind === 'tagger') {
      const labels = record.written.slice(1).map((token) => token.text || token.label);
      const likely =
        run.kind === 'classifier'
          ? record
              .top(0)
              .map((one) => `${one.text} ${(100 * one.p).toFixed(0)}%`)
              .slice(0, 5)
          : [];
      clear(parts.answer).append(
        label,
        likely.length
          ? h('span', h('b', likely[0]), h('span.given', likely.length > 1 ? `  ${likely.slice(1).join('  ')}` : ''))
          : labels.join(' '),
      );
    } else if (whole.length > given) clear(parts.answer).append(label, ...begun(whole.slice(given)));
    else clear(parts.answer);
  } else clear(parts.answer);
}

/** Line ends at the beginning as signs, so that an answer begins where people look for it. */
function begun(text) {
  const ends = text.match(/^\n*/)[0];
  return [ends && h('span.given', '⏎'.repeat(ends.length)), text.slice(ends.length)].filter(Boolean);
}

/** The view of the selection, or why there is none. */
function draw() {
  hideTip();
  answer();
  const focused = document.activeElement?.id;
  const view = VIEWS.find((one) => one.key === look.selection.view);
  const figure = h('div', { id: 'figure' });
  const stage = clear(parts.stage);
  document.title = `${view.title} · ${look.run.name} · regard`;
  const save = (kind, act) =>
    h(
      'button.quiet',
      { type: 'button', id: `save-${kind}`, onclick: act, title: `save this view as ${kind.toUpperCase()}` },
      kind.toUpperCase(),
    );
  const name = `regard-${look.run.name}-${view.key}`;
  const exports = h(
    'div.exports',
    { role: 'group', 'aria-label': 'save this view' },
    h('span', 'Save'),
    save('svg', () => download(drawing(figure), 'image/svg+xml', `${name}.svg`)),
    save('png', async () => download(await pixels(figure), 'image/png', `${name}.png`)),
    save('csv', () => download(commas(shown?.table?.() || []), 'text/csv', `${name}.csv`)),
    save('html', async () => download(await page(written(look.selection)), 'text/html', `${name}.html`)),
  );
  stage.append(h('div.head', h('h2', view.title), h('p', view.hint), exports), figure);
  shown = null;
  if (look.wrong) figure.append(state('That did not work', look.wrong, 'wrong'));
  else if (!look.record && look.waiting)
    figure.append(state('Reading…', 'The model reads, and the views come when it has.'));
  else if (!look.record && !view.alone)
    figure.append(state('Nothing to look at yet', 'Type a text above, or take one of the held-out examples.'));
  else {
    try {
      shown = view.draw(figure, look) || null;
    } catch (error) {
      console.error(error);
      clear(figure).append(state('This view broke', String(error.message || error), 'wrong'));
    }
  }
  exports.hidden = !shown;
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

const KEYS = [
  ['1 – 8', 'the views'],
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
  const box = h(
    'dialog',
    h('h2', 'Keys'),
    h(
      'table.numbers',
      KEYS.map(([key, text]) => h('tr', h('th', h('kbd', key)), h('td', text))),
    ),
    h('p', h('button.button', { type: 'button', onclick: () => box.close() }, 'Close')),
  );
  document.body.append(box);
  box.addEventListener('close', () => box.remove());
  box.showModal();
}

function keys(event) {
  const inside = event.target.closest?.('input, textarea, select, dialog');
  if (event.key === 'Escape' && inside && !event.target.closest('dialog')) {
    event.target.blur();
    parts.stage.focus();
    return;
  }
  if (inside || event.ctrlKey || event.metaKey || event.altKey) return;
  const number = Number(event.key);
  if (number >= 1 && number <= VIEWS.length) choose({ view: VIEWS[number - 1].key });
  else if (event.key === '/') {
    event.preventDefault();
    document.getElementById('text')?.focus();
  } else if (event.key === '?') showHelp();
  else if (event.key === 'd') turn();
  else if ('SPCH'.includes(event.key) && event.key.length === 1 && event.shiftKey)
    document.getElementById(`save-${{ S: 'svg', P: 'png', C: 'csv', H: 'html' }[event.key]}`)?.click();
  else if (shown?.key?.(event.key)) event.preventDefault();
}

begin();
