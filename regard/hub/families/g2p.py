"""g2p-en: how an English word is said, letter by letter. (Park and Kim 2019)"""

from typing import Any

from regard.config import Recurrent, Seq2Seq
from regard.errors import UserError
from regard.hub.opened import Opened, Ways, embedding, never_said
from regard.hub.package import Package
from regard.hub.ways import Named, NeverSaid, Ordered
from regard.text.foreign import Foreign


def _sounds() -> list[str]:
    """Those of CMUDict, vowels with their stress; one stands there without."""
    vowels = "AA AE AH AO AW AY EH ER EY IH IY OW OY UH UW"
    others = "B CH D DH F G HH JH K L M N NG P R S SH T TH V W Y Z ZH"
    stressed = [f"{vowel}{stress}" for vowel in vowels.split(" ") for stress in (0, 1, 2)]
    return sorted([*stressed, *others.split(" "), "UW"])


LETTERS = ("<pad>", "<unk>", "</s>", *"abcdefghijklmnopqrstuvwxyz")
SOUNDS = ("<pad>", "<unk>", "<s>", "</s>", *_sounds())


def opened(package: Package) -> Opened:
    """A GRU reads the letters, another begins with its last state and writes the sounds; no attention."""
    size = package.tensors.read("enc_emb").shape[-1]
    if size != package.tensors.read("enc_w_hh").shape[-1]:
        raise UserError(f"enc_emb has rows of {size} numbers, which must be as many as the GRU has")
    cells = Recurrent("gru", width=size, layers=1, embedding="plain", dropout=0.0)
    letters = Foreign(_library(LETTERS, {"type": "Split", "pattern": {"String": ""}}), (0, None, 2, 1), len(LETTERS))
    sounds = Foreign(_library(SOUNDS, {"type": "WhitespaceSplit"}), (0, 2, 3, 1), len(SOUNDS))
    ways = embedding(letters, "enc_emb", "encoder.") | embedding(sounds, "dec_emb", "decoder.")
    ways |= _gru("encoder.layer.layers.0", "enc") | _gru("decoder.layer.decoder.layers.0", "dec")
    ways["decoder.head.W.weight"] = Ordered(Named("fc_w"), tuple(sounds.order))
    ways["decoder.head.W.bias"] = NeverSaid(Ordered(Named("fc_b"), tuple(sounds.order)), never_said(sounds))
    return Opened(Seq2Seq(cells, cells, context="none"), ways, sounds, letters)


def _gru(ours: str, theirs: str) -> Ways:
    parts = {"W_hx": "ih", "W_hh": "hh"}
    weights: Ways = {f"{ours}.{name}.weight": Named(f"{theirs}_w_{their}") for name, their in parts.items()}
    return weights | {f"{ours}.{name}.bias": Named(f"{theirs}_b_{their}") for name, their in parts.items()}


def _library(names: tuple[str, ...], cut: dict[str, Any]) -> dict[str, Any]:
    """Words of a list, as the tokenizers library would write it."""
    if cut["type"] == "Split":
        cut = {**cut, "behavior": "Isolated", "invert": False}
    vocab = {name: number for number, name in enumerate(names)}
    return {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"} if cut["type"] == "Split" else None,
        "pre_tokenizer": cut,
        "decoder": {"type": "Fuse"} if cut["type"] == "Split" else None,
        "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "<unk>"},
    }
