// How an answer was made: what might have stood at each step, the beam's tree, and what was reused.

import { h, s, short, figure, bytes, percent, choice, showTip, hideTip } from '../dom.js';

export const decode = {
  key: 'decode',
  title: 'Decode',
  hint: 'Step by step: what was said, what might have been said, and what it cost. Click another token to go on from there.',
  draw(stage, look) {
    const { record, selection, choose, run } = look;
    if (run.kind === 'classifier' || run.kind === 'tagger') return labels(stage, look);
    const beam = Number(selection.beam) || (run.kind === 'language model' ? 1 : 4);
    stage.append(
      h(
        'div.controls',
        choice(
          'beam',
          [1, 2, 3, 4, 5, 8].map((n) => [n, n === 1 ? '1 (always the most probable)' : n]),
          beam,
          (n) => choose({ beam: n }),
          'beam',
        ),
      ),
    );
    const first = run.kind === 'language model' ? Math.max(0, firstMade(record, selection)) : 0;
    stage.append(ladder(look, first));
    if (record.tree.length) stage.append(tree(look));
    else
      stage.append(
        h(
          'section.section',
          h('h3', 'Beam tree'),
          h('p', 'One hypothesis is followed, so there is no tree; choose a wider beam to see one.'),
        ),
      );
    stage.append(strip(record));
    return {
      table: () => [
        ['step', 'fed', 'rank', 'token', 'probability'],
        ...Array.from({ length: record.steps }, (_, t) =>
          record
            .top(t)
            .map((one, rank) => [t, record.written[t]?.text ?? '', rank + 1, one.text, one.p.toPrecision(5)]),
        ).flat(),
      ],
      key: (key) => {
        const every = [...stage.querySelectorAll('.rung button')];
        const at = every.indexOf(document.activeElement);
        const move = { ArrowUp: -1, ArrowDown: 1, ArrowLeft: -record.top(0).length, ArrowRight: record.top(0).length }[
          key
        ];
        if (!move) return false;
        (at < 0 ? every[0] : every[at + move])?.focus();
        return true;
      },
    };
  },
};

/** Where a language model's own writing begins. */
function firstMade(record, selection) {
  let [length, t] = [0, 1];
  const given = new TextEncoder().encode(selection.text).length;
  while (t < record.written.length && length < given) {
    length += record.written[t].piece.length / 2;
    t += 1;
  }
  return Math.min(t - 1, record.steps - 1);
}

function ladder(look, first) {
  const { record, choose, run } = look;
  const rungs = [];
  const promptLength = run.kind === 'language model' ? first + 1 : 1;
  for (let t = first; t < record.steps; t++) {
    const next = record.written[t + 1];
    const top = record.top(t);
    const said = record.said(t);
    const before = record.written.slice(promptLength, t + 1).map((token) => token.id);
    rungs.push(
      h(
        'div.rung',
        h(
          'h4',
          { title: next ? next.text : '' },
          h('small', `step ${t - first + 1}`),
          next ? short(next.text, 10) : '…',
        ),
        top.map((one) =>
          h(
            'button',
            {
              type: 'button',
              class: next && one.id === next.id ? 'took' : '',
              title: `go on with ${one.text}`,
              disabled: one.id === 2,
              onclick: () => choose({ answer: [...before, one.id].join(',') }),
            },
            h('i', { style: { width: `${(100 * one.p).toFixed(1)}%` } }),
            h('span', h('b', short(one.text, 8)), h('em', percent(one.p))),
          ),
        ),
        next &&
          !top.some((one) => one.id === next.id) &&
          said !== null &&
          h(
            'button',
            { class: 'took', disabled: true },
            h('span', h('b', short(next.text, 8)), h('em', percent(Math.exp(said)))),
          ),
      ),
    );
  }
  return h(
    'section.section',
    { style: { 'margin-top': 0 } },
    h('h3', 'Ladder'),
    h('p', 'At each step the most probable tokens; what was said is bold.'),
    h('div.ladder', { tabindex: 0, role: 'group', 'aria-label': 'steps' }, rungs),
  );
}

/** Every hypothesis that the search considered: a column for each step, a line for each that was kept. */
function tree(look) {
  const { record, choose, selection } = look;
  const nodes = record.tree.map((node, index) => ({ ...node, index, children: [], depth: 0, best: false }));
  for (const node of nodes) {
    node.depth = node.parent < 0 ? 0 : nodes[node.parent].depth + 1;
    if (node.parent >= 0) nodes[node.parent].children.push(node);
  }
  // The answer's own path: its tokens from the first made on.
  const answer = record.written.slice(record.written.length - wanted(record, nodes)).map((token) => token.id);
  let level = nodes.filter((node) => node.parent < 0);
  for (const id of answer) {
    const next =
      level.find((node) => node.token === id && node.fate !== 'pruned') || level.find((node) => node.token === id);
    if (!next) break;
    next.best = true;
    level = next.children;
  }
  const close = (node) => {
    const beside = (node.parent < 0 ? nodes.filter((one) => one.parent < 0) : nodes[node.parent].children).filter(
      (one) => one.fate === 'pruned',
    );
    return beside.indexOf(node) < 2;
  };
  const useful = nodes.filter(
    (node) => node.fate !== 'pruned' || ((node.parent < 0 || nodes[node.parent].best) && close(node)),
  ); // of the pruned, those nearest the answer
  const deepest = Math.max(...useful.map((node) => node.depth));
  const [across, down] = [112, 19];
  let line = 0;
  const place = (node) => {
    const children = node.children
      .filter((one) => useful.includes(one))
      .sort((a, b) => Number(b.best) - Number(a.best) || b.total - a.total);
    if (!children.length) {
      node.y = line;
      line += 1;
    } else {
      children.forEach(place);
      node.y = children[0].y;
    }
  };
  nodes
    .filter((node) => node.parent < 0 && useful.includes(node))
    .sort((a, b) => Number(b.best) - Number(a.best) || b.total - a.total)
    .forEach(place);
  const [width, height] = [(deepest + 1) * across + 90, line * down + 12];
  const drawing = s('svg.tree', {
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    role: 'img',
    'aria-label': 'tree of hypotheses',
  });
  const at = (node) => [60 + node.depth * across, 14 + node.y * down];
  for (const node of useful) {
    const [x, y] = at(node);
    const [px, py] =
      node.parent < 0
        ? [8, 14]
        : [
            at(nodes[node.parent])[0] + 8 * Math.min(9, short(record.names[nodes[node.parent].token] || '', 9).length),
            at(nodes[node.parent])[1],
          ];
    drawing.append(
      s('path.edge', {
        class: `${node.best ? 'best' : ''} ${node.fate}`,
        d: `M${px} ${py - 4}C${(px + x) / 2} ${py - 4} ${(px + x) / 2} ${y - 4} ${x - 5} ${y - 4}`,
      }),
    );
  }
  for (const node of useful) {
    const [x, y] = at(node);
    const begun = selection.answer ? selection.answer.split(',') : [];
    const path = [];
    for (let one = node; one; one = one.parent < 0 ? null : nodes[one.parent]) path.unshift(one.token);
    const group = s(
      'g.node',
      {
        class: `${node.fate} ${node.best ? 'best' : ''}`,
        onclick: () => node.token !== 2 && choose({ answer: [...begun, ...path].join(',') }),
        onpointermove: (event) =>
          showTip(
            event.clientX,
            event.clientY,
            h('b', record.names[node.token]),
            h('div', `${node.fate}; p ${figure(Math.exp(node.log))}, Σ log p ${figure(node.total)}`),
          ),
        onpointerleave: hideTip,
      },
      s('text', { x, y }, short(record.names[node.token] || String(node.token), 9)),
      node.fate === 'finished' && s('circle', { cx: x - 10, cy: y - 4, r: 2.5, fill: 'var(--accent)' }),
    );
    drawing.append(group);
  }
  return h(
    'section.section',
    h('h3', 'Beam tree'),
    h(
      'p',
      'Solid lines were kept, dotted ones pruned; a dot marks a finished answer, the strong line the one given. Click a branch to go on from it.',
    ),
    h('div.scroller', drawing),
  );
}

/** How many tokens of the answer the tree covers. */
function wanted(record, nodes) {
  return Math.min(record.written.length - 1, Math.max(...nodes.map((node) => node.depth)) + 1, record.calls.length);
}

/** The state at each step: what was there already, and what was computed anew. */
function strip(record) {
  const { calls } = record;
  const largest = Math.max(...calls.map((call) => call.bytes), 1);
  const growing = calls.length > 1 && calls.at(-1).bytes > calls[0].bytes;
  const [height, step] = [70, Math.max(4, Math.min(26, 900 / calls.length))];
  const width = calls.length * step + 80;
  const drawing = s('svg.chart', {
    viewBox: `0 0 ${width} ${height + 22}`,
    width,
    style: { 'max-width': `${width}px` },
    role: 'img',
    'aria-label': 'bytes of the state at each step',
  });
  calls.forEach((call, t) => {
    const whole = (call.bytes / largest) * height;
    // A state that does not grow is one value for another: there is nothing in it to part into old and new.
    const added = t === 0 || !growing ? whole : Math.max(1.5, ((call.bytes - calls[t - 1].bytes) / largest) * height);
    drawing.append(
      s(
        'g',
        {
          onpointermove: (event) =>
            showTip(
              event.clientX,
              event.clientY,
              h('span.big', bytes(call.bytes)),
              h('div', `${call.computed} position${call.computed > 1 ? 's' : ''} computed, ${call.reused} reused`),
            ),
          onpointerleave: hideTip,
        },
        s('rect', {
          x: t * step,
          y: height - whole,
          width: Math.max(1, step - 1.5),
          height: Math.max(0, whole - added),
          fill: 'var(--strong)',
          'fill-opacity': 0.55,
        }),
        s('rect', {
          x: t * step,
          y: height - added,
          width: Math.max(1, step - 1.5),
          height: added,
          fill: 'var(--accent)',
        }),
      ),
    );
  });
  const last = calls.at(-1);
  drawing.append(
    s('text.axis', { x: 0, y: height + 16 }, 'step 1'),
    s(
      'text.axis',
      { x: calls.length * step, y: height + 16, 'text-anchor': 'end' },
      calls.length > 3 ? String(calls.length) : '',
    ),
  );
  return h(
    'section.section',
    h('h3', 'State'),
    h(
      'p',
      growing
        ? `It grows: keys and values of everything seen. Grey was reused, blue computed at that step; ${bytes(calls[0].bytes)} at first, ${bytes(last.bytes)} at last.`
        : calls.length === 1
          ? `Read in one pass: ${bytes(last.bytes)}. Let it write to see what each step adds.`
          : `It stays as large as it is, ${bytes(last.bytes)}, however much is written: each step hands on a new value of the same size.`,
    ),
    h('div.scroller', drawing),
  );
}

function labels(stage, look) {
  const { record, run } = look;
  stage.append(
    h(
      'p.note',
      `A ${run.kind} decodes nothing: it reads the whole text and says ${run.kind === 'classifier' ? 'one class' : 'a tag for each token'} at once.`,
    ),
  );
  const rows = run.kind === 'classifier' ? [0] : [...Array(record.steps).keys()];
  stage.append(
    h(
      'div.ladder',
      { style: { 'margin-top': '1rem' } },
      rows.map((t) =>
        h(
          'div.rung',
          { style: { width: '9rem' } },
          h('h4', run.kind === 'classifier' ? 'class' : short(record.source[t]?.text ?? '', 12)),
          record
            .top(t)
            .map((one, i) =>
              h(
                'button',
                { type: 'button', class: i === 0 ? 'took' : '', disabled: true },
                h('i', { style: { width: `${100 * one.p}%` } }),
                h('span', h('b', short(one.text, 12)), h('em', percent(one.p))),
              ),
            ),
        ),
      ),
    ),
  );
  return {
    table: () => [
      ['position', 'label', 'probability'],
      ...rows.flatMap((t) => record.top(t).map((one) => [t, one.text, one.p.toPrecision(5)])),
    ],
  };
}
