// The page to try what is served: write, translate, classify, tag, and see where a translator looked.

const at = (name) => document.getElementById(name);
const WORDS = {
  write: ['a text to go on from', 'write'],
  translate: ['a text to translate', 'translate'],
  classify: ['a text to classify', 'classify'],
  tag: ['a sentence to tag', 'tag'],
  embed: ['a text to embed', 'embed'],
};
let runs = [];
let going = null;

function element(name, text = '', kind = '') {
  const made = document.createElement(name);
  made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

async function asked(path, body, signal) {
  const answer = await fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal,
  });
  if (!answer.ok) {
    const { error } = await answer.json().catch(() => ({ error: answer.statusText }));
    throw new Error(error.message ?? error);
  }
  return answer;
}

async function* events(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    held += value;
    const parts = held.split('\n\n');
    held = parts.pop();
    for (const part of parts) if (part !== 'data: [DONE]') yield JSON.parse(part.slice('data: '.length));
  }
}

function clear() {
  for (const name of ['answer', 'others', 'map', 'figures']) at(name).replaceChildren();
  at('wrong').hidden = true;
}

async function write(run, text, signal) {
  const body = {
    model: run.name,
    max_tokens: Number(at('length').value),
    temperature: Number(at('temperature').value),
    seed: Number(at('seed').value),
    stream: true,
    stream_options: { include_usage: true },
    logprobs: 0,
  };
  const chat = run.chat && text.trim();
  const shape = chat ? { messages: [{ role: 'user', content: text }], logprobs: true } : { prompt: text };
  const began = performance.now();
  let first = 0;
  if (!chat) at('answer').append(element('span', text, 'given'));
  const path = chat ? '/v1/chat/completions' : '/v1/completions';
  for await (const chunk of events(await asked(path, { ...body, ...shape }, signal))) {
    if (chunk.error) throw new Error(chunk.error.message);
    for (const choice of chunk.choices) {
      const more = chat ? choice.delta.content : choice.text;
      const log = chat ? choice.logprobs?.content[0]?.logprob : choice.logprobs?.token_logprobs[0];
      if (more) at('answer').append(token(more, log));
    }
    first ||= performance.now();
    if (chunk.usage) figures(chunk.usage, first - began, performance.now() - began);
  }
}

function token(text, log) {
  const made = element('span', text, 'made');
  if (log !== undefined && log !== null) {
    const share = Math.round(100 * Math.exp(log));
    made.title = `${share} %`;
    made.style.backgroundColor = `color-mix(in oklab, var(--accent) ${Math.round((100 - share) / 3)}%, transparent)`;
  }
  return made;
}

function figures(usage, first, all) {
  const pace = usage.completion_tokens / (all / 1000);
  at('figures').textContent =
    `${usage.prompt_tokens} tokens read, ${usage.completion_tokens} made; the first after ` +
    `${first.toFixed(0)} ms, ${pace.toFixed(0)} a second. The stronger the colour, the less probable.`;
}

async function translate(run, text, signal) {
  const [source, target] = run.languages;
  const alternatives = Number(at('alternatives').value);
  const body = { q: text, source, target, alternatives, alignments: true };
  const found = await (await asked('/translate', body, signal)).json();
  at('answer').textContent = found.translatedText;
  at('others').replaceChildren(...(found.alternatives ?? []).map((other) => element('li', other)));
  at('map').replaceChildren(...found.alignments.map(map));
}

function map({ source, target, weights }) {
  const table = element('table');
  const head = element('thead').appendChild(element('tr'));
  head.append(element('th'), ...source.map((word) => element('th', word)));
  const body = element('tbody');
  target.forEach((word, row) => {
    const line = element('tr');
    line.append(element('th', word), ...weights[row].map((weight, column) => cell(weight, word, source[column])));
    body.append(line);
  });
  table.append(head.parentNode, body);
  return table;
}

function cell(weight, written, looked) {
  const made = element('td');
  made.title = `${written} looked at ${looked}: ${Math.round(100 * weight)} %`;
  const picture = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const box = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
  for (const side of ['width', 'height']) box.setAttribute(side, '100%');
  box.setAttribute('fill-opacity', weight.toFixed(3));
  picture.append(box);
  made.append(picture);
  return made;
}

async function classify(run, text, signal) {
  const found = await (await asked('/classify', { model: run.name, texts: text }, signal)).json();
  const [best] = found.results;
  at('answer').textContent = best.label;
  const likely = Object.entries(best.probabilities).slice(0, 8);
  at('others').replaceChildren(
    ...likely.map(([name, share]) => element('li', `${name} ${(100 * share).toFixed(1)} %`)),
  );
}

async function tag(run, text, signal) {
  const found = await (await asked('/tag', { model: run.name, texts: text }, signal)).json();
  at('answer').textContent = found.results[0].map((one) => `${one.word}/${one.tag}`).join(' ');
}

async function embed(run, text, signal) {
  const found = await (await asked('/v1/embeddings', { model: run.name, input: text }, signal)).json();
  const numbers = found.data[0].embedding;
  at('answer').textContent = `${numbers.length} numbers: ${numbers
    .slice(0, 8)
    .map((x) => x.toFixed(4))
    .join(', ')}, …`;
}

const DOING = { write, translate, classify, tag, embed };

function chosen() {
  return runs.find((run) => run.name === at('run').value);
}

function show() {
  const run = chosen();
  const [label, verb] = WORDS[run.does] ?? [`a ${run.does}`, run.does];
  at('asked').textContent = label;
  at('go').textContent = verb;
  at('about').textContent = [run.title, run.languages?.join(' → ')].filter(Boolean).join(', ');
  for (const kind of ['write', 'translate']) {
    for (const one of document.querySelectorAll(`.${kind}`)) one.hidden = run.does !== kind;
  }
  clear();
}

async function go(event) {
  event.preventDefault();
  if (going) return;
  const run = chosen();
  going = new AbortController();
  clear();
  at('go').disabled = true;
  at('stop').hidden = false;
  try {
    await DOING[run.does](run, at('text').value, going.signal);
  } catch (error) {
    if (error.name !== 'AbortError') {
      at('wrong').textContent = error.message;
      at('wrong').hidden = false;
    }
  } finally {
    going = null;
    at('go').disabled = false;
    at('stop').hidden = true;
  }
}

async function begin() {
  runs = (await (await fetch('/runs')).json()).filter((run) => run.does in DOING);
  at('run').replaceChildren(...runs.map((run) => element('option', run.name)));
  at('run').addEventListener('change', show);
  at('ask').addEventListener('submit', go);
  at('stop').addEventListener('click', () => going?.abort());
  if (runs.length) show();
}

begin();
