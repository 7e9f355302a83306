"""What of our Transformer something of another program can hold: by the names and values of our settings."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

from regard.config import LanguageModel, ModelConfig, Seq2Seq, Transformer

FREE = ("kind", "width", "layers", "heads", "inner", "longest", "dropout")  # settings that any engine takes as they are


class Home(NamedTuple):
    """Something of another program that holds a Transformer of ours, of certain settings."""

    title: str
    holds: Mapping[str, Sequence[Any]]
    """What a setting may be; one that is not named must be as it is left out."""
    free: tuple[str, ...] = ()
    """Settings that may be anything."""

    def unmet(self, *stacks: Transformer) -> list[str]:
        """The settings that it cannot hold, in words."""
        wrong = []
        for stack in stacks:
            for one in fields(stack):
                free = one.name in self.free or (one.name in FREE and one.name not in self.holds)
                found, held = getattr(stack, one.name), self.holds.get(one.name, (one.default,))
                if not free and found not in held:
                    wrong.append(f"{one.name} = {_either(held)}, found {_shown(found)}")
        return wrong

    def refusal(self, *stacks: Transformer) -> str:
        """The first setting that it cannot hold, in words; nothing: it holds all."""
        wrong = self.unmet(*stacks)
        return f"{self.title} wants {wrong[0]}" if wrong else ""


def stacks_of(config: ModelConfig) -> tuple[Transformer, ...]:
    """The stacks of a language model or a translator that is made of Transformer blocks alone; else none."""
    stacks = (config.layer,) if isinstance(config, LanguageModel) else ()
    sides = (config.encoder, config.decoder) if isinstance(config, Seq2Seq) else stacks
    found = tuple(side for side in sides if isinstance(side, Transformer))
    return found if len(found) == len(sides) else ()


def nearest(homes: Sequence[Home], *stacks: Transformer) -> Home:
    """The home that holds them, or the one that comes nearest to it."""
    return min(homes, key=lambda home: len(home.unmet(*stacks)))


def _either(values: Sequence[Any]) -> str:
    *others, last = map(_shown, values)
    return f"{', '.join(others)} or {last}" if others else last


def _shown(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value)
