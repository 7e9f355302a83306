"""Files of other programs that are cut off, contradict themselves or would run something: one line, nothing made."""

import io
import json
import pickle
import resource
import struct
import tokenize
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from fuzz_hub import fuzz, place_of, sources
from safetensors.torch import load_file, save_file
from test_hub_families import save
from test_hub_marian import SETTINGS, as_bin, put
from test_hub_marian import arrays as marian_arrays

from regard.cli import main
from regard.errors import UserError
from regard.hub.families import FAMILIES
from regard.hub.importing import import_run
from regard.hub.reading import READERS, arrays, hugging_face, llama2c, marian, read_package, torch_files
from regard.hub.reading import gguf as gguf_reader
from regard.hub.reading.npz import Npz

pytest.importorskip("transformers", reason="transformers, our reference, is not installed")
pytest.importorskip("gguf", reason="gguf, our reference, is not installed")


def refusal(source: Path, run: Path) -> str:
    """What is said, in one line; nothing is left where the run would have been."""
    with pytest.raises(UserError) as error:
        import_run(source, run)
    assert "\n" not in str(error.value)
    assert not run.exists()
    assert not list(run.parent.glob(".*.partial"))
    return str(error.value)


@pytest.fixture(scope="module")
def formats(tmp_path_factory):
    folder = tmp_path_factory.mktemp("formats")
    return folder, sources(folder)


READERS_BY_FORMAT = {
    "hugging face": hugging_face, "gguf": gguf_reader, "marian": marian, "llama2.c": llama2c, "torch": torch_files,
    "nanogpt": torch_files, "npz": arrays,
}  # fmt: skip


def test_what_is_broken_on_purpose_is_every_format_and_every_family(formats):
    """A new reader or family wants a file in `fuzz_hub.writers`."""
    folder, files = formats
    packages = [read_package(place_of(folder / name)) for name in files]
    assert {READERS_BY_FORMAT[package.format] for package in packages} == {*READERS}
    assert {package.family for package in packages} == {*FAMILIES}


LOOSE = ("generation_config.json", "tokenizer_config.json", "vocab.txt", "README.md")
"""A few of their lines are no less a file."""


def test_a_file_cut_off_at_twenty_places(formats, tmp_path):
    """Of each format, one of each kind of file."""
    folder, files = formats
    seen = set()
    for name, path in [(name, path) for name, paths in files.items() for path in paths]:
        kind = read_package(place_of(folder / name)).format, path.name
        if kind in seen or path.name in LOOSE:
            continue
        seen.add(kind)
        whole = path.read_bytes()
        for place in range(20):
            path.write_bytes(whole[: len(whole) * place // 20])
            refusal(place_of(folder / name), tmp_path / "run")
        path.write_bytes(whole)


def test_broken_at_random(formats):
    seen = fuzz(120, 0, *formats)
    assert sum(number for said, number in seen.items() if said.endswith(("read", "refused"))) == 120


def changed(folder: Path, **facts: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **facts}))


def test_a_config_that_cannot_be_had_or_contradicts_its_weights(tmp_path):
    folder, run = tmp_path / "hf", tmp_path / "run"
    save("llama", folder)
    config = folder / "config.json"
    whole = config.read_text()
    for facts, said in (
        ({"model_type": "gemma3"}, "model_type is 'gemma3', which does not open here; what does is bert, blenderbot, "
                                   "distilbert, g2p, gpt2, gpt_neox, llama, marian, marian-native, mistral, "
                                   "openai-gpt, qwen2, roberta, t5, torch-rnn: take a model of one of these"),
        ({"rope_scaling": {"rope_type": "llama3", "factor": 8.0}},
         "rope_scaling.rope_type is 'llama3', which cannot be had exactly; take a model with 'default'"),
        ({"attention_bias": True}, "attention_bias is True, which cannot be had exactly; take a model with False"),
        ({"hidden_act": "xielu"}, "hidden_act is 'xielu', which cannot be had exactly; take a model with one of gelu, "
                                  "gelu_new, gelu_pytorch_tanh, relu, silu, swish"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers must be a whole number from 1 to 1024, found 1000000000"),
        ({"hidden_size": 25}, "hidden_size (25) must be divisible by num_attention_heads (4), and that by "
                              "num_key_value_heads (2)"),
        ({"auto_map": {"AutoModel": "x.Y"}}, "auto_map names code to be run, which is never done here; take weights of "
                                             "the plain model"),
        ({"eos_token_id": 270}, "eos_token_id must be a token from 0 to 269, found 270"),
        ({"vocab_size": 200}, ""),
    ):  # fmt: skip
        config.write_text(whole)
        changed(folder, **facts)
        if "vocab_size" in facts:
            changed(folder, bos_token_id=None, eos_token_id=None)
            said = (
                "the tokenizer does not fit: token 262 is beyond the 200 that there are; put the model's own beside it"
            )
        assert refusal(folder, run) == f"{config}: {said}"
    for facts, said in (
        ({"num_hidden_layers": 3}, "wants tensor model.layers.2.input_layernorm.weight (and 8 more), which the weights "
                                   "do not have"),
        ({"num_hidden_layers": 1}, "has no place for tensor model.layers.1.input_layernorm.weight (and 8 more), which "
                                   "the weights have"),
        ({"intermediate_size": 41}, "wants 82 × 24 numbers of model.layers.0.mlp.gate_proj.weight (and 1 more), found "
                                    "another shape"),
    ):  # fmt: skip
        config.write_text(whole)
        changed(folder, **facts)
        assert refusal(folder, run) == (
            f"{config} {said}; config and weights are of different models: fetch both again"
        )


@pytest.mark.parametrize("named", [{}, {"a": {}}, {"a": "../a.safetensors"}, [1], None])
def test_an_index_that_names_no_files(named, formats, tmp_path):
    index = formats[0] / "in-pieces/model.safetensors.index.json"
    whole = index.read_text()
    index.write_text(json.dumps({"weight_map": named}))
    assert refusal(index.parent, tmp_path / "run") == f"{index} names no files in its folder; fetch it again"
    index.write_text(whole)


def test_weights_that_do_not_fit(tmp_path):
    folder, run = tmp_path / "hf", tmp_path / "run"
    save("gpt2", folder)
    path = folder / "model.safetensors"
    tensors = load_file(path)
    table = tensors["transformer.wte.weight"]
    for weights, said in (
        ({**tensors, "transformer.wte.weight": table[:-1]}, "transformer.wte.weight, found another shape"),
        ({**tensors, "transformer.wte.weight": table.long()}, "transformer.wte.weight, found another shape"),
        ({**tensors, "transformer.wte.weight": table / 0}, "transformer.wte.weight holds numbers that are not finite"),
        ({**tensors, "transformer.more": table.clone()}, "has no place for tensor transformer.more"),
    ):
        save_file(weights, path, {"format": "pt"})
        assert said in refusal(folder, run)
    path.write_bytes((2**63).to_bytes(8, "little") + b"{}")
    assert "is damaged" in refusal(folder, run)
    path.unlink()
    assert refusal(folder, run) == (
        f"{folder} has no model.safetensors beside its config.json; save the model as safetensors"
    )


HUGE = 2**63


def patched(path: Path, old: bytes, new: bytes) -> None:
    """The file with these bytes others, of which there is one place."""
    whole = path.read_bytes()
    assert (whole.count(old), len(old)) == (1, len(new))
    path.write_bytes(whole.replace(old, new))


def with_head(path: Path, old: str, new: str) -> None:
    """A .safetensors file in whose head something is said in another way, once."""
    whole = path.read_bytes()
    length = int.from_bytes(whole[:8], "little")
    head = whole[8 : 8 + length].decode().replace(old, new, 1).encode()
    path.write_bytes(len(head).to_bytes(8, "little") + head + whole[8 + length :])


def with_member(path: Path, name: str, old: bytes, new: bytes) -> None:
    """A zip file with bytes of one member others, and its sums put right."""
    with zipfile.ZipFile(path) as archive:
        members = {one: archive.read(one) for one in archive.namelist()}
    (chosen,) = [one for one in members if one.endswith(name)]
    assert old in members[chosen]
    with zipfile.ZipFile(path, "w") as archive:
        for one, content in members.items():
            archive.writestr(one, content.replace(old, new, 1) if one == chosen else content)


WEIGHTS, GGUF, LLAMA2C, G2P = "gpt2/model.safetensors", "gguf-bytes/model.gguf", "llama2c/model.bin", "g2p/g2p.npz"
OVERFLOWS = {
    "a head": (WEIGHTS, lambda path: path.write_bytes(HUGE.to_bytes(8, "little") + b"{}")),
    "a shape": (WEIGHTS, lambda path: with_head(path, "[270,24]", f"[{HUGE},{HUGE}]")),
    "an end": (WEIGHTS, lambda path: with_head(path, "[0,", f"[0,{HUGE}")),
    "tensors": (GGUF, lambda path: with_number(path, 8)),
    "facts": (GGUF, lambda path: with_number(path, 16)),
    "a text": (GGUF, lambda path: with_number(path, 24)),
    "an axis": (GGUF, lambda path: with_number(path, b"token_embd.weight", 4)),
    "axes": (GGUF, lambda path: with_number(path, b"token_embd.weight", 0)),
    "a place": (GGUF, lambda path: with_number(path, b"token_embd.weight", 24)),
    "a list": (GGUF, lambda path: with_number(path, b"tokenizer.ggml.tokens", 8)),
    "a width": (LLAMA2C, lambda path: path.write_bytes(b"\xff\xff\xff\x7f" + path.read_bytes()[4:])),
    "below zero": (LLAMA2C, lambda path: path.write_bytes(b"\xff" * 4 + path.read_bytes()[4:])),
    "no number": (G2P, lambda path: with_member(path, "fc_w.npy", b"(74, 256)", b"(9**9**9)")),
    "an array": (G2P, lambda path: with_member(path, "fc_w.npy", b"(74, 256), }", b"(9999999999,9999)}")),
    "a storage": ("nanogpt/ckpt.pt", lambda path: with_member(path, "data.pkl", b"K\x18K\x01", b"M\xff\xffK\x01")),
    "a piece": ("opus/source.spm", lambda path: path.write_bytes(b"\x0a" + b"\xff" * 9 + b"\x01")),
}
"""What is made larger than anything, by the file that says it; Marian's own are in test_hub_marian.py."""


def with_number(path: Path, at: int | bytes, behind: int = 0) -> None:
    """The largest number of 64 bits at a place, or so far behind a name."""
    whole = path.read_bytes()
    place = at if isinstance(at, int) else whole.index(at) + len(at) + behind
    path.write_bytes(whole[:place] + b"\xff" * 8 + whole[place + 8 :])


@pytest.mark.parametrize("what", OVERFLOWS)
def test_a_size_that_overflows_is_not_believed(what, formats, tmp_path):
    folder, _ = formats
    name, change = OVERFLOWS[what]
    whole = (folder / name).read_bytes()
    change(folder / name)
    assert (folder / name).read_bytes() != whole
    refusal(place_of(folder / name.partition("/")[0]), tmp_path / "run")
    (folder / name).write_bytes(whole)


def test_a_tensor_that_is_there_twice(formats, tmp_path):
    folder, _ = formats

    def of(name: str, change) -> str:
        path = folder / name
        whole = path.read_bytes()
        change(path)
        said = refusal(place_of(folder / name.partition("/")[0]), tmp_path / "run")
        path.write_bytes(whole)
        return said

    old, new = b"blk.0.attn_q.weight", b"blk.0.attn_k.weight"
    said = of("gguf-bytes/model.gguf", lambda path: patched(path, old, new))
    assert "damaged: tensor blk.0.attn_k.weight is there twice; fetch it again" in said
    said = of("marian-bin/model.bin", lambda path: patched(path, b"encoder_l2_self_Wq", b"encoder_l1_self_Wq"))
    assert "encoder_l1_self_Wq twice" in said
    first, second = sorted((folder / "in-pieces").glob("*.safetensors"))[:2]
    said = of(f"in-pieces/{second.name}", lambda path: path.write_bytes(first.read_bytes()))
    assert "which another file holds too; fetch them again" in said
    names = "transformer.wte.weight", "transformer.wpe.weight"
    assert "is damaged" in of(WEIGHTS, lambda path: with_head(path, *names))
    weights = torch.load(folder / "cells/model.pt", weights_only=True)
    double = {**weights, **{f"module.{name}": value for name, value in weights.items()}}
    said = of("cells/model.pt", lambda path: torch.save(double, path))
    assert "twice, once as it was wrapped; save one of them" in said

    def add(path: Path) -> None:
        with zipfile.ZipFile(path, "a") as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns of what we want
            archive.writestr("fc_b.npy", archive.read("fc_b.npy"))

    assert "holds an array twice; fetch it again" in of("g2p/g2p.npz", add)


class Trap:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


def test_a_pickle_is_never_run(tmp_path):
    sprung, folder = tmp_path / "sprung", tmp_path / "hf"
    save("gpt2", folder)
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Trap(sprung)))
    torch.save({"model": Trap(sprung)}, tmp_path / "model.pt")
    for name in ("hf", "hf/pytorch_model.bin", "model.pt"):
        said = refusal(tmp_path / name, tmp_path / "run")
        assert " is a pickle with more than tensors in it" in said
        assert said.endswith(", which could run code, and is not read; save the state dict alone, or as safetensors")
    (tmp_path / "meta.pkl").write_bytes(pickle.dumps(Trap(sprung)))
    torch.save({"rnn.weight_ih_l0": torch.zeros(4, 1)}, tmp_path / "model.pt")
    assert "is no table of characters as nanoGPT writes it" in refusal(tmp_path / "model.pt", tmp_path / "run")
    np.savez(tmp_path / "model.npz", enc_emb=np.array([Trap(sprung)], dtype=object))
    refusal(tmp_path / "model.npz", tmp_path / "run")
    assert not sprung.exists()
    pickle.loads((tmp_path / "meta.pkl").read_bytes())
    assert sprung.exists()  # it is a trap


def test_a_full_disk_leaves_nothing(tmp_path):
    """No file may be longer than what the weights have come to when half of them are written."""
    save("gpt2", tmp_path / "hf")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, before[1]))
    try:
        said = refusal(tmp_path / "hf", tmp_path / "run")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert said == (
        f"cannot write {tmp_path}/run/model.safetensors: File too large; check the folder and the space left on it"
    )
    import_run(tmp_path / "hf", tmp_path / "run")
    assert (tmp_path / "run/model.safetensors").stat().st_size > 40_000


def test_a_run_that_is_there_stays(tmp_path, capsys):
    save("gpt2", tmp_path / "hf")
    assert main(["import", str(tmp_path / "hf"), "--run", str(tmp_path / "run")]) == 0
    before = (tmp_path / "run/config.toml").read_text()
    assert main(["import", str(tmp_path / "hf"), "--run", str(tmp_path / "run")]) == 1
    assert "is there already; choose another folder with --run, or delete it" in capsys.readouterr().err
    assert (tmp_path / "run/config.toml").read_text() == before


def test_a_header_that_numpy_itself_stumbles_over_is_said_in_a_line(tmp_path):
    whole = io.BytesIO()
    np.save(whole, np.zeros((3, 2), np.float32))
    broken = whole.getvalue().replace(
        b"(3, 2)", b"\xa13, 2)"
    )  # numpy tries it once more, as Python 2 would have written it
    with zipfile.ZipFile(tmp_path / "broken.npz", "w") as archive:
        archive.writestr("enc_emb.npy", broken)
    with pytest.raises(tokenize.TokenError):  # no error of a broken file, but that of a broken program
        np.load(tmp_path / "broken.npz")["enc_emb"]
    with pytest.raises(UserError, match="is damaged at enc_emb"):
        Npz(tmp_path / "broken.npz").array("enc_emb")


@pytest.mark.parametrize("name", ["cells/model.pt", "marian-npz/model.npz", "g2p/g2p.npz"])
def test_an_archive_over_several_disks_is_said_in_a_line(name, formats, tmp_path):
    """Which makes Python's own question whether it is an archive an error."""
    path = formats[0] / name
    whole = path.read_bytes()
    end = whole.rindex(b"PK\x05\x06")
    locator = b"PK\x06\x07" + struct.pack("<LQL", 1, 0, 2)
    path.write_bytes(whole[:end] + locator + whole[end:])
    with pytest.raises(zipfile.BadZipFile):
        zipfile.is_zipfile(path)
    refusal(place_of(path.parent), tmp_path / "run")
    path.write_bytes(whole)


def test_names_that_nobody_can_read_are_no_part_of_what_is_said(formats, tmp_path):
    path = formats[0] / "gguf-bytes/model.gguf"
    whole = path.read_bytes()
    long = b"\n\0\x1b" * 2000
    at = whole.index(b"token_embd.weight") - 8
    axes = struct.pack("<I", 77)
    path.write_bytes(whole[:at] + struct.pack("<Q", len(long)) + long + axes + whole[at + 29 :])
    said = refusal(path, tmp_path / "run")
    assert said.isprintable()
    assert said.endswith(" has 77 axes; fetch it again")
    assert len(said) < 1000
    path.write_bytes(whole)


def test_a_marian_file_whose_settings_have_another_name(tmp_path):
    whole = as_bin(marian_arrays(), SETTINGS, eight_bits=True)
    put(tmp_path / "marian", whole.replace(b"special:model.yml", b"special_model.yml"))
    assert "it has no special:model.yml; fetch it again" in refusal(tmp_path / "marian", tmp_path / "run")
