"""Back-translation: pairs from text in one language, marked, the same bytes whatever happens on the way."""

from types import SimpleNamespace

import pytest
import refusals
import tiny
from trainings import Killed, quietly

from regard.cli import main
from regard.cli.bodies import hands
from regard.runs import load_run
from regard.tasks import TASKS
from regard.text.kinds import train_tokenizer

LINES = ["one two", "", "three three four", "four\tone", "two"] * 26
TAG = "⟲"

said, refused = refusals.said, refusals.refused


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    """A translator of the other direction, text in one language, and real pairs."""
    folder = tmp_path_factory.mktemp("there")
    plan = tiny.recipe(folder, "seq2seq-gru-attention", steps=8, evaluate=8)
    quietly(plan, folder / "run")
    (folder / "mono").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return SimpleNamespace(run=folder / "run", mono=folder / "mono", real=plan.data.train, folder=folder)


def at_hand(missing, processes):
    """The pieces, computed here."""
    return ((piece, hands.answered(piece.asked, piece.items)) for piece in missing)


def made(there, out, *more, by=at_hand) -> int:
    words = (there.run, there.mono, "--out", out, "--beam", "1", *more)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("regard.cli.bodies.shards.by_processes", by)
        return main(["backtranslate", *map(str, words)])


@pytest.fixture(scope="module")
def pairs(there):
    out = there.folder / "pairs.tsv"
    assert made(there, out) == 0
    return out


def test_a_pair_is_what_the_run_says_marked_and_the_line(there, pairs):
    texts = [line for line in LINES if line]
    said = load_run(there.run).translate(texts, beam=1)
    wanted = [(f"{TAG} {source}", line.replace("\t", " ")) for line, source in zip(texts, said, strict=True) if source]
    assert len(wanted) > len(texts) / 2
    assert [tuple(pair) for pair in TASKS["pairs"].read(str(pairs), None)] == wanted
    assert sorted(path.name for path in there.folder.iterdir() if "pairs" in path.name) == ["pairs.tsv"]


def test_real_pairs_stand_in_front_as_often_as_asked(there, pairs, tmp_path):
    assert made(there, tmp_path / "both.tsv", "--real", there.real, "--times", "2", "--tag", "") == 0
    real = [f"{pair.source}\t{pair.target}\n" for pair in TASKS["pairs"].read(there.real, None)]
    without = pairs.read_text(encoding="utf-8").replace(f"{TAG} ", "")
    assert (tmp_path / "both.tsv").read_text(encoding="utf-8") == "".join(real) * 2 + without


def test_what_was_killed_goes_on_to_the_same_bytes(there, pairs, tmp_path, monkeypatch):
    """Killed behind the first piece, and again before the pairs are written; nothing is answered twice."""
    monkeypatch.setattr("regard.cli.bodies.shards.WINDOWS", 1)
    monkeypatch.setattr("regard.cli.bodies.shards.WINDOW", 1)  # pieces of 32 lines
    out, answered = tmp_path / "pairs.tsv", []

    def dying(missing, processes):
        for number, piece in enumerate(missing):
            if number == 2 and len(answered) == 2:
                raise Killed
            answered.append(piece.name)
            yield from at_hand([piece], processes)

    def killed(*_):
        raise Killed

    with pytest.raises(Killed):
        made(there, out, by=dying)
    with monkeypatch.context() as patch:
        patch.setattr("regard.cli.bodies.backtranslate.replacing", killed)
        with pytest.raises(Killed):
            made(there, out, by=dying)
    assert not out.exists()
    assert made(there, out, by=killed) == 0
    assert out.read_bytes() == pairs.read_bytes()
    assert len(answered) == len(set(answered)) == -(-len(LINES) // 32)
    assert [path.name for path in tmp_path.iterdir()] == ["pairs.tsv"]


@pytest.mark.parametrize(("kind", "size"), [("words", None), ("bpe", 300), ("characters", None)])
def test_the_mark_is_a_token_of_its_own(kind, size):
    """Whichever kind of token is learnt from such pairs, and whatever stands behind it."""
    texts = [f"{TAG} the tide comes in, day {n}" for n in range(60)] + [f"day {n}" for n in range(60)]
    tokenizer = train_tokenizer(kind, texts, size)
    marks = {next(iter(tokenizer.encode(f"{TAG} {text}"))) for text in ("the tide", "a boat", "…", "1")}
    (mark,) = marks
    assert tokenizer.decode([mark]).strip() == TAG
    assert mark not in tokenizer.encode("the tide comes in, day 7")


def test_what_cannot_be_is_said(there, pairs, refused):
    words = ("backtranslate", there.run, there.mono, "--out")
    assert refused(*words, pairs).endswith("pairs.tsv is there already; remove it, or name another --out")
    assert refused(*words[:3]) == "backtranslate wants a file for the pairs, found none; add --out FILE"
    assert "does not exist" in refused("backtranslate", there.run, "nowhere.txt", "--out", "x.tsv")
    assert "--tag stands in a line of source<TAB>target" in refused(*words, "x.tsv", "--tag", "a\tb")
