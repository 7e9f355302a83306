"""Pictures and what people say of them: a captioner learns to say it, as a translator does from a text."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from regard.config import (
    ModelConfig,
    Pictures,
    Recipe,
    Seq2Seq,
    Train,
    Vision,
    Where,
    from_table,
    to_table,
)
from regard.config.decoding import Search
from regard.config.looking import Recording
from regard.config.model import PRETRAINED
from regard.data import store
from regard.data.album import Album, read_album, write_counts
from regard.data.batch import Batch, Batches, Captions
from regard.data.captions import readable, together
from regard.data.corpora.registry import BuiltIn
from regard.data.corpora.scenes import scenes
from regard.data.corpus import examples_of, find, own
from regard.data.examples import SPLITS, Captioned, Split
from regard.data.files import read_lines
from regard.data.images import Pixels, write_pictures
from regard.data.material import Material, Units
from regard.data.survey import Survey
from regard.data.tables import filled, from_keys, from_tabs, goes_by_name
from regard.decode.caption import caption
from regard.errors import UserError, counted
from regard.folder import Folder
from regard.look.align.weights import over_source
from regard.look.find.labelled import LabelledText, labelled_apart
from regard.look.find.passages import Answered
from regard.look.record import Record
from regard.look.recording import of_picture
from regard.metrics.cider import cider
from regard.metrics.score import Score, share_right
from regard.metrics.text import bleu_of_several, chrf_of_several
from regard.models.model import Model
from regard.special import STOP
from regard.tasks import amounts
from regard.tasks.eyes import Frozen, take_weights
from regard.tasks.pointing import pointing
from regard.tasks.sided import BUDGET
from regard.tasks.start_from import from_run
from regard.tasks.task import (
    ANY,
    SPREAD,
    Given,
    Task,
    Tokenizers,
    learn_tokenizer,
    need_some,
    reasons,
    sizes_of,
    spread,
    spread_share,
)
from regard.text.tokenizer import Tokenizer

PICTURES = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff")


class CaptionsTask(Task):
    """From lines `image<TAB>caption`, a .jsonl or a .csv file; images are in a folder, or else beside the file.

    A second file lists the images to take, one in each line, as Flickr8k has them; its numbers behind a name
    (`dog.jpg#0`) are no part of it.
    """

    name, title, verb, example, judged_by = "captions", "captioner", "says", "picture", "bleu"
    amounts = amounts.CAPTIONS
    epochs = 35
    commands = ("caption", "find")
    wants = "'seq2seq' that reads pictures"
    metrics = ("loss", "accuracy", "bleu", "chrf", "cider", "exact")
    keys = ("image", "caption")
    endings = (".tsv", ANY)
    pair_of_files = True
    reads = "picture"
    sides = ("target",)

    # ---- from files to tokens

    def from_files(
        self, found: list[Path], skipped: Counter[str] | None, columns: Sequence[str] = (), folder: str = ""
    ) -> Iterator[Captioned]:
        path = found[0]
        if goes_by_name(path, self.keys, columns):
            rows = from_keys(path, self.keys, columns, skipped)
        else:
            rows = from_tabs(path, "the image, a tab, the caption", skipped)
        beside = Path(os.path.expanduser(folder)) if folder else path.parent
        if not beside.is_dir():
            raise UserError(f"[pictures] folder '{folder}' does not exist; name the folder that the images are in")
        listed = read_lines(found[1]) if len(found) == 2 else None
        return together(filled(rows, path, skipped), path, beside, listed)

    def looks_like(self, rows: Sequence[Sequence[str]]) -> bool:
        return bool(rows) and all(Path(image).suffix.lower() in PICTURES for image, _ in rows)

    def read_from(
        self, recipe: Recipe, skipped: Counter[str] | None, where: Where, split: Split | None
    ) -> Iterator[Captioned]:
        """Pictures with their captions; the pictures are in the recipe's folder."""
        found = find(where, split)
        if isinstance(found, BuiltIn):
            return own(found, self.name, split)
        return self.from_files(found, skipped, recipe.data.chosen_columns, recipe.pictures.folder)

    def begin(self, folder: Folder, recipe: Recipe) -> Recipe:
        if (settings := _eyes(recipe)) is not None and settings.kind in PRETRAINED:
            take_weights(folder, settings)
        return from_run(folder, recipe, self.fits)

    def prepare(self, folder: Folder, recipe: Recipe) -> dict[str, Any]:
        """Tokenizer, tokens of captions, pictures as they are read. What cannot be read is left out and counted."""
        skipped: Counter[str] = Counter()

        def examples(part: Split) -> Iterator[Captioned]:
            read = partial(self.read_from, recipe, None)
            return examples_of(recipe.data, part, read, lambda example: example.name)

        texts = (caption for example in examples("train") for caption in example.captions)
        tokenizer = learn_tokenizer(folder.tokenizer, recipe.text, texts)
        settings = _eyes(recipe)
        frozen = Frozen(folder, settings) if settings is not None and settings.frozen else None
        facts: dict[str, Any] = {"pictures": to_table(recipe.pictures)}
        if frozen is not None:
            facts["found"] = frozen.shape(recipe.pictures.side)
        survey = Survey()
        for part in SPLITS[:2]:
            for example in examples(part):
                survey.note(part, (example.name, example.captions[0]))
            pictures, size = _write(folder, part, examples(part), tokenizer, recipe, skipped, frozen)
            facts |= {f"{part}_pictures": pictures, f"{part}_bytes": size}
        check = "[pictures] folder and the data"
        need_some(recipe.data, facts["train_pictures"], facts["valid_pictures"], "picture", skipped, check)
        return {**facts, "skipped": dict(skipped), "noticed": survey.facts}

    def open(self, folder: Folder, facts: dict[str, Any]) -> Material:
        settings = from_table(Pictures, facts["pictures"])

        def part(name: Split) -> tuple[Album, store.Store]:
            counts, found = folder.tokens(f"{name}.counts"), facts.get("found", ())
            album = read_album(folder.tokens(f"{name}.{'found' if found else 'pixels'}"), counts, settings, found)
            return album, store.read(folder.tokens(f"{name}-target"))

        return Material(part("train"), part("valid"), facts["valid_bytes"], facts)

    # ---- learning

    def fits(self, model: ModelConfig) -> bool:
        return isinstance(model, Seq2Seq) and isinstance(model.encoder, Vision)

    def default_model(self, layer: str, tokens: int) -> ModelConfig:
        return Seq2Seq(Vision(stages=4, width=128), self.amount(tokens).stack(layer))

    def batches(self, train: tuple[Any, ...], settings: Train, carry: bool) -> Batches:
        album, target = train
        return Captions(album, target, settings.batch, settings.seed)

    def held_out_batches(self, valid: tuple[Any, ...], length: int, share: float = 1.0) -> Iterator[Batch]:
        """A share is some of the batches: pictures of every number of words are in it."""
        album, target = valid
        pictures = Captions(album, target, BUDGET, seed=0)
        return (pictures.batch(pictures.in_order(place)) for place in spread_share(pictures.per_epoch, share))

    def units(self, tokenizer: Tokenizer, held: Material, length: int) -> Units:
        """Captions of one picture are alike: they are drawn together."""
        album, target = held.valid
        pictures = Captions(album, target, BUDGET, seed=0)
        rows = (pictures.in_order(place) for place in range(pictures.per_epoch))
        places = (np.repeat(chosen, np.diff(album.first)[chosen])[:, None] for chosen in rows)
        captions = (target[i].tolist() for i in range(len(target)))
        sizes = sizes_of(tokenizer, captions, held.valid_bytes)
        return Units(f"{self.example}s", np.add.reduceat(sizes, album.first[:-1]), places)

    # ---- judging

    def given(self, tokenizers: Tokenizers, recipe: Recipe, where: Where, split: Split | None) -> Given:
        """In memory, with the captions as they were written."""
        skipped: Counter[str] = Counter()
        settings = recipe.pictures
        found = list(readable(self.read_from(recipe, None, where, split), settings.side, skipped))
        left_out = reasons(skipped)
        if not found:
            raise UserError(f"{where} has no picture that can be read ({left_out or 'it is empty'}); check the data")
        references = [list(example.captions) for example, _ in found]
        first = np.cumsum([0, *map(len, references)])
        texts = [text for each in references for text in each]
        album = Album(np.stack([pixels for _, pixels in found]), first, settings)
        held = (album, store.gather(tokenizers[1].encode_all(texts)))
        facts = {"pictures": len(album), **({"left_out": left_out} if left_out else {})}
        return Given(Material((), held, sum(len(text.encode()) for text in texts)), references, facts)

    def asks(self, valid: tuple[Any, ...]) -> int:
        return len(valid[0])

    def tokens_in(self, valid: tuple[Any, ...]) -> int:
        return len(valid[1].tokens) + len(valid[1])

    def answers(
        self, model: Model, tokenizers: Tokenizers, valid: tuple[Any, ...], places: Sequence[int], search: Search
    ) -> Iterator[tuple[str, list[str]]]:
        """A caption, and what people said of the picture."""
        (album, target), writer = valid, tokenizers[1]
        pictures = (torch.from_numpy(np.array(album.pictures[i])) for i in places)  # a copy: the disk's is read-only
        for i, found in zip(places, caption(model, writer, pictures, search), strict=True):
            yield found[0].text, [writer.decode(target[j]) for j in range(album.first[i], album.first[i + 1])]

    def scores(self, said: Sequence[str], wanted: Sequence[Sequence[str]], cased: bool = True) -> dict[str, Score]:
        if not cased:
            said, wanted = [text.lower() for text in said], [[text.lower() for text in each] for each in wanted]
        right = np.array([one in texts for one, texts in zip(said, wanted, strict=True)], float)
        return {
            **{f"bleu_{order}": bleu_of_several(said, wanted, order, cased) for order in (1, 2, 3)},
            "bleu": bleu_of_several(said, wanted, cased=cased),
            "chrf": chrf_of_several(said, wanted, cased),
            "cider": cider(said, wanted),
            "exact": share_right(right, np.ones_like(right), 100),
        }

    def further(
        self, model: Model, tokenizer: Tokenizer, recipe: Recipe, where: Where, split: Split | None
    ) -> dict[str, float]:
        """On drawn scenes: whether each word looked at what it names."""
        if where != "scenes" or not over_source(model):
            return {}
        scored = pointing(model, tokenizer, list(scenes(split or "test")), recipe.pictures.side)
        return {f"pointing_{name}": value for name, value in scored._asdict().items()}

    def labelled(self, tokenizers: Tokenizers, valid: tuple[Any, ...], sides: Sequence[str]) -> list[LabelledText]:
        """Every caption by itself, with its picture."""
        album, target = valid
        whose = np.searchsorted(album.first, np.arange(len(target)), "right") - 1
        examples = [
            Answered(np.asarray(album.pictures[whose[at]]), np.append(target[at], STOP).astype(int))
            for at in spread(len(target), SPREAD)
        ]
        return [labelled_apart(tokenizers[1], examples, side) for side in sides]

    def record(self, model: Model, tokenizers: Tokenizers, asked: Any, wishes: Recording) -> Record:
        return of_picture(model, tokenizers, asked, wishes)


def _write(
    folder: Folder,
    part: Split,
    examples: Iterator[Captioned],
    tokenizer: Tokenizer,
    recipe: Recipe,
    skipped: Counter[str],
    frozen: Frozen | None,
) -> tuple[int, int]:
    """A part's pictures and captions. Returns how many pictures and how many bytes of text they are."""
    tokens: list[list[int]] = []
    counts: list[int] = []
    size = 0

    def pixels() -> Iterator[Pixels]:
        nonlocal size
        for example, found in readable(examples, recipe.pictures.side, skipped):
            encoded = list(zip(example.captions, tokenizer.encode_all(list(example.captions)), strict=True))
            short = [(text, ids) for text, ids in encoded if len(ids) <= recipe.data.longest]
            if len(short) < len(encoded):
                skipped[f"caption longer than {counted(recipe.data.longest, 'token')}"] += len(encoded) - len(short)
            if short:
                tokens.extend(ids for _, ids in short)
                counts.append(len(short))
                size += sum(len(text.encode()) for text, _ in short)
                yield found

    if frozen is None:
        write_pictures(folder.tokens(f"{part}.pixels"), pixels())
    else:
        write_pictures(folder.tokens(f"{part}.found"), frozen.found(pixels()))
    write_counts(folder.tokens(f"{part}.counts"), counts)
    store.write(folder.tokens(f"{part}-target"), tokens, tokenizer.vocabulary)
    return len(counts), size


def _eyes(recipe: Recipe) -> Vision | None:
    """What a recipe says of them, if it does."""
    encoder = recipe.model.encoder if isinstance(recipe.model, Seq2Seq) else None
    return encoder if isinstance(encoder, Vision) else None
