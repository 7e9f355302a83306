// What the page asks of its own server; in a saved page, of what was saved.

const element = document.getElementById('saved');
const saved = element && element.textContent.trim() ? JSON.parse(element.textContent) : null;
export const offline = element !== null;
const kept = new Map();

export class Wrong extends Error {}

export function savedAddress() {
  return saved ? saved.address : '';
}

/** A value that was asked for already is not asked for again. */
async function once(key, make) {
  if (saved && key in saved.answers) return saved.answers[key];
  if (offline)
    throw new Wrong('a saved page holds what was shown when it was saved; for more, open the run with regard look');
  if (!kept.has(key))
    kept.set(
      key,
      make().then(
        (value) => value,
        (error) => {
          kept.delete(key);
          throw error;
        },
      ),
    );
  return kept.get(key);
}

async function asked(path, question, signal) {
  const wish =
    question === undefined
      ? {}
      : { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(question) };
  let response;
  try {
    response = await fetch(path, { ...wish, signal });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Wrong('the server does not answer; is the command that opened this page still running?');
  }
  if (response.ok) return response;
  throw new Wrong((await response.json().catch(() => ({}))).error || `the server answered ${response.status}`);
}

export function runs() {
  return once('runs', async () => (await asked('/api/runs')).json());
}

/** The answer at a path, read as JSON. */
export function plain(path, question) {
  return once(path + JSON.stringify(question), async () => (await asked(path, question)).json());
}

/** Lines of JSON as they come; the last are kept. */
export async function lines(path, question, each, signal) {
  const key = path + JSON.stringify(question);
  const found = await once(key, async () => {
    const response = await asked(path, question, signal);
    const every = [];
    let rest = '';
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      rest += value || '';
      const whole = rest.split('\n');
      rest = whole.pop();
      for (const line of whole) {
        const one = JSON.parse(line);
        if (one.error) throw new Wrong(one.error);
        every.push(one);
        each(one, true);
      }
      if (done) return every;
    }
  });
  return found;
}

/** The bytes of a record. */
export async function record(question, signal) {
  const found = await once(`record${JSON.stringify(question)}`, async () =>
    (await asked('/api/record', question, signal)).arrayBuffer(),
  );
  return typeof found === 'string' ? fromText(found) : found;
}

export function scene(number) {
  return `/api/scene?number=${number}`;
}

/** A picture of the page as text, so that a saved page has it too. */
export function picture(number) {
  return once(`scene${number}`, async () => {
    const content = await (await asked(scene(number))).arrayBuffer();
    return `data:image/png;base64,${toText(content)}`;
  });
}

/** The page as one file, without its records. */
export async function template() {
  return offline ? first : (await asked('/standalone.html')).text();
}

const first = offline ? `<!doctype html>\n${document.documentElement.outerHTML}` : '';

/** All that was asked for and shown, to be saved. */
export async function everything() {
  const answers = { ...(saved ? saved.answers : {}) };
  for (const [key, promise] of kept) {
    const value = await promise.catch(() => undefined);
    if (value !== undefined) answers[key] = value instanceof ArrayBuffer ? toText(value) : value;
  }
  return answers;
}

function toText(buffer) {
  const all = new Uint8Array(buffer);
  let text = '';
  for (let i = 0; i < all.length; i += 0x8000) text += String.fromCharCode(...all.subarray(i, i + 0x8000));
  return btoa(text);
}

function fromText(text) {
  const all = atob(text);
  const found = new Uint8Array(all.length);
  for (let i = 0; i < all.length; i++) found[i] = all.charCodeAt(i);
  return found.buffer;
}
