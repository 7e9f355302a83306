"""Texts alone: what an encoder on its own makes vectors of. It was learnt elsewhere."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from regard.config import ModelConfig, Reader, Recipe, Train, Where
from regard.config.looking import Recording
from regard.data import store
from regard.data.batch import Batch, Batches
from regard.data.examples import Split
from regard.data.files import read_lines
from regard.data.material import Material, Units
from regard.errors import UserError
from regard.folder import Folder
from regard.look.heads.profile import Example
from regard.look.record import Record
from regard.look.recording import of_reading
from regard.models.model import Model
from regard.tasks.task import SPREAD, Given, Task, Tokenizers, spread
from regard.text.tokenizer import Tokenizer


class VectorsTask(Task):
    """From a file with a text on each line, to look at what an encoder does with them."""

    name, title, verb, labels = "vectors", "text encoder", "reads", "one vector"
    commands = ("embed", "heads")
    wants = "'encoder'"
    metrics = ()
    writes = False
    sides = ("source",)

    def from_files(self, found: list[Path], skipped: Counter[str] | None, columns: Sequence[str] = ()) -> Iterator[str]:
        return (line for path in found for line in read_lines(path) if line.strip())

    def fits(self, model: ModelConfig) -> bool:
        return isinstance(model, Reader)

    def record(self, model: Model, tokenizers: Tokenizers, asked: Any, wishes: Recording) -> Record:
        return of_reading(model, tokenizers, asked, wishes)

    def given(self, tokenizers: Tokenizers, recipe: Recipe, where: Where, split: Split | None) -> Given:
        texts = list(self.read(where, split, columns=recipe.data.chosen_columns))
        held = store.gather(tokenizers[0].encode_all(texts))
        return Given(Material((), (held,), sum(len(text.encode()) for text in texts)))

    def asks(self, valid: tuple[Any, ...]) -> int:
        return len(valid[0])

    def stretches(self, valid: tuple[Any, ...], length: int) -> list[Example]:
        (texts,) = valid
        return [Example(texts[at][: length - 1].tolist(), []) for at in spread(len(texts), SPREAD)]

    def beginnings(self, tokenizer: Tokenizer, valid: tuple[Any, ...], number: int) -> list[str]:
        return [tokenizer.decode(valid[0][at].tolist()) for at in range(min(number, len(valid[0])))]

    # ---- learning: there is nothing that its answers could be held against

    def prepare(self, folder: Folder, recipe: Recipe) -> dict[str, Any]:
        raise _nothing_to_learn()

    def open(self, folder: Folder, facts: dict[str, Any]) -> Material:
        raise _nothing_to_learn()

    def default_model(self, layer: str, tokens: int) -> ModelConfig:
        raise _nothing_to_learn()

    def batches(self, train: tuple[Any, ...], settings: Train, carry: bool) -> Batches:
        raise _nothing_to_learn()

    def held_out_batches(self, valid: tuple[Any, ...], length: int, share: float = 1.0) -> Iterator[Batch]:
        raise _nothing_to_learn()

    def units(self, tokenizer: Tokenizer, held: Material, length: int) -> Units:
        raise _nothing_to_learn()


def _nothing_to_learn() -> UserError:
    return UserError(
        "an encoder on its own says nothing that could be right or wrong; train a classifier that begins with it: "
        "--model.kind classifier --model.start_from RUN"
    )
