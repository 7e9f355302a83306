"""Tokenizers that are kept as lists of tokens, as the tokenizers library would write them."""

from collections.abc import Mapping, Sequence
from typing import Any

BLANK = "▁"
CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
DIGITS = {"type": "Digits", "individual_digits": True}
PATTERNS = {
    "llama-bpe": CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}" + REST,
    "qwen2": CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + REST,
}
CUTS = ("gpt-2", "smollm", *PATTERNS)
"""How a text is cut into words before they are merged, by llama.cpp's names."""


def byte_level_bpe(vocab: Mapping[str, int], merges: Sequence[str], cut: str = "gpt-2") -> dict[str, Any]:
    """GPT-2's and its descendants': runs of bytes. (Radford et al. 2019)"""
    assert cut in CUTS, cut
    by_bytes: dict[str, Any] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    cutting = by_bytes
    if cut in PATTERNS:
        split = {"type": "Split", "pattern": {"Regex": PATTERNS[cut]}, "behavior": "Isolated", "invert": False}
        cutting = {"type": "Sequence", "pretokenizers": [split, {**by_bytes, "use_regex": False}]}
    elif cut == "smollm":
        cutting = {"type": "Sequence", "pretokenizers": [DIGITS, by_bytes]}
    pairs = [merge.split(" ", 1) for merge in merges if " " in merge]
    model = {"type": "BPE", "vocab": dict(vocab), "merges": pairs, "ignore_merges": cut == "llama-bpe"}
    normalizer = {"type": "NFC"} if cut == "qwen2" else None
    return _library(model, normalizer, cutting, by_bytes)


def word_pieces(names: Sequence[str], lower: bool) -> dict[str, Any]:
    """BERT's: words, and pieces of words that begin with ##. (Schuster and Nakajima 2012)"""
    model = {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        "vocab": {name: number for number, name in enumerate(names)},
    }
    normalizer = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None}
    return _library(
        model,
        {**normalizer, "lowercase": lower},
        {"type": "BertPreTokenizer"},
        {"type": "WordPiece", "prefix": "##", "cleanup": False},
    )


def sentence_pieces(names: Sequence[str], scores: Sequence[float], unknown_token: str, begins: bool) -> dict[str, Any]:
    """Llama's: pieces of text whose blanks are ▁, merged by their scores; what is in none is spelled in bytes.

    (Kudo and Richardson 2018) `begins`: a blank stands in front of every text.
    """
    vocab = {name: number for number, name in enumerate(names)}
    model = {
        "type": "BPE",
        "vocab": vocab,
        "merges": merges_by_score(vocab, scores),
        "byte_fallback": True,
        "fuse_unk": True,
        "unk_token": unknown_token or None,
    }
    steps = [{"type": "Prepend", "prepend": BLANK}] if begins else []
    blanks = {"type": "Replace", "pattern": {"String": " "}, "content": BLANK}
    back = {"type": "Replace", "pattern": {"String": BLANK}, "content": " "}
    strip = [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if begins else []
    decoder = {"type": "Sequence", "decoders": [back, {"type": "ByteFallback"}, {"type": "Fuse"}, *strip]}
    return _library(model, {"type": "Sequence", "normalizers": [*steps, blanks]}, None, decoder)


def single_tokens(names: Sequence[str], letters: bool) -> dict[str, Any]:
    """A list of letters, or of words with blanks between them; what is not in it is unknown."""
    vocab: dict[str, int] = {}
    for number, name in enumerate(names):
        vocab.setdefault(name, number)
    model = {"type": "WordLevel", "vocab": vocab, "unk_token": "<unk>"}
    each = {"type": "Split", "pattern": {"Regex": r"[\s\S]"}, "behavior": "Isolated", "invert": False}
    return _library(
        model, None, each if letters else {"type": "WhitespaceSplit"}, {"type": "Fuse"} if letters else None
    )


def merges_by_score(vocab: Mapping[str, int], scores: Sequence[float]) -> list[list[str]]:
    """Every pair of tokens that makes a third, the one with the highest score first."""
    found = []
    for name, number in vocab.items():
        pairs = ((name[:cut], name[cut:]) for cut in range(1, len(name)))
        found += [(-scores[number], number, left, right) for left, right in pairs if left in vocab and right in vocab]
    return [[left, right] for *_, left, right in sorted(found)]


def _library(model: dict[str, Any], normalizer: Any, cut: Any, decoder: Any) -> dict[str, Any]:
    return {"version": "1.0", "normalizer": normalizer, "pre_tokenizer": cut, "decoder": decoder, "model": model}
