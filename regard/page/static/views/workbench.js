// The workbench: q·k → scaled → masked → softmax → Σ a v, every number visible; reorder tokens and watch.

import { segments } from '../controls.js';
import { h } from '../dom.js';
import { oneLayer } from './common.js';
import { small } from './small_layer.js';
import { ownHead } from './own_head.js';

/** @import { Look, Looked, View } from '../main.js' */

/**
 * What is set on the bench: whose numbers, which steps of the layer, the order of tokens, how many were read.
 * @typedef {{source: string, mask: boolean, scale: boolean, positions: boolean, order: number[],
 *   step: number | null}} Settings
 */

/** @type {View} */
export const workbench = {
  key: 'workbench',
  title: 'Workbench',
  hint: 'One attention head in numbers, from q · k to Σ a v.',
  alone: true,
  draw(stage, /** @type {Look} */ look) {
    const { record, selection } = look;
    const own = record && oneLayer(record, selection.layer);
    const found = settings(selection.bench);
    const set = { ...found, source: own && found.source === 'own' ? 'own' : 'small' };
    const change = (/** @type {Partial<Settings>} */ changes) =>
      look.choose({ bench: spelled({ ...set, ...changes }) });
    const sources = /** @type {[string, string][]} */ ([
      ['small', 'a small layer'],
      ['own', 'this run'],
    ]);
    const bar = h('div.controls', own && segments('numbers of', sources, set.source, (source) => change({ source })));
    stage.append(bar);
    if (own && set.source === 'own') return ownHead(stage, /** @type {Looked} */ (look), own, bar);
    return small(stage, record, set, change, bar);
  },
};

/**
 * @param {string} text source,mask,scale,positions,order,step
 * @returns {Settings}
 */
function settings(text) {
  const [source = 'small', mask = '0', scale = '1', positions = '0', order = '', step = ''] = text.split(',');
  return {
    source,
    mask: mask === '1',
    scale: scale !== '0',
    positions: positions === '1',
    order: order ? order.split('.').map(Number) : [],
    step: step === '' ? null : Number(step),
  };
}

/** @param {Settings} settings */
function spelled({ source, mask, scale, positions, order, step }) {
  return [source, Number(mask), Number(scale), Number(positions), order.join('.'), step ?? ''].join(',');
}
