// The page as it is published: whatever is asked, the models in the page answer.

import { answeredBy } from './ask.js';
import { byId, clear, h } from './dom.js';
import { Here } from './here/here.js';
import { begin } from './main.js';

const OLD = 'This page wants a newer browser: one from 2023 or later, such as Firefox 113, Chrome 111 or Safari 16.4.';

const contents = document.getElementById('published'); // a page that was saved from this one has none
if (contents && !('DecompressionStream' in globalThis && 'OffscreenCanvas' in globalThis)) {
  clear(byId('page')).append(h('p.state', OLD));
} else {
  if (contents) answeredBy(new Here(JSON.parse(contents.textContent ?? '')));
  begin();
}
