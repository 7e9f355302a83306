"""`regard init`: looks at files, measures, and writes a recipe that trains as it is."""

import io
import re
import sys
from pathlib import Path

import pytest
import typed
from refusals import write
from test_preparing import REVIEWS

from regard.cli import main
from regard.config import Data, Recipe, Train, read_recipe
from regard.training import plan
from regard.training.pace import Pace
from regard.training.plan import Draft, as_toml

pytestmark = pytest.mark.usefixtures("here")
said, refused = typed.said, typed.refused
PACE = Pace(((1, 1.0),) * 10, (10.0,))
SETTING = re.compile(r"^\w+ = .+  # \w")


class Terminal(io.StringIO):
    """Somebody who types."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def instantly(monkeypatch):
    """As if every update took a second: nothing is trained, and nothing measured depends on the machine."""
    monkeypatch.setattr(plan, "measured", lambda run: (PACE, "cpu with 2 threads"))


@pytest.mark.usefixtures("instantly")
def test_a_recipe_is_written_with_a_comment_on_every_setting(said):
    write("own2.csv", REVIEWS)
    code, out, _ = said("init", "own2.csv", "--minutes", "2", "--model", "rnn")
    assert code == 0
    kind, *examples, written, following = out.splitlines()
    assert re.fullmatch(r"labels: \d+ to learn from, \d+ more held out", kind)
    assert [line.split()[0] for line in examples] == ["text", "label"] * 2 + ["for"]
    assert written == (
        "own2.toml is written: about 2 minutes: 40 updates of 1.00 s and looks of 10.0 s, measured over 10 updates "
        "on cpu with 2 threads; longer on a busier machine"
    )
    assert following == "next: regard train own2.toml"
    lines = Path("own2.toml").read_text().splitlines()
    assert all(SETTING.match(line) for line in lines if line and line[0] not in "#[")
    recipe = read_recipe(Path("own2.toml"))
    assert (recipe.data.kind, recipe.train.steps) == ("labels", 40)


def test_what_is_measured_is_really_done_and_the_recipe_trains(said, monkeypatch):
    monkeypatch.setattr(plan, "SECONDS", 0.0)
    write("a.tsv", "".join(f"one {n}\teins {n}\n" for n in range(60)))
    code, out, _ = said("init", "a.tsv", "--yes", "--model", "rnn", "--run", "runs/de", "--save", "of mine.toml")
    assert code == 0
    assert "measured over 2 updates on cpu" in out
    assert out.endswith("next: regard train 'of mine.toml' --run runs/de\n")
    assert said("train", "of mine.toml", "--run", "runs/de", "--train.steps", "1")[0] == 0
    assert Path("runs/de/model.safetensors").exists()


@pytest.mark.usefixtures("instantly")
def test_three_questions_are_asked_at_a_terminal(said, monkeypatch):
    write("a.tsv", "".join(f"{'good' if n % 2 else 'bad'}\ta film {n}\n" for n in range(40)))
    monkeypatch.setattr(sys, "stdin", Terminal("a.tsv\n\n1\n"))
    assert main(["init", "--model", "rnn"]) == 0
    recipe = read_recipe(Path("a.toml"))
    assert (recipe.data.kind, recipe.data.chosen_columns) == ("labels", ("2", "1"))
    assert recipe.train.steps < 60


@pytest.mark.usefixtures("instantly")
def test_what_init_refuses(refused):
    write("own2.csv", REVIEWS)
    assert refused("init") == "init wants files to look at, found none; write regard init FILE --yes"
    assert refused("init", "own2.csv") == (
        "init asks how long it may take, and nobody is there to answer; add --minutes N, or --yes"
    )
    assert refused("init", "own2.csv", "--minutes", "0") == "--minutes must be above 0, found 0.0"
    write("own2.toml", "mine")
    assert refused("init", "own2.csv", "--yes") == (
        "own2.toml is there already and stays as it is; choose another with --save FILE.toml"
    )
    assert Path("own2.toml").read_text() == "mine"
    write("b.csv", "avis,note\na,b\n")
    assert refused("init", "b.csv", "--yes").startswith("line 1 of b.csv has the columns 'avis, note', wanted are text")
    assert not Path("b.toml").exists()


def test_fewer_minutes_never_mean_more_updates():
    recipe = Recipe(Data("a.txt", "text"), train=Train(steps=1000, smoothing=0.0))
    long = Draft(recipe, "gru", [], 1, 1, 1, PACE, "cpu with 1 thread")
    minutes = (100, 30, 5, 1, 0.001)
    steps = [long.within(each).recipe.train.steps for each in minutes]
    assert steps == sorted(steps, reverse=True)
    assert (steps[0], steps[-1]) == (1000, 1)
    assert all(PACE.left(0, long.within(each).recipe.train) <= 60 * each for each in minutes[:-1])
    assert 'train = "a.txt"' in as_toml(long, "regard train a.toml")


@pytest.mark.usefixtures("instantly")
def test_columns_may_be_named_as_a_recipe_names_them(said, refused):
    """Which is what the refusal of unknown ones says."""
    write("own.csv", "Kriol;English\n" + "".join(f"wan dei {n};one day {n}\n" for n in range(60)))
    assert "--data.columns Kriol English" in refused("init", "own.csv", "--yes")
    assert said("init", "own.csv", "--yes", "--data.columns", "Kriol", "English")[0] == 0
