"""From a package's tokenizer to ours: which of its tokens are special, and that no text spells one of these."""

from collections.abc import Sequence
from typing import Any

from regard.errors import UserError
from regard.hub.package import Package
from regard.text.foreign import Foreign, library_from
from regard.text.numbered import Numbered

SEPARATOR = "<|endoftext|>"
"""What stands between documents where nothing stands before them."""


def for_writing(package: Package, size: int) -> Foreign:
    """The tokenizer of a language model: start is what its texts begin with, or else what stands between them."""
    facts = package.facts
    bos, eos = facts.token("bos_token_id", size), facts.token("eos_token_id", size)
    between = _id(package, SEPARATOR)
    start = eos if bos is None else bos
    if not package.words.get("add_bos_token", False) and between is not None:
        start = between
    return made(package, (facts.token("pad_token_id", size), start, eos, _named(package, "unk_token")), size)


def for_translating(package: Package, size: int) -> Foreign:
    """The tokenizer of a translator: start is what its decoder begins with, which is no padding here."""
    facts = package.facts
    begin, stop = facts.token("decoder_start_token_id", size), facts.token("eos_token_id", size)
    if begin is None or stop is None:
        raise UserError("decoder_start_token_id and eos_token_id are wanted, found none")
    return made(package, (facts.token("pad_token_id", size), begin, stop, _named(package, "unk_token")), size)


def for_reading(package: Package, size: int) -> Foreign:
    """The tokenizer of an encoder: [CLS] stands before what it reads and [SEP] behind it."""
    roles = ("pad_token", "cls_token", "sep_token", "unk_token")
    found = [_named(package, role) for role in roles]
    for role, number in zip(roles[1:3], found[1:3], strict=True):
        if number is None:
            raise UserError(f"no {role} is named beside it, which every text wants")
    return made(package, found, size, begin=True)


def made(package: Package, wanted: Sequence[int | None], size: int, begin: bool = False) -> Foreign:
    """Our tokenizer with these tokens as padding, start, stop and unknown.

    A token can be two of them only as start and stop; unknown and padding then go without.
    """
    if package.tokenizer is None:
        raise UserError("there is no tokenizer beside it; put the model's tokenizer.json there")
    padding, start, stop, unknown = wanted
    unknown = None if unknown in (start, stop) else unknown
    padding = None if padding in (start, stop, unknown) else padding
    special = (padding, start, stop, unknown)
    try:
        library = cleaned(package.tokenizer, special)
        if package.numbers is not None:
            return Numbered(library, package.numbers, special, size)
        return Foreign(library, special, size, begin)
    except (LookupError, AttributeError, TypeError, ValueError, UserError) as error:
        said = " ".join(str(error).split())[:200]
        raise UserError(f"the tokenizer does not fit: {said}; put the model's own beside it") from None


def cleaned(library: dict[str, Any], special: Sequence[int | None]) -> dict[str, Any]:
    """The tokenizer without what would cut, pad or frame a text, and in which no text spells a special token."""
    model, added = dict(library["model"]), list(library.get("added_tokens") or ())
    if isinstance(model.get("vocab"), dict):  # what is no added token any more keeps its id
        model["vocab"] = {**{token["content"]: token["id"] for token in added}, **model["vocab"]}
    kept = [token for token in added if token["id"] not in special]
    bare = {**library, "truncation": None, "padding": None, "post_processor": None}
    made = {**bare, "added_tokens": kept, "model": model}
    known = library_from(made)
    for token in kept:
        if known.token_to_id(token["content"]) != token["id"]:
            raise ValueError(f"token {token['content']!r} should have id {token['id']} and has another")
    return made


ROLES = ("bos_token", "eos_token", "pad_token", "unk_token")


def names_of_roles(package: Package) -> dict[str, str]:
    """What the special tokens are called that a chat template may name."""
    return {role: word for role in ROLES if (word := _word(package, role))}


def _word(package: Package, role: str) -> str:
    word = package.words.get(role)
    word = word.get("content") if isinstance(word, dict) else word
    return word if isinstance(word, str) else ""


def _named(package: Package, role: str) -> int | None:
    """The id of the token in that role."""
    word = _word(package, role)
    return _id(package, word) if word else None


def _id(package: Package, word: str) -> int | None:
    if package.numbers is not None:
        return package.numbers.get(word)
    library = package.tokenizer or {}
    for token in library.get("added_tokens") or ():
        if token.get("content") == word:
            return int(token["id"])
    vocab = (library.get("model") or {}).get("vocab")
    if isinstance(vocab, dict):
        number = vocab.get(word)
        return number if isinstance(number, int) else None
    return next((at for at, pair in enumerate(vocab or ()) if isinstance(pair, list) and pair[:1] == [word]), None)
