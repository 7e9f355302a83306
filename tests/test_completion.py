"""What shells offer behind `regard`, asked of the shells themselves."""

import shutil
import subprocess

import pytest

from regard.cli.command import options_of
from regard.cli.commands import COMMANDS
from regard.cli.completion import script

BASH = """
source ./script
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_regard "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""
ZSH = """
compdef() { [[ $1 == _regard && $2 == regard ]] || print wrong }
_describe() { print -rl -- ${(P)2} }
_arguments() { print -rl -- "$@" }
source ./script
words=("$@") CURRENT=$#
_regard
"""
FISH = "source ./script; complete -C (string join ' ' -- $argv)"


@pytest.fixture(params=["bash", "fish"])
def offered(request, tmp_path):
    """What a shell offers for the last of some words."""
    shell = request.param
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "script").write_text(script(shell), encoding="utf-8")
    (tmp_path / "runs of mine").mkdir()
    (tmp_path / "input.en").touch()
    lines = {
        "bash": ["bash", "--norc", "-c", BASH, "bash"],
        "fish": ["fish", "--no-config", "-c", FISH],
    }

    def ask(*words: str) -> set[str]:
        done = subprocess.run(
            [*lines[shell], "regard", *words], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert done.stderr == ""
        found = (line.split("\t")[0].removesuffix("/").replace("\\", "") for line in done.stdout.splitlines())
        return {word for word in found if word and word.startswith(words[-1])}

    return ask


def test_commands(offered):
    assert {word for word in offered("") if not word.startswith("-")} == {*COMMANDS}
    assert offered("tra") == {"train", "translate"}


@pytest.mark.parametrize("name", COMMANDS)
def test_options_of_every_command(offered, name):
    assert offered(name, "--") >= {*options_of(COMMANDS[name]), "--help"}


def test_settings_and_their_values(offered):
    assert {"--train.steps", "--train.rate", "--model.layer.width", "--data.train"} <= offered("train", "--")
    assert offered("train", "--train.op") == {"--train.optimiser"}
    assert offered("train", "--train.optimiser", "") == {"adamw", "muon"}
    assert offered("train", "a.toml", "--text.shared", "f") == {"false"}


def test_choices_files_and_runs(offered):
    assert offered("translate", "runs", "--precision", "") == {"float32", "int8"}
    assert offered("look", "--view", "g") == {"gradients"}
    assert offered("translate", "--out", "inp") == {"input.en"}
    assert "runs of mine" in offered("evaluate", "ru")
    assert offered("translate", "runs", "inp") == {"input.en"}
    assert offered("translate", "runs", "--beam", "") == set()


def test_names_in_their_places(offered):
    assert offered("lab", "perm") == {"permutation"}
    assert offered("completion", "") == {"bash", "zsh", "fish"}


def test_zsh_is_told_the_same(tmp_path):
    """In what its own `_describe` and `_arguments` want."""
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed")
    (tmp_path / "script").write_text(script("zsh"), encoding="utf-8")

    def told(*words: str) -> list[str]:
        line = ["zsh", "-f", "-c", ZSH, "zsh", "regard", *words]
        done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        return done.stdout.splitlines()

    assert [line.partition(":")[0] for line in told("")] == [*COMMANDS]
    for name, kind in COMMANDS.items():
        specs = told(name, "--")
        assert {spec.partition("[")[0] for spec in specs if spec.startswith("--")} >= {*options_of(kind), "--help"}
    train, translate = told("train", ""), told("translate", "")
    assert any(spec.startswith("--train.optimiser[") and spec.endswith(":adamw|muon:(adamw muon)") for spec in train)
    assert translate[-2:] == ["1:RUN:_files -/", "2:FILE:_files"]
    assert told("caption", "")[-1] == "*:IMAGE:_files"
