"""llama2.c's .bin, as its export.py first wrote it: seven numbers, then every tensor in 32 bits. (Karpathy 2023)

The file has no sign of its own: it is one when its length is what its seven numbers say.
"""

import struct
from collections.abc import Iterable
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from regard.errors import UserError
from regard.hub.package import LARGEST, Facts, Package
from regard.hub.reading.vocabularies import BLANK, sentence_pieces
from regard.hub.translated import Translated
from regard.hub.ways import At, Halves, Named, Way

HEADER = struct.Struct("<7i")
TOKENIZER = "tokenizer.bin"
LONGEST = 1024  # bytes of a token
NAMES = {
    "rms_att": "input_layernorm",
    "wq": "self_attn.q_proj",
    "wk": "self_attn.k_proj",
    "wv": "self_attn.v_proj",
    "wo": "self_attn.o_proj",
    "rms_ffn": "post_attention_layernorm",
    "w1": "mlp.gate_proj",
    "w2": "mlp.down_proj",
    "w3": "mlp.up_proj",
}


class Header(NamedTuple):
    """What the seven numbers say."""

    width: int
    inner: int
    layers: int
    heads: int
    memories: int
    vocabulary: int
    """Below 0: the head has a matrix of its own."""
    longest: int

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of every tensor, in the order of the file."""
        width, inner, layers, heads, memories, vocabulary, longest = self
        narrow, half = width // heads * memories, width // heads // 2
        tables = {"tokens": (abs(vocabulary), width), "rms_att": (layers, width), "wq": (layers, width, width)}
        tables |= {"wk": (layers, narrow, width), "wv": (layers, narrow, width), "wo": (layers, width, width)}
        tables |= {"rms_ffn": (layers, width), "w1": (layers, inner, width), "w2": (layers, width, inner)}
        tables |= {"w3": (layers, inner, width), "rms_final": (width,), "cos": (longest, half), "sin": (longest, half)}
        return tables if vocabulary > 0 else {**tables, "head": (-vocabulary, width)}

    @property
    def size(self) -> int:
        """Of the file, in bytes."""
        return HEADER.size + 4 * sum(map(prod, self.shapes().values()))


class Llama2cTensors:
    """Tensors of a file, all layers in one."""

    def __init__(self, path: Path, header: Header) -> None:
        self.path, self._places = path, dict[str, tuple[tuple[int, ...], int]]()
        begin = HEADER.size
        for name, shape in header.shapes().items():
            self._places[name] = (shape, begin)
            begin += 4 * prod(shape)

    def names(self) -> Iterable[str]:
        return self._places.keys()

    def read(self, name: str) -> Tensor:
        shape, begin = self._places[name]
        return torch.from_numpy(np.fromfile(self.path, "<f4", prod(shape), offset=begin).reshape(shape))


def header_of(path: Path) -> Header | None:
    """The seven numbers of a file; None where it is not such a file."""
    with path.open("rb") as file:
        first = file.read(HEADER.size)
    if len(first) < HEADER.size:
        return None
    header = Header(*HEADER.unpack(first))
    positive = all(0 < number <= LARGEST for number in (*header[:5], abs(header.vocabulary), header.longest))
    fits = positive and header.width % header.heads == 0 and header.heads % header.memories == 0
    return header if fits and header.size == path.stat().st_size else None


def can_read(path: Path) -> bool:
    return path.is_file() and header_of(path) is not None


def read(path: Path) -> Package:
    """What the file holds, with the tokenizer.bin beside it."""
    header = header_of(path)
    assert header is not None
    ways: dict[str, Way] = {
        "model.embed_tokens.weight": Named("tokens"),
        "model.norm.weight": Named("rms_final"),
        **({"lm_head.weight": Named("head")} if header.vocabulary < 0 else {}),
    }
    for block in range(header.layers):
        for name, theirs in NAMES.items():
            way: Way = At(Named(name), block)
            if name in ("wq", "wk"):
                way = Halves(way, header.heads if name == "wq" else header.memories)
            ways[f"model.layers.{block}.{theirs}.weight"] = way
    size = abs(header.vocabulary)
    facts = {
        "hidden_size": header.width,
        "intermediate_size": header.inner,
        "num_hidden_layers": header.layers,
        "num_attention_heads": header.heads,
        "num_key_value_heads": header.memories,
        "vocab_size": size,
        "max_position_embeddings": header.longest,
        "rms_norm_eps": 1e-5,
        "bos_token_id": 1,
        "eos_token_id": 2,
    }
    return Package(
        str(path),
        "llama2.c",
        "llama",
        Facts(facts),
        Translated(Llama2cTensors(path, header), ways),
        (path,),
        tokenizer_in(path.with_name(TOKENIZER), size),
        {"add_bos_token": True, "unk_token": "<unk>"},
    )


def tokenizer_in(path: Path, size: int) -> dict[str, Any]:
    """A tokenizer.bin: a score and a text for each token. Blanks are kept as blanks there."""
    if not path.is_file():
        raise UserError(f"{path} does not exist; a model of llama2.c wants its {TOKENIZER} beside it")
    data, at = path.read_bytes(), 4
    names, scores = [], []
    for number in range(size):
        if at + 8 > len(data):
            raise UserError(f"{path} ends after {number} of {size} tokens; it is of another model, or damaged")
        score, length = struct.unpack_from("<fi", data, at)
        if not 0 <= length <= min(LONGEST, len(data) - at - 8):
            raise UserError(f"{path} is damaged: token {number} has {length} bytes; fetch it again")
        names.append(data[at + 8 : at + 8 + length].decode(errors="replace").replace(" ", BLANK))
        scores.append(score)
        at += 8 + length
    if at != len(data):
        raise UserError(f"{path} has more than {size} tokens; it is of another model, or damaged")
    names[:3] = ["<unk>", "<s>", "</s>"]
    return sentence_pieces(names, scores, "<unk>", begins=True)
