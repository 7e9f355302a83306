"""What the next token costs when many have been seen: reading everything again, and with the state carried on.

python -m bench.length [PICTURE.png]
"""

import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import torch
from torch import Tensor

import regard
from bench.measure import interleaved, row

LENGTHS = (100, 300, 1_000, 2_000, 4_000)
VOCABULARY = 100
Models: TypeAlias = Mapping[str, regard.Transformer | regard.Recurrent]
MODELS: Models = {
    "Transformer 6×256": regard.Transformer(width=256, layers=6, heads=4),
    "LSTM 2×512": regard.Recurrent("lstm", width=512, layers=2),
}
STEPS = 16  # tokens made in a row for one figure with the state carried on


def costs(shape: regard.Transformer | regard.Recurrent, seen: int, rounds: int) -> tuple[float, float]:
    """Seconds for the next token after `seen` of them: reading everything again, and with the state carried on."""
    torch.manual_seed(0)
    model = regard.build(regard.LanguageModel(shape), VOCABULARY).eval()
    text = torch.randint(VOCABULARY, (1, seen))

    def read() -> Tensor:
        return model(text, model.start())[0][:, -1]

    with torch.inference_mode():
        _, state = model(text, model.start())
        token = text[:, -1]
        _, state = model.step(token, state)  # the first step after a text makes room for the next ones

        def go_on() -> None:
            now = state
            for _ in range(STEPS):
                _, now = model.step(token, now)

        seconds = interleaved({"again": read, "with": go_on}, rounds, warmups=2)
    return statistics.median(seconds["again"]), statistics.median(seconds["with"]) / STEPS


def draw(found: dict[str, dict[int, tuple[float, float]]], path: Path) -> None:
    """Two panels with one scale: milliseconds for the next token against tokens seen."""
    from matplotlib import pyplot

    sides = (("reading everything again", "#D55E00", "s"), ("with the state carried on", "#0072B2", "o"))
    figure, panels = pyplot.subplots(1, len(found), figsize=(9, 3.8), sharey=True, layout="constrained")
    for panel, (name, at) in zip(panels, found.items(), strict=True):
        for side, (label, colour, marker) in enumerate(sides):
            times = [1000 * both[side] for both in at.values()]
            panel.plot(list(at), times, color=colour, marker=marker, linewidth=2, label=label)
        panel.set(title=name, xlabel="tokens seen", xscale="log", yscale="log")
        panel.set_xticks(shown := list(at)[::2], [f"{seen:,}" for seen in shown])
        panel.minorticks_off()
        panel.yaxis.set_major_formatter("{x:,g}")
        panel.grid(alpha=0.3)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("milliseconds for the next token")
    panels[0].legend(frameon=False, loc="upper left")
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


def main(
    rounds: int = 7, lengths: Sequence[int] = LENGTHS, models: Models = MODELS, picture: Path | None = None
) -> None:
    found = {name: {seen: costs(shape, seen, rounds) for seen in lengths} for name, shape in models.items()}
    for name, at in found.items():
        for seen in lengths[::2]:
            again, kept = at[seen]
            row(
                f"{name}, the next token after {seen:,}",
                f"{1000 * kept:.2f} ms; reading everything again {1000 * again:,.1f} ms",
                "–",
            )
    if picture is not None:
        draw(found, picture)


if __name__ == "__main__":
    main(picture=Path(sys.argv[1]) if len(sys.argv) > 1 else None)
