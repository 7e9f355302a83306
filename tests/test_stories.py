"""Stories: ours can be told of every kind of run, and what is wrong with somebody's own is said in one line."""

from urllib.parse import parse_qsl

import pages
import pytest
import tabs
from tabs import FAMILIES, VIEWS

from regard.cli import main
from regard.errors import UserError
from regard.page.answers import Answers
from regard.page.story import built_in, read_story, story_named

pytestmark = tabs.MARKS
runs, browser = tabs.runs, tabs.browser
OWN = """
title = "Mine"
[[steps]]
address = "view=mapp&layer=nowhere&run=9"
say = "First."
[[steps]]
address = "view=decode"
say = "Second."
point = ".ladder"
question = "Why?"
answer = "Because."
"""


@pytest.fixture(scope="module")
def server(runs):
    with pages.serving_of(Answers(runs, [read_story(OWN, "mine")])) as server:
        yield server


tab = tabs.tab


def test_there_are_ten_and_each_can_be_told():
    every = built_in()
    assert len(every) == 10
    assert len({story.name for story in every}) == 10
    for story in every:
        assert 2 <= len(story.steps) <= 6
        assert any(step.question for step in story.steps)
        for step in story.steps:
            assert dict(parse_qsl(step.address))["view"] in VIEWS
            assert 20 < len(step.say) < 400, step.say


@pytest.mark.parametrize(
    "family", ["rnn", "lstm", "rnn-attention", "transformer-lm", "transformer-seq2seq", "classifier"]
)
def test_every_step_of_every_story_is_shown_of_every_kind_of_run(tab, family):
    """One look at each address: none breaks, whatever the run has or has not."""
    tab.open(family)
    for address in sorted({step.address for story in built_in() for step in story.steps}):
        tab.open(family, **dict(parse_qsl(address, keep_blank_values=True)))
        tab.settled()
        assert "broke" not in tab.text("#figure"), address
        assert "did not work" not in tab.text("#figure"), address


def test_a_story_is_walked_by_next_and_back(tab):
    tab.open("rnn-attention")
    tab.page.select_option("#story", "attention")
    tab.page.wait_for_selector(".story")
    steps = story_named("attention").steps
    assert steps[0].say in tab.text(".story")
    tab.page.click("#story-next")
    tab.page.wait_for_selector("#view-map[aria-current=page]")
    assert steps[1].say in tab.text(".story")
    tab.page.wait_for_selector(".heat.pointed")
    assert steps[1].answer not in tab.text(".story")
    tab.page.click(".story summary")
    assert steps[1].answer in tab.text(".story")
    assert pages.text_for("rnn-attention") == tab.page.input_value("#text")  # what is asked stays
    tab.page.click("#story-back")
    tab.page.wait_for_selector("#view-model[aria-current=page]")
    tab.page.click("#story-end")
    assert tab.text(".story") == ""


def test_what_a_step_names_and_is_not_there_is_one_line_and_the_rest_goes_on(tab, server):
    tab.page.goto(f"{server.address}#story=mine")
    tab.ready()
    tab.until("document.querySelector('.story .notice') !== null")
    assert tab.text(".story .notice") == "This step names what is not here: view 'mapp', run 9, 'nowhere'."
    tab.page.click("#story-next")
    tab.page.wait_for_selector("#view-decode[aria-current=page]")
    assert "Second." in tab.text(".story")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x", "story 'a' is no TOML"),
        ('title = "t"', "story 'a' wants a title and [[steps]], found title"),
        ('title = "t"\n[[steps]]\naddress = "view=map"', "story 'a', step 0: a step of a story wants something to say"),
        ('title = "t"\n[[steps]]\nsay = "s"\nquestion = "q"', "story 'a', step 0: a question wants its answer"),
        ('title = "t"\n[[steps]]\nsays = "s"', "story 'a', step 0: no field 'says'"),
    ],
)
def test_what_is_wrong_with_a_story_is_said(text, said):
    with pytest.raises(UserError) as error:
        read_story(text, "a")
    assert str(error.value).startswith(said)


def test_the_command_line_names_stories(runs, capsys, tmp_path):
    run = str(runs[FAMILIES.index("lstm")].folder.path)
    assert main(["look", run, "--story", "atention"]) == 1
    assert capsys.readouterr().err.startswith("regard: story 'atention' does not exist; did you mean 'attention'?")
    assert main(["look", run, "--story", str(tmp_path / "mine.toml")]) == 1
    assert "does not exist; give the file of a story" in capsys.readouterr().err
    assert main(["look", run, "a", "--story", "cache", "--view", "map"]) == 1
    assert "a story is told on the page" in capsys.readouterr().err
    (tmp_path / "mine.toml").write_text(OWN)
    assert story_named(str(tmp_path / "mine.toml")).name == "mine"
