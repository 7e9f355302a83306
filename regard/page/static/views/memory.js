// How far back a loss can teach, and how open the gates are.

import { h, state, named, choice, tick, short } from '../dom.js';
import { lines, offline } from '../ask.js';
import { chart } from '../chart.js';

export const memory = {
  key: 'memory',
  title: 'Memory',
  hint: 'How strongly a loss still reaches what was read k tokens before: the gradient’s length, on a log scale.',
  draw(stage, look) {
    const { record, selection, choose, runs, run } = look;
    const others = runs.filter((one) => one !== run && one.kind === run.kind);
    const all = selection.against === 'all' && others.length > 0;
    stage.append(
      h(
        'div.controls',
        others.length > 0 &&
          tick(`with the other ${others.length === 1 ? 'run' : 'runs'} of this kind`, all, (value) =>
            choose({ against: value ? 'all' : '' }),
          ),
      ),
    );
    const place = h('section', h('p.note', 'Computing gradients…'));
    stage.append(place);
    const found = [];
    Promise.all(
      [run, ...(all ? others : [])].map(async (one) => {
        const { length, temperature, seed, beam, ...asked } = { ...look.question(), run: runs.indexOf(one) };
        const made = await lines('/api/gradients', { ...asked, beam: 1 }, () => {});
        return { one, curves: made.filter((line) => line.path) };
      }),
    )
      .then((answers) => {
        const several = answers.length > 1;
        for (const { one, curves } of answers) {
          for (const curve of several ? curves.filter((c) => c.last) : curves)
            found.push({ name: several ? one.name : label(curve.path), values: curve.values });
        }
        place.replaceChildren(
          found.length
            ? chart({ curves: found, across: 'k tokens before the loss', up: '‖∂loss / ∂h‖', log: true })
            : h('p.note', 'No hidden state to follow.'),
          h(
            'p.note',
            several
              ? 'For each run, the last place from which anything comes back over time.'
              : 'Behind the last attention a position speaks for itself alone: where a curve is missing, the gradient is exactly zero from k = 1 on.',
          ),
        );
      })
      .catch((error) => place.replaceChildren(state('No gradients', error.message, offline ? '' : 'wrong')));
    const gates = record.cells.filter((one) => one.gate);
    const section = gates.length
      ? gateCharts(look, gates)
      : h(
          'section.section',
          h('h3', 'Gates'),
          h('p', 'This model has none: nothing decides what is kept and what is let go.'),
        );
    stage.append(section);
    return {
      table: () => [['curve', 'k', 'value'], ...found.flatMap((one) => one.values.map((v, k) => [one.name, k, v]))],
    };
  },
};

function label(path) {
  return named(path).replace(' · vectors', '').replace('embedding', 'embedding');
}

/** The mean of each gate over time, and how many of its cells are nearly open or nearly shut. */
function gateCharts(look, gates) {
  const { selection, choose } = look;
  const layers = [...new Set(gates.map((one) => one.layer))];
  const layer = layers.includes(selection.map) ? selection.map : layers.at(-1);
  const shown = gates.filter((one) => one.layer === layer);
  const curves = shown.map((gate) => ({
    name: gate.path.split('.').at(-1).replaceAll('_', ' '),
    values: Array.from({ length: gate.steps }, (_, t) => {
      const { data } = gate.record.blob(gate.blob);
      let sum = 0;
      for (let d = 0; d < gate.width; d++) sum += data[t * gate.width + d];
      return sum / gate.width;
    }),
  }));
  const rows = shown.map((gate) => {
    const { data } = gate.record.blob(gate.blob);
    const n = data.length;
    let [open, shut] = [0, 0];
    for (const v of data) {
      if (v > 0.9) open += 1;
      if (v < 0.1) shut += 1;
    }
    return h(
      'tr',
      h('td', gate.path.split('.').at(-1).replaceAll('_', ' ')),
      h('td.n', `${((100 * open) / n).toFixed(0)}%`),
      h('td.n', `${((100 * shut) / n).toFixed(0)}%`),
    );
  });
  const xs = shown[0].tokens.map((token) => short(token.text, 6));
  return h(
    'section.section',
    h('h3', 'Gates over time'),
    h('p', 'The mean over all cells: 1 is open, 0 is shut.'),
    layers.length > 1 &&
      h(
        'div.controls',
        choice(
          'layer',
          layers.map((path) => [path, named(path)]),
          layer,
          (map) => choose({ map }),
          'gates',
        ),
      ),
    chart({ curves, across: 'token', up: 'mean of the gate', low: 0, high: 1, xs }),
    h('table.numbers', h('tr', h('th', 'gate'), h('th', 'nearly open (> 0.9)'), h('th', 'nearly shut (< 0.1)')), rows),
  );
}
