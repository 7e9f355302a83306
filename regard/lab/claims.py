"""All claims by name, in the order of the notes. Each is imported when it is asked for: names alone want no torch."""

from collections.abc import Iterator, Mapping
from importlib import import_module
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

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


CLAIMS: Mapping[str, "Claim"] = _Claims()
