"""Marian's own format, in which Firefox keeps its translators; and g2p-en's arrays."""

import json
import random
import struct
import sys
import types
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import tokenizers
import torch
from published import published

from regard import Search, Source
from regard.errors import UserError
from regard.hub.importing import import_run
from regard.hub.reading.marian import Bin, settings_in
from regard.hub.reading.sentencepiece import read_unigram
from regard.layers.history import AttentionInputs, Mask
from regard.runs import load_run
from regard.special import START, STOP

WORDS = ["</s>", "<unk>", "▁we", "▁are", "▁eating", "▁bread", "▁nous", "▁mangeons", "▁du", "▁pain", ".", "s"]
WIDTH, HEADS, INNER = 8, 2, 12
FLOAT, EIGHT_BITS, CHARACTERS = 0x404, 0x4101, 0x101
SETTINGS = f"""\
dec-cell: ssru
dec-depth: 1
dim-emb: {WIDTH}
dim-vocabs:
  - {len(WORDS)}
  - {len(WORDS)}
enc-depth: 2
input-types: []
lemma-dim-emb: 0
output-omit-bias: false
right-left: false
tied-embeddings-all: true
transformer-decoder-autoreg: rnn
transformer-dim-ffn: {INNER}
transformer-ffn-activation: relu
transformer-ffn-depth: 2
transformer-heads: {HEADS}
transformer-no-projection: false
transformer-postprocess: dan
transformer-postprocess-emb: d
transformer-preprocess: ""
transformer-tied-layers: []
transformer-train-position-embeddings: false
type: transformer
"""


def arrays() -> dict[str, np.ndarray]:
    """The tensors of a small translator, as Marian names them: whole numbers over 16, which 8 bits can hold."""
    draw = np.random.default_rng(0)
    made: dict[str, np.ndarray] = {}

    def matrix(name: str, *shape: int) -> None:
        made[name] = (draw.integers(-60, 60, shape) / 16).astype("<f4")

    matrix("Wemb", len(WORDS), WIDTH)
    matrix("decoder_ff_logit_out_b", 1, len(WORDS))
    parts = [(f"encoder_l{n}", ("self",)) for n in (1, 2)] + [("decoder_l1", ("context",))]
    for layer, attentions in parts:
        for name in attentions:
            for letter in "qkvo":
                matrix(f"{layer}_{name}_W{letter}", WIDTH, WIDTH)
                matrix(f"{layer}_{name}_b{letter}", 1, WIDTH)
        matrix(f"{layer}_ffn_W1", WIDTH, INNER)
        matrix(f"{layer}_ffn_b1", 1, INNER)
        matrix(f"{layer}_ffn_W2", INNER, WIDTH)
        matrix(f"{layer}_ffn_b2", 1, WIDTH)
        for name in (*(f"{one}_Wo" for one in attentions), "ffn_ffn"):
            matrix(f"{layer}_{name}_ln_scale", 1, WIDTH)
            matrix(f"{layer}_{name}_ln_bias", 1, WIDTH)
    for name in ("W", "Wf"):
        matrix(f"decoder_l1_rnn_{name}", WIDTH, WIDTH)
    for name in ("bf", "ffn_ln_scale", "ffn_ln_bias"):
        matrix(f"decoder_l1_rnn_{name}", 1, WIDTH)
    return made


def as_bin(made: dict[str, np.ndarray], settings: str, eight_bits: bool = False) -> bytes:
    """The tensors as Marian lays them out."""
    rows = []
    for name, value in made.items():
        matrix = eight_bits and "_W" in name and "_ln_" not in name
        if matrix or (eight_bits and name == "Wemb"):
            kept = value.T if matrix else value
            data = (kept * 16).astype(np.int8).tobytes() + struct.pack("<f", 16.0)
            rows.append((name, EIGHT_BITS, value.shape, data.ljust(-(-len(data) // 256) * 256, b"\0")))
        else:
            rows.append((name, FLOAT, value.shape, value.tobytes()))
    text = settings.encode() + b"\0"
    rows.append(("special:model.yml", CHARACTERS, (len(text),), text))
    heads = b"".join(struct.pack("<QQQQ", len(n) + 1, kind, len(shape), len(data)) for n, kind, shape, data in rows)
    names = b"".join(name.encode() + b"\0" for name, *_ in rows)
    shapes = b"".join(struct.pack(f"<{len(shape)}i", *shape) for _, _, shape, _ in rows)
    before = struct.pack("<QQ", 1, len(rows)) + heads + names + shapes
    gap = -(len(before) + 8) % 256
    return before + struct.pack("<Q", gap) + bytes(gap) + b"".join(data for *_, data in rows)


def put(folder: Path, content: bytes, ending: str = ".bin") -> Path:
    """A folder as Bergamot's are."""
    folder.mkdir(exist_ok=True)
    blanks = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    model = {"type": "Unigram", "unk_id": 1, "vocab": [[word, -float(n)] for n, word in enumerate(WORDS)]}
    library = {"version": "1.0", "pre_tokenizer": blanks, "decoder": blanks, "model": {**model, "byte_fallback": False}}
    (folder / "tokenizer.json").write_text(json.dumps(library))
    (folder / f"model{ending}").write_bytes(content)
    return folder


def scores(run: Path) -> torch.Tensor:
    found = load_run(run)
    model = found.trained_model()
    source = found.tokenizer.encode("we are eating bread.")
    state = model.start(Source(torch.tensor([[*source, STOP]])))
    return model(torch.tensor([[START, *found.tokenizer.encode("nous mangeons du pain.")]]), state)[0]


def test_floats_8_bits_and_npz_are_one_model(tmp_path):
    made = arrays()
    put(tmp_path / "floats", as_bin(made, SETTINGS))
    put(tmp_path / "eight", as_bin(made, SETTINGS, eight_bits=True))
    folder = put(tmp_path / "npz", b"")
    (folder / "model.bin").unlink()
    settings = np.frombuffer(SETTINGS.encode() + b"\0", np.int8)
    np.savez(folder / "model.npz", **made, **{"special:model.yml": settings})
    found = []
    for name in ("floats", "eight", "npz"):
        import_run(tmp_path / name, tmp_path / f"{name}-run")
        found.append(scores(tmp_path / f"{name}-run"))
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])
    assert load_run(tmp_path / "floats-run").translate(["we are eating bread."])[0].strip()


def test_the_decoder_computes_the_equations_of_the_ssru(tmp_path):
    """The recurrent part by hand, in numpy, against the first block's cell."""
    made = arrays()
    import_run(put(tmp_path / "model", as_bin(made, SETTINGS)), tmp_path / "run")
    cell = load_run(tmp_path / "run").trained_model().get_submodule("decoder.layer.blocks.0.ssru")
    x = torch.randn(1, 5, WIDTH)
    f = 1 / (1 + np.exp(-(x[0].numpy() @ made["decoder_l1_rnn_Wf"] + made["decoder_l1_rnn_bf"])))
    candidate, c, wanted = x[0].numpy() @ made["decoder_l1_rnn_W"], np.zeros(WIDTH), []
    for t in range(5):
        c = f[t] * c + (1 - f[t]) * candidate[t]
        wanted.append(np.maximum(c, 0))
    y, _ = cell(x, cell.start(1, None), AttentionInputs(Mask(), Mask()))
    assert torch.allclose(y[0], torch.tensor(np.stack(wanted), dtype=torch.float32), atol=1e-5)


# What is not as it should be


def refused(source: Path, run: Path) -> str:
    with pytest.raises(UserError) as said:
        import_run(source, run)
    assert not run.exists()
    assert "\n" not in str(said.value)
    return str(said.value)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("transformer-preprocess: n", "transformer-preprocess is 'n', which cannot be had exactly"),
        ("type: s2s", "type is 's2s', which cannot be had exactly"),
        ("dec-cell: gru", "dec-cell is 'gru', which cannot be had exactly"),
        ("dim-emb: 10", "wants 14 × 10 numbers of Wemb, found another shape"),
        ("enc-depth: 3", "wants tensor encoder_l3_ffn_W1"),
        ("transformer-heads: 3", "dim-emb (8) must be even and divisible by transformer-heads (3)"),
    ],
)
def test_what_cannot_be_had_is_refused_by_its_key(line, said, tmp_path):
    key = line.partition(":")[0]
    changed = "".join(f"{line if old.startswith(f'{key}:') else old}\n" for old in SETTINGS.splitlines())
    assert said in refused(put(tmp_path / "model", as_bin(arrays(), changed)), tmp_path / "run")


def test_a_file_cut_short_anywhere_is_refused(tmp_path):
    whole = as_bin(arrays(), SETTINGS, eight_bits=True)
    for length in np.linspace(17, len(whole) - 1, 20).astype(int):
        refused(put(tmp_path / "model", whole[:length]), tmp_path / "run")


def test_lengths_that_cannot_be_are_not_believed(tmp_path):
    whole = as_bin(arrays(), SETTINGS)
    for place in (8, 16, 24, 32, 40):  # how many tensors; of the first: its name, type, axes, data
        for value in (2**63, 2**40, 2**32 - 1):
            wrong = whole[:place] + struct.pack("<Q", value) + whole[place + 8 :]
            refused(put(tmp_path / "model", wrong), tmp_path / "run")


def test_mutated_files_say_one_line_or_open(tmp_path):
    whole, draw = as_bin(arrays(), SETTINGS), random.Random(0)
    for _ in range(300):
        wrong = bytearray(whole)
        for _ in range(draw.randint(1, 4)):
            wrong[draw.randrange(3000)] = draw.randrange(256)
        (tmp_path / "model.bin").write_bytes(wrong)
        with suppress(UserError):  # and nothing else
            found = Bin(tmp_path / "model.bin")
            for name in found.names():
                found.array(name)


def test_settings_are_read_as_marian_writes_them():
    assert settings_in('a: 1\nb: true\nc:\n  - 2\n  - x\nd: ""\ne: []\n') == {
        "a": 1, "b": True, "c": [2, "x"], "d": "", "e": [],
    }  # fmt: skip


def test_an_npz_never_unpickles_and_believes_no_length(tmp_path):
    np.savez(tmp_path / "pickled.npz", enc_emb=np.array([{"a": 1}], dtype=object))
    assert "arrays of no model that is known" in refused(tmp_path / "pickled.npz", tmp_path / "run")
    names = ("enc_w_ih", "enc_w_hh", "enc_b_ih", "enc_b_hh", "dec_emb", "dec_w_ih", "dec_w_hh", "fc_w", "fc_b")
    rest = {name: np.zeros((2, 2), np.float32) for name in names}
    np.savez(tmp_path / "objects.npz", enc_emb=np.array([{"a": 1}], dtype=object), **rest)
    assert "is damaged at enc_emb" in refused(tmp_path / "objects.npz", tmp_path / "run")


# Published ones


def test_a_published_translator_translates(tmp_path):
    import_run(published("bergamot") / "enpt", tmp_path / "run")
    run = load_run(tmp_path / "run")
    said = run.translate(["The cat sat on the mat because it was tired.", "How are you today?"])
    assert said == ["O gato sentou-se no tapete porque estava cansado.", "Como você está hoje?"]


def test_sentencepiece_gives_the_tokens_of_the_library_s_own_file():
    folder = published("bergamot") / "enpt"
    ours = tokenizers.Tokenizer.from_str(json.dumps(read_unigram(folder / "vocab.enpt.spm")))
    theirs = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    for text in ("The cat sat on the mat.", "Ａ ﬁne   day — 1992, “quoted”", "naïve café", "漢字"):
        assert ours.encode(text).ids == theirs.encode(text).ids


def test_letters_become_the_sounds_that_their_own_code_says(tmp_path, monkeypatch):
    folder = published("g2p")
    import_run(folder / "checkpoint20.npz", tmp_path / "run")
    theirs = their_g2p(folder, monkeypatch)
    draw = random.Random(0)
    words = [
        "regard",
        "attention",
        "xylophone",
        *("".join(draw.choices("aeioulnrstbcdm", k=k % 9 + 1)) for k in range(200)),
    ]
    found = load_run(tmp_path / "run").translations(words, Search(beam=1, max_length=21))
    assert [one.text for one, *_ in found] == [" ".join(theirs.predict(word)) for word in words]


def their_g2p(folder: Path, monkeypatch):
    """The package's own numpy code, with stand-ins for what it imports besides."""
    for name in ("nltk", "nltk.corpus", "nltk.tokenize", "g2p_en", "g2p_en.expand"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    nltk = sys.modules["nltk"]
    nltk.pos_tag, nltk.data = None, types.SimpleNamespace(find=lambda name: None)
    sys.modules["nltk.corpus"].cmudict = types.SimpleNamespace(dict=dict)
    sys.modules["nltk.tokenize"].TweetTokenizer = lambda: types.SimpleNamespace(tokenize=None)
    sys.modules["g2p_en.expand"].normalize_numbers = None
    code = (folder / "g2p.py").read_text().replace("G2p()", "None")  # which its last lines would make at once
    module = types.ModuleType("g2p_en.g2p")
    module.__dict__.update(__package__="g2p_en", __file__=str(folder / "g2p.py"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a backslash in it
        exec(compile(code, "g2p.py", "exec"), module.__dict__)
    module.construct_homograph_dictionary = dict
    return module.G2p()
