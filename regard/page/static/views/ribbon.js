// The ribbon: text coloured by one cell, or by where a token looked, with what might have come next beneath.

import { segments } from '../controls.js';
import { activity } from './activity.js';
import { attentionOf, cellsOf } from './common.js';
import { looks } from './looks.js';

/** @import { View } from '../main.js' */

/** @type {View} */
export const ribbon = {
  key: 'ribbon',
  title: 'Ribbon',
  hint: 'The text itself, coloured by one cell or by where a token looked.',
  draw(stage, look) {
    const { record, selection, choose, run } = look;
    const attention = attentionOf(record, selection);
    const cells = cellsOf(record, selection);
    if (!attention && cells) return activity(stage, look, cells, null);
    if (attention && !cells) return looks(stage, look, attention, null);
    if (!attention || !cells) return null;
    const ink = selection.ink || (run.task.continues ? 'cell' : 'look');
    const inks = /** @type {[string, string][]} */ ([
      ['look', 'where it looked'],
      ['cell', 'one cell'],
    ]);
    const switches = segments('colour', inks, ink, (value) => choose({ ink: value }));
    return ink === 'look' ? looks(stage, look, attention, switches) : activity(stage, look, cells, switches);
  },
};
