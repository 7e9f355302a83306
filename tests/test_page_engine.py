"""The law of the browser: a page's own JavaScript computes what Python computes, for every model of the zoo."""

import base64

import pytest
import tabs
import torch
import zoo

from regard.layers.tap import taps_of
from regard.look.patch import patch
from regard.look.trace import trace
from regard.look.units import Unit, clamped
from regard.models.model import Source
from regard.page.description import described
from regard.page.files import bundle
from regard.page.rounded import bits_for, restored, rounded, to_bytes

pytestmark = tabs.MARKS
browser = tabs.browser
NEAR = 1e-4
FED = [1, 5, 7, 4, 9]

PARTS = "globalThis.parts = { ...module_engine_weights_js, ...module_engine_trace_js, ...module_engine_tap_js };"
SCRIPT = """
globalThis.law = ({ description, weights, source, fed, held }) => {
  const { opened, listening, Trace } = globalThis.parts;
  const { model, taps } = opened(description, Uint8Array.from(atob(weights), (c) => c.charCodeAt(0)).buffer);
  const plain = ({ shape, data }) => ({ shape, data: [...data] });
  const reads = Array.isArray(source) || source === null ? source
    : { shape: source.shape, data: Float32Array.from(source.data) };
  const trace = new Trace(taps.values());
  const [scores] = trace.over(() => model.forward(fed, model.start(reads)));
  const seen = Object.fromEntries(trace.heard().map(([tap, value]) => [tap.path, plain(value)]));
  const first = model.start(reads);
  const one = [];
  let state = first;
  for (const token of fed) {
    const [now, after] = model.forward([token], state);
    model.forward([fed[0]], state); // another future of the same state changes nothing
    one.push(...now.data);
    state = after;
  }
  const edited = Object.fromEntries(held.map(({ path, tap, number, head }) => {
    const hold = (value) => {
      const data = value.data.slice();
      const width = head ? value.shape[1] * value.shape[2] : value.shape[1];
      if (head) data.fill(0, number * width, (number + 1) * width);
      else for (let t = number; t < data.length; t += width) data[t] = 0;
      return { shape: value.shape, data };
    };
    return [path, [...listening([[taps.get(tap), hold]], () => model.forward(fed, model.start(reads)))[0].data]];
  }));
  return { scores: plain(scores), steps: one, seen, edited };
};
"""


@pytest.fixture(scope="module")
def page(browser):
    """One page for all of the zoo."""
    page = browser.new_page()
    page.add_script_tag(content=bundle("engine/weights.js", "engine/trace.js") + PARTS + SCRIPT)
    yield page
    page.close()


def plain(source: Source | None):
    if source is None:
        return None
    content = source.content[0]
    return content.tolist() if content.dim() == 1 else {"shape": [*content.shape], "data": content.flatten().tolist()}


def with_rounded_weights(name: str, bits: int):
    """The model as the page has it, and the bytes that the page gets."""
    model = zoo.make(name, torch.float32)
    tensors = rounded(model, bits)
    model.load_state_dict(restored(tensors), strict=False)
    return model, base64.b64encode(to_bytes(tensors)).decode()


def units_of(model, seen) -> list[Unit]:
    """One cell of the first tap that has cells, and one head of the last layer that has heads."""
    cells = next(path for path, tap in taps_of(model).items() if tap.axes == ["B", "T", "D"] and path in seen)
    heads = [path.rpartition(".")[0] for path in seen if path.endswith(".mixed")]
    return [Unit(cells, 1), *(Unit(path, 0, True) for path in heads[-1:])]


@pytest.mark.parametrize("name", zoo.MODELS)
def test_the_browser_computes_what_python_computes(page, name):
    """Scores at once and one by one, what passes at every tap, and what a held cell and a head that is off change."""
    model, weights = with_rounded_weights(name, 8)
    torch.manual_seed(2)
    source, fed = zoo.source_for(name, 1), torch.tensor([FED])
    with torch.no_grad(), trace(model) as seen:
        scores, _ = model(fed, model.start(source))
    units = units_of(model, seen)
    found = page.evaluate(
        "asked => law(asked)",
        {
            "description": described(model),
            "weights": weights,
            "source": plain(source),
            "fed": FED,
            "held": [
                {"path": str(unit), "tap": unit.held_at, "number": unit.number, "head": unit.head} for unit in units
            ],
        },
    )
    assert found["scores"]["shape"] == [*scores.shape[1:]]
    assert_near(found["scores"]["data"], scores)
    assert_near(found["steps"], scores)
    assert found["seen"].keys() == seen.keys()
    for path, here in found["seen"].items():
        assert here["shape"] == [*seen[path].shape[1:]], path
        assert_near(here["data"], seen[path])
    for unit in units:
        with torch.no_grad(), patch(model, clamped(unit)):
            held, _ = model(fed, model.start(source))
        assert_near(found["edited"][str(unit)], held)


def assert_near(here: list[float], there: torch.Tensor) -> None:
    torch.testing.assert_close(torch.tensor(here), there.flatten().float(), rtol=NEAR, atol=NEAR)


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_rounded_weights_are_read_as_python_reads_them(page, bits):
    model, weights = with_rounded_weights("seq2seq-transformer", bits)
    source = zoo.some_source(1)
    with torch.no_grad():
        scores, _ = model(torch.tensor([FED]), model.start(source))
    asked = {"description": described(model), "weights": weights, "source": plain(source), "fed": FED, "held": []}
    assert_near(page.evaluate("asked => law(asked)", asked)["scores"]["data"], scores)


def test_a_large_model_gets_eight_bits():
    assert bits_for(torch.nn.Linear(100, 100)) == 16
    assert bits_for(torch.nn.Linear(1000, 1000)) == 8
