"""The lab: rules judge as they say, nothing measured is lost, and the report holds every claim by itself."""

import dataclasses
import json
import re
from pathlib import Path

import pytest
import tiny

from regard.cli import main
from regard.config import Recipe
from regard.folder import Folder
from regard.lab import claims, common
from regard.lab.claim import Claim, Mark, judge
from regard.lab.claims import CLAIMS
from regard.lab.report import report
from regard.lab.room import Room
from regard.lab.session import Outcome, Session
from regard.training.loop import Training
from regard.training.stopping import BY_HAND, Interrupted

COMPUTED = ("all-at-once", "cache")  # claims that train nothing


def made_up(name: str = "made-up", measure=lambda room: {"number": room.seed}, above: float = 0.5) -> Claim:
    """A claim whose number is the seed, unless told otherwise."""
    return Claim(
        name, f"{name} is so", "1 = 1", "Nobody 2026", "none", (Mark("number", above=above),), measure,
        lambda figure, seeds: figure.subplots().plot([numbers["number"] for numbers in seeds]), "nothing",
    )  # fmt: skip


@pytest.fixture
def lab(tmp_path, monkeypatch, capsys):
    """Runs `regard lab` with these claims alone; gives exit code, standard output and standard error."""

    def run(own: list[Claim], *words: object) -> tuple[int, str, str]:
        known = {claim.name: claim for claim in own}
        monkeypatch.setattr(claims, "CLAIMS", known)
        code = main(["lab", *map(str, words), "--folder", str(tmp_path)])
        return code, *capsys.readouterr()

    return run


# Rules


def test_a_mark_is_passed_on_its_own_side_alone():
    assert [Mark("x", above=1).passed({"x": x}) for x in (0, 1, 2)] == [False, False, True]
    assert [Mark("x", below=1).passed({"x": x}) for x in (0, 1, 2)] == [True, False, False]
    between = Mark("x", above=0, below=1)
    assert [between.passed({"x": x}) for x in (-1, 0.5, 2)] == [False, True, False]
    assert str(between) == "x > 0 and < 1"


@pytest.mark.parametrize(
    ("numbers", "verdict"),
    [((1, 2), "held"), ((0, 0), "did not hold"), ((0, 1), "too noisy to say"), ((1,), "held"), ((0,), "did not hold")],
)
def test_the_rule_judges_all_seeds_together(numbers, verdict):
    assert judge(made_up(), [{"number": number} for number in numbers]) == verdict


def test_one_mark_that_is_missed_is_enough():
    both = dataclasses.replace(made_up(), marks=(Mark("number", above=0.5), Mark("other", below=3)))
    assert judge(both, [{"number": 1, "other": 5}]) == "did not hold"


# What is kept


def test_results_are_kept_seed_by_seed_and_not_measured_twice(tmp_path):
    measured = []
    claim = made_up(measure=lambda room: measured.append(room.seed) or {"number": room.seed})
    assert Session(tmp_path, "quick", 2).outcome(claim).seeds == ({"number": 0}, {"number": 1})
    assert Session(tmp_path, "quick", 3).left(claim) == 1
    assert Session(tmp_path, "quick", 3).outcome(claim).verdict == "too noisy to say"
    assert measured == [0, 1, 2]
    assert Session(tmp_path, "full", 1).left(claim) == 1, "quick numbers are no full ones"


def test_a_rule_or_set_up_that_changed_is_measured_again(tmp_path):
    session = Session(tmp_path, "quick", 1)
    session.outcome(made_up())
    assert session.left(made_up()) == 0
    assert session.left(made_up(above=0.4)) == 1
    assert session.left(dataclasses.replace(made_up(), setup="another")) == 1


@pytest.mark.parametrize("broken", ["", "{", "[]", "{}", '{"version": 0}'])
def test_a_result_that_is_broken_is_measured_again(tmp_path, broken):
    session = Session(tmp_path, "quick", 1)
    session.outcome(made_up())
    (tmp_path / "quick/made-up/seed-0.json").write_text(broken)
    assert session.left(made_up()) == 1
    assert session.outcome(made_up()).seeds == ({"number": 0},)


@pytest.mark.parametrize("how", [KeyboardInterrupt, Interrupted])
def test_stopped_in_the_middle_all_goes_on_where_it_stopped(lab, tmp_path, how):
    measured, stopping = [], [True]

    def second(room):
        if stopping[0]:
            raise how("stopped at step 7; go on with: regard train somewhere")
        return {"number": 1}

    own = [made_up("first", lambda room: measured.append(1) or {"number": 1}), made_up("second", second)]
    code, out, err = lab(own, "all")
    assert code == 130
    assert re.fullmatch(r"● held +first +\d+ s +first is so\n", out)
    *_, last = err.splitlines()
    assert last == (
        f"regard: stopped; what is finished is kept in {tmp_path}; go on with: regard lab all --quick --seeds 1 "
        f"--folder {tmp_path}"
    )
    assert "Traceback" not in err
    stopping[0] = False
    code, out, _ = lab(own, "all")
    assert code == 0
    assert len(out.splitlines()) == 3
    assert measured == [1], "what was finished is not measured again"


def training(room: Room) -> dict[str, float]:
    """A claim's measuring: a training of a second."""
    room.folder.mkdir(parents=True, exist_ok=True)
    room.train("run", tiny.recipe(room.folder, "classifier-lstm", checkpoint=3))
    return {"number": common.held_out(room.train("run", tiny.recipe(room.folder, "classifier-lstm", checkpoint=3)))}


def test_a_training_that_was_stopped_goes_on_in_its_room(lab, tmp_path, monkeypatch):
    whole = Room(tmp_path / "whole", 0, "quick")
    wanted = training(whole)
    update = Training.update

    def asked_to_stop(self):
        self.stop.asked = BY_HAND if self.progress.step == 10 else 0
        return update(self)

    claim = made_up("trains", training)
    with monkeypatch.context() as patch:
        patch.setattr(Training, "update", asked_to_stop)
        assert lab([claim], "trains")[0] == 130
    there = Folder(tmp_path / "quick/trains/seed-0/run")
    assert there.read_log()[-1]["step"] < 20
    assert lab([claim], "trains")[0] == 0
    kept = json.loads((tmp_path / "quick/trains/seed-0.json").read_text())
    assert kept["numbers"] == wanted
    assert not there.path.exists(), "the numbers are what was wanted"


def test_what_another_recipe_left_in_a_room_is_not_in_the_way(tmp_path):
    room = Room(tmp_path, 3, "quick")
    room.train("run", tiny.recipe(tmp_path, "classifier-lstm", steps=2))
    run = room.train("run", tiny.recipe(tmp_path, "classifier-transformer", steps=3))
    assert run.recipe.train.seed == 3
    assert run.folder.read_log()[-1]["step"] == 3


# Bad input


def test_an_unknown_claim(lab):
    code, _, err = lab([made_up("bottleneck")], "botleneck")
    assert (code, err) == (1, "regard: claim 'botleneck' does not exist; did you mean 'bottleneck'?\n")
    code, _, err = lab([made_up("bottleneck")], "bottleneck", "--seeds", 0)
    assert (code, err) == (1, "regard: seeds must be a whole number from 1 up, found 0\n")
    code, _, err = lab([made_up("bottleneck")], "bottleneck", "--train.steps", 5)
    assert (code, err) == (1, "regard: --train.steps is a setting of a recipe and means nothing here; see --help\n")


def test_a_full_disk(lab, tmp_path, monkeypatch):
    """The second result cannot be written; the first one is there when there is room again."""
    written, write = [], Path.write_text

    def full(self, *rest, **others):
        if self.name.startswith(".seed-0.json"):
            written.append(self)
            if len(written) == 2:
                raise OSError(28, "No space left on device")
        return write(self, *rest, **others)

    own = [made_up("first", lambda room: {"number": 1}), made_up("second", lambda room: {"number": 1})]
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        code, _, err = lab(own, "all")
    assert code == 1
    assert err.splitlines()[-1] == (
        f"regard: cannot write {tmp_path}/quick/second/seed-0.json: No space left on device; "
        "check the folder and the space left on it"
    )
    assert Session(tmp_path, "quick", 1).left(own[0]) == 0
    assert list(tmp_path.rglob("*.partial")) == []
    assert lab(own, "all")[0] == 0


def test_a_folder_in_the_place_of_a_file(lab, tmp_path):
    (tmp_path / "quick").write_text("something else")
    code, _, err = lab([made_up()], "made-up")
    assert code == 1
    assert err.splitlines()[-1].startswith(f"regard: cannot write {tmp_path}/quick/made-up/seed-0.json: Not a dir")


# The report


def test_the_report_has_every_claim(lab, tmp_path):
    own = [made_up("first"), made_up("second", lambda room: {"number": 7.5, "others": [1, 2], "large": 12345.0})]
    code, out, _ = lab(own, "all", "--seeds", 2)
    assert code == 0
    assert out.splitlines()[-1] == f"report: {tmp_path}/report.html"
    page = (tmp_path / "report.html").read_text()
    for claim in own:
        assert page.count(f'href="#{claim.name}"') == 1
        assert page.count(f'<section id="{claim.name}">') == 1
    assert page.count("too noisy to say</span>") == 2  # in the table and at the claim
    assert page.count("<svg") == 2
    assert "number &gt; 0.5" in page
    assert "12,345" in page
    assert "regard lab all --quick --seeds 2" in page


def test_the_report_needs_nothing_from_elsewhere(lab, tmp_path):
    lab([made_up()], "made-up")
    page = (tmp_path / "made-up.html").read_text()
    assert set(re.findall(r"(?:src|href)=(..)", page)) == {'"#'}
    assert "url(h" not in page
    assert "<script" not in page
    assert "@import" not in page


# The claims themselves


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=list(CLAIMS))
def test_every_claim_says_all_that_it_should(claim):
    for field in ("name", "says", "equation", "paper", "setup", "next"):
        assert getattr(claim, field).strip(), field
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", claim.name)
    assert not claim.says.endswith(".")
    assert claim.marks
    assert all(mark.above is not None or mark.below is not None for mark in claim.marks)
    assert re.search("[Qq]uick.*full|Full", claim.setup), "says what it does quick and full"


def test_the_list_says_what_they_say(capsys):
    assert main(["lab"]) == 0
    said = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert said == [[claim.name, claim.says] for claim in CLAIMS.values()]


def test_every_claim_in_the_lab_is_in_the_list():
    files = {path.stem for path in Path(claims.__file__).parent.glob("*.py") if "\nCLAIM = " in path.read_text()}
    assert {name.replace("-", "_") for name in CLAIMS} == files
    assert len(files) > 1


def check_that_it_can_be_judged_and_drawn(claim: Claim, numbers: dict) -> None:
    kept = json.loads(json.dumps(numbers))
    assert {mark.number for mark in claim.marks} <= kept.keys()
    outcome = Outcome(claim, "quick", (kept, kept), 1.0)
    assert outcome.verdict in ("held", "did not hold")
    assert "<svg" in report([outcome], "regard lab")


@pytest.mark.parametrize("name", COMPUTED)
def test_a_claim_that_trains_nothing_measures_what_its_rule_asks_for(name, tmp_path, monkeypatch):
    monkeypatch.setattr(f"regard.lab.{name.replace('-', '_')}.seconds", lambda call, repeats=5: 1.0)
    check_that_it_can_be_judged_and_drawn(CLAIMS[name], CLAIMS[name].measure(Room(tmp_path, 0, "quick")))


@pytest.fixture
def briefly(monkeypatch):
    """Every training has two updates: what comes out is worthless, but all of it is there."""
    train = Room.train

    def two_updates(self, place: str, recipe: Recipe):
        settings = dataclasses.replace(recipe.train, steps=2, warmup=1, evaluate=2)
        return train(self, place, dataclasses.replace(recipe, train=settings))

    monkeypatch.setattr(Room, "train", two_updates)


@pytest.mark.parametrize("name", ["vanishing", "stop-vector"])
def test_a_claim_that_trains_measures_what_its_rule_asks_for(name, tmp_path, briefly):
    check_that_it_can_be_judged_and_drawn(CLAIMS[name], CLAIMS[name].measure(Room(tmp_path, 0, "quick")))


def test_the_claim_that_the_page_writes_works(tmp_path, briefly, monkeypatch, capsys):
    """As its page says: the file as it is printed, and the command below it."""
    page = (tiny.ROOT / "docs/lab.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Path("last_letter.py").write_text(code)
    assert "regard lab ./last_letter.py " in page
    assert main(["lab", "./last_letter.py"]) == 0
    assert "last-letter" in capsys.readouterr().out
    assert "<svg" in Path("lab/last_letter.html").read_text()
    assert [name for name in CLAIMS if f"| `{name}` |" in page] == list(CLAIMS)
