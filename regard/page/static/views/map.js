// The map: from every token written to every token looked at.

import { h, state, named, choice, segments, tick, short, figure } from '../dom.js';
import { heatmap, legend } from '../heatmap.js';
import { HONEST, mapOf, headOf, chooseMap, mapKeys, merged, scaleOf, largest, ladder } from './common.js';
import { film } from '../picture.js';
import { plain } from '../ask.js';

const MEASURES = {
  '': ['attention', 'where it looked'],
  norms: ['× value norm', 'a ‖v W_O‖: a look at a vector that says little counts little'],
  rollout: ['rollout', 'the layers’ mixing multiplied out: an approximation'],
  gradient: ['gradient × input', 'how the score of what was said moves along each token’s vector'],
  off: ['switched off', 'the change of log p when a token is not there: a measurement'],
};

export const map = {
  key: 'map',
  title: 'Map',
  hint: 'Every row is a look: how the weight of one token is shared out over the others.',
  draw(stage, look) {
    const { record, selection, choose } = look;
    const attention = mapOf(record, selection);
    if (!attention) {
      stage.append(
        state(
          'No attention, no map',
          `This ${record.kind} keeps what it has read in its cells and never looks back at a token. Its cells are in the Ribbon and under Heads.`,
        ),
      );
      return null;
    }
    const head = headOf(attention, selection);
    if (selection.measure) return other(stage, look, attention, head);
    const reading = attention.from === 'written' ? selection.reading || attention.reading : 'fed';
    let shown = {
      weights: attention.weights(head),
      rows: attention.rows,
      columns: attention.columns,
      names: attention.names(reading),
    };
    const mergeable =
      !attention.grid &&
      [...shown.names.rows, ...shown.names.columns].some(
        (token, i, all) => i && token.word >= 0 && token.word === all[i - 1].word,
      );
    const words = selection.words && mergeable;
    if (words) shown = merged(attention, shown.weights, shown.names);
    const scale = scaleOf(selection, shown.columns);
    const causal = attention.causal && !words;
    const at = selection.from === '' ? null : [Number(selection.from), selection.to === '' ? -1 : Number(selection.to)];
    stage.append(
      h(
        'div.controls',
        chooseMap(look, attention),
        measures(look),
        attention.from === 'written' &&
          segments(
            'rows',
            [
              ['predicted', 'as predicted'],
              ['fed', 'as fed'],
            ],
            reading,
            (value) => choose({ reading: value }),
          ),
        segments(
          'scale',
          [
            ['linear', 'weight'],
            ['root', 'its root'],
          ],
          scale,
          (value) => choose({ scale: value }),
        ),
        Math.max(shown.rows, shown.columns) > 64 &&
          segments(
            'zoom',
            [
              ['', 'fit'],
              ['2', '×2'],
              ['4', '×4'],
            ],
            selection.zoom,
            (zoom) => choose({ zoom }),
          ),
        mergeable && tick('whole words', words, (value) => choose({ words: value, from: '', to: '' })),
      ),
    );
    if (attention.grid) stage.append(films(look, attention, head, reading));
    const aside = h('div.aside');
    const room = stage.clientWidth - (innerWidth > 960 ? 17 * 16 + 32 : 0) - 40;
    const tip = (row, column) => {
      const hidden = causal && column > row;
      return [
        h('span.big', hidden ? 'masked' : figure(shown.weights[row * shown.columns + column])),
        h(
          'div',
          'from ',
          h('b', short(shown.names.rows[row].text, 24)),
          reading === 'predicted' && attention.from === 'written' ? ' (predicted here)' : '',
          ' to ',
          h('b', short(shown.names.columns[column].text, 24)),
        ),
      ];
    };
    const grid = heatmap({
      ...shown,
      causal,
      scale,
      at,
      tip,
      room,
      zoom: Number(selection.zoom) || 1,
      pick: (row, column) => choose({ from: String(row), to: String(column) }),
      axes: [`from ↓`, attention.grid ? 'to → regions of the picture, row by row' : 'to →'],
    });
    stage.append(
      h(
        'div.columns',
        h(
          'div',
          h('div.scroller', grid),
          h('p', { style: { 'margin-top': '0.6rem' } }, legend({ scale, causal }), ' '),
          h('p.honest', HONEST),
        ),
        aside,
      ),
    );
    inspect(aside, look, attention, shown, at, reading, head);
    return {
      table: () => [
        ['from', 'to', 'weight'],
        ...shown.names.rows.flatMap((row, t) =>
          shown.names.columns.map((column, i) => [
            row.text,
            column.text,
            causal && i > t ? 'masked' : shown.weights[t * shown.columns + i].toPrecision(6),
          ]),
        ),
      ],
      key: (key) => mapKeys(look, attention, key),
    };
  },
};

function measures({ selection, choose }) {
  return choice(
    'measure',
    Object.entries(MEASURES).map(([key, [name]]) => [key, name]),
    selection.measure,
    (measure) => choose({ measure }),
    'measure',
  );
}

/** The same rows and columns by another measure. */
function other(stage, look, attention, head) {
  const { selection, record, run } = look;
  const place = h('div', h('p.note', 'Computing…'));
  stage.append(h('div.controls', chooseMap(look, attention), measures(look)), place);
  const { length, temperature, seed, ...asked } = look.question();
  const made = record.written
    .slice(1)
    .map((token) => token.id)
    .filter((id) => id !== 2);
  const wanted = { ...asked, beam: 1, head: `${attention.path}[0]` };
  if (run.kind === 'language model') Object.assign(wanted, { text: '', answer: made });
  let shown = null;
  plain('/api/attribution', wanted)
    .then((found) => {
      const heads = found[selection.measure];
      if (!heads) {
        place.replaceChildren(
          state(
            'It does not apply here',
            `${MEASURES[selection.measure][0]} is not defined for this attention of this ${run.kind}.`,
          ),
        );
        return;
      }
      const some = selection.measure === 'norms' && head !== 'mean' ? [heads[head]] : heads;
      const [rows, columns] = [some[0].length, some[0][0].length];
      const weights = Float32Array.from(
        { length: rows * columns },
        (_, i) => some.reduce((sum, one) => sum + one[Math.floor(i / columns)][i % columns], 0) / some.length,
      );
      const names = attention.names(attention.reading);
      shown = {
        weights,
        rows,
        columns,
        names: { rows: names.rows.slice(0, rows), columns: names.columns.slice(0, columns) },
      };
      const signed = weights.some((w) => w < 0);
      const most = Math.max(1e-9, ...weights.map(Math.abs));
      place.replaceChildren(
        h(
          'div.scroller',
          heatmap({
            ...shown,
            signed,
            most: signed ? most : 1,
            weights: signed ? weights : weights.map((w) => w / most),
            causal: attention.causal,
            scale: 'linear',
            room: stage.clientWidth - 60,
            tip: (row, column) => [
              h('span.big', figure(weights[row * columns + column])),
              h(
                'div',
                'from ',
                h('b', short(shown.names.rows[row].text, 24)),
                ' to ',
                h('b', short(shown.names.columns[column].text, 24)),
              ),
            ],
          }),
        ),
        h('p', { style: { margin: '0.6rem 0' } }, legend({ most, signed, causal: attention.causal })),
        h('p.note', `${MEASURES[selection.measure][1]}.`),
        h('p.honest', 'none of these is the reason for an answer'),
      );
    })
    .catch((error) => place.replaceChildren(state('That did not work', error.message, 'wrong')));
  return {
    table: () => [
      ['from', 'to', selection.measure],
      ...(shown
        ? shown.names.rows.flatMap((row, t) =>
            shown.names.columns.map((column, i) => [row.text, column.text, shown.weights[t * shown.columns + i]]),
          )
        : []),
    ],
    key: (key) => mapKeys(look, attention, key),
  };
}

function inspect(aside, look, attention, shown, at, reading, head) {
  const { record } = look;
  const layer = `${named(attention.path)}, ${attention.heads === 1 ? 'its one head' : head === 'mean' ? `mean of ${attention.heads} heads` : `head ${head + 1}`}`;
  aside.append(
    h('h3', layer),
    h(
      'p',
      reading === 'predicted' && attention.from === 'written'
        ? 'A row is named by the token that was predicted when the look was made, one after the token fed.'
        : 'A row is named by the token that was read or fed when the look was made.',
    ),
  );
  if (!at || at[0] >= shown.rows) {
    aside.append(
      h('p', { style: { 'margin-top': '0.8rem' } }, 'Hover for numbers; click a cell to keep its row here.'),
    );
    return;
  }
  const row = shown.weights.subarray(at[0] * shown.columns, (at[0] + 1) * shown.columns);
  aside.append(
    h('h3', 'from ', h('span.token', short(shown.names.rows[at[0]].text, 20))),
    largest(shown.names.columns, row),
  );
  if (attention.from === 'written' && !look.selection.words)
    aside.append(h('h3', 'might have been'), ladder(record, at[0]));
}

/** The picture once for every word, lit where it looked. */
function films(look, attention, head, reading) {
  const { record, selection: chosen, choose } = look;
  const weights = attention.weights(head);
  const names = attention.names(reading).rows;
  return h(
    'div.films',
    h('div.film', film(record.picture, null, record.grid), h('span', 'the picture')),
    names.map((token, t) => {
      const row = weights.subarray(t * attention.columns, (t + 1) * attention.columns);
      return h(
        'button.film',
        {
          type: 'button',
          id: `film-${t}`,
          class: String(t) === chosen.from ? 'at' : '',
          onclick: () => choose({ from: String(t), to: '' }),
        },
        film(record.picture, row, record.grid),
        h('span', short(token.text, 12), h('em', Math.max(...row).toFixed(2))),
      );
    }),
  );
}
