"""What several claims share: short recipes, small models, how right an answer is, and how numbers are drawn."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, pairwise
from random import Random
from statistics import mean
from typing import Any

from regard.config import Cell, Data, ModelConfig, PositionScheme, Recipe, Recurrent, Text, Train, Transformer, Where
from regard.data.examples import Split
from regard.lab.claim import Numbers
from regard.look.pictures.style import INK, LINES
from regard.metrics.text import edit_distance
from regard.runs import Run
from regard.tasks import TEXT

STYLES = ("o-", "s--", "^-.", "D:", "v-", "P--", "X-.")
MARKED = 12  # points of a line that get a mark each, at most
WORDS, CHARACTERS = Text("words"), Text("characters")


# ---- training


def recipe(
    where: Where,
    model: ModelConfig,
    steps: int,
    *,
    batch: int = 1024,
    rate: float = 0.004,
    length: int = 64,
    text: Text = WORDS,
) -> Recipe:
    """A short training, looked at four times; the best look's weights are handed on."""
    train = Train(
        steps=steps,
        batch=batch,
        rate=rate,
        length=length,
        warmup=steps // 10,
        evaluate=max(1, steps // 4),
        mixed_precision="float32",  # a verdict should not depend on what the machine is fast at
    )
    return Recipe(Data(where), model=model, text=text, train=train)


def cells(kind: Cell, width: int, *, both_ways: bool = False) -> Recurrent:
    """One recurrent layer, with nothing dropped: what is learnt here is a rule, and there is no end of examples."""
    return Recurrent(kind, width=width, layers=1, dropout=0.0, bidirectional=both_ways)


def blocks(width: int, layers: int, heads: int, positions: PositionScheme = "rotary") -> Transformer:
    """Transformer blocks, with nothing dropped."""
    return Transformer(width=width, layers=layers, heads=heads, positions=positions, dropout=0.0)


def held_out(run: Run, figure: str = "loss") -> float:
    """A figure on the held-out part at the best look, the one whose weights the run has."""
    return float([entry["held_out"][figure] for entry in run.folder.read_log() if entry.get("best")][-1])


def curve(run: Run) -> tuple[list[int], list[float]]:
    """The training loss against the step."""
    entries = run.folder.read_log()
    return [entry["step"] for entry in entries], [entry["loss"] for entry in entries]


# ---- data


def letters(random: Random, length: int, alphabet: str = "abcdefghijklmnop") -> list[str]:
    """Letters drawn one by one."""
    return random.choices(alphabet, k=length)


def marked(random: Random, far: int, length: int, alphabet: str = "abcdefgh") -> tuple[str, str]:
    """The letter behind the mark, `far` places from the end; and the text."""
    text = letters(random, length, alphabet)
    place = length - far
    return text[place], " ".join([*text[:place], "*", *text[place:]])


def python_source(split: Split, size: int) -> str:
    """So many characters of the source of Python's standard library."""
    pieces = chain.from_iterable(TEXT.read("python", split))
    return "".join(islice(chain.from_iterable(pieces), size))


def tagged(sentences: Iterable[tuple[Sequence[str], Sequence[str]]]) -> Iterator[str]:
    """The lines of a file of sentences: `word<TAB>tag`, and a blank one behind each sentence."""
    for words, tags in sentences:
        yield from (f"{word}\t{tag}" for word, tag in zip(words, tags, strict=True))
        yield ""


def looked_up(words: Sequence[str], back: Sequence[int]) -> list[str]:
    """For every word those that stand so many places before it, joined; `.` before the beginning."""
    return ["".join(words[t - k] if t >= k else "." for k in back) for t in range(len(words))]


# ---- how right


def correctness(said: str, wanted: str) -> float:
    """1 − the fewest changes that make one into the other, over the words wanted; 0 at worst."""
    changes = edit_distance(said.split(), wanted.split())
    return max(0.0, 1 - changes / max(len(wanted.split()), 1))


def translated(run: Run, pairs: Sequence[tuple[str, str]]) -> list[float]:
    """How right the most probable answer to each source is."""
    said = run.translate([source for source, _ in pairs], beam=1)
    return [correctness(one, wanted) for one, (_, wanted) in zip(said, pairs, strict=True)]


def classified(run: Run, examples: Sequence[tuple[str, str]]) -> float:
    """Which share of (label, text) gets its label."""
    found = run.classify([text for _, text in examples])
    return mean(float(next(iter(likely)) == label) for (label, _), likely in zip(examples, found, strict=True))


def tags_right(run: Run, sentences: Sequence[tuple[Sequence[str], Sequence[str]]]) -> float:
    """Which share of all words gets its tag."""
    found = run.tag([words for words, _ in sentences])
    pairs = zip(found, (tags for _, tags in sentences), strict=True)
    return mean(float(ours == theirs) for said, tags in pairs for ours, theirs in zip(said, tags, strict=True))


def means(values: Iterable[float], groups: Iterable[int], edges: Sequence[int]) -> list[float]:
    """The mean of the values whose group lies in [edge, next edge), for each; every one must have some."""
    found = list(zip(values, groups, strict=True))
    return [mean(value for value, group in found if low <= group < high) for low, high in pairwise(edges)]


def seconds(call: Callable[[], object], repeats: int = 5) -> float:
    """The shortest of several times: what the machine does besides only ever adds to it."""
    found = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        found.append(time.perf_counter() - began)
    return min(found)


# ---- drawing


def draw_lines(axes: Any, seeds: Sequence[Numbers], curves: str, x: str) -> None:
    """Every list in the table `curves` against the list `x`: a line for the mean, and each seed as a thin one."""
    for place, name in enumerate(seeds[0][curves]):
        colour, style = LINES[place % len(LINES)], STYLES[place % len(STYLES)]
        few = len(seeds[0][x]) <= MARKED
        each = [numbers[curves][name] for numbers in seeds]
        if len(each) > 1:
            for numbers, line in zip(seeds, each, strict=True):
                axes.plot(numbers[x], line, "-", color=colour, linewidth=0.6, alpha=0.5)
        average = [mean(points) for points in zip(*each, strict=True)]
        axes.plot(seeds[0][x], average, style if few else style[1:], color=colour, label=name, markersize=4.5)
    axes.legend(frameon=False, fontsize=9, loc="best")


def by_doubling(axes: Any, values: Sequence[float]) -> None:
    """A scale of powers along x, with these values written out."""
    axes.set_xscale("log")
    axes.set_xticks(values, [f"{value:,g}" for value in values])
    axes.minorticks_off()


def draw_times(figure: Any, seeds: Sequence[Numbers], x: str, y: str) -> None:
    """The table `milliseconds` against the list `lengths`, both on scales of powers."""
    axes = figure.subplots()
    draw_lines(axes, seeds, "milliseconds", "lengths")
    by_doubling(axes, seeds[0]["lengths"])
    axes.set(yscale="log", xlabel=x, ylabel=y)
    lowest, highest = axes.get_ylim()
    ticks = [digit * 10.0**power for power in range(-4, 6) for digit in (1, 2, 5)]
    axes.set_yticks([tick for tick in ticks if lowest <= tick <= highest])
    axes.yaxis.set_major_formatter("{x:,g}")
    axes.minorticks_off()


def draw_bars(axes: Any, seeds: Sequence[Numbers], names: Mapping[str, str]) -> None:
    """A bar for the mean of each number, and a dot for every seed. `names`: number → what stands under it."""
    for place, number in enumerate(names):
        values = [numbers[number] for numbers in seeds]
        axes.bar(place, mean(values), width=0.62, color=LINES[place % len(LINES)], alpha=0.85)
        if len(values) > 1:
            axes.plot([place] * len(values), values, "o", color=INK, markersize=3.5)
    axes.set_xticks(range(len(names)), list(names.values()))
