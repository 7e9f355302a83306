"""Alignments as people like to look at them: shaded text on a terminal, a picture in a file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from regard.decode.translate import Alignment

SHADES = " ·░▒▓█"
HONEST = "where it looked, not why it answered"


def shade(weight: float) -> str:
    """Nothing, then ever darker, for a weight from 0 to 1."""
    return SHADES[min(int(weight * len(SHADES) + 0.35), len(SHADES) - 1)]


def shaded_text(alignment: Alignment) -> Text:
    """The source as a headline; under each of its words, how much each word written looked at it."""
    margin = max(len(word) for word in alignment.target) + 2
    widths = [max(len(word), 2) for word in alignment.source]
    text = Text(" " * margin, no_wrap=True)
    for word, width in zip(alignment.source, widths, strict=True):
        text.append(f"{word:<{width}} ", style="bold")
    for word, row in zip(alignment.target, alignment.weights.tolist(), strict=True):
        text.append(f"\n{word:>{margin - 2}}  ", style="bold")
        for weight, width in zip(row, widths, strict=True):
            text.append(shade(weight) * width + " ", style="blue")
    return text


def draw_alignments(path: Path, alignments: Sequence[Alignment]) -> None:
    """Heat maps beside each other, saved by the ending of the path (png, svg, pdf)."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    widths = [len(alignment.source) + 4 for alignment in alignments]
    tallest = max(len(alignment.target) for alignment in alignments)
    figure, all_axes = plt.subplots(
        1, len(alignments), figsize=(0.42 * sum(widths), 0.42 * tallest + 1.9), width_ratios=widths,
        layout="constrained", squeeze=False,
    )  # fmt: skip
    image: Any = None
    for axes, alignment in zip(all_axes[0], alignments, strict=True):
        image = axes.imshow(alignment.weights.numpy(), cmap="Blues", vmin=0, vmax=1)
        axes.set_xticks(range(len(alignment.source)), alignment.source, rotation=60, ha="left", rotation_mode="anchor")
        axes.set_yticks(range(len(alignment.target)), alignment.target)
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        axes.set_xlabel("to: the source", loc="left")
        axes.set_ylabel("from: the translation")
        axes.spines[:].set_color("#cccccc")
        axes.set_anchor("N")
    figure.colorbar(image, ax=all_axes[0, -1], label="attention weight", shrink=0.6)
    figure.supxlabel(HONEST, fontsize="small", color="#666666")
    figure.savefig(path, dpi=150)
    plt.close(figure)
