"""From files to tokens in the run folder, once; a resumed run reads what the first one wrote."""

import json
from dataclasses import replace

from regard.config import Recipe
from regard.disk import write_text
from regard.errors import UserError
from regard.folder import Folder
from regard.tasks import task_for


def prepare(folder: Folder, recipe: Recipe) -> None:
    """Tokenizers, tokens and config.toml, with every choice made, in the folder."""
    task = task_for(recipe)
    if not isinstance(recipe.model, str) and not task.fits(recipe.model):
        raise UserError(
            f"data.train holds {task.name}, which wants a model of kind {task.wants}, "
            f"found '{recipe.model.kind}'; change [model], or the data"
        )
    task.check_metric(recipe.train.metric)
    if folder.first_weights.exists():  # of an earlier attempt
        folder.first_weights.unlink()
    recipe = task.begin(folder, replace(recipe, data=replace(recipe.data, kind=task.name)))
    facts = task.prepare(folder, recipe)
    write_text(folder.tokens("facts.json"), json.dumps({"kind": task.name, **facts}) + "\n")
    tokens = task.material(folder).train_tokens
    if isinstance(recipe.model, str):
        recipe = replace(recipe, model=task.default_model(recipe.model, tokens))
    if not recipe.train.steps:
        steps = task.default_steps(tokens, recipe.train.batch)
        recipe = replace(recipe, train=replace(recipe.train, steps=steps))
    folder.write_config(recipe)  # last: it says that all the rest is there
