"""From files to tokens in the run folder, once; a resumed run reads what the first one wrote."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from regard.config import ModelConfig, Recipe, to_table
from regard.data.streams import data_in_files
from regard.data.survey import told
from regard.errors import UserError, counted
from regard.folder import Folder
from regard.tasks import task_for, task_of
from regard.tasks.amounts import USUAL


def prepare(folder: Folder, recipe: Recipe) -> Iterator[str]:
    """Tokenizers, tokens and config.toml, with every choice made, in the folder. Returns what was noticed, in lines."""
    with data_in_files(recipe.data, folder.path) as data:
        made = _prepared(folder, replace(recipe, data=data))
    named = replace(made.data, train=recipe.data.train, valid=recipe.data.valid)
    folder.write_config(replace(made, data=named))  # last: it says that all the rest is there
    material = task_of(made).material(folder)
    noticed = told(material.facts["noticed"], task_of(made).shown_as)
    return chain(noticed, [_chosen(made, material.train_tokens)] if isinstance(recipe.model, str) else [])


def _prepared(folder: Folder, recipe: Recipe) -> Recipe:
    """The recipe with every choice made, and what it needs in the folder."""
    task = task_for(recipe)
    if isinstance(recipe.model, ModelConfig) and not task.fits(recipe.model):
        raise UserError(
            f"data.train holds {task.name}, which wants a model of kind {task.wants}, "
            f"found '{recipe.model.kind}'; change [model], or the data"
        )
    task.check_metric(recipe.train.metric)
    for left in (folder.first_weights, folder.tokenizer, folder.source_tokenizer):
        left.unlink(missing_ok=True)  # of an earlier attempt
    recipe = task.begin(folder, replace(recipe, data=replace(recipe.data, kind=task.name)))
    facts = task.prepare(folder, recipe)
    folder.write_facts({"kind": task.name, **facts})
    tokens = task.material(folder).train_tokens
    batch, smoothing = USUAL, 0.0  # a [model] section chose its sizes itself
    if isinstance(recipe.model, str):
        batch, smoothing = task.amount(tokens).learning(recipe.model)
        recipe = replace(recipe, model=task.default_model(recipe.model, tokens))
    recipe = replace(recipe, train=recipe.train.filled(batch, smoothing))
    if not (recipe.train.steps or recipe.train.epochs or recipe.train.minutes):
        steps = task.default_steps(tokens, recipe.train.batch)
        recipe = replace(recipe, train=replace(recipe.train, steps=steps))
    return recipe


def _chosen(made: Recipe, tokens: int) -> str:
    """What the amount of data decided, in a line."""
    parts = [part for part in to_table(made.model).values() if isinstance(part, dict) and "layers" in part]
    size, train = parts[-1], made.train
    how = f"{counted(size['layers'], 'layer')} of {size['width']}, dropout {size['dropout']}"
    learning = f"smoothing {train.smoothing:g}, {train.batch:,} tokens an update"
    told = f"for {counted(tokens, 'training token')}: {how}, {learning}, where nothing else is said"
    return f"{told}; minutes bound the training and leave the size as it is" if train.minutes else told
