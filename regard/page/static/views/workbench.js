// The workbench: q·k → scaled → masked → softmax → Σ a v, every number visible; reorder tokens and watch.

import { h, segments, tick, figure, named, short, visible } from '../dom.js';
import { css, inkOn, signColour, weightColour } from '../colour.js';
import { record as askRecord } from '../ask.js';
import { Record } from '../record.js';
import { multiply, transpose, scaled, plus, hidden, softmax, difference, drawn, place } from '../tensors.js';
import { mapOf, headOf } from './common.js';

const [WIDTH, KEY] = [4, 3]; // of a token's vector, and of a query, key and value
const FEW = 8; // tokens on the bench

export const workbench = {
  key: 'workbench',
  title: 'Workbench',
  hint: 'One attention head in numbers, from q · k to Σ a v.',
  alone: true,
  draw(stage, look) {
    const { record, selection } = look;
    const own = record && mapOf(record, selection);
    const source = own && selection.bench.startsWith('own') ? 'own' : 'small';
    const set = settings(selection.bench);
    const change = (changes) => look.choose({ bench: spelled({ ...set, source, ...changes }) });
    const bar = h(
      'div.controls',
      own &&
        segments(
          'numbers of',
          [
            ['small', 'a small layer'],
            ['own', 'this run'],
          ],
          source,
          (value) => change({ source: value }),
        ),
    );
    stage.append(bar);
    return source === 'own' ? runsOwn(stage, look, own, bar) : small(stage, look, set, change, bar);
  },
};

/** bench = source,mask,scale,positions,order,step */
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

function spelled({ source, mask, scale, positions, order, step }) {
  return [source, Number(mask), Number(scale), Number(positions), order.join('.'), step ?? ''].join(',');
}

/** The layer of the notes: Q = X W_Q, K = X W_K, V = X W_V, Y = softmax(Q Kᵀ / √M) V. */
export function layer(x, { mask, scale, positions }) {
  const input = positions
    ? plus(
        x,
        x.map((_, t) => place(t, WIDTH)),
      )
    : x;
  const [q, k, v] = [11, 12, 13].map((seed) => multiply(input, drawn(WIDTH, KEY, seed)));
  const raw = multiply(q, transpose(k));
  const by = scale ? scaled(raw, 1 / Math.sqrt(KEY)) : raw;
  const seen = mask ? hidden(by) : by;
  const weights = softmax(seen);
  return { input, q, k, v, raw, by, seen, weights, y: multiply(weights, v) };
}

function small(stage, look, set, change, bar) {
  const { record } = look;
  const words = (record ? (record.source.length && !record.grid ? record.source : record.written) : [])
    .filter((token) => !token.special)
    .slice(0, 5)
    .map((token) => visible(token.text));
  const names = words.length >= 2 ? words : ['the', 'cat', 'sat', 'down'];
  const count = names.length;
  const order = set.order.length === count && new Set(set.order).size === count ? set.order : names.map((_, i) => i);
  const vectors = names.map(
    (name, i) =>
      drawn(1, WIDTH, 101 + 7 * i + [...name].reduce((sum, c) => (sum * 31 + c.codePointAt(0)) % 9973, 0))[0],
  );
  const x = order.map((i) => vectors[i]);
  const shown = order.map((i) => names[i]);
  const steps = set.step === null ? count : Math.min(count, Math.max(1, set.step));
  bar.append(
    tick('causal mask', set.mask, (mask) => change({ mask, step: null })),
    tick('divide by √M', set.scale, (scale) => change({ scale })),
    tick('positions', set.positions, (positions) => change({ positions })),
  );
  const move = (at, to) => {
    const next = [...order];
    const [one] = next.splice(at, 1);
    next.splice(to, 0, one);
    change({ order: next });
  };
  const cards = h(
    'div.order',
    { role: 'list', 'aria-label': 'order of the tokens' },
    shown.map((name, at) => {
      const card = h(
        'span.card',
        { role: 'listitem', draggable: 'true', 'data-at': at },
        h(
          'button',
          {
            type: 'button',
            id: `left-${order[at]}`,
            'aria-label': `${name} to the left`,
            disabled: at === 0,
            onclick: () => move(at, at - 1),
          },
          '◀',
        ),
        h('b', name),
        h(
          'button',
          {
            type: 'button',
            id: `right-${order[at]}`,
            'aria-label': `${name} to the right`,
            disabled: at === count - 1,
            onclick: () => move(at, at + 1),
          },
          '▶',
        ),
      );
      card.addEventListener('dragstart', (event) => event.dataTransfer.setData('text/plain', String(at)));
      card.addEventListener('dragover', (event) => {
        event.preventDefault();
        card.classList.add('over');
      });
      card.addEventListener('dragleave', () => card.classList.remove('over'));
      card.addEventListener('drop', (event) => {
        event.preventDefault();
        move(Number(event.dataTransfer.getData('text/plain')), at);
      });
      return card;
    }),
  );
  const now = layer(x, set);
  const before = layer(vectors, set); // in the order they were typed in
  const expected = order.map((i) => before.y[i]); // s(f(x))
  const apart = difference(now.y, expected);
  const moved = order.some((one, at) => one !== at);
  const verdict = !moved
    ? 'Move a token: without positions the outputs move with it and change in nothing.'
    : apart < 1e-9
      ? 'f(s(x)) = s(f(x)): the outputs are the same vectors in the new order. Attention alone does not know what comes first.'
      : `f(s(x)) ≠ s(f(x)): they differ by up to ${figure(apart)}. ${set.positions && set.mask ? 'Positions and the mask break' : set.positions ? 'Positions break' : 'The mask breaks'} the symmetry.`;
  const slide = h('input', {
    type: 'range',
    id: 'step',
    min: 1,
    max: count,
    value: steps,
    'aria-label': 'tokens read',
    oninput: (event) => change({ mask: true, step: Number(event.target.value) }),
  });
  stage.append(
    h(
      'div.controls',
      h('span', 'order'),
      cards,
      moved && h('button.quiet', { type: 'button', onclick: () => change({ order: [] }) }, 'As typed'),
    ),
    h('p.note', { id: 'verdict', role: 'status', style: { 'margin-bottom': '1.3rem' } }, verdict),
  );
  const cut = (matrix, columns = false) =>
    steps === count ? matrix : matrix.slice(0, steps).map((row) => (columns ? row.slice(0, steps) : row));
  const rows = shown.slice(0, steps);
  const dims = (letter, n) => Array.from({ length: n }, (_, i) => `${letter}${'₁₂₃₄'[i]}`);
  const size = Math.max(1, ...[now.input, now.q, now.k, now.v, now.raw, now.y].flat(2).map(Math.abs));
  stage.append(
    h(
      'div.bench',
      matrix(
        set.positions ? 'X + positions' : 'X',
        'what the layer reads',
        cut(now.input),
        rows,
        dims('x', WIDTH),
        size,
      ),
      matrix('Q = X W_Q', 'what each asks for', cut(now.q), rows, dims('q', KEY), size),
      matrix('K = X W_K', 'what each answers to', cut(now.k), rows, dims('k', KEY), size),
      matrix('V = X W_V', 'what each gives', cut(now.v), rows, dims('v', KEY), size),
      matrix('Q Kᵀ', 'scores, from ↓ to →', cut(now.raw, true), rows, rows, size),
      set.scale && matrix('÷ √M', `scaled by 1 / √${KEY}`, cut(now.by, true), rows, rows, size),
      set.mask && matrix('masked', 'nobody sees what comes later', cut(now.seen, true), rows, rows, size),
      matrix('A = softmax', 'each row sums to 1', cut(now.weights, true), rows, rows, 1, {
        weights: true,
        hide: set.mask,
      }),
      matrix('Y = A V', 'what each takes along', cut(now.y), rows, dims('y', KEY), size),
    ),
  );
  stage.append(
    h(
      'section.section',
      h('h3', 'Step by step'),
      h(
        'p',
        'At test time tokens come one by one. Keys and values of what was read are kept: each step adds one column and computes one row.',
      ),
      h('div.controls', h('label', 'tokens read', slide, h('span', `${steps} of ${count}`))),
      strip(now, shown, steps, size),
      h('p.honest', { style: { 'margin-top': '1.2rem' } }, 'where it looked, not why it answered'),
    ),
  );
  return {
    table: () => [
      ['matrix', 'row', 'column', 'value'],
      ...[
        ['X', now.input],
        ['Q', now.q],
        ['K', now.k],
        ['V', now.v],
        ['scores', now.raw],
        ['scaled', now.by],
        ['masked', now.seen],
        ['weights', now.weights],
        ['Y', now.y],
      ].flatMap(([name, m]) => m.flatMap((row, t) => row.map((v, i) => [name, shown[t], i + 1, v]))),
    ],
  };
}

/** Numbers in a grid, coloured by what they are. */
function matrix(title, about, rows, rowNames, columnNames, size, { weights = false, hide = false, fresh = -1 } = {}) {
  return h(
    'table.matrix',
    h('caption', title, ' ', h('em', about)),
    h(
      'thead',
      h(
        'tr',
        h('th'),
        columnNames.map((name) => h('th', { scope: 'col' }, short(name, 7))),
      ),
    ),
    h(
      'tbody',
      rows.map((row, t) =>
        h(
          'tr',
          h('th', { scope: 'row' }, short(rowNames[t], 9)),
          row.map((value, i) => {
            if (value === -Infinity || (weights && hide && i > t))
              return h('td.masked', { title: 'masked' }, value === -Infinity ? '−∞' : '0');
            const colour = weights ? weightColour(value) : signColour(Math.max(-1, Math.min(1, value / size)));
            return h(
              'td',
              { class: t === fresh ? 'fresh' : '', style: { background: css(colour), color: inkOn(colour) } },
              fixed(value),
            );
          }),
        ),
      ),
    ),
  );
}

/** Two figures behind the point, so that columns stand in line. */
function fixed(value) {
  return (Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(2)).replace('-', '−');
}

/** The keys and values kept: one column for each token read, the newest framed. */
function strip(now, names, steps, size) {
  const part = (title, kept) =>
    h(
      'table.matrix',
      h('caption', title),
      h(
        'thead',
        h(
          'tr',
          h('th'),
          names.map((name, i) => h('th', { style: { opacity: i < steps ? 1 : 0.35 } }, short(name, 7))),
        ),
      ),
      h(
        'tbody',
        kept[0].map((_, d) =>
          h(
            'tr',
            h('th', `${'₁₂₃₄'[d]}`),
            names.map((_, i) => {
              if (i >= steps) return h('td', { style: { border: '1px dashed var(--line)' } }, ' ');
              const colour = signColour(Math.max(-1, Math.min(1, kept[i][d] / size)));
              return h(
                'td',
                { class: i === steps - 1 ? 'fresh' : '', style: { background: css(colour), color: inkOn(colour) } },
                fixed(kept[i][d]),
              );
            }),
          ),
        ),
      ),
    );
  return h(
    'div.bench',
    { id: 'strip' },
    part('K kept', now.k),
    part('V kept', now.v),
    matrix(
      'the newest row of A',
      `token ${steps} asks`,
      [softmax([now.by[steps - 1].slice(0, steps)])[0]],
      [names[steps - 1]],
      names.slice(0, steps),
      1,
      { weights: true, fresh: 0 },
    ),
  );
}

/** The same with the numbers of this run: one head, its first tokens and dimensions. */
function runsOwn(stage, look, attention, bar) {
  const { selection, choose } = look;
  const head = headOf(attention, selection) === 'mean' ? 0 : headOf(attention, selection);
  bar.append(
    h(
      'label',
      'layer',
      h(
        'select',
        { id: 'layer', onchange: (event) => choose({ map: event.target.value }) },
        look.record.attention.map((one) =>
          h('option', { value: one.path, selected: one === attention }, named(one.path)),
        ),
      ),
    ),
    attention.heads > 1 &&
      segments(
        'head',
        Array.from({ length: attention.heads }, (_, i) => [i, i + 1]),
        head,
        (value) => choose({ head: String(value) }),
      ),
  );
  const place_ = h('div', h('p.note', 'Reading queries, keys and values…'));
  stage.append(place_);
  const rows = [];
  const { length, temperature, seed, ...asked } = look.question();
  const written = look.record.written
    .slice(1)
    .map((token) => token.id)
    .filter((id) => id !== 2);
  const wanted = { ...asked, head: `${attention.path}[${head}]`, beam: 1 };
  if (look.run.kind === 'language model') {
    wanted.text = '';
    wanted.answer = written.slice(0, 40);
  } else if (look.run.kind === 'translator' || look.run.kind === 'captioner') wanted.answer = written;
  askRecord(wanted)
    .then((buffer) => {
      const found = new Record(buffer);
      const layer_ = found.find(attention.path);
      const take = (name, count) => {
        const { shape, data } = found.at(`${attention.path}.${name}`);
        const [, n, d] = shape;
        return {
          d,
          rows: Array.from({ length: Math.min(n, count) }, (_, t) =>
            Array.from(data.subarray((head * n + t) * d, (head * n + t + 1) * d)),
          ),
        };
      };
      const [q, k, v, scores, mixed] = ['queries', 'keys', 'values', 'scores', 'mixed'].map((name) => take(name, FEW));
      const { rows: rowNames, columns } = layer_.names();
      const [from, to] = [
        rowNames.slice(0, FEW).map((token) => token.text),
        columns.slice(0, FEW).map((token) => (typeof token === 'string' ? token : token.text)),
      ];
      const cut = (m, n) => m.map((row) => row.slice(0, n));
      const dot = q.d === k.d ? multiply(q.rows, transpose(k.rows)) : null;
      const ratio = dot && dot[0][0] !== 0 ? scores.rows[0][0] / dot[0][0] : 0;
      const scale = 1 / Math.sqrt(q.d);
      // Where a step could not see a position yet, its score is −∞.
      const isDot =
        dot &&
        scores.rows.every((row, t) =>
          row
            .slice(0, to.length)
            .every((x, i) => !Number.isFinite(x) || Math.abs(x - ratio * dot[t][i]) < 1e-3 * Math.max(1, Math.abs(x))),
        );
      const weights = Array.from({ length: from.length }, (_, t) =>
        Array.from({ length: to.length }, (_, i) => layer_.weight(head, t, i)),
      );
      const seen = cut(scores.rows, to.length).map((row, t) =>
        row.map((x, i) => (layer_.masked(t, i) ? -Infinity : x)),
      );
      const most = (m) => Math.max(1e-6, ...m.flat().filter(Number.isFinite).map(Math.abs));
      const shownWidth = (m) => Math.min(6, m.d);
      const names = (letter, m) => Array.from({ length: shownWidth(m) }, (_, i) => `${letter}${i + 1}`);
      place_.replaceChildren(
        h(
          'p.note',
          { style: { 'margin-bottom': '1rem' } },
          `${named(attention.path)}, head ${head + 1}: vectors of ${q.d} numbers, of which the first ${shownWidth(q)} are shown, for the first ${from.length} rows and ${to.length} columns. ${isDot ? '' : 'Its similarity is no dot product: vᵀ tanh(W q + U k) or qᵀ W k.'}`,
        ),
        h(
          'div.bench',
          matrix('q', 'what each asks for', cut(q.rows, 6), from, names('q', q), most(q.rows)),
          matrix('k', 'what each answers to', cut(k.rows, 6), to, names('k', k), most(k.rows)),
          matrix('v', 'what each gives', cut(v.rows, 6), to, names('v', v), most(v.rows)),
          isDot && matrix('q · k', 'scores, from ↓ to →', dot, from, to, most(dot)),
          matrix(
            isDot ? `× ${figure(ratio, 3)}` : 'f_att(q, k)',
            isDot && Math.abs(ratio - scale) < 1e-4 ? `scaled by 1 / √${q.d}, and masked` : 'scores',
            seen,
            from,
            to,
            most(seen),
          ),
          matrix(
            'a = softmax',
            `each whole row sums to 1${layer_.columns > to.length && !layer_.causal ? '; the rest lies further right' : ''}`,
            weights,
            from,
            to,
            1,
            { weights: true, hide: layer_.causal },
          ),
          matrix('y = Σ a v', 'what each takes along', cut(mixed.rows, 6), from, names('y', mixed), most(mixed.rows)),
        ),
        h('p.honest', 'where it looked, not why it answered'),
      );
      rows.push(
        ...[
          ['q', q.rows],
          ['k', k.rows],
          ['v', v.rows],
          ['scores', scores.rows],
          ['weights', weights],
          ['y', mixed.rows],
        ].flatMap(([name, m]) => m.flatMap((row, t) => row.map((value, i) => [name, t, i, value]))),
      );
    })
    .catch((error) => place_.replaceChildren(h('p.note', error.message)));
  return { table: () => [['matrix', 'row', 'column', 'value'], ...rows] };
}
