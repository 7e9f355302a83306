// Buttons that take along what is shown.

import { ahead } from './ahead.js';
import { button } from './controls.js';
import { h } from './dom.js';
import { drawing } from './drawing.js';
import { commas, download, page, pixels } from './figures.js';
import { written } from './selection.js';

/** @import { Look, Looked, Shown, View } from './main.js' */

/**
 * @param {Look} look
 * @param {View} view
 * @param {HTMLElement} figure
 * @param {() => Shown | null} shown
 */
export function saveButtons(look, view, figure, shown) {
  const caption = () => captionOf(look, view, shown());
  const whole = async () => {
    if (look.record) await ahead(/** @type {Looked} */ (look));
    return page(written(look.selection));
  };
  /** @type {[string, string, string, () => string | Blob | Promise<string | Blob>][]} */
  const kinds = [
    ['svg', 'image/svg+xml', 'this view as a drawing', () => drawing(figure, caption())],
    ['png', 'image/png', 'this view as a picture', () => pixels(figure, caption())],
    ['csv', 'text/csv', 'its numbers', () => commas(shown()?.table() ?? [])],
    ['html', 'text/html', 'this page as one file', whole],
    ['trace', 'application/octet-stream', 'the answer, for regard look FILE.trace', () => traceOf(look)],
  ];
  const name = `regard-${look.run.name.replaceAll('/', '-')}-${view.key}`;
  const buttons = kinds.map(([kind, type, title, make]) => {
    const act = async () => download(await make(), type, `${name}.${kind}`);
    return button('button.quiet', act, { id: `save-${kind}`, title: `save ${title}` }, kind.toUpperCase());
  });
  return h('div.exports', { role: 'group', 'aria-label': 'save this view' }, h('span', 'Save'), buttons);
}

/** @param {Look} look */
function traceOf({ record }) {
  return new Blob([record?.bytes ?? '']);
}

/**
 * What stands above a saved picture: which view of which run, on what, and what it answered.
 * @param {Look} look
 * @param {View} view
 * @param {Shown | null} shown
 */
function captionOf({ run, record }, view, shown) {
  const read = record ? record.texts.source || record.texts.written : '';
  const said = record && run.task.steps && !run.task.continues ? ` → ${record.wording}` : '';
  return [[run.name, view.title, shown?.what].filter(Boolean).join(' · '), `${read}${said}`];
}
