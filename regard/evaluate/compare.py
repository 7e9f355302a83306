"""`regard compare`: is one run better than another on the same examples, or was it chance?"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Any

from regard.config import Where
from regard.config.decoding import Search
from regard.data.corpus import place_of
from regard.data.store import Store
from regard.errors import UserError, counted
from regard.evaluate.judge import ARGMAX, Judged, Judgement, judge
from regard.metrics.paired import Apart, over_examples, over_seeds, spread_of
from regard.metrics.score import FEW, LOWER_IS_BETTER

BY_TOKEN = ("loss", "perplexity", "accuracy")
NAMES = {"bleu": "BLEU", "chrf": "chrF", "cider": "CIDEr", "bits_per_byte": "bits per byte", "exact": "exact answers"}
SURE = 0.05


@dataclass(frozen=True)
class Compared:
    """One figure of two runs, or of two sets of seeds: a value for each."""

    ours: tuple[float, ...]
    theirs: tuple[float, ...]
    over_examples: Apart
    over_seeds: Apart | None

    @property
    def apart(self) -> Apart:
        """What decides: where there are seeds, these."""
        return self.over_seeds or self.over_examples


@dataclass(frozen=True)
class RunsCompared:
    """Two runs, or two sets of seeds, on the same examples."""

    names: tuple[str, str]
    data: str
    units: str
    judged_by: str
    figures: dict[str, Compared]

    @property
    def sentence(self) -> str:
        """What it comes to, in the figure that tells most."""
        found, name = self.figures[self.judged_by], NAMES.get(self.judged_by, self.judged_by)
        seeds = f"{len(found.ours)} and {counted(len(found.theirs), 'seed')}"
        if found.apart.p >= SURE:
            many = f"{seeds} on {self.units}" if found.over_seeds else self.units
            return f"no difference in {name} can be told from {many}: {_said(found.apart)}"
        sign = 1 if found.apart.value > 0 else -1
        better = (sign < 0) == (self.judged_by in LOWER_IS_BETTER)
        between = " to ".join(_short(end) for end in sorted(sign * end for end in found.apart.interval))
        by = f"{_short(abs(found.apart.value))} {name} ({between})"
        return f"{self.names[better]} is better by {by}, {_p(found.apart)}"

    @property
    def caution(self) -> str:
        """What these figures do not say."""
        if any(found.over_seeds for found in self.figures.values()):
            return "over examples: of these weights, by other examples; over seeds: of the recipe, by other seeds"
        return "this is of these weights on other examples; another seed may change as much: train with --seeds 3"

    def table(self) -> list[list[str]]:
        """For people: a headline, and a row for each figure."""
        rows = [["", *self.names, "difference", "95 % over examples", "p"]]
        several = any(found.over_seeds for found in self.figures.values())
        rows[0] += ["95 % over seeds", "p"] if several else []
        for name, found in self.figures.items():
            row = [name, _several(found.ours), _several(found.theirs), f"{found.over_examples.value:+.4f}"]
            for one in (found.over_examples, found.over_seeds)[: 1 + several]:
                row += [_between(one), f"{one.p:.3f}"] if one else ["", ""]
            rows.append(row)
        return rows

    def __repr__(self) -> str:
        table = self.table()
        wide = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
        lines = [f"on {self.units} ({self.data})"]
        for first, *others in table:
            lines.append(f"{first:<{wide[0]}}  " + "  ".join(f"{word:>{w}}" for word, w in zip(others, wide[1:])))  # noqa: B905
        return "\n".join([*(line.rstrip() for line in lines), self.sentence, self.caution])

    def to_json(self) -> dict[str, Any]:
        figures = {name: asdict(found) for name, found in self.figures.items()}
        for name, found in self.figures.items():
            figures[name] |= {
                "over_examples": _json(found.over_examples),
                "over_seeds": _json(found.over_seeds) if found.over_seeds else None,
            }
        about = {"runs": list(self.names), "data": self.data, "units": self.units, "figures": figures}
        return {**about, "sentence": self.sentence, "caution": self.caution}


def compare(
    ours: Sequence[Judged], theirs: Sequence[Judged], where: Where | None = None, search: Search = ARGMAX
) -> RunsCompared:
    """Every figure that means the same for both; a run is a set of one seed. The second less the first."""
    _comparable(ours[0], theirs[0], where)
    sides = [[judge(run, where, search) for run in side] for side in (ours, theirs)]
    first, *others = [one for side in sides for one in side]
    if len(first.scores[ours[0].task.judged_by].parts) < FEW:
        raise UserError(f"{first.units} are too few to compare two runs by; give at least {FEW}")
    for other in others:
        if first.units != other.units or list(first.wanted) != list(other.wanted):
            raise UserError(_other_data(ours[0], theirs[0]))
    unlike = _unlike(ours[0], theirs[0])
    names = [name for name in first.scores if name not in unlike]
    figures = {name: _compared(name, *sides) for name in names}
    called = tuple(str(side[0].folder.path.parent if len(side) > 1 else side[0].folder.path) for side in (ours, theirs))
    return RunsCompared((called[0], called[1]), first.data, first.units, ours[0].task.judged_by, figures)


def _unlike(ours: Judged, theirs: Judged) -> tuple[str, ...]:
    """The figures that mean something else for runs whose tokens are others."""
    one, other = ours.tokenizers[1], theirs.tokenizers[1]
    if one.to_json() == other.to_json():
        return ()
    return BY_TOKEN if one.spells and other.spells else (*BY_TOKEN, "bits_per_byte")


def _compared(name: str, ours: Sequence[Judgement], theirs: Sequence[Judgement]) -> Compared:
    scores = [[judgement.scores[name] for judgement in side] for side in (ours, theirs)]
    values = [tuple(score.value for score in side) for side in scores]
    return Compared(values[0], values[1], over_examples(*scores), over_seeds(*values))


def _comparable(ours: Judged, theirs: Judged, where: Where | None) -> None:
    paths = ours.folder.path, theirs.folder.path
    if ours.task is not theirs.task:
        raise UserError(
            f"{paths[0]} is a {ours.task.title}, {paths[1]} a {theirs.task.title}: no figure means the same for both; "
            "name two runs of one kind"
        )
    if ours.tokenizers[1].cased != theirs.tokenizers[1].cased:
        lower, upper = paths if theirs.tokenizers[1].cased else paths[::-1]
        raise UserError(
            f"{lower} writes without capitals, {upper} with them: no figure means the same for both; "
            "train both with the same text.lower"
        )
    if ours.task.judged_by in _unlike(ours, theirs):
        raise UserError(
            f"{paths[0]} and {paths[1]} have different tokens, of which one cannot spell every word and is not charged "
            "for it: no figure means the same for both; train both with the same [text]"
        )
    places = [place_of(run.recipe.data, "test") for run in (ours, theirs)]
    if where is None and not (places[0][0] and places[0] == places[1]) and (
        any(place for place, _ in places) or _held_out(ours) != _held_out(theirs)
    ):  # fmt: skip
        raise UserError(_other_data(ours, theirs))


def _other_data(ours: Judged, theirs: Judged) -> str:
    return (
        f"{ours.folder.path} and {theirs.folder.path} would be judged by different data, which compares nothing; "
        "name the same for both: --data FILE"
    )


def _held_out(run: Judged) -> str:
    """A short sign of the text that was held out, whatever its tokens are."""
    held, found = run.material.valid, blake2b(digest_size=16)
    for part, tokenizer in zip(held, run.tokenizers[-len(held) :], strict=True):
        if isinstance(part, Store):
            found.update(b"".join(tokenizer.pieces(part.tokens.tolist())) + b"\0")
    return found.hexdigest()


def _json(apart: Apart) -> dict[str, Any]:
    return {"difference": apart.value, "interval": list(apart.interval), "p": apart.p, "test": apart.test}


def _several(values: Sequence[float]) -> str:
    spread = spread_of(values)
    return f"{spread.mean:.4f}" + (f" ± {spread.deviation:.4f}" if spread.deviation is not None else "")


def _between(apart: Apart) -> str:
    return f"{apart.interval.low:+.4f} to {apart.interval.high:+.4f}"


def _said(apart: Apart) -> str:
    return f"{apart.value:+.3g} ({apart.interval.low:+.3g} to {apart.interval.high:+.3g}), {_p(apart)}"


def _p(apart: Apart) -> str:
    return f"p = {apart.p:.3f}" if apart.p >= 0.001 else "p < 0.001"


def _short(value: float) -> str:
    return f"{value:.1f}" if abs(value) >= 1 else f"{value:.2g}"
