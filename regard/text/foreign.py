"""A tokenizer that was learnt elsewhere, as the tokenizers library computes it, with its ids in our order."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

import tokenizers

from regard.special import NAMES, PADDING, START, STOP, UNKNOWN
from regard.text.bpe import BYTE
from regard.text.tokenizer import Tokenizer, utf8
from regard.text.words import UNKNOWN_WORD

BLANK = "▁"
RAW_BYTE = re.compile(r"<0x([0-9A-F]{2})>")


class Foreign(Tokenizer):
    """Reads and writes a text as the program that it comes from, in our ids: the four special ones come first.

    `special` are their ids for padding, start, stop and unknown; None: they have none, and no text gives it. The other
    ids follow in their order. `begin` says whether a text begins with the start token, as [CLS] stands before it.
    """

    kind = "foreign"

    def __init__(self, library: dict[str, Any], special: Sequence[int | None], size: int, begin: bool = False) -> None:
        self._json, self.special, self._size, self.begin = library, tuple(special), size, begin
        if len(self.special) != len(NAMES):
            raise ValueError(f"{len(NAMES)} special tokens are wanted, found {len(self.special)}")
        self.order = in_our_order(self.special, size)
        self._library = library_from(library)
        self._id = {theirs: ours for ours, theirs in enumerate(self.order) if theirs is not None}
        names = {number: name for name, number in self._numbers().items()}
        if names and max(names) >= size:
            raise ValueError(f"token {max(names)} is beyond the {size} that there are")
        added = {token["id"] for token in library.get("added_tokens", ())}
        spell, self._blank_first = spelling(library.get("decoder"))
        numbers = [-1 if theirs is None else theirs for theirs in self.order[len(NAMES) :]]
        super().__init__(
            utf8(names.get(number, "")) if number in added else spell(names.get(number, "")) for number in numbers
        )
        self._bytes[UNKNOWN] = f"{' ' * self._blank_first}{UNKNOWN_WORD}".encode()
        self.cased = not _lowers(library.get("normalizer"))

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        return cls(data["tokenizer"], data["special"], data["size"], data["begin"])

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "special": list(self.special),
            "begin": self.begin,
            "size": self._size,
            "tokenizer": self._json,
        }

    def encode(self, text: str) -> list[int]:
        return self.encode_all([text])[0]

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        for text in texts:
            utf8(text)
        front = [START] if self.begin else []
        return [[*front, *(self._id[number] for number in ids)] for ids in self._their_ids(texts)]

    def _numbers(self) -> Mapping[str, int]:
        """Their id for each piece."""
        return self._library.get_vocab()

    def _their_ids(self, texts: Sequence[str]) -> list[list[int]]:
        return [one.ids for one in self._library.encode_batch_fast(texts, add_special_tokens=False)]

    def encode_marked(self, text: str) -> list[int]:
        """The ids of a text in which special tokens are spelled by their names, as chat templates write them."""
        names = [None if theirs is None else self._library.id_to_token(theirs) for theirs in self.special]
        known = {name: ours for ours, name in reversed([*enumerate(names)]) if name}
        if not known:
            return self.encode(text)
        parts = re.split("(" + "|".join(map(re.escape, sorted(known, key=len, reverse=True))) + ")", text)
        found: list[int] = []
        for part in filter(None, parts):
            found += [known[part]] if part in known else self.encode(part)[self.begin :]
        return found

    def pieces(self, ids: Iterable[int]) -> list[bytes]:
        """Where tokens begin with a blank, the first one of a text leaves it out."""
        pieces, first = [], True
        for token in self.check(ids):
            piece = self._bytes[token]
            pieces.append(piece[1:] if first and self._blank_first and piece.startswith(b" ") else piece)
            first = token in (START, STOP) or (first and token == PADDING)
        return pieces

    def label(self, token: int) -> str:
        return super().label(token) or f"<token {self.order[token]}>"


def in_our_order(special: Sequence[int | None], size: int) -> list[int | None]:
    """Their id for each of ours: the special ones, then all others. Two of the special ones may be one of theirs."""
    for number in special:
        if number is not None and not 0 <= number < size:
            raise ValueError(f"special token {number} is beyond the {size} that there are")
    return [*special, *(number for number in range(size) if number not in special)]


def library_from(data: dict[str, Any]) -> tokenizers.Tokenizer:
    """The library's own tokenizer. What it cannot read raises a ValueError."""
    try:
        return tokenizers.Tokenizer.from_str(json.dumps(data))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # the library raises nothing more special, and may panic
        raise ValueError(f"the tokenizers library cannot read it: {error}") from None


def spelling(decoder: dict[str, Any] | None) -> tuple[Any, bool]:
    """How a token's name becomes bytes, and whether the blank in front of a text's first token is none of its own."""
    steps = list(_steps(decoder))
    kinds = [step.get("type") for step in steps]
    if "ByteLevel" in kinds:
        return lambda name: bytes(BYTE.get(character, 0x3F) for character in name), False
    if decoder is None:
        return lambda name: utf8(f" {name}" if name else ""), True
    if kinds == ["WordPiece"]:
        joined = steps[0].get("prefix", "##")
        return lambda name: utf8(name[len(joined) :] if name.startswith(joined) else f" {name}" if name else ""), True
    if set(kinds) <= {"Metaspace", "Replace", "ByteFallback", "Fuse", "Strip"}:
        return _with_blanks, "Strip" in kinds or any(_prepends(step) for step in steps)
    raise ValueError(f"a decoder of the kind {', '.join(map(str, kinds))} is not known here")


def _prepends(step: dict[str, Any]) -> bool:
    return step.get("type") == "Metaspace" and step.get("prepend_scheme") != "never"


def _with_blanks(name: str) -> bytes:
    byte = RAW_BYTE.fullmatch(name)
    return bytes([int(byte[1], 16)]) if byte else utf8(name.replace(BLANK, " "))


def _steps(part: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
    """A part of a tokenizer, or each of those it is a sequence of."""
    if part is None:
        return
    for names in ("decoders", "normalizers"):
        if names in part:
            for each in part[names]:
                yield from _steps(each)
            return
    yield part


def _lowers(normalizer: dict[str, Any] | None) -> bool:
    return any(step.get("type") == "Lowercase" or step.get("lowercase") for step in _steps(normalizer))
