"""The words of a SentencePiece model (.spm): a protocol buffer of pieces and scores. (Kudo and Richardson 2018)"""

import base64
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from regard.errors import UserError

LARGEST = 1 << 26  # bytes; those that are published have some millions
UNKNOWN = 2  # the type of a piece that stands for all others
UNIGRAM = 1  # the model's type, also where none is said


def read_unigram(path: Path) -> dict[str, Any]:
    """As the tokenizers library would write it."""
    if path.stat().st_size > LARGEST:
        raise UserError(f"{path} is too large for a list of words; name the model's own")
    try:
        model = list(_fields(path.read_bytes()))
        vocab: list[list[Any]] = []
        unknown = 0
        for piece in (dict(_fields(value)) for key, value in model if key == 1):
            if piece.get(3) == UNKNOWN:
                unknown = len(vocab)
            vocab.append([piece[1].decode(), struct.unpack("<f", piece.get(2, bytes(4)))[0]])
        kinds = [dict(_fields(value)).get(3, UNIGRAM) for key, value in model if key == 2]
        normal = dict(_fields(next((value for key, value in model if key == 3), b"")))
    except (ValueError, KeyError, IndexError, AttributeError, TypeError, struct.error) as error:
        raise UserError(f"{path} is no SentencePiece model ({' '.join(str(error).split())}); fetch it again") from None
    if kinds not in ([], [UNIGRAM]) or not vocab:
        raise UserError(f"{path} is a SentencePiece model of another kind than unigram, which cannot be had exactly")
    blanks = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    charsmap = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(normal.get(2, b"")).decode()}
    single = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
    ends = {"type": "Strip", "strip_left": True, "strip_right": True}
    steps = [*([charsmap] if normal.get(2) else []), *([single] if normal.get(4, 1) else []), ends]
    return {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": steps},
        "pre_tokenizer": blanks,
        "decoder": blanks,
        "model": {"type": "Unigram", "unk_id": unknown, "vocab": vocab, "byte_fallback": False},
    }


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a message: numbers, and bytes of numbers of four or eight bytes, of texts and of messages."""
    at = 0
    while at < len(data):
        key, at = _number(data, at)
        if key & 7 == 0:
            value, at = _number(data, at)
            yield key >> 3, value
            continue
        length, at = {1: (8, at), 5: (4, at)}.get(key & 7) or _number(data, at)
        if key & 7 not in (1, 2, 5) or at + length > len(data):
            raise ValueError(f"a field of {length} bytes at {at} of {len(data)}")
        yield key >> 3, data[at : at + length]
        at += length


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A whole number in pieces of seven bits, the lowest first, and where it ends."""
    value = 0
    for place in range(10):
        value |= (data[at + place] & 127) << 7 * place
        if data[at + place] < 128:
            return value, at + place + 1
    raise ValueError("a number without an end")
