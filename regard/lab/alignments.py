"""Attention learns alignments without being taught: its error against gold, and a phrase that changes its order."""

from collections.abc import Sequence
from itertools import combinations, islice
from typing import Any

from regard.config import Seq2Seq, Text
from regard.data.corpora.phrases import Phrase, phrases
from regard.lab.claim import Claim, Mark, Numbers
from regard.lab.common import cells, draw_bars, recipe
from regard.lab.room import Room
from regard.look.align.against_gold import DIAGONAL, UNIFORM, HeadRow, Segmented
from regard.look.align.error_rate import Gold
from regard.look.align.heads import MEAN, PREDICTED, compare, read_alignments
from regard.look.pictures.style import LINES
from regard.runs import Run


def measure(room: Room) -> Numbers:
    longest, width, steps = room.by_effort((10, 96, 650), (40, 256, 6000))
    many, few = room.by_effort((20_000, 150), (100_000, 1000))
    taught = islice(phrases("french", "train", room.seed, longest=longest), many)
    file = room.file("phrases.tsv", (f"{one.source}\t{one.target}" for one in taught))
    model = Seq2Seq(cells("gru", width, both_ways=True), cells("gru", width), tied=True)
    two = Text("words", shared=False)
    run = room.train("run", recipe(file, model, steps, batch=1500, rate=0.006, text=two))
    asked = list(islice(phrases("french", "test", room.seed, longest=longest), few))
    found, baselines = compare(run.model, (run.source_tokenizer, run.tokenizer), [sentences(one) for one in asked])
    errors = {str(one.reading): one.reported.error for one in [*found[:1], *baselines]}
    attention = found[0].reported.error
    return {
        "alignment error, attention": attention,
        "alignment error, diagonal": errors[DIAGONAL],
        "alignment error, uniform": errors[UNIFORM],
        "difference in alignment error, diagonal − attention": errors[DIAGONAL] - attention,
        "drawn": drawn(run, max(asked, key=lambda one: (crossings(one), -len(one.target_words)))),
    }


def sentences(one: Phrase) -> tuple[Segmented, Segmented, Gold]:
    links = frozenset(one.alignment)
    return Segmented(one.source, one.source_words), Segmented(one.target, one.target_words), Gold(links, links)


def crossings(one: Phrase) -> int:
    """How many pairs of links cross: where words come in another order."""
    return sum(1 for (a, b), (c, d) in combinations(one.alignment, 2) if (a - c) * (b - d) < 0)


def drawn(run: Run, one: Phrase) -> dict[str, Any]:
    """Where the run looked for each word of a translation."""
    source, target, gold = sentences(one)
    weights = read_alignments(run.model, (run.source_tokenizer, run.tokenizer), source, target)
    rows = weights[HeadRow(MEAN, PREDICTED)].tolist()
    return {"source": one.source_words, "target": one.target_words, "weights": rows, "gold": sorted(gold.sure)}


def draw(figure: Any, seeds: Sequence[Numbers]) -> None:
    errors, picture = figure.subplots(1, 2, width_ratios=(1, 1.4))
    draw_bars(errors, seeds, {f"alignment error, {name}": name for name in ("attention", "diagonal", "uniform")})
    errors.set(ylabel="alignment error rate", ylim=(0, 1))
    errors.tick_params(axis="x", labelsize=8)
    shown = seeds[0]["drawn"]
    picture.imshow(shown["weights"], cmap="Blues", vmin=0, vmax=1, aspect="auto")
    picture.set_xticks(range(len(shown["source"])), shown["source"], rotation=45, ha="right", fontsize=8)
    picture.set_yticks(range(len(shown["target"])), shown["target"], fontsize=8)
    picture.plot(*zip(*shown["gold"], strict=True), "o", markersize=9, markerfacecolor="none", color=LINES[1])
    picture.set_title("darker: looked at more; circles: gold", fontsize=8)


CLAIM = Claim(
    name="alignments",
    says="Attention learns alignments without being taught",
    equation="e_{t,i} = f_att(s_{t−1}, h_i), a_t = softmax(e_t): never supervised",
    paper="Bahdanau et al. 2015 (figure 3); Och and Ney 2003 (AER)",
    setup="A GRU with additive attention learns English to French, and is never shown an alignment. Each French word "
    "is linked to the English word it looked at most, against gold of the corpus; how a word is read (where it is "
    "predicted or fed) is chosen on one half of the sentences, errors are of the other. Beside it a diagonal, and "
    "chance. Quick: 20,000 phrases of up to 10 words, width 96, 650 updates; full: 100,000 of up to 40 words, width "
    "256, 6000.",
    marks=(
        Mark("alignment error, attention", below=0.35),
        Mark("difference in alignment error, diagonal − attention", above=0.1),
    ),
    measure=measure,
    draw=draw,
    next="`regard align RUN --gold phrases-short:french` on a Transformer: which head aligns best, and by which row?",
    changed="The set-up: longer phrases, for on short ones a diagonal is nearly right.",
)
