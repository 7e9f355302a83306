"""Several heads see different things: one head against eight of the same size, and how many numbers that takes."""

from collections.abc import Sequence
from random import Random
from typing import Any

from regard.config import Tagger, Transformer
from regard.lab.claim import Claim, Mark, Numbers
from regard.lab.common import draw_bars, held_out, letters, looked_up, recipe, tagged
from regard.lab.room import Room
from regard.layers.tap import layer_of, taps_of
from regard.look.heads.profile import UNIFORM, Example, profiles
from regard.look.pictures.style import LINES
from regard.models.build import build

BACK = (1, 3, 5)
HEADS = {1: "1 head", 8: "8 heads"}


def measure(room: Room) -> Numbers:
    random = Random(room.seed)
    rows = [letters(random, 20, "abcd") for _ in range(room.by_effort(4000, 20_000))]
    file = room.file("before.tsv", tagged((row, looked_up(row, BACK)) for row in rows))
    width, layers, steps = room.by_effort((64, 1, 300), (128, 2, 2000))
    numbers: Numbers = {}
    for heads, named in HEADS.items():
        model = Tagger(Transformer(width=width, layers=layers, heads=heads, dropout=0.0))
        run = room.train(f"heads {heads}", recipe(file, model, steps, rate=0.006))
        numbers[f"accuracy, {named}"] = held_out(run, "accuracy")
        numbers[f"held-out loss, {named}"] = held_out(run)
        numbers[f"parameters, {named}"] = sum(part.numel() for part in run.model.parameters())
        texts = [Example(run.source_tokenizer.encode(" ".join(row)), []) for row in rows[:20]]
        found = [one for one in profiles(run.model, run.source_tokenizer, texts, {}) if one.name != UNIFORM]
        numbers[f"offsets, {named}"] = [[one.offsets[-k] for k in range(9)] for one in found]
        numbers[f"different offsets looked at most, {named}"] = len({one.offset for one in found})
    numbers["difference in accuracy, eight heads − one"] = numbers["accuracy, 8 heads"] - numbers["accuracy, 1 head"]
    numbers["largest error of the formula"] = max(formula_error(*sizes) for sizes in ((64, 8, 8, 8), (48, 3, 10, 7)))
    return numbers


def formula_error(d: int, heads: int, m: int, l: int) -> int:
    """How far the matrices of a self-attention are from d(2m + l)H + H l d numbers."""
    config = Tagger(Transformer(width=d, layers=1, heads=heads, key_width=m, value_width=l))
    model = build(config, 5, 5)
    (layer,) = (layer_of(path) for path, tap in taps_of(model).items() if tap.role == "weights")
    counted = sum(matrix.numel() for matrix in model.get_submodule(layer).parameters() if matrix.dim() == 2)
    return abs(counted - (d * (2 * m + l) * heads + heads * l * d))


def draw(figure: Any, seeds: Sequence[Numbers]) -> None:
    right, *maps = figure.subplots(1, 3, width_ratios=(1, 1.3, 1.3))
    draw_bars(right, seeds, {f"accuracy, {named}": named for named in HEADS.values()})
    right.set(ylabel="share of letters right", ylim=(0, 1.03))
    for axes, named in zip(maps, HEADS.values(), strict=True):
        shares = seeds[0][f"offsets, {named}"][:8]
        axes.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        axes.set(xlabel="places before", ylabel="head", title=named)
        axes.set_xticks(range(0, 9, 2))
        axes.set_yticks(range(len(shares)), range(1, len(shares) + 1))
        for k in BACK:
            axes.axvline(k, color=LINES[1], linewidth=0.8, linestyle=":")


CLAIM = Claim(
    name="several-heads",
    says="Several heads see different things: eight small ones do what one large one of equal parameters cannot",
    equation="Y = concat_h(softmax(Q_h K_hᵀ / √m) V_h) W_O;  d(2m + l)H + H l d numbers",
    paper="Vaswani et al. 2017 (3.2.2); Clark et al. 2019",
    setup="An encoder names for each letter those one, three and five before it (dotted): three places to look at in "
    "one go. One head of width 64 against eight of 8, the same number of parameters. Quick: one block of width 64, "
    "300 updates; full: two of 128, 2000. The maps show the first seed's mean weights.",
    marks=(
        Mark("difference in accuracy, eight heads − one", above=0.1),
        Mark("different offsets looked at most, 8 heads", above=2.5),
        Mark("largest error of the formula", below=0.5),
    ),
    measure=measure,
    draw=draw,
    next="Give the one head a second block. Switch heads off one by one (`regard heads`): are all eight needed?",
)
