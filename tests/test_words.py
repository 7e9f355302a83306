"""What is typed: options stand anywhere, old spellings go on working, a mistake is said before anything is loaded."""

import re
import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from itertools import permutations
from keyword import iskeyword
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import regard
from regard.cli import main
from regard.cli.command import Command, options_of, place, places_of, settings, settings_of
from regard.cli.commands import COMMANDS
from regard.cli.help import help_for
from regard.cli.words import parse
from regard.config import Recipe
from regard.config.settings import meanings
from regard.errors import UserError

WORDS = {
    "train": ["recipe.toml"],
    "evaluate": ["RUN"],
    "write": ["RUN"],
    "translate": ["RUN", "FILE"],
    "score": ["RUN", "FILE"],
    "caption": ["RUN", "a.png", "b.png"],
    "classify": ["RUN", "FILE"],
    "tag": ["RUN", "FILE"],
    "align": ["RUN", "FILE"],
    "heads": ["RUN"],
    "find": ["RUN"],
    "look": ["RUN", "A man."],
    "lab": ["permutation", "depth"],
}
OPTIONS = {
    "train": [["--run", "runs/x"], ["--train.steps", "5"]],
    "evaluate": [["--beam", "1"], ["--json"]],
    "write": [["--temperature", "0.5"], ["--choose", "sample"]],
    "translate": [["--beam", "1"], ["--scores"], ["--length-penalty", "average"]],
    "score": [["--tokens"], ["--together", "2"]],
    "caption": [["--n-best=2"], ["--json"]],
    "classify": [["--all"], ["--batch", "1"]],
    "tag": [["--json"], ["--precision", "int8"]],
    "align": [["--head", "h[0]"], ["--fed"]],
    "heads": [["--sort", "loss"], ["--number", "3"]],
    "find": [["--shifts", "20"], ["--json"]],
    "look": [["--view", "map"], ["--layer", "-1"]],
    "lab": [["--seeds", "2"], ["--full"]],
}


@dataclass(frozen=True, kw_only=True)
class Sets(Command):
    """Takes settings, and checks none."""

    recipe: Path | None = place("RECIPE", None)
    folder: Path | None = None
    """Where."""
    changes: dict[str, Any] = settings(Recipe)


def mixed(words: list[str], options: list[list[str]]) -> list[list[str]]:
    """All orders in which words and options can stand, the words among themselves in theirs."""
    parts = [[word] for word in words] + options
    orders = (
        order for order in permutations(parts) if [part[0] for part in order if part in parts[: len(words)]] == words
    )
    return [[word for part in order for word in part] for order in orders]


def refusal(*words: str) -> str:
    with pytest.raises(UserError) as error:
        parse(COMMANDS[words[0]], words[1:]).ready()
    return str(error.value)


@pytest.fixture(autouse=True)
def _somewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("recipe.toml").write_text('[data]\ntrain = "a.txt"\n')


@pytest.mark.parametrize("name", WORDS)
def test_options_stand_before_between_and_behind(name):
    kind = COMMANDS[name]
    first, *others = (parse(kind, words) for words in mixed(WORDS[name], OPTIONS[name]))
    assert others
    assert all(other == first for other in others)
    assert first != parse(kind, WORDS[name])


def test_what_somebody_typed():
    translate = parse(COMMANDS["translate"], ["RUN", "--beam", "1", "FILE"])
    assert (translate.run, translate.search.beam, translate.file) == (Path("RUN"), 1, "FILE")
    classify = parse(COMMANDS["classify"], ["RUN", "--all", "FILE"])
    assert (classify.all, classify.file) == (True, "FILE")
    look = parse(COMMANDS["look"], ["RUN", "--view", "map", "A man."])
    assert (look.choice.view, look.text) == ("map", "A man.")
    assert parse(COMMANDS["look"], ["RUN", "A man."]).on_page


def test_an_option_for_several_gives_back_what_is_missed():
    assert parse(COMMANDS["evaluate"], ["--data", "a.en", "a.fr", "RUN"]).data == ("a.en", "a.fr")
    assert parse(COMMANDS["train"], ["--data.train", "a.en", "a.fr", "recipe.toml"]) == parse(
        COMMANDS["train"], ["recipe.toml", "--data.train", "a.en", "a.fr"]
    )


def test_an_option_takes_one_value_each_time():
    """So that a file is never a word."""
    caption = parse(COMMANDS["caption"], ["RUN", "--must", "blue", "a.png"])
    assert (caption.search.must, caption.images) == (("blue",), (Path("a.png"),))
    assert parse(COMMANDS["caption"], ["--must", "blue", "RUN", "a.png"]) == caption
    for file in ("five.en", "-"):
        translate = parse(COMMANDS["translate"], ["RUN", "--must", "le chat", "--must", "vélo", "--never", "x", file])
        assert (translate.search.must, translate.search.never) == (("le chat", "vélo"), ("x",))
        assert translate.file == file
    look = parse(COMMANDS["look"], ["--also", "A", "RUN", "--also", "B", "a text"])
    assert (look.run, look.text, look.also) == (Path("RUN"), "a text", (Path("A"), Path("B")))
    assert parse(COMMANDS["find"], ["RUN", "--property", "quotes", "--property=depth"]).property == ("quotes", "depth")


@pytest.mark.parametrize("kind", COMMANDS.values(), ids=list(COMMANDS))
def test_typed_twice_every_option_is_refused_or_holds_both(kind):
    """What the second would otherwise take the place of, without a word. A switch says the same twice."""
    needed = ["word" for one in places_of(kind) if one.needed]
    said = [f"--{' '.join(row.split())}" for row in help_for(kind).split("\n  --")[1:]]
    for name, one in options_of(kind).items():
        value = one.choices[0] if one.choices else "3" if {int, float} & {*one.kinds} else "a"
        (told,) = (row for row in said if row.startswith(f"{name} "))
        assert one.several == (f"{name} once for each" in told or told.startswith(f"{name} {one.shown} …"))
        if not (one.several or one.switch):
            with pytest.raises(UserError) as error:
                parse(kind, [*needed, f"{name}={value}", name, value])
            assert str(error.value) == f"{name} holds one value, found '{value}' and '{value}'; type it once"


def test_typed_twice():
    once = "holds one value, found 'a.svg' and 'b.svg'; type it once"
    assert refusal("find", "RUN", "--save", "a.svg", "--save=b.svg") == f"--save {once}"
    assert refusal("write", "RUN", "--temp", "1", "--temperature", "2") == (
        "--temperature holds one value, found '1' and '2'; type it once"
    )
    assert refusal("train", "recipe.toml", "--folder", "a.svg", "--run", "b.svg") == f"--run {once}"
    assert refusal("train", "--train.steps", "5", "recipe.toml", "--train.steps", "6") == (
        "--train.steps holds one value, found '5' and '6'; type it once"
    )
    assert parse(COMMANDS["translate"], ["RUN", "--json", "--json"]).json
    evaluate = parse(COMMANDS["evaluate"], ["RUN", "--data", "a.en", "--data", "a.fr"])
    assert evaluate.data == ("a.en", "a.fr")
    assert parse(Sets, ["--data.train", "a.en", "--data.train=a.fr"]).changes == {"data.train": ["a.en", "a.fr"]}
    both = ["--model.encoder.width", "8", "--model.decoder.width", "16"]
    assert parse(Sets, both).changes == {"model.encoder.width": 8, "model.decoder.width": 16}


def test_several_values_behind_each_other_are_told_the_new_spelling():
    Path("other").mkdir()
    Path("five.en").touch()
    told = "--ensemble takes one RUN each time it is typed, found also 'other'; write --ensemble RUN --ensemble other"
    assert refusal("translate", "RUN", "--ensemble", "RUN", "other") == told
    assert refusal("translate", "RUN", "five.en", "--ensemble", "RUN", "other") == told
    assert refusal("evaluate", "RUN", "--ensemble", "RUN", "other") == told
    told = "--must takes one TEXT each time it is typed, found also 'le chat'; write --must 'vélo' --must 'le chat'"
    assert refusal("translate", "RUN", "--must", "vélo", "le chat", "five.en") == told
    assert refusal("find", "RUN", "--property", "quotes", "depth") == (
        "--property takes one NAME each time it is typed, found also 'depth'; write --property quotes --property depth"
    )
    assert refusal("look", "RUN", "--also", "other", "other") == (
        "--also takes one RUN each time it is typed, found also 'other'; write --also other --also other"
    )


def test_behind_two_dashes_all_are_words():
    assert parse(COMMANDS["look"], ["--view", "map", "--", "RUN", "--help"]).text == "--help"


@pytest.mark.parametrize(
    ("name", "words", "now"),
    [
        ("train", ["recipe.toml", "--folder", "x"], ["recipe.toml", "--run", "x"]),
        ("demo", ["--folder", "x"], ["--run", "x"]),
        ("write", ["RUN", "--n", "3"], ["RUN", "--number", "3"]),
        ("heads", ["RUN", "--texts", "3"], ["RUN", "--number", "3"]),
        ("find", ["RUN", "--top", "3"], ["RUN", "--number", "3"]),
        ("translate", ["RUN", "--output", "x"], ["RUN", "--out", "x"]),
        ("write", ["RUN", "--temp", "0.5"], ["RUN", "--temperature", "0.5"]),
    ],
)
def test_old_spellings_and_beginnings(name, words, now):
    assert parse(COMMANDS[name], words) == parse(COMMANDS[name], now)
    assert parse(COMMANDS[name], words) != parse(
        COMMANDS[name], [word for word in words if word in ("RUN", "recipe.toml")]
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["translate"], "translate wants RUN, found none; see regard translate --help"),
        (
            ["caption", "RUN"],
            "caption wants IMAGE, found none; see regard caption --help",
        ),
        (
            ["score", "RUN", "a", "b"],
            "score wants RUN FILE, found also 'b'; to score a text, pipe it: echo 'a b' | regard score RUN",
        ),
        (
            ["align", "RUN", "A man", "Un homme"],
            "align wants RUN FILE, found also 'Un homme'; to align a text, pipe it: "
            "echo 'source ||| target' | regard align RUN",
        ),
        (["look", "RUN", "a", "b"], "look wants RUN TEXT, found also 'b'; a text with blanks wants quotes"),
        (["corpora", "b"], "corpora wants no words, found also 'b'"),
        (["translate", "RUN", "--beem", "3"], "option '--beem' does not exist; did you mean '--beam'?"),
        (["write", "RUN", "--top", "3"], "option '--top' does not exist; did you mean '--stop'?"),
        (["translate", "RUN", "--beam", "three"], "--beam wants a whole number, found 'three'"),
        (["translate", "RUN", "--beam", "--json"], "--beam wants a value, found none; write --beam N"),
        (["translate", "RUN", "--json=yes"], "--json is on or off and takes no value, found 'yes'; write --json"),
        (["translate", "RUN", "--beam=0"], "beam must be a whole number from 1 up, found 0"),
        (["write", "RUN", "--temperature", "hot"], "--temperature wants a number, found 'hot'"),
        (["write", "RUN", "--choose", "beem"], "choose 'beem' does not exist; did you mean 'beam'?"),
        (["look", "RUN", "x", "--view", "mapp"], "view 'mapp' does not exist; did you mean 'map'?"),
        (
            ["look", "RUN", "x", "--save", "x.gif"],
            "--save wants a name that ends in svg, png, pdf, html, json, csv, npz or trace",
        ),
        (["look", "RUN", "--port", "70000"], "--port wants a number from 0 to 65535, found 70000"),
        (["find", "RUN", "--property", "quots"], "property 'quots' does not exist; did you mean 'quotes'?"),
        (["heads", "RUN", "--number", "0"], "number must be a whole number from 1 up, found 0"),
        (["lab", "permutaton"], "claim 'permutaton' does not exist; did you mean 'permutation'?"),
        (["lab", "all", "--quick", "--full"], "--quick and --full are two efforts; choose one of them"),
        (["train", "--train.stpes", "5", "recipe.toml"], "no setting 'stpes' in [train]; did you mean 'steps'?"),
        (
            ["train", "--train.steps", "many", "recipe.toml"],
            "[train] steps must be a whole number from 0 up, found many",
        ),
        (
            ["score", "RUN", "--train.steps", "5"],
            "--train.steps is a setting of a recipe and means nothing here; see --help",
        ),
    ],
)
def test_what_cannot_be_meant(words, expected):
    assert refusal(*words).startswith(expected)


def test_commands_that_do_not_exist(capsys):
    assert main(["trian"]) == 1
    assert capsys.readouterr() == ("", "regard: command 'trian' does not exist; did you mean 'train'?\n")
    assert main(["--verison"]) == main(["help"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "regard: command '--verison' does not exist; did you mean '--version'?",
        "regard: command 'help' does not exist; did you mean '--help'?",
    ]
    assert main([]) == 1
    assert capsys.readouterr() == ("", "regard: a command is wanted; see regard --help\n")
    assert main(["--version"]) == 0
    assert capsys.readouterr() == (f"regard {regard.__version__}\n", "")


# Settings


def test_settings_are_told_from_the_other_words():
    words = ["--train.steps", "500", "a.toml", "--folder", "runs/x", "--model.layer.width=64", "--data.train", "a b"]
    assert parse(Sets, words) == Sets(
        recipe=Path("a.toml"),
        folder=Path("runs/x"),
        changes={"train.steps": 500, "model.layer.width": 64, "data.train": "a b"},
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--data.train", "a.en", "a.fr"], ["a.en", "a.fr"]),
        (["--data.train", "a.txt"], "a.txt"),
        (["--data.train=a=b.txt"], "a=b.txt"),
        (["--data.train=['a.en', 'a.fr']"], ["a.en", "a.fr"]),
        (["--data.train", "phrases:french"], "phrases:french"),
        (["--train.rate", "1e-3"], 1e-3),
        (["--train.rate", "-1"], -1),
        (["--text.shared", "false"], False),
        (["--train.device", "'cpu'"], "cpu"),
        (["--model", "lstm"], "lstm"),
        (["--model=lstm"], "lstm"),
        (["--data.train", ""], ""),
    ],
)
def test_values_are_read_as_toml_where_they_can_be(words, expected):
    (value,) = parse(Sets, words).changes.values()
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize("words", [["--train.steps"], ["--train.steps", "--model", "lstm"]])
def test_a_setting_without_a_value(words):
    with pytest.raises(UserError, match=r"--train\.steps wants a value, found none; write --train.steps N"):
        parse(Sets, words)


# Declarations


@pytest.mark.parametrize("kind", COMMANDS.values(), ids=list(COMMANDS))
def test_every_command_has_help_and_a_body(kind):
    said = help_for(kind)
    for one in (*places_of(kind), *options_of(kind).values()):
        assert one.meaning, f"{one.name} of {kind.called()} has no docstring"
        assert one.meaning.split()[0] in said
    assert all(now in {name.removeprefix("--") for name in options_of(kind)} for _, now in kind.old)
    name = f"{kind.called()}_" if iskeyword(kind.called()) else kind.called()
    body = getattr(import_module(kind.__module__.replace(".commands.", ".bodies.")), name)
    assert get_type_hints(body) == {"asked": kind, "return": int}
    assert len(signature(body).parameters) == 1


def test_every_setting_stands_in_a_list_of_its_own(capsys):
    assert main(["train", "--settings"]) == 0
    said = capsys.readouterr().out
    typed = re.findall(r"^  --([a-z0-9_.]+)", said, re.MULTILINE)
    assert len(typed) == len(set(typed))
    known = {name: one for name, one in settings_of(Recipe).items() if one.meaning and name.split(".")[0] != "origin"}
    assert {name.rpartition(".")[2] for name in typed} == {one.field for one in known.values()} - {"version"}
    assert set(typed) >= {
        "model",
        "model.encoder.stages",
        *(name for name in known if name.startswith(("data", "train"))),
    }
    assert "[model.decoder], as [model.layer]\n\n" in said
    assert "  --text.lower true|false" in said
    assert main(["distill", "--settings", "--run", "x"]) == 0
    assert {
        line.strip("[]").split(".")[0] for line in re.findall(r"^\[[a-z]+", capsys.readouterr().out, re.MULTILINE)
    } == {
        "model",
        "train",
    }
    assert main(["translate", "--settings"]) == 1


def test_json_and_save_mean_the_same_everywhere():
    for kind in COMMANDS.values():
        options = options_of(kind)
        assert "--json" not in options or options["--json"].switch, kind.called()
        assert "--save" not in options or options["--save"].kinds == (Path,), kind.called()


def test_settings_are_known_at_every_depth():
    known = settings_of(Recipe)
    assert known["data.train"].several
    assert not known["train.steps"].several
    assert known["model.layer.kind"].choices == ("rnn", "lstm", "gru", "transformer")
    assert "model.encoder.stages" in known


def test_meanings_are_those_of_the_class_and_its_bases():
    found = meanings(COMMANDS["translate"])
    assert found["run"] == "The folder of a run."
    assert found["file"].startswith("Lines to translate")


# What is loaded


LOADED = "import sys; from regard.cli import main; main(sys.argv[1:]); sys.exit('torch' in sys.modules)"


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["corpora"],
        ["lab"],
        ["trian"],
        *([name, "--help"] for name in COMMANDS),
        ["translate", "RUN", "--beem", "3"],
        ["translate", "RUN", "--beam", "three"],
        ["look", "RUN", "A man.", "--view", "mapp"],
        ["look", "RUN", "A man.", "--save", "x.gif"],
        ["find", "RUN", "--property", "quots"],
        ["lab", "permutaton"],
        ["train", "recipe.toml", "--train.stpes", "5"],
        ["train", "nothing.toml"],
        ["train", "--data.train", "nowhere.en", "nowhere.fr"],
        ["train", "--data.train", "phrases:french", "--data.valid", "nowhere.tsv"],
        ["init", "nowhere.csv", "--yes"],
        ["translate", "nowhere"],
    ],
    ids=" ".join,
)
def test_torch_is_loaded_only_to_compute(words):
    done = subprocess.run([sys.executable, "-c", LOADED, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout or done.stderr.startswith("regard: ")


def test_importing_regard_loads_nothing_that_computes():
    code = "import sys, regard; regard.LanguageModel; sys.exit(any(name in sys.modules for name in ('torch', 'numpy')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_name_is_there_when_it_is_asked_for():
    assert {name: getattr(regard, name) for name in regard.__all__}.keys() == {*regard.__all__}
    assert {*regard.__all__} <= {*dir(regard)}
    assert regard.load is import_module("regard.runs").load_run
    with pytest.raises(AttributeError, match="module 'regard' has no attribute 'lode'"):
        _ = regard.lode
    with pytest.raises(AttributeError):
        _ = regard.load_run
