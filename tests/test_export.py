"""Runs that other engines read: equal scores there, or a refusal in one line, for every model and every target."""

import os
import re
from dataclasses import fields, is_dataclass, replace

import pytest
import torch
import typed
import zoo
from handing_out import BPE, TEXT, disturbed
from shapes import unchecked
from tokenizers import Tokenizer as Library

from regard import LanguageModel, Seq2Seq, Source
from regard.config.decoding import Search, Writing
from regard.disk import write_tensors
from regard.errors import UserError
from regard.folder import Folder
from regard.hub.importing import import_run
from regard.hub.out import TARGETS, export, target_for
from regard.hub.out.plain import Affine, without_bias
from regard.hub.out.target import missing_packages
from regard.hub.out.vocabulary import library, names
from regard.runs import load_run
from regard.special import NAMES, START, STOP, UNKNOWN
from regard.text.files import save
from regard.text.kinds import train_tokenizer, train_without_capitals

run, said, refused = typed.run, typed.said, typed.refused
SINUSOID_AFTER = zoo.blocks(positions="sinusoid", norm_place="after", activation="relu")
MORE = {  # beside the zoo: what only targets tell apart
    "lm-relu": LanguageModel(zoo.blocks(activation="relu"), tied=True),
    "lm-other-base": LanguageModel(zoo.blocks(rotary_base=500.0, norm_epsilon=1e-3, activation="silu")),
    "seq2seq-two-norms": Seq2Seq(zoo.blocks(norm="rms"), zoo.blocks()),
    "lm-dot": LanguageModel(zoo.blocks(similarity="dot", key_width=4, value_width=6)),
    "marian": Seq2Seq(SINUSOID_AFTER, SINUSOID_AFTER),
    "seq2seq-none-tied": Seq2Seq(zoo.blocks(positions="none"), zoo.blocks(positions="none", layers=1), tied=True),
    "seq2seq-two-widths": Seq2Seq(zoo.blocks(width=12), zoo.blocks(heads=4)),
}
MODELS = zoo.MODELS | MORE
HF = {
    *("lm-transformer-none", "lm-transformer-learned", "lm-transformer-learned-concatenated"),
    *("lm-transformer-sinusoid", "lm-transformer-sinusoid-concatenated", "lm-transformer-rotary"),
    *("lm-transformer-as-2017", "lm-transformer-as-gpt2", "seq2seq-transformer-as-marian", "lm-other-base"),
    *("seq2seq-transformer-learned", "lm-relu", "marian", "seq2seq-none-tied"),
}
HELD = {
    "hf": HF,
    "ctranslate2": HF | {"lm-transformer-rms-wide-keys", "lm-dot", "seq2seq-transformer", "seq2seq-two-widths"},
    "gguf": {
        *("lm-transformer-none", "lm-transformer-learned", "lm-transformer-learned-concatenated"),
        *("lm-transformer-sinusoid", "lm-transformer-sinusoid-concatenated", "lm-transformer-rotary"),
        *("lm-transformer-as-gpt2", "lm-transformer-as-llama"),
    },
    "onnx": set(MODELS),
}
CLOSE = {"hf": 1e-5, "ctranslate2": 1e-5, "gguf": 5e-3, "onnx": 2e-5}  # llama.cpp looks GELU up in a table of 16 bits
EXACT_THERE = {"lm-transformer-as-llama"}
SLOW = {"onnx"}  # a graph takes seconds to be found
DEEP = {"lm-lstm", "lm-transformer-rotary"}
SOME = {
    *("lm-lstm", "lm-transformer-rotary", "seq2seq-bilstm-additive", "seq2seq-transformer", "tagger-bilstm"),
    *("classifier-bigru-stop", "transducer-transformer", "caption-gru-fixed"),
}


def shallow(config):
    """One layer where a model has several: a graph is found operation by operation, and a second layer repeats them."""
    parts = {one.name: getattr(config, one.name) for one in fields(config)}
    inner = {name: shallow(part) for name, part in parts.items() if is_dataclass(part)}
    return replace(config, **inner, **({"layers": 1} if "layers" in parts else {}))


EVERY = [
    (target, name)
    for target in TARGETS
    for name in MODELS
    if target not in SLOW or name in SOME or "REGARD_EVERY_EXPORT" in os.environ
]


def wanting(target: str) -> None:
    """Skips where the target cannot be written, or read again by its own engine."""
    missing = missing_packages([*TARGETS[target].writers, TARGETS[target].engine])
    if missing:
        pytest.skip(f"{' and '.join(missing)} not installed: pip install 'regard[export]'")


@pytest.mark.parametrize(("target", "name"), EVERY)
@unchecked()
def test_every_model_is_the_same_there_or_refused(target, name, tmp_path):
    config = shallow(MODELS[name]) if target in SLOW and name not in DEEP else MODELS[name]
    made, out = disturbed(tmp_path / "run", config), tmp_path / "out"
    if name not in HELD[target]:
        with pytest.raises(UserError, match=r"cannot hold .*; export it --to \w+$") as refusal:
            export(made, target, out)
        assert "\n" not in str(refusal.value)
        assert not out.exists()
        return
    wanting(target)
    found = export(made, target, out)
    assert found.rows == f"{min(8, TARGETS[target].compared_on)} rows of random tokens"
    assert found.difference < (2e-5 if name in EXACT_THERE else CLOSE[target])
    assert [path for path in tmp_path.iterdir() if path.name.endswith(".partial")] == []


@pytest.mark.parametrize(("target", "name"), [(t, n) for t in ("hf", "gguf") for n in sorted(HELD[t])])
@unchecked()
@torch.no_grad()
def test_what_goes_out_comes_in_again(target, name, tmp_path, monkeypatch):
    """import(export(run)) gives the same scores of the same tokens."""
    monkeypatch.setattr("regard.hub.out.missing_packages", lambda names: names)  # the engine itself is asked above
    made = disturbed(tmp_path / "run", MODELS[name])
    export(made, target, tmp_path / "out")
    import_run(tmp_path / "out", tmp_path / "again")
    again = load_run(tmp_path / "again")
    text = "the tide goes out"
    scores = []
    for one in (made, again):
        model, order = one.trained_model(), getattr(one.tokenizer, "order", range(one.tokenizer.vocabulary))
        source = Source(torch.tensor([[*one.source_tokenizer.encode(text), STOP]])) if one.task.has_source else None
        found, _ = model(torch.tensor([[START, *one.tokenizer.encode(text)]]), model.start(source))
        by_id = {theirs: ours for ours, theirs in enumerate(order) if theirs is not None and theirs > UNKNOWN}
        scores.append(found[0, :, [by_id[number] for number in sorted(by_id)]])
    close = (
        5e-3
        if (target, made.model_config.layer.activation if hasattr(made.model_config, "layer") else "")
        == ("gguf", "gelu")
        else 2e-5
    )  # GELU there is the one with tanh
    assert (scores[0] - scores[1]).abs().max() < close


@unchecked()
@torch.no_grad()
def test_tokens_of_two_languages_come_in_again_each_on_its_side(tmp_path, monkeypatch):
    monkeypatch.setattr("regard.hub.out.missing_packages", lambda names: names)
    text = "la marée monte, la marée descend; un bateau dort sur le sable.\n" * 3
    source, lines, search = train_tokenizer("bpe", [text], 300), ["la marée", "un bateau"], Search(beam=1, max_length=9)
    for name in ("marian", "seq2seq-transformer-learned"):
        folder, place, back = (tmp_path / f"{name}-{what}" for what in ("run", "out", "again"))
        weights = disturbed(folder, MODELS[name]).trained_model().state_dict()
        table = "encoder.embedding.lookup.weight"
        weights[table] = torch.randn(source.vocabulary, weights[table].shape[1])
        write_tensors(folder / "model.safetensors", weights)
        save(source, Folder(folder).source_tokenizer)
        made = load_run(folder)
        export(made, "hf", place)
        import_run(place, back)
        found, wanted = ([best.text for best, *_ in run.translations(lines, search)] for run in (load_run(back), made))
        assert found == wanted


@unchecked()
def test_transformers_goes_on_and_translates_as_we_do(tmp_path):
    wanting("hf")
    import transformers

    made = disturbed(tmp_path / "lm", MODELS["lm-transformer-rotary"])
    export(made, "hf", tmp_path / "there")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "there")
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "there")
    read = tokenizer("a <stop> b", return_tensors="pt", return_token_type_ids=False)
    assert read.input_ids.tolist() == [[1, *BPE.encode("a <stop> b")]]  # as letters, not as the token
    found = model.generate(**read, max_new_tokens=30)[0, read.input_ids.shape[1] :]
    ours = "".join(made.stream("a <stop> b", Writing(length=30, choose="argmax")))
    assert made.tokenizer.decode(found.tolist()) == ours

    made = disturbed(tmp_path / "pairs", MODELS["marian"])
    export(made, "hf", tmp_path / "too")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "too")
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "too")
    lines = ["the tide", "a boat lies"]
    read = tokenizer(lines, padding=True, return_tensors="pt", return_token_type_ids=False)
    found = model.generate(**read, max_new_tokens=24)[:, 1:]
    ours = [best.tokens for best, *_ in made.translations(lines, Search(beam=1, max_length=24))]
    for row, wanted in zip(found.tolist(), ours, strict=True):
        assert row[: len(wanted)] == list(wanted)


def test_a_refusal_names_what_is_missed_and_what_holds_it(tmp_path):
    made = disturbed(tmp_path / "fr", MODELS["seq2seq-transformer"])
    with pytest.raises(UserError) as error:
        target_for(made, "hf")
    assert str(error.value) == (
        f"Hugging Face cannot hold {tmp_path}/fr: Blenderbot wants positions = 'none', 'learned' or 'sinusoid', "
        "found 'rotary'; export it --to ctranslate2"
    )
    with pytest.raises(UserError) as error:
        target_for(disturbed(tmp_path / "lstm", MODELS["lm-lstm"]), "ctranslate2")
    assert str(error.value) == (
        f"CTranslate2 cannot hold {tmp_path}/lstm: it holds translators and language models of Transformer blocks; "
        "export it --to onnx"
    )


@pytest.mark.parametrize("width", [8, 64])
def test_a_heads_bias_folds_into_the_last_norm(width):
    """W' h' = W h + b for whatever LayerNorm puts out."""
    h = torch.nn.functional.layer_norm(torch.randn(5, width).double(), [width])
    gain, shift = torch.rand(width) + 0.5, torch.randn(width)
    head = Affine(torch.randn(11, width), torch.randn(11))
    weight, norm = without_bias(head, Affine(gain, shift))
    wanted = (h * gain + shift) @ head.weight.T.double() + head.bias
    assert torch.allclose((h * norm.weight + norm.bias) @ weight.T.double(), wanted, atol=1e-5)


def test_a_gain_of_almost_nothing_carries_no_bias():
    gain = torch.ones(8)
    gain[3] = 1e-5
    with pytest.raises(UserError, match=r"cannot be folded into the last norm, .* export --to onnx"):
        without_bias(Affine(torch.ones(2, 8), torch.ones(2)), Affine(gain, torch.zeros(8)))


@pytest.mark.parametrize("kind", ["bpe", "bytes", "characters"])
@pytest.mark.parametrize("learn", [train_tokenizer, train_without_capitals])
def test_tokens_are_the_same_in_the_library(kind, learn):
    ours = learn(kind, [TEXT], 280 if kind == "bpe" else None)
    theirs = Library.from_str(library(ours, "<start> $A").to_str())
    assert theirs.encode(TEXT).ids == [1, *ours.encode(TEXT)]
    assert theirs.decode(ours.encode(TEXT)) == ours.decode(ours.encode(TEXT))
    assert len(set(names(ours))) == ours.vocabulary
    assert names(ours)[:4] == list(NAMES)


def test_words_have_no_form_in_the_library_and_still_a_name_each():
    ours = train_tokenizer("words", [TEXT])
    assert library(ours) is None
    assert len(set(names(ours))) == ours.vocabulary


def test_an_existing_place_is_refused(run, refused, here, tmp_path):
    (tmp_path / "there").mkdir()
    line = refused("export", run("lm"), "there", "--to", "onnx")
    assert line == "there is there already; name another place, or remove it first"
    line = refused("export", run("lm"), "out")
    assert line == "export wants a target, found none; add --to hf, ctranslate2, gguf or onnx"
    assert "to" in refused("export", run("lm"), "out", "--to", "keras")


def test_what_is_missing_is_said_with_its_remedy(run, refused, monkeypatch, here):
    monkeypatch.setattr("regard.hub.out.target.find_spec", lambda name: None)
    line = refused("export", run("lm"), "out", "--to", "onnx")
    assert line == "--to onnx wants onnx and onnxscript, found none; pip install 'regard[export]'"


def test_nothing_is_left_of_an_export_that_fails(tmp_path, monkeypatch):
    made = disturbed(tmp_path / "run", MODELS["lm-transformer-rotary"])

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("regard.hub.out.hf.write_tensors", full)
    with pytest.raises(UserError, match=r"cannot write .*out: No space left on device"):
        export(made, "hf", tmp_path / "deep" / "out")
    assert list((tmp_path / "deep").iterdir()) == []


def test_the_command_says_what_it_made_and_how_far_it_is(run, said, here, tmp_path, monkeypatch):
    path = run("lm-learned")
    monkeypatch.setattr("regard.hub.out.target.find_spec", lambda name: None)
    assert said("export", path, "out", "--to", "hf")[1] == (
        "out is for Hugging Face\nnot compared: transformers is not installed; pip install 'regard[export]'\n"
    )
    card = (tmp_path / "out" / "README.md").read_text()
    assert "trained with regard on tides.txt" in card
    assert "| bits_per_byte |" in card
    assert str(path.parents[2]) not in card  # where files are on a machine is nobody else's business
    monkeypatch.undo()
    wanting("ctranslate2")
    told = said("export", path, tmp_path / "there", "--to", "ctranslate2")[1]
    assert re.search(r"\nlargest difference of scores over \d+ held-out rows: \de-0[5-9]\n", told)
