"""Our tokens in the form that Hugging Face's `tokenizers` reads, and by the names that engines know them by."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, processors

from regard.disk import write_text
from regard.special import NAMES, UNKNOWN
from regard.text.bpe import ALPHABET
from regard.text.files import save
from regard.text.tokenizer import Tokenizer


def library(tokenizer: Tokenizer, around: str = "$A") -> tokenizers.Tokenizer | None:
    """The tokenizer as the library has it; `around` is what comes around a text. None: it has none that is the same."""
    data = tokenizer.to_json()
    capitals = data["kind"] == "lower"
    data = data["inner"] if capitals else data
    if data["kind"] not in MAKERS:
        return None
    made = MAKERS[data["kind"]](tokenizer, data)
    if capitals:
        made.normalizer = normalizers.Lowercase()
    made.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in NAMES])
    made.post_processor = processors.TemplateProcessing(
        single=around, special_tokens=[(name, number) for number, name in enumerate(NAMES) if name in around]
    )
    return made


def write_library(tokenizer: Tokenizer, path: Path, around: str) -> bool:
    """The file that the library reads, and whether it can be: words go by rules that it has not, and stay ours."""
    made = library(tokenizer, around)
    if made is None:
        save(tokenizer, path.with_name(f"regard-{path.name}"))
        return False
    write_text(path, made.to_str(pretty=True) + "\n")
    return True


def names(tokenizer: Tokenizer) -> list[str]:
    """A name for every token, no two alike."""
    made = library(tokenizer)
    if made is not None:
        return [str(made.id_to_token(number)) for number in range(tokenizer.vocabulary)]
    labels = [tokenizer.label(number) for number in range(tokenizer.vocabulary)]
    return [label if labels.count(label) == 1 else f"{label} ({number})" for number, label in enumerate(labels)]


def _numbered(tokens: Sequence[str]) -> dict[str, int]:
    return {token: number for number, token in enumerate([*NAMES, *tokens])}


def _bpe(tokenizer: Tokenizer, data: dict[str, Any]) -> tokenizers.Tokenizer:
    merges = [tuple(merge.split(" ")) for merge in data.get("merges", ())]
    tokens = dict.fromkeys([*ALPHABET.values(), *(left + right for left, right in merges)])
    made = tokenizers.Tokenizer(models.BPE(vocab=_numbered(list(tokens)), merges=merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    return made


def _characters(tokenizer: Tokenizer, data: dict[str, Any]) -> tokenizers.Tokenizer:
    """A character that was never seen is unknown here: the library has no way to spell it."""
    first = tokenizer.vocabulary - len(data["characters"])
    spelling = [tokenizer.label(number) for number in range(len(NAMES), first)]
    vocabulary = _numbered([*spelling, *data["characters"]])
    made = tokenizers.Tokenizer(models.WordLevel(vocab=vocabulary, unk_token=NAMES[UNKNOWN]))
    made.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    made.decoder = decoders.Fuse()
    return made


MAKERS: dict[str, Callable[[Tokenizer, dict[str, Any]], tokenizers.Tokenizer]] = {
    "bpe": _bpe,
    "bytes": _bpe,  # without merges
    "characters": _characters,
}
