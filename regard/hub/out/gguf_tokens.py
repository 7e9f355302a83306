"""A tokenizer as GGUF keeps it: lists of tokens, their kinds, and how they are merged."""

import json
import re
from typing import Any, NamedTuple

from regard.errors import UserError
from regard.hub.out.vocabulary import library
from regard.hub.reading.vocabularies import CUTS, byte_level_bpe
from regard.special import PADDING, START, STOP, UNKNOWN
from regard.text.foreign import Foreign
from regard.text.tokenizer import Tokenizer

NORMAL, CONTROL, NAMED, UNUSED, BYTE = 1, 3, 4, 5, 6
RAW_BYTE = re.compile(r"<0x[0-9A-F]{2}>")
FREE = ("trim_offsets", "add_prefix_space")  # of a cut into words: what changes no token here


class Tokens(NamedTuple):
    """What a GGUF file says of its tokens, and where ours stand among them."""

    names: list[str]
    kinds: list[int]
    theirs: list[int]
    """Which of theirs each of ours is."""
    rows: list[int]
    """Which of ours each of theirs is."""
    special: dict[str, int]
    data: dict[str, Any]
    """The tokenizers library's file."""

    def write(self, file: Any) -> None:
        by_bytes = not self.data["model"].get("byte_fallback")
        file.add_tokenizer_model("gpt2" if by_bytes else "llama")
        file.add_token_list(self.names)
        file.add_token_types(self.kinds)
        merges = [pair.split(" ", 1) if isinstance(pair, str) else pair for pair in self.data["model"]["merges"]]
        if by_bytes:
            file.add_tokenizer_pre(cut_of(self.data))
            file.add_token_merges([" ".join(pair) for pair in merges])
        else:  # what is merged first has the highest score
            ranks: dict[str, int] = {}
            for pair in merges:
                ranks.setdefault("".join(pair), len(ranks) + 1)
            file.add_token_scores([-float(ranks.get(name, 0)) for name in self.names])
            file.add_bool("tokenizer.ggml.add_space_prefix", "Prepend" in json.dumps(self.data["normalizer"]))
        for name, number in self.special.items():
            file.add_uint32(f"tokenizer.ggml.{name}_token_id", number)
        file.add_add_bos_token("bos" in self.special)  # as we read every text behind its start
        file.add_add_eos_token(False)


def refused(tokenizer: Tokenizer) -> str:
    """Why llama.cpp cannot read as it does, in words; nothing: it can."""
    try:
        cut_of(tokens_of(tokenizer).data)
    except UserError as error:
        return str(error)
    return ""


def tokens_of(tokenizer: Tokenizer) -> Tokens:
    if isinstance(tokenizer, Foreign):
        order, data = tokenizer.order, tokenizer.to_json()["tokenizer"]
    else:
        made = library(tokenizer)
        order, data = [*range(tokenizer.vocabulary)], json.loads(made.to_str()) if made else {}
    model = data.get("model", {})
    if model.get("type") != "BPE":
        raise UserError(f"llama.cpp reads tokens that are merged (bpe, bytes), found {tokenizer.kind}")
    size = 1 + max(number for number in order if number is not None)
    added = {token["id"]: token for token in data.get("added_tokens") or ()}
    known = {number: name for name, number in model["vocab"].items()} | {
        number: token["content"] for number, token in added.items()
    }
    special = {number for number in order[: UNKNOWN + 1] if number is not None}
    control = special | {number for number, token in added.items() if token.get("special")}

    def kind(number: int) -> int:
        if number not in known:
            return UNUSED
        if number in control:
            return CONTROL
        is_byte = model.get("byte_fallback") and RAW_BYTE.fullmatch(known[number])
        return NAMED if number in added else BYTE if is_byte else NORMAL

    rows = [0] * size
    for ours, number in enumerate(order):
        if number is not None:
            rows[number] = ours  # of start and stop that are one token, the later: it is the one that is said
    roles = {"bos": START, "eos": STOP, "padding": PADDING, "unknown": UNKNOWN}
    return Tokens(
        [known.get(number, f"<unused {number}>") for number in range(size)],
        [kind(number) for number in range(size)],
        [-1 if number is None else number for number in order],
        rows,
        {name: number for name, ours in roles.items() if (number := order[ours]) is not None},
        data,
    )


def cut_of(data: dict[str, Any]) -> str:
    """What llama.cpp calls the way in which a text is cut into words before they are merged."""
    if data["model"].get("byte_fallback"):
        return ""
    if data.get("normalizer") not in (None, {"type": "NFC"}):
        raise UserError("llama.cpp changes no text before it is cut into words, and this tokenizer does")
    for cut in CUTS:
        if _plain(byte_level_bpe({}, [], cut)["pre_tokenizer"]) == _plain(data.get("pre_tokenizer")):
            return cut
    raise UserError("llama.cpp has no name for the way in which this tokenizer cuts a text into words")


def _plain(part: Any) -> Any:
    if isinstance(part, dict):
        return {key: _plain(value) for key, value in part.items() if key not in FREE}
    return [_plain(one) for one in part] if isinstance(part, list) else part
