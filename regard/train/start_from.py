"""Pre-training: what a language model learnt of a text without labels, an encoder begins with. (Dai and Le 2015)"""

from dataclasses import fields, replace
from pathlib import Path

from regard.config import Classifier, LanguageModel, Recipe, Recurrent, Seq2Seq, Tagger, Transformer, Vision
from regard.disk import write_tensors
from regard.errors import UserError
from regard.folder import Folder
from regard.layers.pretrained import load_pretrained
from regard.models.build import body
from regard.runs import load_run
from regard.text import save

Stack = Recurrent | Transformer


def start_from(folder: Folder, recipe: Recipe) -> Recipe:
    """Where `model.start_from` names a run: its tokens and weights in the folder, its sizes and text in the recipe."""
    model = recipe.model
    if folder.first_weights.exists():  # of an earlier attempt
        folder.first_weights.unlink()
    if isinstance(model, Seq2Seq) and isinstance(model.encoder, Vision) and model.encoder.weights:
        _with_eyes(folder, model.encoder)
    if not isinstance(model, Classifier | Tagger) or not model.start_from:
        return recipe
    try:
        run = load_run(model.start_from)
        if not isinstance(run.model_config, LanguageModel):
            raise UserError(f"{model.start_from} holds a {run.model_config.kind}, wanted is a language-model")
        weights = run.trained_model().state_dict()
    except UserError as error:
        raise UserError(f"model.start_from: {error}") from None
    encoder = fitted(model.encoder, type(model)().encoder, run.model_config.layer, model.start_from)
    save(run.tokenizer, folder.source_tokenizer)
    parts = ("embedding.", "layer.")  # all but the head, which answers with another vocabulary
    tensors = {f"encoder.{name}": value for name, value in weights.items() if name.startswith(parts)}
    write_tensors(folder.first_weights, tensors)
    return replace(recipe, model=replace(model, encoder=encoder), text=run.recipe.text)


def _with_eyes(folder: Folder, settings: Vision) -> None:
    """The published weights of a picture's encoder in the folder, so that the run needs their file only once."""
    seen = body(settings)
    load_pretrained(settings.kind, seen, Path(settings.weights).expanduser())
    write_tensors(
        folder.first_weights, {f"encoder.regions.body.{name}": value for name, value in seen.state_dict().items()}
    )


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
