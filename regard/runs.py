"""A run: a trained model with its tokenizers. Raw text in, raw text out."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from regard.config import (
    Classifier,
    ModelConfig,
    Recipe,
    Where,
)
from regard.config.decoding import Search, Writing
from regard.config.looking import Effort, Recording
from regard.data.files import read_lines
from regard.data.material import Material
from regard.decode.batches import BATCH
from regard.decode.caption import caption
from regard.decode.embed import embed
from regard.decode.label import classify, tag
from regard.decode.probability import Pair, Scored
from regard.decode.terms import Glossary, glossary_of, read_glossary
from regard.decode.translate import NO_TERMS, Translation, translate
from regard.decode.write import write
from regard.engine.choose import prepare
from regard.errors import UserError, counted
from regard.folder import Folder
from regard.look.align.weights import paths_over_source
from regard.look.align.words import align, word_weights
from regard.look.arrays import Weights, attention_of
from regard.look.find.find import Finding, Subject, find_on_sides
from regard.look.find.labelled import labelled
from regard.look.find.own import own_properties
from regard.look.find.properties import Property
from regard.look.record import Record
from regard.look.recording import RECORDING
from regard.models.build import build
from regard.models.ensemble import Ensemble
from regard.models.model import Model
from regard.models.precision import with_precision
from regard.models.window import ContextWindow
from regard.tasks import TASKS, Task, task_of
from regard.text.files import load
from regard.text.labels import Labels
from regard.text.tokenizer import Tokenizer
from regard.weights import about_weights, fill, weights_of

if TYPE_CHECKING:
    from regard.evaluate.judge import Figures, Judgement

LOOKING = ("align", "heads", "find")  # where this cannot, `look` shows what there is to see
Terms: TypeAlias = Glossary | Mapping[str, str | Sequence[str]] | str | Path
WRITING, SEARCH, EFFORT = Writing(), Search(), Effort()  # nothing special wished for
ARGMAX = Search(beam=1)


@dataclass(frozen=True, repr=False)
class Run:
    """A trained model with its tokenizers: text in, text out."""

    folder: Folder
    recipe: Recipe
    tokenizer: Tokenizer
    source_tokenizer: Tokenizer
    precision: str = "float32"
    """What the weights are kept in for answering."""
    others: tuple["Run", ...] = ()
    """Further members of an ensemble, which answers by the mean of all probabilities."""
    engine: str = "auto"
    """What computes an answer while nobody looks in: auto, native or torch."""

    @property
    def model_config(self) -> ModelConfig:
        assert isinstance(self.recipe.model, ModelConfig)
        return self.recipe.model

    @property
    def task(self) -> Task:
        """What it learnt, and so what it is for."""
        return task_of(self.recipe)

    @property
    def material(self) -> Material:
        """What it learnt from and is judged by, where its folder still has it."""
        return self.task.material(self.folder)

    @cached_property
    def model(self) -> Model:
        """The model with the weights of this run, ready to answer."""
        model = with_precision(self.trained_model(), self.precision)
        return Ensemble([model, *(run.model for run in self.others)]).eval() if self.others else model

    @cached_property
    def answering(self) -> Model:
        """The same model by the fastest engine that knows it."""
        return prepare(self.model, self.engine)

    @property
    def for_long_texts(self) -> Model:
        """A language model as it should write and score texts of any length: held to distances that it has learnt."""
        return ContextWindow(self.answering, self.window).eval() if self.window else self.answering

    @cached_property
    def window(self) -> int | None:
        """How many tokens a language model of attention may look back on, as it has learnt; None: any number."""
        if self.task.has_source or not self.model.grows:
            return None
        lengths = [run.trained_length for run in (self, *self.others)]
        return min(*lengths, self.model.longest or lengths[0])

    @property
    def trained_length(self) -> int:
        """How long the rows were that its weights were trained on; config.toml may have another length by now."""
        about = about_weights(self.folder.weights)
        return int(about["recipe"]["train"]["length"]) if "recipe" in about else self.recipe.train.length

    def trained_model(self) -> Model:
        """The model with the weights of this run, as it was trained: not yet quantised, and no ensemble."""
        tensors, about = weights_of(self.folder.weights)
        self.folder.check(about, self.recipe)
        model = self.new_model().eval()
        fill(model, tensors, self.folder.weights)
        return model

    def new_model(self) -> Model:
        """A model of this run's config with new weights."""
        source = None if self.source_tokenizer is self.tokenizer else self.source_tokenizer.vocabulary
        return build(self.model_config, self.tokenizer.vocabulary, source)

    def check(self, command: str) -> None:
        """For a command that only some kinds of run know."""
        if command not in self.task.commands:
            wanted = " or a ".join(task.title for task in TASKS.values() if command in task.commands)
            remedy = "look" if command in LOOKING else self.task.commands[0]
            raise UserError(f"{self.folder.path} is a {self.task.title}, {command} wants a {wanted}; use {remedy}")

    def __repr__(self) -> str:
        """What it is, how large, how good, and where."""
        trained = self.folder.weights.exists()
        numbers = sum(p.numel() for p in self.model.parameters())
        size = counted(numbers, "parameter") if trained else "not yet trained"
        looks = [entry["held_out"] for entry in self.folder.read_log() if entry.get("best")]
        name = self.recipe.train.metric
        best = f", best {name} {looks[-1][name]:.4f}" if looks and name in looks[-1] else ""
        tokens = f"{self.tokenizer.vocabulary:,} {self.tokenizer.kind}"
        return f"{self.task.title}, {size}, {tokens}{best}: {self.folder.path}"

    # ---- language models

    def write(
        self,
        prompt: str = "",
        *,
        length: int = Writing.length,
        temperature: float = Writing.temperature,
        top_p: float = Writing.top_p,
        seed: int = Writing.seed,
        stop: str = Writing.stop,
    ) -> str:
        """What the model writes after the prompt, up to `length` tokens. `stream` and `samples` know more wishes."""
        wishes = Writing(length=length, temperature=temperature, top_p=top_p, seed=seed, stop=stop)
        return "".join(self.stream(prompt, wishes))

    def stream(self, prompt: str = "", wishes: Writing = WRITING) -> Iterator[str]:
        """What the model writes after the prompt, piece by piece as it is made; never half a character."""
        if wishes.number > 1:
            raise UserError(f"a stream is one text, found number = {wishes.number}; use samples for several")
        return (piece for _, piece in self._write(prompt, wishes))

    def samples(self, prompt: str = "", wishes: Writing = WRITING) -> list[str]:
        """`wishes.number` texts that go on from one prompt."""
        texts = [""] * wishes.number
        for number, piece in self._write(prompt, wishes):
            texts[number] += piece
        return texts

    def _write(self, prompt: str, wishes: Writing) -> Iterator[tuple[int, str]]:
        self.check("write")
        if wishes.choose == "beam":
            return write(self.answering, self.tokenizer, prompt, wishes)
        return write(self.for_long_texts, self.tokenizer, prompt, wishes)

    def find(
        self,
        properties: str | Property | Sequence[str | Property],
        text: str | Sequence[str] | None = None,
        effort: Effort = EFFORT,
    ) -> list[Finding]:
        """The cells and heads that follow these properties, each by its name or as a function of the text.

        Of a text for a language model; without one, and for all others, of what the run held out.
        """
        wanted = [properties] if isinstance(properties, str) or callable(properties) else properties
        known: dict[str, Property] = {}
        for one in wanted:
            known |= own_properties([one]) if isinstance(one, str) else {one.__name__: one}
        subject = self.subject(effort.seed)
        if text is not None and self.task.has_source:
            raise UserError(f"a {self.task.title} is searched on what it held out, found a text; leave it out")
        if text is None:
            readings = self.task.texts(self.folder, self.recipe, self.tokenizers, "", effort.side)
        else:
            readings = [labelled(self.tokenizer, [text] if isinstance(text, str) else text)]
        return find_on_sides(subject, readings, known, effort, lambda items, *_: iter(items))

    def subject(self, seed: int = 0) -> Subject:
        """What a finder looks into: the model, and the same with new weights."""
        self.check("find")
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            untrained = self.new_model().eval()
        return Subject(self.model, untrained, self.tokenizer)

    # ---- translators

    def translate(
        self,
        lines: Sequence[str],
        *,
        beam: int = Search.beam,
        prefix: str = Search.prefix,
        must: Sequence[str] = Search.must,
        never: Sequence[str] = Search.never,
        terms: Terms = NO_TERMS,
        together: int = BATCH,
    ) -> list[str]:
        """The best translation of each line. `translations` knows more wishes, and more about each translation."""
        wishes = Search(beam=beam, prefix=prefix, must=tuple(must), never=tuple(never))
        return [best.text for best, *_ in self.translations(lines, wishes, terms=terms, together=together)]

    def translations(
        self,
        lines: Iterable[str],
        wishes: Search = SEARCH,
        *,
        alignments: bool = False,
        terms: Terms = NO_TERMS,
        together: int = BATCH,
    ) -> Iterator[list[Translation]]:
        """The best translations of each line, with all that is known of them. Lines are read as they are needed.

        Terms are {source: target}, or the path of a file of lines source<TAB>target: what a line's terms must become.
        """
        self.check("translate")
        if isinstance(lines, str):
            raise UserError("translate wants a list of lines, found one text; write translate([text])")
        if alignments:
            paths_over_source(self.model)
        read, again = tee(lines)
        found = translate(self.answering, self.tokenizers, read, wishes, terms=_glossary(terms), batch=together)
        return self._with_alignments(found, again) if alignments else found

    def _with_alignments(
        self, translated: Iterable[list[Translation]], lines: Iterable[str]
    ) -> Iterator[list[Translation]]:
        for found, line in zip(translated, lines, strict=True):
            yield [replace(one, alignment=align(self.model, self.tokenizers, line, one)) for one in found]

    # ---- captioners, classifiers, taggers

    def caption(
        self, pictures: Iterable[UInt8[Tensor, "3 Y X"]], wishes: Search = SEARCH, *, together: int = BATCH
    ) -> Iterator[list[Translation]]:
        """The best captions of each picture, of `recipe.pictures.side` pixels on each side."""
        self.check("caption")
        return caption(self.answering, self.tokenizer, pictures, wishes, batch=together)

    def classify(self, texts: Iterable[str], *, together: int = BATCH) -> Iterator[dict[str, float]]:
        """Every class with its probability, the most probable first, for each text."""
        self.check("classify")
        return classify(self.answering, self.source_tokenizer, self._labels, texts, together)

    def word_weights(self, text: str) -> list[tuple[str, float]]:
        """How much of its attention a classifier gave to each word."""
        self.check("classify")
        assert isinstance(self.model_config, Classifier)
        if self.model_config.pooling != "attention":
            raise UserError(
                f"{self.folder.path} weighs no words: its pooling is {self.model_config.pooling}; "
                "train with model.pooling = attention"
            )
        return word_weights(self.model, self.source_tokenizer, text)

    def tag(self, sentences: Iterable[Sequence[str]], *, together: int = BATCH) -> Iterator[list[str]]:
        """The tag of each word of each sentence."""
        self.check("tag")
        return tag(self.answering, self.source_tokenizer, self._labels, sentences, together)

    # ---- encoders on their own, and classifiers

    def embed(self, texts: Iterable[str], *, together: int = BATCH) -> Float[Tensor, "N D"]:
        """One vector for each text: an embedding. Texts that say alike have vectors that point alike."""
        if isinstance(texts, str):
            raise UserError("embed wants a list of texts, found one; write embed([text])")
        found = list(self.embeddings(texts, together=together))
        return torch.stack(found) if found else torch.zeros(0, 0)

    def embeddings(self, texts: Iterable[str], *, together: int = BATCH) -> Iterator[Float[Tensor, " D"]]:
        """The same vector by vector; texts are read as they are needed."""
        self.check("embed")
        return embed(self.model, self.source_tokenizer, texts, together)

    @property
    def _labels(self) -> Labels:
        assert isinstance(self.tokenizer, Labels)
        return self.tokenizer

    # ---- every kind

    def judged(self, where: Where | None = None, search: Search = ARGMAX) -> "Judgement":
        """The run held against its test part, or else its held-out one, or other data: example by example."""
        from regard.evaluate.judge import judge  # here: answering needs nothing of it

        return judge(self, where, search)

    def evaluate(self, where: Where | None = None, *, beam: int = ARGMAX.beam) -> "Figures":
        """How good it is: what `regard evaluate` prints, by name."""
        return self.judged(where, Search(beam=beam)).figures

    def attention(self, asked: str | UInt8[Tensor, "3 Y X"], wishes: Recording = RECORDING) -> Mapping[str, Weights]:
        """How much each token looked at which, in every layer and head, while the run reads a text and answers it."""
        return attention_of(self.record(asked, wishes))

    def record(self, asked: str | UInt8[Tensor, "3 Y X"], wishes: Recording = RECORDING) -> Record:
        """Everything there is to see while the run reads a text, or a picture, and answers it."""
        record = self.task.record(self.model, self.tokenizers, asked, wishes)
        return replace(record, about={"run": str(self.folder.path)})

    # ---- language models and translators

    def score(self, texts: Iterable[str | Pair]) -> list[Scored]:
        """How probable each text is; for a translator, each target given its source: pairs of both."""
        return list(self.scores(texts))

    def scores(self, texts: Iterable[str | Pair], *, together: int = BATCH) -> Iterator[Scored]:
        """How probable each text is, one by one; texts are read as they are needed."""
        self.check("score")
        return self.task.score(self.for_long_texts, self.tokenizers, texts, together)

    @property
    def chat_template(self) -> Mapping[str, str] | None:
        """How a conversation is written for this model, if it came with that: a Jinja text, `template`, and the tokens
        that it names, such as `bos_token`. Nothing here runs it. `tokenizer.encode_marked` reads what it makes.
        """
        return self.folder.read_chat_template()

    @property
    def tokenizers(self) -> tuple[Tokenizer, Tokenizer]:
        return self.source_tokenizer, self.tokenizer


def _glossary(terms: Terms) -> Glossary:
    if isinstance(terms, str | Path):
        return read_glossary(read_lines(Path(terms)), str(terms))
    return terms if isinstance(terms, Glossary) else glossary_of(terms)


def load_run(
    path: str | Path, *, precision: str = "float32", ensemble: Sequence[str | Path] = (), engine: str = "auto"
) -> Run:
    """The run in a folder, ready to answer; with others of the same tokenizers, an ensemble."""
    folder = Folder(Path(path))
    recipe = folder.read_config()
    try:
        task_of(recipe)
    except UserError as error:  # a kind that there is not: which file says so is known here
        raise UserError(f"{folder.config}: {error}") from None
    tokenizer = load(folder.tokenizer)
    source = load(folder.source_tokenizer) if folder.source_tokenizer.exists() else tokenizer
    others = tuple(load_run(other, precision=precision, engine=engine) for other in ensemble)
    run = Run(folder, recipe, tokenizer, source, precision, others, engine)
    for other in others:
        for mine, theirs in zip(run.tokenizers, other.tokenizers, strict=True):
            if mine.to_json() != theirs.to_json() or run.task is not other.task:
                raise UserError(
                    f"{other.folder.path} cannot answer together with {path}: an ensemble wants runs of one kind with "
                    "the same tokenizers; train both on the same data with the same [text] settings"
                )
    return run
