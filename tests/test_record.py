"""Records: everything a view needs, for every kind of model, in one file."""

import json
import struct
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from zoo import CAPTIONERS, IN_STEP, LANGUAGE_MODELS, SEQ2SEQ, SOURCE_VOCABULARY, VOCABULARY, make

from regard import UserError
from regard.config.looking import Recording
from regard.decode.beam import BeamSearch, beam
from regard.decode.score import score
from regard.disk import write_tensors
from regard.layers.tap import SOURCE, WRITTEN
from regard.look.coding import NAME, VERSION, from_root, load_record, save_record, to_root
from regard.look.record import Record
from regard.look.recording import (
    RECORDING,
    BeamTree,
    of_class,
    of_picture,
    of_tags,
    of_text,
    of_translation,
    size,
)
from regard.text import START, STOP, Labels, Tokenizer

MODELS = LANGUAGE_MODELS | SEQ2SEQ | IN_STEP | CAPTIONERS


class Letters(Tokenizer):
    """Every id but the special ones is a letter; é is two bytes."""

    kind = "letters"

    def __init__(self, count: int) -> None:
        super().__init__(letter.encode() for letter in "aébcdefghijkl"[: count - 4])

    learn = from_json = to_json = None  # type: ignore[assignment]

    def encode(self, text: str) -> list[int]:
        return [self._bytes.index(letter.encode()) for letter in text]


Letters.__abstractmethods__ = frozenset()


def recorded(name: str, wishes: Recording = RECORDING) -> Record:
    model, reads, writes = make(name, torch.float32), Letters(SOURCE_VOCABULARY), Letters(VOCABULARY)
    if name in LANGUAGE_MODELS:
        return of_text(model, (writes, writes), "abécab", wishes)
    if name in CAPTIONERS:
        picture = torch.randint(256, (3, 16, 12), dtype=torch.uint8)
        return of_picture(model, (reads, writes), picture, replace(wishes, answer="abc"))
    if name in SEQ2SEQ:
        return of_translation(model, (reads, writes), "abéc", wishes)
    labels = Labels([f"label {n}" for n in range(VOCABULARY - 4)])
    return (of_tags if name.startswith("tagger") else of_class)(model, (reads, labels), "abéc", wishes)


every = pytest.mark.parametrize("name", MODELS)


def same(one: Record, other: Record, tolerance: float) -> None:
    assert (one.kind, one.sequences, one.calls, one.tree) == (other.kind, other.sequences, other.calls, other.tree)
    assert (one.names, dict(one.about)) == (other.names, dict(other.about))
    assert one.seen.keys() == other.seen.keys()
    for path, seen in one.seen.items():
        there = other.seen[path]
        assert {**vars(seen), "values": None} == {**vars(there), "values": None}
        torch.testing.assert_close(seen.values, there.values, rtol=0, atol=tolerance if seen.attention else 0)
    for left, right in zip(one.top, other.top, strict=True):
        assert torch.equal(left, right)
    assert one.picture is other.picture is None or torch.equal(one.picture, other.picture)


@every
def test_saved_and_loaded_is_the_same_up_to_coding(name, tmp_path):
    record = replace(recorded(name), about={"run": "runs/é"})
    save_record(record, tmp_path / "a.trace")
    same(load_record(tmp_path / "a.trace"), record, 0.004)
    save_record(record, tmp_path / "b.trace", exact=True)
    same(load_record(tmp_path / "b.trace"), record, 0)


@every
def test_rows_and_columns_are_those_of_their_sequences(name):
    record = recorded(name)
    for seen in record.seen.values():
        shape = dict(zip(seen.axes, seen.values.shape, strict=True))
        tokens = len(record.sequences[seen.rows].tokens) if seen.rows in record.sequences else None
        if seen.rows == WRITTEN:
            assert shape["T"] in ((tokens,) if record.kind == "language model" else (tokens - 1,))
        elif tokens is not None:
            assert shape["T"] == tokens
        assert len(record.row_words(seen)) == shape["T"]
        if seen.attention:
            columns = len(record.sequences[seen.columns].tokens)
            assert shape["S"] == (shape["T"] if seen.columns == WRITTEN else columns)
            torch.testing.assert_close(seen.values.sum(-1), torch.ones(seen.values.shape[:-1]))
            assert (seen.values[:, seen.masked] == 0).all()
            assert seen.causal == (seen.group == "self")
            assert seen.values[:, ~seen.masked].min() > 0  # what is masked is known, and nothing else is zero


@every
def test_what_was_said_has_the_models_own_probability(name):
    record, model = recorded(name), make(name, torch.float32)
    fed = record.written.ids[None]
    if name in IN_STEP:  # labels are no special tokens: their probabilities are shared out among labels alone
        assert torch.equal(record.top.tokens[:, 0].long(), fed[0, 1:])
        torch.testing.assert_close(record.top.said.exp(), record.top.probabilities[:, 0])
        assert (record.top.tokens >= 4).all()
        return
    own = score(model, fed, model.start(record.source))[0]
    torch.testing.assert_close(record.top.said, own, rtol=1e-4, atol=1e-5)


def test_tokens_have_bytes_and_places():
    written = recorded("lm-gru").written
    assert written.text == "abécab"
    for token in written.tokens[1:]:
        assert written.text.encode()[token.begin : token.begin + len(token.piece)] == token.piece
    assert written.tokens[0].label == "<start>"
    assert written.tokens[3].piece == "é".encode()


def test_a_generation_is_one_pass_and_then_steps():
    record = recorded("lm-transformer-rotary", Recording(length=4, beam=1))
    assert [(call.computed, call.reused) for call in record.calls[:3]] == [(7, 0), (1, 7), (1, 8)]
    model = make("lm-transformer-rotary", torch.float32)
    state = model.start()
    for call, fed in zip(record.calls, [record.written.ids[:7], *record.written.ids[7:-1].split(1)], strict=True):
        _, state = model(fed[None], state)
        assert call.bytes == size(state)
    sizes = [call.bytes for call in record.calls]
    assert sizes == sorted(set(sizes))  # keys and values grow
    assert len({call.bytes for call in recorded("lm-lstm", Recording(length=4, beam=1)).calls}) == 1  # a cell does not


def test_steps_read_like_one_pass():
    record = recorded("lm-transformer-rotary", Recording(length=5, beam=1))
    model, writes = make("lm-transformer-rotary", torch.float32), Letters(VOCABULARY)
    text = writes.decode(record.written.ids[1:-1].tolist())
    if record.written.ids[1:-1].min() >= 4:
        again = of_text(model, (writes, writes), text)
        for path, seen in record.seen.items():
            torch.testing.assert_close(seen.values, again.seen[path].values, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["lm-gru", "lm-transformer-none", "lm-lstm"])
def test_the_tree_holds_every_answer_with_its_score(name):
    model, tree = make(name), BeamTree()
    (found,) = beam(
        model, torch.tensor([[START]]), model.start(), BeamSearch(beam=4, limit=6, stop=STOP, n_best=4), watch=tree
    )
    ends = []
    for node in tree.nodes:
        if node.fate != "finished":
            continue
        logs, tokens, one = [], [], node
        while True:
            logs.insert(0, one.log)
            tokens.insert(0, one.token)
            if one.parent < 0:
                break
            assert tree.nodes[one.parent].fate == "kept"
            one = tree.nodes[one.parent]
        assert node.total == pytest.approx(sum(logs))
        ends.append(([token for token in tokens if token != STOP], logs))
    assert sorted(ends) == sorted((one.tokens, one.logs) for one in found)
    kept = {number for number, node in enumerate(tree.nodes) if node.fate == "kept"}
    assert kept <= {node.parent for node in tree.nodes}, "what is kept is gone on with"
    assert any(node.fate == "pruned" for node in tree.nodes)


def test_watching_changes_nothing():
    model = make("lm-gru")
    state = model.start(batch=3)
    search = BeamSearch(beam=3, limit=5, n_best=3)
    first = torch.full((3, 1), START)
    assert beam(model, first, state, search) == beam(model, first, state, search, watch=lambda step: None)


def test_the_worst_error_of_the_coding():
    every_weight = torch.linspace(0, 1, 1_000_001)
    coded = from_root(to_root(every_weight))
    assert (coded - every_weight).abs().max() <= 0.004
    assert coded[0] == 0
    assert coded[-1] == 1


def test_a_long_text_and_many_heads_fit():
    """512 tokens and 48 heads: at most 13 MB."""
    assert to_root(torch.rand(48, 512, 512)).nbytes <= 12.6e6


def header_of(path: Path) -> dict:
    blob = path.read_bytes()
    (length,) = struct.unpack("<Q", blob[:8])
    return json.loads(json.loads(blob[8 : 8 + length])["__metadata__"][NAME])


def test_the_file_is_plain_json_and_numbers(tmp_path):
    save_record(recorded("seq2seq-transformer"), tmp_path / "a.trace")
    header = header_of(tmp_path / "a.trace")
    assert header["version"] == VERSION == 1
    cross = header["seen"]["decoder.layer.blocks.0.cross_attention.weights"]
    assert (cross["rows"], cross["reading"], cross["columns"], cross["group"]) == (
        WRITTEN,
        "predicted",
        SOURCE,
        "cross",
    )
    own = header["seen"]["decoder.layer.blocks.0.self_attention.weights"]
    assert (own["axes"], own["reading"], own["causal"], own["coding"]) == (["H", "T", "S"], "fed", True, "root")
    assert (own["role"], own["layer"]) == ("weights", "decoder.layer.blocks.0.self_attention")
    assert header["sequences"][SOURCE]["text"] == "abéc"


@pytest.mark.parametrize("name", ["lm-lstm", "seq2seq-bigru-transformer", "classifier-bilstm-attention"])
def test_a_file_from_before_roles_were_written(name, tmp_path):
    path, record = tmp_path / "a.trace", recorded(name, Recording(paths=("*",)))
    save_record(record, path, exact=True)
    header = header_of(path)
    for about in header["seen"].values():
        del about["role"], about["layer"]
    write_tensors(path, load_file(path), {NAME: json.dumps(header)})
    same(load_record(path), record, 0)


def test_files_that_are_no_records(tmp_path, monkeypatch):
    path = tmp_path / "a.trace"
    with pytest.raises(UserError, match=r"a\.trace does not exist; make it with `regard look RUN TEXT --save"):
        load_record(path)
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(UserError, match=r"a\.trace is damaged .*; make it again"):
        load_record(path)
    from safetensors.torch import save_file

    save_file({"x": torch.zeros(1)}, path)
    with pytest.raises(UserError, match=r"a\.trace is no record of a pass; make one with `regard look RUN TEXT --save"):
        load_record(path)
    monkeypatch.setattr("regard.look.coding.VERSION", 2)
    save_record(recorded("lm-gru"), path)
    monkeypatch.setattr("regard.look.coding.VERSION", 1)
    with pytest.raises(UserError, match=r"is a record of version 2, this regard reads up to 1; update regard"):
        load_record(path)
    save_file({"x": torch.zeros(1)}, path, {NAME: json.dumps({"version": 1, "kind": "translator"})})
    with pytest.raises(UserError, match=r"a\.trace is damaged \(its header lacks 'seen'\); make it again"):
        load_record(path)


def test_attention_that_is_not_there():
    with pytest.raises(UserError, match=r"this language model has no attention, so there is no map and no heads; look"):
        recorded("lm-lstm").attention()
    with pytest.raises(UserError, match=r"this language model has no attention called 'cross'; it has self"):
        recorded("lm-transformer-none").attention("cross")
    with pytest.raises(UserError, match=r"attention 'crss' does not exist; did you mean 'cross'\?"):
        recorded("lm-transformer-none").attention("crss")
    with pytest.raises(UserError, match=r"there is no text to look at, found an empty one; write it behind the run"):
        of_translation(make("seq2seq-transformer"), (Letters(13), Letters(11)), " ")


@pytest.mark.parametrize("width", [1, 3])
def test_a_table_of_positions_ends_and_so_does_what_is_written(width):
    model, tokenizer = make("lm-transformer-learned", torch.float32), Letters(VOCABULARY)
    with torch.no_grad():
        model.head.W.bias[STOP] = -1e9  # never stops by itself
    for read in (6, 31):
        record = of_text(model, (tokenizer, tokenizer), "a" * read, Recording(length=99, beam=width))
        assert len(record.written.tokens) == 33  # the last is not fed


def test_more_taps_by_their_paths():
    record = recorded("lm-transformer-none", Recording(paths=("*.units",)))
    assert record.seen["layer.blocks.0.feed_forward.units"].values.shape == (7, 64)
    with pytest.raises(UserError, match=r"no tap matches '\*\.unit'"):
        recorded("lm-transformer-none", Recording(paths=("*.unit",)))
