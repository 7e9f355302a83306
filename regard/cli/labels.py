"""`regard classify` and `tag`."""

import argparse
import json
import sys
from itertools import tee
from pathlib import Path
from typing import Any

from regard.cli.command import Command, no_settings
from regard.cli.lines import STANDARD, output_to, read_lines
from regard.decode.label import BATCH
from regard.runs import load_run


def add(command: Command) -> None:
    """The commands that name what they read."""
    classify = command(
        "classify",
        _classify,
        "the class of each line and its probability, with a tab between them",
        "  regard classify runs/films reviews.txt\n"
        "  echo 'a moving film' | regard classify runs/films --all\n"
        "  regard classify runs/films reviews.txt --weights          (which words carried the weight)",
    )
    _file(classify, "lines to classify; -: standard input, where a terminal is answered line by line")
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
    _file(tag, "a sentence on each line, with a space on both sides of each word; -: standard input")
    tag.add_argument("--json", action="store_true", help="a JSON object for each sentence")


def _file(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument("path", type=Path, metavar="RUN", help="the folder of a run")
    parser.add_argument("file", nargs="?", default=STANDARD, metavar="FILE", help=text)


def _classify(known: argparse.Namespace, settings: dict[str, Any]) -> int:
    no_settings(settings)
    run = load_run(known.path)
    lines, again = tee(read_lines(known.file))
    with output_to(None) as output:
        for likely, text in zip(run.classify(lines, batch=_batch(known)), again, strict=True):
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
    run = load_run(known.path)
    sentences, again = tee(line.split() for line in read_lines(known.file))
    with output_to(None) as output:
        for tags, words in zip(run.tag(sentences, batch=_batch(known)), again, strict=True):
            if known.json:
                print(json.dumps({"words": words, "tags": tags}, ensure_ascii=False), file=output)
            else:
                print("".join(f"{word}\t{tag}\n" for word, tag in zip(words, tags, strict=True)), file=output)
    return 0


def _batch(known: argparse.Namespace) -> int:
    """A person at a terminal wants an answer to each line."""
    return 1 if known.file == STANDARD and sys.stdin.isatty() else BATCH
