"""Recipes: what is written is read back the same, and every mistake in one is said in one line."""

from dataclasses import replace
from pathlib import Path

import pytest
import tomli_w
import zoo
from asserting import text_of
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.config import Data, LanguageModel, Recipe, Recurrent, Text, Train, from_table, read_recipe, to_table
from regard.config.recipe import recipe_from
from regard.config.upgrade import VERSION
from regard.errors import UserError

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.toml"))


def written(folder: Path, text: str) -> Path:
    path = folder / "recipe.toml"
    path.write_text(text, encoding="utf-8")
    return path


# There and back


@pytest.mark.parametrize("name", zoo.MODELS)
def test_a_recipe_survives_the_file(name, tmp_path):
    recipe = Recipe(
        Data(("a.en", "ä.fr"), valid="b.tsv", share=0.1, limit=7),
        model=zoo.MODELS[name],
        text=Text("words", size=100, shared=False),
        train=Train(steps=5, rate=3e-4, smoothing=0.5, metric="bleu", device="cpu", seed=11),
    )
    path = written(tmp_path, tomli_w.dumps(to_table(recipe)))
    assert read_recipe(path) == recipe
    assert from_table(Recipe, to_table(recipe)) == recipe


@pytest.mark.parametrize("preset", ["rnn", "lstm", "gru", "transformer"])
def test_a_preset_survives_the_file(preset, tmp_path):
    recipe = Recipe(Data("a.txt"), model=preset)
    assert read_recipe(written(tmp_path, tomli_w.dumps(to_table(recipe)))) == recipe


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_is_a_recipe_and_survives_the_file(path, tmp_path):
    recipe = read_recipe(path)
    assert read_recipe(written(tmp_path, tomli_w.dumps(to_table(recipe)))) == recipe


def test_a_whole_number_may_stand_for_a_fraction(tmp_path):
    recipe = read_recipe(written(tmp_path, "[data]\ntrain = 'a'\n[train]\nrate = 1\nstudent = 1\nclip = 5\n"))
    assert (recipe.train.rate, recipe.train.student, recipe.train.clip) == (1.0, 1.0, 5.0)
    assert read_recipe(written(tmp_path, tomli_w.dumps(to_table(recipe)))) == recipe


def test_what_is_left_out_is_as_by_default(tmp_path):
    recipe = read_recipe(written(tmp_path, "model = 'lstm'\n[data]\ntrain = ['a', 'b']\n"))
    assert recipe == Recipe(Data(("a", "b")), "lstm")


# Mistakes

MISTAKES = {
    "unknown setting": (
        "[data]\ntrain = 'a'\n[train]\nstep = 5",
        "no setting 'step' in [train]; did you mean 'steps'?",
    ),
    "unknown setting, unlike any": (
        "[data]\ntrain = 'a'\n[text]\nzzz = 5",
        "no setting 'zzz' in [text]; there are kind, size, shared, lower",
    ),
    "unknown section": (
        "[dat]\ntrain = 'a'\n[data]\ntrain = 'a'",
        "no setting 'dat' in the recipe; did you mean 'data'?",
    ),
    "wrong type": (
        "[data]\ntrain = 'a'\n[train]\nsteps = 'many'",
        "[train] steps must be a whole number from 0 up, found many",
    ),
    "a fraction of a step": (
        "[data]\ntrain = 'a'\n[train]\nsteps = 1.5",
        "[train] steps must be a whole number from 0 up, found 1.5",
    ),
    "true for a number": (
        "[data]\ntrain = 'a'\n[train]\nsteps = true",
        "[train] steps must be a whole number from 0 up, found True",
    ),
    "a rate of nothing": ("[data]\ntrain = 'a'\n[train]\nrate = 0", "[train] rate must be a number above 0, found 0.0"),
    "too probable": (
        "[data]\ntrain = 'a'\n[train]\nstudent = 2",
        "[train] student must be a probability from 0 to 1, found 2.0",
    ),
    "no data at all": (
        "[train]\nsteps = 5",
        "a recipe wants a [data] section with train = …, found none; add it, or --data.train FILE",
    ),
    "no data in the section": (
        "[data]\nshare = 0.1",
        "[data] train wants a file, a folder or the name of a built-in corpus, found nothing",
    ),
    "a value where a section belongs": (
        "data = 'my.txt'",
        "data must be a section with settings of its own, found my.txt; write [data] and the settings below it",
    ),
    "data that is no name": (
        "[data]\ntrain = 5",
        "[data] train must be a name, or two names of parallel files, found 5",
    ),
    "names that are no names": (
        "[data]\ntrain = 'a'\nvalid = ['b', 5]",
        "[data] valid must be a name, or two names of parallel files, found ('b', 5)",
    ),
    "a model that is no name": (
        "model = 5\n[data]\ntrain = 'a'",
        "model must be one of rnn, lstm, gru, transformer or a [model] section, found '5'",
    ),
    "an unknown preset": (
        "model = 'lstmm'\n[data]\ntrain = 'a'",
        "model must be one of rnn, lstm, gru, transformer or a [model] section, found 'lstmm'",
    ),
    "a model without a kind": (
        "[data]\ntrain = 'a'\n[model]\ntied = true",
        "[model] wants a kind; choose one of language-model, seq2seq, classifier, tagger, transducer, encoder, run",
    ),
    "an unknown kind": (
        "[data]\ntrain = 'a'\n[model]\nkind = 'seq2sec'",
        "[model] kind 'seq2sec' does not exist; did you mean 'seq2seq'?",
    ),
    "a kind of layer that is a list": (
        "[data]\ntrain = 'a'\n[model]\nkind = 'language-model'\nlayer.kind = ['lstm']",
        "[model.layer] kind '['lstm']' does not exist; did you mean 'lstm'?",
    ),
    "deep inside": (
        "[data]\ntrain = 'a'\n[model]\nkind = 'seq2seq'\nencoder.kind = 'gru'\nencoder.width = 'wide'",
        "[model.encoder] width must be a whole number from 1 up, found wide",
    ),
    "settings of the other kind of layer": (
        "[data]\ntrain = 'a'\n[model]\nkind = 'language-model'\nlayer.kind = 'lstm'\nlayer.heads = 4",
        "no setting 'heads' in [model.layer]; there are kind, width, layers, dropout, embedding, bidirectional",
    ),
    "a newer version": (
        "version = 99\n[data]\ntrain = 'a'",
        f"version must be a whole number from 1 to {VERSION}, found 99; a newer one wants a newer regard",
    ),
    "a newer version, with settings of its own": (
        "version = 99\n[data]\ntrain = 'a'\n[galaxy]\nwide = true",
        f"version must be a whole number from 1 to {VERSION}, found 99; a newer one wants a newer regard",
    ),
    "no version at all": (
        "version = 'two'\n[data]\ntrain = 'a'",
        f"version must be a whole number from 1 to {VERSION}, found two; a newer one wants a newer regard",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake(mistake, tmp_path):
    text, expected = MISTAKES[mistake]
    assert text_of(lambda: read_recipe(written(tmp_path, text))) == expected


def test_files_that_are_no_recipes(tmp_path):
    missing, folder = tmp_path / "none.toml", tmp_path
    assert text_of(lambda: read_recipe(missing)) == (
        f"{missing} does not exist; give the path of a recipe, see examples/"
    )
    assert text_of(lambda: read_recipe(folder)) == f"{folder} is a folder, wanted a recipe file such as recipe.toml"
    path = written(tmp_path, "[data\ntrain = 5")
    assert text_of(lambda: read_recipe(path)).startswith(f"{path} is not valid TOML: ")
    path.write_bytes(b"[data]\ntrain = '\xff'")
    assert text_of(lambda: read_recipe(path)).startswith(f"{path} is not valid TOML: ")


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["", "a", "lstm", "seq2seq", "loss"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["kind", "width", "x"]), inner),
    max_leaves=4,
)
paths = st.sampled_from(
    [
        *(
            f"{part}.{name}"
            for part, kind in (("data", Data), ("text", Text), ("train", Train))
            for name in to_table(kind("a") if kind is Data else kind())
        ),
        *("data", "text", "train", "model", "version", "model.kind", "model.layer", "model.layer.kind"),
        *("model.layer.width", "model.layer.dropout", "model.tied"),
    ]
)


@settings(max_examples=400)
@given(st.dictionaries(paths, anything, max_size=3))
def test_whatever_is_set_is_taken_or_refused_in_one_line(overrides):
    table = {"data": {"train": "a"}, "model": {"kind": "language-model", "layer": {"kind": "lstm"}}}
    try:
        recipe = recipe_from(table, overrides)
    except UserError as error:
        message = str(error)
    else:
        message = tomli_w.dumps(to_table(recipe)) and ""
        assert isinstance(recipe.data.train, str | tuple)
    assert "\n" not in message


def test_overrides_reach_every_depth_and_leave_the_rest():
    table = to_table(Recipe(Data("a"), LanguageModel(Recurrent("gru", width=8)), train=Train(steps=5)))
    recipe = recipe_from(table, {"model.layer.width": 16, "train.rate": 1, "data.train": ["x", "y"]})
    expected = Recipe(Data(("x", "y")), LanguageModel(Recurrent("gru", width=16)), train=Train(steps=5, rate=1.0))
    assert recipe == expected
    assert recipe_from(table) == replace(
        expected, data=Data("a"), model=LanguageModel(Recurrent("gru", width=8)), train=Train(steps=5)
    )


def test_an_override_below_a_name():
    assert text_of(lambda: recipe_from({"data": {"train": "a"}, "model": "lstm"}, {"model.layer.width": 5})) == (
        "model is 'lstm', a name for a whole section, so model.layer.width cannot be set; write the section out"
    )


def test_an_override_that_does_not_exist():
    assert text_of(lambda: recipe_from({"data": {"train": "a"}}, {"train.stpes": 5})) == (
        "no setting 'stpes' in [train]; did you mean 'steps'?"
    )
