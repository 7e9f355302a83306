"""The words of a SentencePiece model (.spm): a protocol buffer of pieces and scores. (Kudo and Richardson 2018)"""

import base64
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from regard.errors import UserError

LARGEST = 1 << 26  # bytes; those that are published have some millions
PIECES, TRAINED, NORMALISED = 1, 2, 3  # parts of a file: its pieces; how they were learnt; what a text is made to first
NORMAL, UNKNOWN, USERS = 1, 2, 4  # types of pieces: usual ones, that for all others, those that are always whole
UNIGRAM = 1  # the model's type, also where none is said
OTHERWISE = {24: "treat_whitespace_as_suffix", 35: "byte_fallback"}  # settings of its training that change what it cuts
NEVER = "\N{REPLACEMENT CHARACTER}"  # before a piece that no text spells, such as </s>


def read_unigram(path: Path) -> dict[str, Any]:
    """As the tokenizers library would write it."""
    if path.stat().st_size > LARGEST:
        raise UserError(f"{path} is too large for a list of words; name the model's own")
    try:
        model = list(_fields(path.read_bytes()))
        pieces = [_piece(dict(_fields(value))) for key, value in model if key == PIECES]
        parts = dict(model)
        if not {TRAINED, NORMALISED} <= parts.keys():
            raise ValueError("it ends too early")
        trained, normal = (dict(_fields(parts[part])) for part in (TRAINED, NORMALISED))
    except (ValueError, LookupError, AttributeError, TypeError, struct.error) as error:
        raise UserError(f"{path} is no SentencePiece model ({' '.join(str(error).split())}); fetch it again") from None
    if trained.get(3, UNIGRAM) != UNIGRAM or not pieces:
        raise UserError(
            f"{path} is a SentencePiece model of another kind than unigram; put the model's tokenizer.json there"
        )
    for key, name in OTHERWISE.items():
        if trained.get(key):
            raise UserError(f"{path}: {name} is set, which cannot be had exactly; put the model's tokenizer.json there")
    unknown = next((place for place, piece in enumerate(pieces) if piece.kind == UNKNOWN), 0)
    best = max((piece.score for piece in pieces if piece.kind == NORMAL), default=0.0)
    vocab = [piece.as_unigram(best) for piece in pieces]
    begins = "always" if normal.get(3, 1) else "never"
    blanks = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": begins, "split": True}
    charsmap = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(normal.get(2, b"")).decode()}
    single = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
    ends = {"type": "Strip", "strip_left": True, "strip_right": True}
    steps = [*([charsmap] if normal.get(2) else []), *([single, ends] if normal.get(4, 1) else [])]
    return {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": steps},
        "pre_tokenizer": blanks,
        "decoder": blanks,
        "model": {"type": "Unigram", "unk_id": unknown, "vocab": vocab, "byte_fallback": False},
    }


class ScoredPiece(NamedTuple):
    """One of the pieces that texts are cut into."""

    text: str
    score: float
    kind: int

    def as_unigram(self, best: float) -> list[Any]:
        """Its name and score; `best`: the highest score of all, which decides for pieces that are always whole."""
        if self.kind == USERS:
            return [self.text, len(self.text) * best - 0.1]
        return [self.text if self.kind == NORMAL else f"{NEVER}{self.text}", self.score]


def _piece(fields: dict[int, Any]) -> ScoredPiece:
    return ScoredPiece(fields[1].decode(), struct.unpack("<f", fields.get(2, bytes(4)))[0], fields.get(3, NORMAL))


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
