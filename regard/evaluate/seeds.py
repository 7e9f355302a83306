"""Figures of several seeds: each, their mean, how far they spread, and where the mean of many would be."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from regard.errors import counted
from regard.evaluate.judge import Figures
from regard.metrics.paired import Spread, spread_of


@dataclass(frozen=True, repr=False)
class SeedFigures:
    """Figures by the name of the run that has them."""

    each: Mapping[str, Figures]

    @property
    def spreads(self) -> dict[str, Spread]:
        """Over seeds, by figure."""
        first = next(iter(self.each.values()))
        names = [name for name, value in first.items() if isinstance(value, float)]
        return {name: spread_of([figures[name] for figures in self.each.values()]) for name in names}

    def __repr__(self) -> str:
        first = next(iter(self.each.values()))
        rows = [["", *self.each, "mean", "deviation", "95 % of the mean"]]
        for name, (mean, deviation, interval) in self.spreads.items():
            seeds = [f"{figures[name]:,.4f}" for figures in self.each.values()]
            around = f"{interval.low:,.4f} to {interval.high:,.4f}" if interval else ""
            rows.append([name, *seeds, f"{mean:,.4f}", "" if deviation is None else f"{deviation:,.4f}", around])
        wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(f"{word:>{w}}" for word, w in zip(row[1:], wide[1:], strict=True)) for row in rows]
        named = [f"{row[0]:<{wide[0]}}  {line}".rstrip() for row, line in zip(rows, lines, strict=True)]
        return "\n".join([f"data: {first['data']}, {counted(len(self.each), 'seed')}", *named])

    def to_json(self) -> dict[str, Any]:
        spreads = {name: spread._asdict() for name, spread in self.spreads.items()}
        return {"seeds": dict(self.each), "over_seeds": spreads}
