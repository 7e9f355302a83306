"""`regard caption`, `classify`, `tag` and `embed`."""

import json
from collections.abc import Iterable, Iterator
from itertools import tee
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.cli.bodies.answering import opened
from regard.cli.bodies.paper import paper
from regard.cli.commands.labelling import CaptionCommand, ClassifyCommand, EmbedCommand, TagCommand
from regard.cli.lines import one_line, output_to, read_lines
from regard.data.images import read_picture
from regard.decode.embed import nearest
from regard.disk import write_with
from regard.look.align.weights import paths_over_source
from regard.look.align.words import looks
from regard.look.pictures.overlay import draw_overlay
from regard.progress import watched


def caption(asked: CaptionCommand) -> int:
    search, run = asked.search, opened(asked, asked.ensemble)
    pictures, again = tee(_pictures(asked.images, run.recipe.pictures.side))
    found, alone = run.caption(pictures, search), len(asked.images) == search.n_best == 1 and not asked.first
    if asked.save is not None:
        paths_over_source(run.model)
    with output_to(asked.out) as output:
        for image, captions, picture in zip(asked.images, found, again, strict=True):
            for one in captions:
                text, score = one_line(one.text), round(one.score, 4)
                if asked.json:
                    shown = {"image": str(image), "caption": text} | ({"score": score} if search.n_best > 1 else {})
                    print(json.dumps(shown, ensure_ascii=False), file=output)
                else:
                    columns = [str(image), text, f"{score:.4f}"] if search.n_best > 1 else [str(image), text]
                    print(text if alone else "\t".join(columns), file=output)
            if asked.save is not None:
                several = asked.save.with_stem(f"{asked.save.stem}-{image.stem}")
                draw_overlay(
                    asked.save if len(asked.images) == 1 else several,
                    picture,
                    *looks(run.model, run.tokenizer, picture, captions[0]),
                    paper(asked.paper, (asked.run, *asked.ensemble)),
                )
    return 0


def _pictures(images: Iterable[Path], side: int) -> Iterator[Tensor]:
    return (torch.from_numpy(read_picture(image, side)) for image in images)


def classify(asked: ClassifyCommand) -> int:
    run = opened(asked)
    lines, again = tee(read_lines(asked.file))
    with output_to(asked.out) as output:
        for likely, text in zip(run.classify(lines, together=asked.at_once), again, strict=True):
            weights = run.word_weights(text) if asked.weights else None
            best = next(iter(likely))
            if asked.json:
                found: dict[str, Any] = {"label": best, "probability": likely[best], "text": text}
                found |= {"all": likely} if asked.all else {}
                found |= {"weights": weights} if weights else {}
                print(json.dumps(found, ensure_ascii=False), file=output)
            else:
                shown = likely if asked.all else {best: likely[best]}
                columns = [column for name, value in shown.items() for column in (name, f"{value:.4f}")]
                print("\t".join([*columns, *([_heaviest(weights)] if weights else [])]), file=output)
    return 0


def _heaviest(weights: list[tuple[str, float]]) -> str:
    """The words that got more than an even share, the heaviest first."""
    chosen = sorted((pair for pair in weights if pair[1] * len(weights) > 1), key=lambda pair: -pair[1])
    return " ".join(f"{word} {weight:.2f}" for word, weight in chosen)


def tag(asked: TagCommand) -> int:
    run = opened(asked)
    sentences, again = tee(line.split() for line in read_lines(asked.file))
    with output_to(asked.out) as output:
        for tags, words in zip(run.tag(sentences, together=asked.at_once), again, strict=True):
            if asked.json:
                print(json.dumps({"words": words, "tags": tags}, ensure_ascii=False), file=output)
            else:
                print("".join(f"{word}\t{tag}\n" for word, tag in zip(words, tags, strict=True)), file=output)
    return 0


def _save_array(path: Path, vectors: Tensor) -> None:
    with path.open("wb") as file:  # np.save would add an ending to a path
        np.save(file, vectors.numpy())


def embed(asked: EmbedCommand) -> int:
    run = opened(asked)
    lines, again = tee(read_lines(asked.file))
    if asked.save is None and not asked.similar:
        with output_to(asked.out) as output:
            for vector, text in zip(run.embeddings(lines, together=asked.at_once), again, strict=True):
                numbers = vector.tolist()
                shown = json.dumps({"text": text, "vector": numbers}, ensure_ascii=False) if asked.json else ""
                print(shown or "\t".join(f"{number:.6g}" for number in numbers), file=output)
        return 0
    vectors, texts = run.embed(watched(lines, "reading"), together=asked.together), list(again)
    if asked.save is not None:
        write_with(asked.save, lambda path: _save_array(path, vectors))
    with output_to(asked.out) as output:
        for number, text in enumerate(texts if asked.similar else ()):
            near = nearest(vectors, number, asked.similar)
            if asked.json:
                found = [{"text": texts[other], "line": other + 1, "cosine": cosine} for other, cosine in near]
                print(json.dumps({"text": text, "similar": found}, ensure_ascii=False), file=output)
            else:
                print("\t".join([text, *(f"{cosine:.3f} {texts[other]}" for other, cosine in near)]), file=output)
    return 0
