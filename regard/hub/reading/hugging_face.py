"""A Hugging Face folder: config.json, weights in .safetensors, tokenizer.json. No code that lies beside is run."""

import re
from pathlib import Path
from typing import Any

from regard.errors import UserError
from regard.hub.package import Facts, Package, TokenSet
from regard.hub.reading.json_files import read_json, read_table, table_if_there
from regard.hub.reading.safetensors import SafeTensors
from regard.hub.reading.sentencepiece import read_unigram
from regard.hub.reading.torch_pickle import load_pickle, state_dict
from regard.hub.reading.vocabularies import byte_level_bpe, word_pieces

ONE, SEVERAL = "model.safetensors", "model.safetensors.index.json"
PICKLED = "pytorch_model.bin"
PIECES = ("source.spm", "target.spm", "vocab.json")
NOT_HERE = ("auto_map", "quantization_config")


def can_read(path: Path) -> bool:
    return path.is_dir() and (path / "config.json").is_file()


def read(path: Path) -> Package:
    """What the folder holds."""
    config = path / "config.json"
    values = read_table(config)
    for key in NOT_HERE:
        if values.get(key) is not None:
            why = "names code to be run" if key == "auto_map" else "keeps weights in a form of its own"
            raise UserError(f"{config}: {key} {why}, which is never done here; take weights of the plain model")
    files = _weights(path)
    pickled = files[0].suffix == ".bin"
    written, source = token_sets_in(path)
    tokenizer, numbers = written or (None, None)
    words = table_if_there(path / "special_tokens_map.json") | table_if_there(path / "tokenizer_config.json")
    usual = {"add_bos_token": _begins(tokenizer), **({} if numbers is None else {"unk_token": "<unk>"})}
    return Package(
        str(config),
        "hugging face",
        str(values.get("model_type", "")),
        Facts(values),
        state_dict(load_pickle(files[0]), files[0]) if pickled else SafeTensors(files),
        tuple(files),
        tokenizer,
        {**usual, **{key: value for key, value in words.items() if value is not None}},
        _licence(path / "README.md"),
        _chat_template(path, words),
        _pooling(path),
        numbers,
        source,
    )


def _weights(path: Path) -> list[Path]:
    if (path / ONE).is_file():
        return [path / ONE]
    if not (path / SEVERAL).is_file():
        if (path / PICKLED).is_file():
            return [path / PICKLED]
        raise UserError(f"{path} has no {ONE} beside its config.json; save the model as safetensors")
    named = read_table(path / SEVERAL).get("weight_map")
    every = list(named.values()) if isinstance(named, dict) else []
    if not every or not all(isinstance(name, str) and Path(name).name == name for name in every):
        raise UserError(f"{path / SEVERAL} names no files in its folder; fetch it again")
    names = sorted(set(every))
    for name in names:
        if not (path / name).is_file():
            raise UserError(f"{path / SEVERAL} names {name}, which is not there; fetch it too")
    return [path / name for name in names]


def token_sets_in(path: Path) -> tuple[TokenSet | None, TokenSet | None]:
    """How a model writes, and how it reads where that is another way: OPUS-MT's two lists of pieces, or two files."""
    if all((path / name).is_file() for name in PIECES) and not (path / "tokenizer.json").is_file():
        source, target = (read_unigram(path / name) for name in PIECES[:2])
        numbers = _numbers(path / PIECES[2])
        own = path / "target_vocab.json"
        return TokenSet(target, _numbers(own) if own.is_file() else numbers), TokenSet(source, numbers)
    found = tokenizer_in(path)
    read = None if found is None else TokenSet(found)
    written = tokenizer_in(path / "target")
    return (read, None) if written is None else (TokenSet(written), read)


def _numbers(path: Path) -> dict[str, int]:
    found = read_table(path)
    if not all(type(number) is int and number >= 0 for number in found.values()):
        raise UserError(f"{path} is no list of tokens and their numbers; fetch it again")
    return found


def tokenizer_in(path: Path) -> dict[str, Any] | None:
    """A tokenizer.json, or what older folders have instead."""
    if (path / "tokenizer.json").is_file():
        return _well_formed(read_table(path / "tokenizer.json"), path / "tokenizer.json")
    if (path / "vocab.json").is_file() and (path / "merges.txt").is_file():
        return _vocab_and_merges(path)
    if (path / "vocab.txt").is_file():
        lower = table_if_there(path / "tokenizer_config.json").get("do_lower_case", True)
        names = (path / "vocab.txt").read_text(encoding="utf-8", errors="replace").splitlines()
        return word_pieces(names, bool(lower))
    return None


def _vocab_and_merges(path: Path) -> dict[str, Any]:
    """GPT-2's two files. The first GPT's have the same names and another way of cutting."""
    vocab = read_table(path / "vocab.json")
    if any(name.endswith("</w>") for name in vocab):
        marks = f"{path / 'vocab.json'} marks where words end (</w>)"
        raise UserError(f"{marks}, which cannot be had exactly; take a model whose tokens are of bytes, such as GPT-2")
    lines = (path / "merges.txt").read_text(encoding="utf-8", errors="replace").splitlines()
    library = byte_level_bpe(vocab, [line for line in lines if not line.startswith("#ver")])
    blank_before = table_if_there(path / "tokenizer_config.json").get("add_prefix_space") is True
    return {**library, "pre_tokenizer": {**library["pre_tokenizer"], "add_prefix_space": blank_before}}


def _well_formed(found: dict[str, Any], path: Path) -> dict[str, Any]:
    """The parts that are looked into here have their kinds; the tokenizers library checks the others."""
    model, added = found.get("model"), found.get("added_tokens") or []
    parts = all(isinstance(found.get(name), dict | None) for name in ("normalizer", "decoder", "post_processor"))
    words = isinstance(model, dict) and isinstance(model.get("vocab"), dict | list)
    named = isinstance(added, list) and all(
        isinstance(one, dict) and isinstance(one.get("content"), str) and type(one.get("id")) is int for one in added
    )
    if not (parts and words and named):
        raise UserError(f"{path} is JSON but no tokenizer; fetch it again")
    return found


def _begins(tokenizer: dict[str, Any] | None) -> bool:
    """Whether a tokenizer puts a special token in front of every text."""
    framing = (tokenizer or {}).get("post_processor") or {}
    inner = framing.get("processors")
    steps = [framing, *(inner if isinstance(inner, list) else [])]
    singles = [step.get("single") for step in steps if isinstance(step, dict)]
    first = [one[0] for one in singles if isinstance(one, list) and one]
    return any(isinstance(one, dict) and "SpecialToken" in one for one in first)


def _chat_template(path: Path, words: dict[str, Any]) -> str:
    """How a conversation is written, in a file of its own or in the tokenizer's; of several, the usual one."""
    beside = path / "chat_template.jinja"
    if beside.is_file():
        return beside.read_text(encoding="utf-8", errors="replace")
    said = words.get("chat_template")
    if isinstance(said, list):
        named = {one.get("name"): one.get("template") for one in said if isinstance(one, dict)}
        said = named.get("default")
    return said if isinstance(said, str) else ""


def _pooling(path: Path) -> dict[str, Any]:
    """What sentence-transformers makes one vector by: the settings of each of its steps, by what they are called."""
    if not (path / "modules.json").is_file():
        return {}
    found = read_json(path / "modules.json")
    steps = found if isinstance(found, list) else []
    kinds: dict[str, Any] = {}
    for step in steps:
        kind, inside = (step.get(key) if isinstance(step, dict) else None for key in ("type", "path"))
        if not isinstance(kind, str) or not isinstance(inside, str) or Path(inside).name != inside:
            raise UserError(f"{path / 'modules.json'} names no steps in its folder; fetch it again")
        kinds[kind.rpartition(".")[2]] = table_if_there(path / inside / "config.json") if inside else {}
    return kinds


def _licence(card: Path) -> str:
    """As the head of a model card states it."""
    if not card.is_file():
        return ""
    with card.open(encoding="utf-8", errors="replace") as file:
        found = re.search(r"\A---\n.*?^license: *(\S+)$.*?^---$", file.read(10_000), re.MULTILINE | re.DOTALL)
    return found[1] if found else ""
