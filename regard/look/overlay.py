"""Where each word looked in a picture: the picture once for every word, lit where the weight was."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float, UInt8
from torch import Tensor

from regard.look.render import HONEST

ACROSS = 6  # pictures in a row


def lit(picture: UInt8[Tensor, "3 Y X"], weights: Float[Tensor, " S"], rows: int) -> Float[np.ndarray, "Y X 3"]:
    """The picture in grey and dark, and bright where it was looked at: x · (0.35 + 0.65 a_i / max a).

    The weight of region i lights the pixels of its cell; row by row, `rows` of them.
    """
    height, width = picture.shape[1:]
    columns = len(weights) // rows
    y, x = np.arange(height) * rows // height, np.arange(width) * columns // width
    light = (weights / weights.max().clamp(min=1e-9)).numpy().reshape(rows, columns)[np.ix_(y, x)]
    return picture.permute(1, 2, 0).numpy() / 255 * (0.35 + 0.65 * light[..., None])


def draw_overlay(
    path: Path, picture: UInt8[Tensor, "3 Y X"], words: Sequence[str], weights: Float[Tensor, "T S"]
) -> None:
    """Saved by the ending of the path (png, svg, pdf). A square picture has a square grid of regions."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    down = -(-(len(words) + 1) // ACROSS)
    figure, all_axes = plt.subplots(
        down, ACROSS, figsize=(1.6 * ACROSS, 1.85 * down + 0.3), layout="constrained", squeeze=False
    )
    for axes in all_axes.flat:
        axes.axis("off")
    whole, *each = all_axes.flat
    whole.imshow(picture.permute(1, 2, 0).numpy(), interpolation="nearest")
    whole.set_title("the picture", fontsize="medium", color="#666666")
    rows = round(weights.shape[1] ** 0.5)
    for axes, word, row in zip(each, words, weights, strict=False):
        axes.imshow(lit(picture, row, rows), interpolation="nearest")
        axes.set_title(f"{word}  {row.max():.2f}", fontsize="medium")
    figure.supxlabel(f"{HONEST}; beside each word the largest weight of one region", fontsize="small", color="#666666")
    figure.savefig(path, dpi=110)
    plt.close(figure)
