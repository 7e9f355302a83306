"""A page's own tokenizers and searches against Python's: the same tokens of awkward texts, draws and beams."""

import pytest
import tabs
import torch
import zoo
from test_page_engine import described, plain, to_bytes

from regard.config.decoding import Sampling
from regard.decode.beam import BeamSearch, beam
from regard.decode.choose import Sample, uniform
from regard.page.files import bundle
from regard.page.rounded import rounded
from regard.text.kinds import KINDS, train_tokenizer, train_without_capitals
from regard.text.labels import Labels
from regard.text.tokenizer import Tokenizer

pytestmark = tabs.MARKS
browser = tabs.browser
LEARNT = [
    "The cat's hat isn't the cats' hat; we've said so, l'accord d'hier — 42% of 1,000!",
    "def f(x):\n\tif x:\n\t\treturn 'a_b'  # twice  \n\n",
    "Ça va où ? naïve café, STRASSE, straße. 日本語 123 ②③ 😀",
]
TEXTS = [
    *LEARNT,
    "",
    "   two  blanks \t and\na line\r\nend ",
    "👩‍👩‍👧‍👦 🇫🇷 é́ à la carte",
    "مرحبا بالعالم שלום עולם \u200f\u202eabc",
    "हिन्दी ไทย ﬁ ﬃ Å Å ﷺ ß ẞ İ I ı Σς ΌΣΟΣ",
    "\x00\x1b\x1c\x85\ufeff\u2028 \u00a0\u3000x",
    "don’t DON'T l’ami rock'n'roll 's 'S \u017f'\u017f ⁇ what⁇ a_b __init__ x²³ ½ Ⅷ",
    "(a)[b]{c} -- \"q\" 'q' .5 1.5e-3 a-b a - b",
]


def tokenizers() -> dict[str, Tokenizer]:
    found = {kind: train_tokenizer(kind, LEARNT * 3, 300 if kind == "bpe" else None) for kind in KINDS}
    return found | {"lower": train_without_capitals("words", LEARNT), "labels": Labels(["a b", "été", "x"])}


@pytest.fixture(scope="module")
def page(browser):
    page = browser.new_page()
    names = ["text/kinds.js", "decode/beam.js", "decode/choose.js", "engine/weights.js"]
    parts = ", ".join(f"...module_{name.replace('/', '_').replace('.', '_')}" for name in names)
    page.add_script_tag(content=f"{bundle(*names)}globalThis.parts = {{ {parts} }};")
    yield page
    page.close()


ASK = """([data, texts]) => {
  const one = parts.tokenizerFrom(data);
  const every = one.bytes.map((_, id) => id);
  const hex = (pieces) => pieces.map((piece) => [...piece].map((byte) => byte.toString(16).padStart(2, '0')).join(''));
  return {
    labels: every.map((id) => one.label(id)),
    mixed: hex(one.pieces([...every, ...every.toReversed(), ...every.filter((id) => id % 3)])),
    texts: texts.map((text) => [one.encode(text), hex(one.pieces(one.encode(text))), one.faces(text)]),
  };
}"""


@pytest.mark.parametrize("name", [*KINDS, "lower", "labels"])
def test_a_tokenizer_reads_and_writes_as_python_does(page, name):
    one = tokenizers()[name]
    texts = one.names if isinstance(one, Labels) else TEXTS
    found = page.evaluate(ASK, [one.to_json(), [] if isinstance(one, Labels) else texts])
    every = range(one.vocabulary)
    assert found["labels"] == [one.label(token) for token in every]
    mixed = [*every, *reversed(every), *(token for token in every if token % 3)]
    assert found["mixed"] == [piece.hex() for piece in one.pieces(mixed)]
    for text, (tokens, pieces, faces) in zip(texts, found["texts"], strict=False):
        assert tokens == one.encode(text), text
        assert pieces == [piece.hex() for piece in one.pieces(tokens)], text
        assert faces == one.faces(text), text


def test_half_a_surrogate_pair_is_refused(page):
    said = page.evaluate(
        "data => { try { parts.tokenizerFrom(data).encode('ab\\ud800') } catch (error) { return error.message } }",
        tokenizers()["bytes"].to_json(),
    )
    assert said == "a text must be valid Unicode, found half a surrogate pair at position 2"


def test_the_same_seed_draws_the_same(page):
    seeds = [0, 3, 2**31]
    found = page.evaluate("seeds => seeds.map(s => [0, 1, 77].map(made => parts.uniform(s, made)))", seeds)
    for seed, numbers in zip(seeds, found, strict=True):
        streams = Sample((seed,))._streams
        assert numbers == [float(uniform(streams, made)[0]) for made in (0, 1, 77)]
    torch.manual_seed(0)
    scores = torch.randn(20, 50) * 3
    drawn = page.evaluate(
        "rows => rows.map((row, made) => parts.sample(Float32Array.from(row), { temperature: 1.3, seed: 5, made }))",
        scores.tolist(),
    )
    choose = Sample((5,), **{**vars(Sampling()), "temperature": 1.3})
    assert drawn == [int(choose(row[None], torch.tensor([0]), made)[0]) for made, row in enumerate(scores)]


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("name", ["seq2seq-rnn-attention", "seq2seq-transformer", "transducer-bilstm", "lm-gru"])
def test_a_beam_finds_what_pythons_finds(page, name, width):
    model = zoo.make(name, torch.float32)
    torch.manual_seed(3)
    source = zoo.source_for(name, 1)
    with torch.inference_mode():
        ((best, *_),) = beam(
            model, torch.tensor([[1, 5]]), model.start(source, 1), BeamSearch(beam=width, limit=9, stop=2)
        )
    found = page.evaluate(
        """async ({ description, weights, source, width }) => {
          const { model } = parts.opened(description, Uint8Array.from(weights).buffer);
          const search = { beam: width, limit: 9, stop: 2 };
          return parts.beam(model, [1, 5], model.start(source), search, () => {}, async () => {});
        }""",
        {
            "description": described(model),
            "weights": [*to_bytes(rounded(model, 32))],
            "source": plain(source),
            "width": width,
        },
    )
    assert (found["tokens"], found["finished"]) == (best.tokens, best.finished)
    assert found["score"] == pytest.approx(best.score, abs=1e-4)
    assert found["logs"] == pytest.approx(best.logs, abs=1e-4)
