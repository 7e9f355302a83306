"""All claims by name, in the order of the notes. Each is imported when it is asked for: names alone want no torch."""

import ast
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regard.lab.claim import Claim


class _Claims(Mapping[str, "Claim"]):
    """A claim has a file of its own, called as it is."""

    names = (
        "vanishing",
        "bottleneck",
        "alignments",
        "mixing",
        "saturation",
        "keys-and-values",
        "permutation",
        "positions",
        "no-mask",
        "all-at-once",
        "cache",
        "several-heads",
        "depth",
        "likely-text",
        "forcing",
        "cells",
        "stop-vector",
        "scaling-law",
    )

    def __getitem__(self, name: str) -> "Claim":
        if name not in self.names:
            raise KeyError(name)
        found: Claim = import_module(f"regard.lab.{name.replace('-', '_')}").CLAIM
        return found

    def sentence(self, name: str) -> str:
        """What a claim says, read from its file as it is written there."""
        tree = ast.parse(Path(__file__).with_name(f"{name.replace('-', '_')}.py").read_text(encoding="utf-8"))
        said = (
            ast.literal_eval(one.value) for one in ast.walk(tree) if isinstance(one, ast.keyword) and one.arg == "says"
        )
        return str(next(said))

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


CLAIMS = _Claims()
