"""A tokenizer that was learnt elsewhere and whose ids stand in a list of their own, as OPUS-MT keeps them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from regard.errors import UserError
from regard.special import UNKNOWN
from regard.text.foreign import Foreign

LANGUAGE = re.compile(r">>.*?<<", re.DOTALL)


class Numbered(Foreign):
    """Cuts a text as SentencePiece does, and numbers each piece by a list that two languages share.

    What is not in the list is unknown. `>>fra<<` in front of a text, which says the language that is wanted, is one
    piece. A text has no blanks around it.
    """

    kind = "numbered"

    def __init__(
        self, library: dict[str, Any], numbers: Mapping[str, int], special: Sequence[int | None], size: int
    ) -> None:
        self._listed = dict(numbers)
        super().__init__(library, special, size)
        if self.special[UNKNOWN] is None:
            raise UserError("a list of pieces wants an unknown one among them, found none")
        self._said = {name: number for name, number in self._listed.items() if number not in self.special}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        return cls(data["tokenizer"], data["numbers"], data["special"], data["size"])

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "numbers": self._listed}

    def pieces(self, ids: Iterable[int]) -> list[bytes]:
        """Nothing is blank before the first letter."""
        pieces = super().pieces(ids)
        for place, piece in enumerate(pieces):
            pieces[place] = piece.lstrip(b" ")
            if pieces[place]:
                break
        return pieces

    def _numbers(self) -> Mapping[str, int]:
        return self._listed

    def _their_ids(self, texts: Sequence[str]) -> list[list[int]]:
        wished = [found[0] if (found := LANGUAGE.match(text)) else "" for text in texts]
        rest = [text[len(wish) :] for text, wish in zip(texts, wished, strict=True)]
        cut = self._library.encode_batch(rest, add_special_tokens=False)  # the fast one leaves names out
        names = [[*filter(None, [wish]), *one.tokens] for wish, one in zip(wished, cut, strict=True)]
        unknown = self.special[UNKNOWN]
        assert unknown is not None
        return [[self._said.get(name, unknown) for name in row] for row in names]
