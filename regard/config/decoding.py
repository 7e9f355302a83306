"""What can be wished of decoding (its options)."""

from dataclasses import dataclass
from typing import Literal

from regard.boundaries import stands_in
from regard.config.settings import Settings, above_zero, at_least, fraction, share
from regard.errors import UserError

BATCH = 32
"""Texts computed together, unless another number is wished for."""


@dataclass(frozen=True, kw_only=True)
class Sampling(Settings):
    """Which tokens are drawn, and how boldly."""

    temperature: float = above_zero(1.0, "for always the best token choose argmax")
    """For sample: scores are divided by it; below 1 safer, above 1 more surprising."""
    top_k: int = at_least(0, 0, "0 keeps every token")
    """For sample: only so many of the most probable tokens, and those equal to the last of them; 0: all."""
    top_p: float = share(1.0, "1 keeps every token")
    """For sample: only the most probable tokens that together hold this share of what top_k leaves (nucleus)."""
    min_p: float = fraction(0.0, "0 keeps every token")
    """For sample: only tokens with at least this share of the best one's probability."""


@dataclass(frozen=True)
class Writing(Sampling):
    """How to go on with a text."""

    length: int = at_least(1, 500)
    """Tokens to write at most; fewer where the model ends the text."""
    choose: Literal["sample", "argmax", "beam"] = "sample"
    """Draw each token, always take the most probable one, or look for the most probable text."""
    repetition_penalty: float = above_zero(1.0, "1 changes nothing")
    """Above 1: what stands in the text already becomes less probable."""
    no_repeat: int = at_least(0, 0)
    """No run of so many tokens comes twice; 0: any may."""
    stop: str = ""
    """Writing ends before this text."""
    seed: int = at_least(0, 0)
    """For sample: the same seed, the same text. The next text has the next seed."""
    number: int = at_least(1, 1)
    """How many texts; several are shown one after the other under their seeds."""
    beam: int = at_least(1, 5)
    """For beam: how many hypotheses are followed at once."""

    def check(self) -> None:
        if self.choose == "beam" and self.number > self.beam:
            raise UserError(
                f"number ({self.number}) must not be above beam ({self.beam}), which finds no more; widen it"
            )
        if self.choose == "argmax" and self.number > 1:
            raise UserError(f"argmax always gives the same text, found number = {self.number}; use sample or beam")


@dataclass(frozen=True)
class Search(Settings):
    """How to look for a translation."""

    beam: int = at_least(1, 5)
    """How many hypotheses are followed at once; 1: always the most probable token."""
    length_penalty: float | Literal["average"] = 0.6
    """α of ((5 + n) / 6)^α, by which Σ log p is divided so that short ones do not win for being short; 0: nothing;
    average: the mean over the tokens."""
    n_best: int = at_least(1, 1)
    """How many answers to each line or picture, at most as many as the beam is wide."""
    min_length: int = at_least(0, 0)
    """Tokens of an answer at least, its prefix included."""
    max_length: int = at_least(0, 0)
    """Tokens of an answer at most; 0: twice the source's and 20 more, 60 for a picture."""
    no_repeat: int = at_least(0, 0)
    """No run of so many tokens comes twice; 0: any may."""
    prefix: str = ""
    """How every answer begins."""
    must: tuple[str, ...] = ()
    """Words and phrases that must appear, each by itself and not inside a longer word."""
    never: tuple[str, ...] = ()
    """Words and phrases that must not; inside a longer word they may."""

    def check(self) -> None:
        penalty = self.length_penalty
        if penalty != "average" and not (isinstance(penalty, int | float) and penalty >= 0):
            raise UserError(f"length_penalty must be a number from 0 up or 'average', found {penalty}")
        if self.n_best > self.beam:
            raise UserError(
                f"n_best ({self.n_best}) must not be above beam ({self.beam}), which finds no more; widen it"
            )
        if self.max_length and self.min_length > self.max_length:
            raise UserError(f"min_length ({self.min_length}) must not be above max_length ({self.max_length})")
        if any(not phrase.strip() for phrase in (*self.must, *self.never)):
            raise UserError("must and never want words, found an empty one; leave it out")
        for banned in self.never:
            for wanted in self.must:
                if stands_in(banned, wanted):
                    raise UserError(f"'{wanted}' must appear and '{banned}' must not; drop one of the two")
            if stands_in(banned, self.prefix):
                raise UserError(
                    f"every answer begins with '{self.prefix}' and must not have '{banned}'; drop one of the two"
                )
