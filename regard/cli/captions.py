"""`regard caption`."""

import argparse
import json
from pathlib import Path
from typing import Any

import torch

from regard.cli.command import Command, no_settings
from regard.data.images import read_picture
from regard.decode.describe import looks
from regard.errors import UserError
from regard.look.overlay import draw_overlay
from regard.runs import load_run


def add(command: Command) -> None:
    """The command that says what is in a picture."""
    caption = command(
        "caption",
        _caption,
        "what is in each picture, one line for each",
        "  regard caption runs/photos dog.jpg beach.png\n"
        "  regard caption runs/photos dog.jpg --save looks.png          (where it looked for each word)",
    )
    caption.add_argument("path", type=Path, metavar="RUN", help="the folder of a run")
    caption.add_argument(
        "images", nargs="+", type=Path, metavar="IMAGE", help="JPEG, PNG, WebP, GIF, BMP or TIFF files"
    )
    caption.add_argument(
        "--save",
        type=Path,
        metavar="PICTURE",
        help="the picture once for each word, lit where it looked (png, svg, pdf)",
    )
    caption.add_argument("--json", action="store_true", help="a JSON object for each picture")


def _caption(known: argparse.Namespace, settings: dict[str, Any]) -> int:
    no_settings(settings)
    run = load_run(known.path)
    run.check_captioner()
    if known.save is not None and known.save.suffix not in (".png", ".svg", ".pdf"):
        raise UserError(f"--save wants a name that ends in .png, .svg or .pdf, found '{known.save}'")
    side = run.recipe.pictures.side
    pictures = [torch.from_numpy(read_picture(image, side)) for image in known.images]  # all of them, before any answer
    for image, picture, caption in zip(known.images, pictures, run.describe(torch.stack(pictures)), strict=True):
        if known.json:
            print(json.dumps({"image": str(image), "caption": caption.text}, ensure_ascii=False))
        else:
            print(caption.text if len(pictures) == 1 else f"{image}\t{caption.text}")
        if known.save is not None:
            several = known.save.with_stem(f"{known.save.stem}-{image.stem}")
            draw_overlay(
                known.save if len(pictures) == 1 else several,
                picture,
                *looks(run.model, run.tokenizer, picture, caption),
            )
    return 0
