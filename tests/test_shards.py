"""One command by several processes: the bytes of one, whoever dies on the way; what is done is not done again."""

from dataclasses import replace
from pathlib import Path

import albums
import pytest
import tiny
from albums import album
from dying import OnceCommand

from regard.cli import main
from regard.cli.bodies.shards import in_shards
from regard.cli.commands.labelling import CaptionCommand
from regard.errors import UserError
from regard.training.loop import train
from regard.training.report import Report

run = albums.run
BATCH = ("--together", "2")  # pieces of 128 lines
LINES = [
    "\ufeffone two",  # a mark that begins a line, but for the first, is text, wherever the cut is
    "",
    "two three four\r",
    "four",
    "three three",
    "never seen ⁇",
    "one " * 9,
] * 40
ASKED = {
    "translate": ("seq2seq-transformer", ("--n-best", "2", "--beam", "3")),
    "score": ("lm-gru", ("--tokens",)),
    "classify": ("classifier-lstm", ("--all", "--json")),
    "tag": ("tagger-rnn", ()),
    "embed": ("classifier-transformer", ()),
}


@pytest.mark.parametrize("name", ASKED)
def test_two_processes_and_parts_write_what_one_process_writes(name, tmp_path):
    model, options = ASKED[name]
    train(tiny.recipe(tmp_path, model, steps=2), tmp_path / "run", Report(quiet=True))
    (tmp_path / "in").write_bytes("".join(f"{line}\r\n" for line in LINES).encode())

    def written(out: str, *more: str) -> None:
        words = [tmp_path / "run", tmp_path / "in", "--out", tmp_path / out, "--threads", "1"]
        assert main([name, *map(str, words), *BATCH, *options, *more]) == 0

    written("one")
    wanted = (tmp_path / "one").read_bytes()
    assert len(wanted.splitlines()) >= len(LINES)
    written("two", "--processes", "2")
    assert (tmp_path / "two").read_bytes() == wanted
    if name == "translate":
        for part in (1, 2):
            written("parts", "--shard", f"{part}/2")
        parts = sorted(tmp_path.glob("parts.*-of-2"))
        assert b"".join(path.read_bytes() for path in parts) == wanted
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_captions_of_two_processes(run, tmp_path, monkeypatch):
    album(tmp_path)
    monkeypatch.setattr(CaptionCommand, "at_once", 1)  # pieces of 64 pictures, the last of one
    words = ["caption", str(run.folder.path), *[str(tmp_path / f"{number % 2}.png") for number in range(65)]]
    assert main([*words, "--out", str(tmp_path / "one")]) == 0
    assert main([*words, "--out", str(tmp_path / "two"), "--processes", "2"]) == 0
    assert (tmp_path / "two").read_bytes() == (tmp_path / "one").read_bytes()


# What becomes of processes that die, with a command that does nothing else


@pytest.fixture
def asked(tmp_path) -> OnceCommand:
    (tmp_path / "in").write_text("".join(f"{number}\n" for number in range(300)))
    return OnceCommand(run=tmp_path, file=str(tmp_path / "in"), out=tmp_path / "out", together=2, processes=2)


def tries(folder: Path) -> dict[str, int]:
    return {path.name: len(path.read_text()) for path in sorted(folder.glob("tried-*"))}


def test_a_process_that_dies_costs_its_piece(asked, tmp_path):
    assert in_shards(asked) == 0
    assert (tmp_path / "out").read_bytes() == (tmp_path / "in").read_bytes()
    assert tries(tmp_path) == {"tried-0": 2, "tried-128": 2, "tried-256": 2}


def test_a_piece_that_ends_every_process_ends_the_command(asked, tmp_path):
    with pytest.raises(UserError, match=r"3 processes died of the 128 lines from (1|129) on; if memory is short"):
        in_shards(replace(asked, always=True))
    assert max(tries(tmp_path).values()) == 3
    assert not (tmp_path / "out").exists()


def test_what_is_done_is_not_done_again(asked, tmp_path):
    lines = (tmp_path / "in").read_text()
    (tmp_path / "in").write_text(lines + "wrong\n")
    with pytest.raises(UserError, match="of the 45 lines from 257 on: line 1: is wrong"):
        in_shards(asked)
    before = tries(tmp_path)
    (tmp_path / "in").write_text(lines)
    done = {path.name[:9] for path in (tmp_path / ".out.shards").iterdir()}
    assert in_shards(asked) == 0
    assert (tmp_path / "out").read_text() == lines
    after = tries(tmp_path)
    assert after["tried-256"] > before["tried-256"]
    assert all(after[name] == before[name] for name in before if f"{int(name[6:]) // 128:09}" in done)
    with pytest.raises(UserError, match="is there already, and what is done is not done again"):
        in_shards(asked)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--processes", "2"), "answers in shards are kept on the disk; name a file for them: --out FILE"),
        (("--out", "x", "--shard", "3"), "--shard wants a part and how many there are, such as 3/16, found '3'"),
        (("--out", "x", "--shard", "3/2"), "--shard wants a part and how many there are, such as 3/16, found '3/2'"),
        (
            ("--out", "x", "--processes", "2", "--similar", "3"),
            "--similar wants all answers at once; leave out --processes, --shard and --ray",
        ),
    ],
)
def test_what_cannot_be_shared_out(words, said, capsys):
    assert main(["embed", "nowhere", *words]) == 1
    assert capsys.readouterr().err == f"regard: {said}\n"
