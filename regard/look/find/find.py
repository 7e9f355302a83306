"""Which cell or head follows a property of the text, and is it more than chance, the architecture, or an echo?

Units are chosen on the first part of a text; every figure is of the second, which had no say in the choice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float16
from numpy.typing import NDArray

from regard.config.looking import Effort
from regard.errors import UserError, counted
from regard.look.find.ablation import Clamp, Effect, effects
from regard.look.find.activations import Stream, Watcher, signals, streams_of
from regard.look.find.labelled import LabelledText
from regard.look.find.ngrams import last_characters
from regard.look.find.passages import Passage
from regard.look.find.properties import PROPERTIES, Property
from regard.look.find.statistics import (
    AS_THEY_ARE,
    AUROC,
    Measure,
    adjusted,
    average_precision,
    best_threshold,
    f1,
    interval,
    measure_for,
    midranks,
)
from regard.models.model import Model
from regard.text.tokenizer import Tokenizer

LEAST = 1000  # tokens of a part
AT_ONCE = 150_000_000  # activations of a part that are held, two bytes each; of more, those of every n-th position
UNTRAINED = 32_768  # tokens of a part that the untrained model reads: it is a baseline, no candidate
TOGETHER = 128  # units whose ranks are held at once
SURE = 0.05
MORE = 0.001  # by which the lower end of an interval must lie above a control


@dataclass(frozen=True)
class Subject:
    """All that has to be known of a run: its language model, the same with new weights, and how it reads."""

    model: Model
    untrained: Model
    tokenizer: Tokenizer


@dataclass(frozen=True)
class Finding:
    """One unit that was chosen on the first part, and how it does on the held-out one."""

    property: str
    unit: str
    side: str
    """Over whose tokens it runs: the text of a language model; of others, their source or their target."""
    measure: str
    score: float
    """Held out. A unit that is low inside counts as one that is high: `sign` says which."""
    interval: tuple[float, float]
    sign: int
    base_rate: float | None
    """The share of positions inside; for True or False alone, like the next three."""
    average_precision: float | None
    f1: float | None
    threshold: float | None
    null: float
    """What the best of all units searched reaches in 95 % of the shifts."""
    p: float
    q: float
    searched: int
    untrained: float | None
    """The held-out score of the best unit of the same model with new weights; None: too rare to say."""
    last_characters: float
    """The held-out score of the best prediction from the last k characters; in a source, from the nearest on both
    sides."""
    k: int
    effect: Effect
    mean: float
    spread: float
    stream: Stream = field(repr=False)

    @cached_property  # `property` is a field here
    def named(self) -> str:
        """The unit, with its side where there are two."""
        return self.unit if self.side == "text" else f"{self.side}: {self.unit}"

    @cached_property
    def failed(self) -> tuple[str, ...]:
        """The controls that it fails."""
        low = self.interval[0]
        checks = {
            "null": self.q <= SURE,
            "untrained": self.untrained is None or low > self.untrained + MORE,
            "characters around" if self.side == "source" else "last characters": low > self.last_characters + MORE,
            "effect": self.effect.stands_out,
        }
        return tuple(name for name, passed in checks.items() if not passed)


class _Chosen(NamedTuple):
    """A unit as the first part knows it."""

    stream: Stream
    place: int
    sign: int
    threshold: float | None
    mean: float
    spread: float
    clamp: Clamp
    controls: tuple[Clamp, ...]


class _Part(NamedTuple):
    """One part of the text, and its labels at every n-th position, n = `every`."""

    passage: Passage
    every: int
    measures: dict[str, Measure]
    """Of the labels at these positions."""


def occurring(reading: LabelledText, properties: Mapping[str, Property]) -> dict[str, Property]:
    """Those whose label changes in both parts."""
    return {
        name: found for name, found in properties.items() if not _lacking(name, reading.labels(name, found), reading)
    }


def find_on_sides(
    subject: Subject,
    readings: Sequence[LabelledText],
    properties: Mapping[str, Property],
    effort: Effort,
    watch: Watcher,
) -> list[Finding]:
    """On each side of a model the units that run over it; without properties, all of ours that occur there.

    What occurs on one side alone is looked for there alone.
    """
    wanted = properties or PROPERTIES
    here = [(reading, occurring(reading, wanted)) for reading in readings]
    able = [one for one in here if one[1] and streams_of(subject.model, effort.units, one[0].passage)]
    if len(readings) == 1 or not able:
        return find(subject, readings[0], properties or here[0][1], effort, watch)
    findings = [one for reading, known in able for one in find(subject, reading, known, effort, watch)]
    return _adjusted(findings)


def find(
    subject: Subject,
    reading: LabelledText,
    properties: Mapping[str, Property],
    effort: Effort,
    watch: Watcher,
) -> list[Finding]:
    """For each property the units that follow it best, best first, each with what it was held against."""
    passage, middle = reading.passage, reading.middle
    total, side = len(passage), passage.side
    if total < 2 * LEAST:
        raise UserError(
            f"the {side} has {counted(total, 'token')}, {2 * LEAST} are wanted: units are chosen on one half and "
            "judged on the other; give a longer text, such as --data FILE"
        )
    labels = {name: reading.labels(name, found) for name, found in properties.items()}
    for name, found in labels.items():
        if lacking := _lacking(name, found, reading):
            raise UserError(lacking)
    streams = streams_of(subject.model, effort.units, passage)
    if not streams:
        raise UserError(f"no units of {', '.join(effort.units) or 'this model'} run over the {side}; leave out --side")
    every = -(-len(streams) * max(middle, total - middle) // AT_ONCE)
    first, second = (_part(reading, labels, ends, every) for ends in ((0, middle), (middle, total)))
    chosen = _choose(subject, first, streams, effort, watch)
    values = signals(subject.model, second.passage, streams, every, watch)
    nulls = _nulls(second, values, effort)
    untrained = _untrained(subject, reading, labels, effort, watch)
    codes = reading.contexts()
    findings = []
    for name in labels:
        whole = [measure_for(labels[name][:middle]), measure_for(labels[name][middle:])]
        echo, k = last_characters(
            (whole[0], [code[:middle] for code in codes]), (whole[1], [code[middle:] for code in codes])
        )
        held = labels[name][middle:]
        matters = held if held.dtype == bool else np.ones(len(held), bool)
        clamps = {one.clamp: one.controls for one in chosen[name]}
        caused = effects(subject.model, second.passage, matters, clamps, watch)
        for one in chosen[name]:
            scored = _scored(one, second, name, values[one.place], nulls[name], effort.seed)
            findings.append(
                Finding(
                    property=name, unit=str(one.stream), side=side, **scored, q=1.0, searched=len(streams),
                    sign=one.sign, threshold=one.threshold, untrained=untrained[name], last_characters=echo, k=k,
                    effect=caused[one.clamp], mean=one.mean, spread=one.spread, stream=one.stream,
                )
            )  # fmt: skip
    return _adjusted(findings)


def _adjusted(findings: Sequence[Finding]) -> list[Finding]:
    """With the q that each has among all of them."""
    chances = adjusted([one.p for one in findings])
    return [replace(one, q=q) for one, q in zip(findings, chances, strict=True)]


def _lacking(name: str, labels: NDArray[Any], reading: LabelledText) -> str:
    """Why nothing can be said about a label, or nothing."""
    for part, here in (("first", labels[: reading.middle]), ("second", labels[reading.middle :])):
        if (here == here[:1]).all():
            how = "is the same everywhere"
            if labels.dtype == bool:
                how = "is everywhere" if here[:1].all() and len(here) else "never occurs"
            return (
                f"property '{name}' {how} in the {part} half of the {reading.passage.side}, so nothing can follow it; "
                "give another text"
            )
    return ""


def _part(reading: LabelledText, labels: Mapping[str, NDArray[Any]], ends: tuple[int, int], every: int) -> _Part:
    measures = {name: measure_for(found[slice(*ends)][::every]) for name, found in labels.items()}
    return _Part(reading.passage.cut(*ends), every, measures)


def _choose(
    subject: Subject, part: _Part, streams: list[Stream], effort: Effort, watch: Watcher
) -> dict[str, list[_Chosen]]:
    """For each property the units that follow it best on this part, with all that is learnt of them there."""
    values = signals(subject.model, part.passage, streams, part.every, watch)
    scores = _all_scores(part, values)
    means = np.array([row.mean(dtype=np.float64) for row in values])
    spreads = np.array([row.std(dtype=np.float64) for row in values])
    found = {}
    for name, measure in part.measures.items():
        beyond = scores[name] - measure.chance
        places = np.argsort(-np.abs(beyond))[: effort.number]
        found[name] = [
            _Chosen(
                streams[place],
                int(place),
                sign := -1 if beyond[place] < 0 else 1,
                _threshold(measure, values[place], sign),
                float(means[place]),
                float(spreads[place]),
                _clamp(streams[place], means[place]),
                _alike(int(place), set(places.tolist()), streams, means, spreads, effort.controls),
            )
            for place in places
        ]
    return found


def _clamp(stream: Stream, mean: float) -> Clamp:
    """A cell is held at its mean; a head is switched off."""
    return Clamp(stream.unit, 0.0 if stream.unit.head else float(mean))


def _alike(
    place: int, listed: set[int], streams: list[Stream], means: NDArray[Any], spreads: NDArray[Any], number: int
) -> tuple[Clamp, ...]:
    """Other units of the same tap with the nearest variance; of all taps, where there are too few."""
    mine = streams[place]
    others = [other for other in range(len(streams)) if other not in listed and streams[other].what == mine.what]
    near = sorted(others, key=lambda other: abs(spreads[other] - spreads[place]))
    same = [other for other in near if streams[other].unit.path == mine.unit.path]
    return tuple(_clamp(streams[other], means[other]) for other in (same if len(same) >= number else near)[:number])


def _threshold(measure: Measure, values: Float16[np.ndarray, " N"], sign: int) -> float | None:
    return sign * best_threshold(sign * values, measure.labels) if isinstance(measure, AUROC) else None


def _all_scores(part: _Part, values: Float16[np.ndarray, "U N"]) -> dict[str, NDArray[Any]]:
    """The scores of all units for each property; ranks are computed once."""
    found: dict[str, list[NDArray[Any]]] = {name: [] for name in part.measures}
    for begin in range(0, len(values), TOGETHER):
        ranks = midranks(values[begin : begin + TOGETHER])
        for name, measure in part.measures.items():
            found[name].append(measure.scores(ranks, AS_THEY_ARE)[0])
    return {name: np.concatenate(scores) for name, scores in found.items()}


def _nulls(part: _Part, values: Float16[np.ndarray, "U N"], effort: Effort) -> dict[str, NDArray[Any]]:
    """How far from chance the best of all units is under each move of each label, in whichever direction."""
    moves = part.passage.moves(part.every, effort.shifts, effort.seed)
    found = {name: np.zeros(len(moves)) for name in part.measures}
    for begin in range(0, len(values), TOGETHER):
        ranks = midranks(values[begin : begin + TOGETHER])
        for name, measure in part.measures.items():
            beyond = np.abs(measure.scores(ranks, moves) - measure.chance).max(1)
            found[name] = np.maximum(found[name], beyond)
    return found


def _scored(
    one: _Chosen, part: _Part, name: str, values: Float16[np.ndarray, " N"], null: NDArray[Any], seed: int
) -> dict[str, Any]:
    """The figures of a chosen unit on the held-out part."""
    measure = part.measures[name]
    ranks = midranks(one.sign * values[None])
    score = float(measure.scores(ranks, AS_THEY_ARE)[0, 0])
    binary = isinstance(measure, AUROC)
    return {
        "measure": measure.name,
        "score": score,
        "interval": interval(measure, ranks[0], part.passage.blocks(part.every), seed),
        "base_rate": float(measure.labels.mean()) if binary else None,
        "average_precision": average_precision(one.sign * values, measure.labels) if binary else None,
        "f1": f1(one.sign * values >= one.sign * one.threshold, measure.labels) if one.threshold is not None else None,
        "null": float(measure.chance + np.quantile(null, 0.95)),
        "p": (1 + int((null >= score - measure.chance).sum())) / (1 + len(null)),
    }


def _untrained(
    subject: Subject, reading: LabelledText, labels: Mapping[str, NDArray[Any]], effort: Effort, watch: Watcher
) -> dict[str, float | None]:
    """For each property the held-out score of the untrained model's best unit, chosen on the first part as well."""
    middle, passage = reading.middle, reading.passage
    ends = [(0, min(middle, passage.boundary(UNTRAINED))), (middle, passage.boundary(middle + UNTRAINED))]
    common = {
        name: found for name, found in labels.items()
        if not any((found[slice(*where)] == found[where[0]]).all() for where in ends)
    }  # fmt: skip
    streams = streams_of(subject.untrained, effort.units, passage)
    every = -(-len(streams) * max(end - begin for begin, end in ends) // AT_ONCE)
    parts = [_part(reading, common, where, every) for where in ends]
    scores = [_all_scores(part, signals(subject.untrained, part.passage, streams, every, watch)) for part in parts]
    found: dict[str, float | None] = dict.fromkeys(labels)
    for name in common:
        chance = parts[0].measures[name].chance
        beyond, held_out = (one[name] - chance for one in scores)
        best = int(np.argmax(np.abs(beyond)))
        found[name] = float(chance + np.sign(beyond[best]) * held_out[best])
    return found
