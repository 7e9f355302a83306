"""Pre-training and fine-tuning: what was learnt elsewhere, training begins with."""

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

from regard.config import (
    Classifier,
    FromRun,
    LanguageModel,
    ModelConfig,
    Reader,
    Recipe,
    Recurrent,
    Tagger,
    Transformer,
)
from regard.errors import UserError
from regard.folder import Folder
from regard.text.files import load, save
from regard.weights import read_weights, save_weights

Stack = Recurrent | Transformer
TUNING = 0.1  # dropout where an encoder that was learnt elsewhere is trained on (Devlin et al. 2019)


def from_run(folder: Folder, recipe: Recipe, fits: Callable[[ModelConfig], bool]) -> Recipe:
    """Fine-tuning: the whole model of the run that `model.start_from` names, if it does, its weights and tokens."""
    wanted, start = recipe.model, getattr(recipe.model, "start_from", "")
    if isinstance(wanted, str) or not start:
        return recipe
    there = Folder(Path(start))
    try:
        learnt = there.read_config()
        if not isinstance(learnt.model, ModelConfig) or not fits(learnt.model):
            kind = learnt.model if isinstance(learnt.model, str) else learnt.model.kind
            raise UserError(f"{start} holds a {kind}, which does not learn from such data; name another run")
        model = replace(learnt.model, start_from=start)
        if not isinstance(wanted, FromRun) and wanted not in (model, type(wanted)(start_from=start)):
            raise UserError(f"[model] sets more than start_from, and {start} is another; leave the rest out")
        weights = read_weights(there.weights)
        tokenizers = [load(there.tokenizer), *([load(path)] if (path := there.source_tokenizer).exists() else [])]
    except UserError as error:
        raise UserError(f"model.start_from: {error}") from None
    for tokenizer, path in zip(tokenizers, (folder.tokenizer, folder.source_tokenizer), strict=False):
        save(tokenizer, path)
    save_weights(folder.first_weights, weights)
    return replace(recipe, model=model, text=learnt.text)


def from_language_model(folder: Folder, recipe: Recipe) -> Recipe:
    """Pre-training: an encoder begins with what a language model learnt of a text without labels. (Dai and Le 2015)

    Where `model.start_from` names a run: its tokens and weights in the folder, its sizes and text in the recipe.
    """
    model = recipe.model
    assert isinstance(model, Classifier | Tagger)
    if not model.start_from:
        return recipe
    there = Folder(Path(model.start_from))
    try:
        learnt = there.read_config()
        if not isinstance(learnt.model, LanguageModel | Reader):
            kind = learnt.model if isinstance(learnt.model, str) else learnt.model.kind
            raise UserError(f"{model.start_from} holds a {kind}, wanted is a language-model or an encoder")
        tokenizer, weights = load(there.tokenizer), read_weights(there.weights)
    except UserError as error:
        raise UserError(f"model.start_from: {error}") from None
    alone = isinstance(learnt.model, Reader)
    untold = alone and model.encoder == type(model)().encoder  # what small data wants of small cells is too much here
    layer = learnt.model.encoder if isinstance(learnt.model, Reader) else learnt.model.layer
    encoder = fitted(model.encoder, type(model)().encoder, layer, model.start_from)
    encoder = replace(encoder, dropout=TUNING) if untold else encoder
    save(tokenizer, folder.source_tokenizer)
    parts = ("encoder.embedding.", "encoder.layer.")  # all but the head, which answers with another vocabulary
    named = {name if alone else f"encoder.{name}": value for name, value in weights.items()}
    first = {name: value for name, value in named.items() if name.startswith(parts)}
    save_weights(folder.first_weights, first)
    return replace(recipe, model=replace(model, encoder=encoder), text=learnt.text)


def fitted(encoder: Stack, default: Stack, layer: Stack, path: str) -> Stack:
    """The language model's layer as an encoder. What the recipe sets must be the same there, but for dropout."""
    plain = type(encoder)()  # what a section says of itself that sets something else, such as dropout alone
    for name in (setting.name for setting in fields(encoder)):
        found, there = getattr(encoder, name), getattr(layer, name, None)
        if name != "dropout" and found not in (getattr(plain, name), getattr(default, name, None), there):
            raise UserError(
                f"model.encoder.{name} ({found}) is not that of the language model in {path} ({there}); "
                "leave it out, and it is taken from there"
            )
    return replace(layer, dropout=encoder.dropout)
