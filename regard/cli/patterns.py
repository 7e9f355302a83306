"""`regard caption`, `classify` and `tag`."""

import argparse
import json
from collections.abc import Iterator
from itertools import tee
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.cli.command import Command, no_settings
from regard.cli.lines import one_line, output_to, read_lines
from regard.cli.options import add_file, add_run, add_search, batch_of, wishes
from regard.config.decoding import Search
from regard.data.images import read_picture
from regard.decode.describe import LONGEST
from regard.errors import UserError
from regard.look.align.weights import paths_over_source
from regard.look.align.words import looks
from regard.runs import load_run

CAPTIONS = {
    "n_best": "so many captions of each picture, best first, each with its image and score",
    "max_length": f"tokens at most; 0: {LONGEST}",
    "prefix": "how every caption begins",
}


def add(command: Command) -> None:
    """The commands that say what is in a picture, what a text is, and what its words are."""
    caption = command(
        "caption",
        _caption,
        "what is in each picture, one line for each",
        "  regard caption runs/photos dog.jpg beach.png\n"
        "  regard caption runs/photos dog.jpg --n-best 3\n"
        "  regard caption runs/photos dog.jpg --save looks.png          (where it looked for each word)",
    )
    add_run(caption)
    caption.add_argument(
        "images", nargs="+", type=Path, metavar="IMAGE", help="JPEG, PNG, WebP, GIF, BMP or TIFF files"
    )
    add_search(caption, CAPTIONS)
    caption.add_argument(
        "--save", type=Path, metavar="PICTURE",
        help="the picture once for each word of its best caption, lit where it looked (png, svg, pdf)",
    )  # fmt: skip
    caption.add_argument("--json", action="store_true", help="a JSON object for each caption")

    classify = command(
        "classify",
        _classify,
        "the class of each line and its probability, with a tab between them",
        "  regard classify runs/films reviews.txt\n"
        "  echo 'a moving film' | regard classify runs/films --all\n"
        "  regard classify runs/films reviews.txt --weights          (which words carried the weight)",
    )
    add_run(classify)
    add_file(classify, "lines to classify; -: standard input, where a terminal is answered line by line")
    classify.add_argument("--all", action="store_true", help="every class with its probability, the best first")
    classify.add_argument(
        "--weights", action="store_true", help="the words that got most attention, for a run with attention pooling"
    )
    classify.add_argument("--json", action="store_true", help="a JSON object for each line")

    tag = command(
        "tag",
        _tag,
        "a tag for each word: lines word<TAB>tag, and a blank line behind each sentence",
        "  regard tag runs/parts sentences.txt > tagged.tsv\n  echo 'They like it .' | regard tag runs/parts",
    )
    add_run(tag)
    add_file(tag, "a sentence on each line, with a space on both sides of each word; -: standard input")
    tag.add_argument("--json", action="store_true", help="a JSON object for each sentence")


def _caption(known: argparse.Namespace, settings: dict[str, Any]) -> int:
    from regard.look.pictures.overlay import draw_overlay

    no_settings(settings)
    search, run = wishes(Search, known), load_run(known.path, precision=known.precision, ensemble=known.ensemble)
    if known.save is not None and known.save.suffix not in (".png", ".svg", ".pdf"):
        raise UserError(f"--save wants a name that ends in .png, .svg or .pdf, found '{known.save}'")
    pictures, again = tee(_pictures(known.images, run.recipe.pictures.side))
    found = run.describe(pictures, search)
    if known.save is not None:
        paths_over_source(run.model)
    with output_to(None) as output:
        for image, captions, picture in zip(known.images, found, again, strict=True):
            for one in captions:
                text, score = one_line(one.text), round(one.score, 4)
                if known.json:
                    shown = {"image": str(image), "caption": text} | ({"score": score} if search.n_best > 1 else {})
                    print(json.dumps(shown, ensure_ascii=False), file=output)
                else:
                    columns = [str(image), text, f"{score:.4f}"] if search.n_best > 1 else [str(image), text]
                    print(text if len(known.images) == search.n_best == 1 else "\t".join(columns), file=output)
            if known.save is not None:
                several = known.save.with_stem(f"{known.save.stem}-{image.stem}")
                draw_overlay(
                    known.save if len(known.images) == 1 else several,
                    picture,
                    *looks(run.model, run.tokenizer, picture, captions[0]),
                )
    return 0


def _pictures(images: list[Path], side: int) -> Iterator[Tensor]:
    return (torch.from_numpy(read_picture(image, side)) for image in images)


def _classify(known: argparse.Namespace, settings: dict[str, Any]) -> int:
    no_settings(settings)
    run, batch = load_run(known.path, precision=known.precision), batch_of(known)
    lines, again = tee(read_lines(known.file))
    with output_to(None) as output:
        for likely, text in zip(run.classify(lines, batch=batch), again, strict=True):
            weights = run.word_weights(text) if known.weights else None
            best = next(iter(likely))
            if known.json:
                found: dict[str, Any] = {"label": best, "probability": likely[best], "text": text}
                found |= {"all": likely} if known.all else {}
                found |= {"weights": weights} if weights else {}
                print(json.dumps(found, ensure_ascii=False), file=output)
            else:
                shown = likely if known.all else {best: likely[best]}
                columns = [column for name, value in shown.items() for column in (name, f"{value:.4f}")]
                print("\t".join([*columns, *([_heaviest(weights)] if weights else [])]), file=output)
    return 0


def _heaviest(weights: list[tuple[str, float]]) -> str:
    """The words that got more than an even share, the heaviest first."""
    chosen = sorted((pair for pair in weights if pair[1] * len(weights) > 1), key=lambda pair: -pair[1])
    return " ".join(f"{word} {weight:.2f}" for word, weight in chosen)


def _tag(known: argparse.Namespace, settings: dict[str, Any]) -> int:
    no_settings(settings)
    run, batch = load_run(known.path, precision=known.precision), batch_of(known)
    sentences, again = tee(line.split() for line in read_lines(known.file))
    with output_to(None) as output:
        for tags, words in zip(run.tag(sentences, batch=batch), again, strict=True):
            if known.json:
                print(json.dumps({"words": words, "tags": tags}, ensure_ascii=False), file=output)
            else:
                print("".join(f"{word}\t{tag}\n" for word, tag in zip(words, tags, strict=True)), file=output)
    return 0
