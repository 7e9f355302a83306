"""Files of `torch.save`: nanoGPT's checkpoints; state dicts of a language model with an nn.LSTM, nn.GRU or nn.RNN."""

import io
import pickle
from pathlib import Path
from typing import Any

from regard.errors import UserError
from regard.hub.package import Facts, Package
from regard.hub.reading.hugging_face import tokenizer_in
from regard.hub.reading.torch_pickle import StateDict, is_pickle, load_pickle, state_dict
from regard.hub.reading.vocabularies import single_tokens
from regard.hub.translated import Translated
from regard.hub.ways import Named, NeverSaid, OneRow, Stacked, Turned, Way, Zeros

LARGEST = 1 << 24  # bytes of a table of characters
ENDS = ("<|endoftext|>", "<eos>", "</s>")
"""What stands between texts, where something does."""
LINE = "\n"
START = "<start>"
MATRICES = ("attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj")


def can_read(path: Path) -> bool:
    return _file(path).is_file() and is_pickle(_file(path))


def _file(path: Path) -> Path:
    """The file itself, or the only one of a folder."""
    found = [one for end in ("*.pt", "*.pth") for one in path.glob(end)] if path.is_dir() else []
    return found[0] if len(found) == 1 else path


def read(path: Path) -> Package:
    """What the file holds, with the tokenizer that lies beside it."""
    path = _file(path)
    found = load_pickle(path)
    tensors = state_dict(found, path)
    names = {*tensors.names()}
    said = found.get("model_args")
    facts = Facts(said if isinstance(said, dict) else {}, f"{path}: model_args.")
    if "transformer.wte.weight" in names and any(name.endswith(".attn.c_attn.weight") for name in names):
        return _nanogpt(path, tensors, facts)
    if any(name.endswith("weight_ih_l0") for name in names):
        tokenizer = _tokenizer(path.parent)
        vocab = _vocab(tokenizer)
        end = Facts({"eos_token_id": next((vocab[name] for name in ENDS if name in vocab), None)})
        return Package(str(path), "torch", "torch-rnn", end, tensors, (path,), tokenizer, {"unk_token": "<unk>"})
    raise UserError(
        f"{path} holds tensors of no model that is known here; nanoGPT's, and those of a language model with one "
        "nn.LSTM, nn.GRU or nn.RNN, are"
    )


def _nanogpt(path: Path, tensors: StateDict, said: Facts) -> Package:
    """GPT-2 in Hugging Face's words: matrices turned, biases that were left out as zeros.

    Where nothing stands between texts, a token more is put before each: to the model it is the end of a line, which
    nanoGPT's own sampling begins with.
    """
    width, layers, size = said.whole("n_embd"), said.layers("n_layer"), said.whole("vocab_size")
    there = {*tensors.names()} - {"lm_head.weight"}  # which is the embedding: they are one tensor there
    ways: dict[str, Way] = {}
    for name in there:
        turned = name.endswith(".weight") and name.removesuffix(".weight").endswith(MATRICES)
        ways[name] = Turned(Named(name)) if turned else Named(name)
    sizes = {"attn.c_attn": 3 * width, "mlp.c_fc": 4 * width}
    for block in range(layers):
        for part in (*MATRICES, "ln_1", "ln_2"):
            ways.setdefault(f"transformer.h.{block}.{part}.bias", Zeros((sizes.get(part, width),)))
    ways.setdefault("transformer.ln_f.bias", Zeros((width,)))
    tokenizer = _tokenizer(path.parent)
    vocab, table = _vocab(tokenizer), Named("transformer.wte.weight")
    end = next((vocab[name] for name in ENDS if name in vocab), None)
    if end is None and tokenizer is not None:
        first = OneRow(table, vocab[LINE]) if vocab.get(LINE, size) < size else Zeros((1, width))
        ways["transformer.wte.weight"] = Stacked((table, first))
        ways["lm_head.weight"] = Stacked((table, Zeros((1, width))))
        ways["lm_head.bias"] = NeverSaid(Zeros((size + 1,)), (size,))
        usual = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
        tokenizer = {**tokenizer, "added_tokens": [{"id": size, "content": START, **usual}]}
    facts = {
        "n_embd": width,
        "n_layer": layers,
        "n_head": said.whole("n_head"),
        "n_positions": said.whole("block_size"),
        "vocab_size": size + (end is None),
        "activation_function": "gelu",
        "bos_token_id": size if end is None else end,
        "eos_token_id": end,
    }
    words = {"add_bos_token": True}
    return Package(str(path), "nanogpt", "gpt2", Facts(facts), Translated(tensors, ways), (path,), tokenizer, words)


def _tokenizer(folder: Path) -> dict[str, Any] | None:
    """nanoGPT's table of characters, one word on each line, or what a Hugging Face folder has."""
    if (folder / "meta.pkl").is_file():
        return single_tokens(_characters(folder / "meta.pkl"), letters=True)
    if (folder / "vocab.txt").is_file():
        names = (folder / "vocab.txt").read_text(encoding="utf-8", errors="replace").splitlines()
        return single_tokens(names, letters=False)
    return tokenizer_in(folder)


def _vocab(tokenizer: dict[str, Any] | None) -> dict[str, int]:
    found = (tokenizer or {}).get("model", {}).get("vocab")
    added = {token["content"]: token["id"] for token in (tokenizer or {}).get("added_tokens") or ()}
    return {**(found if isinstance(found, dict) else {}), **added}


def _characters(path: Path) -> list[str]:
    """`itos` of meta.pkl: which character has which number. Nothing but plain values is unpickled."""
    try:
        if path.stat().st_size > LARGEST:
            raise ValueError("it is too long for a table of characters")
        table = PlainValues(io.BytesIO(path.read_bytes())).load()["itos"]
        found = [table[number] for number in range(len(table))]
        if not all(isinstance(one, str) and len(one) == 1 for one in found) or len(set(found)) < len(found):
            raise ValueError("a token is no character, or is there twice")
        return found
    except Exception as error:  # a broken pickle comes to whichever error it comes to
        said = " ".join(str(error).split())[:120]
        raise UserError(f"{path} is no table of characters as nanoGPT writes it ({said})") from None


class PlainValues(pickle._Unpickler):
    """Reads numbers, texts, lists and tables; whatever names a class or a function is refused.

    In Python: the one in C makes room for as many things as a number in the file says.
    """

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"it names {module}.{name}")
