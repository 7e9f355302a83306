"""A walk over the page as a teacher and a researcher take it: what they tripped over does not come back."""

import re
import shutil
from itertools import pairwise

import pages
import pytest
import tabs
from tabs import FAMILIES, Tab
from test_page_use import saved

from regard.cli import main
from regard.cli.commands.look import LookCommand
from regard.cli.words import parse
from regard.config.looking import Recording
from regard.layers.tap import taps_of
from regard.page import finding
from regard.page.answers import told_apart

pytestmark = tabs.MARKS
runs, server, browser, tab = tabs.runs, pages.server, tabs.browser, tabs.tab


# Maps and heads


def test_what_could_not_be_looked_at_is_hatched_and_nothing_else(tab):
    tab.open("transformer-lm", view="heads", length=0)
    assert "could not look" in tab.text("#figure .controls")
    colours = tab.page.evaluate(
        """() => {
            const canvas = document.querySelector('.thumb canvas');
            const side = canvas.width / 16;  // fifteen characters behind the start
            const within = (row, column) => {
                const box = [column * side + 1, row * side + 1, side - 2, side - 2];
                const data = canvas.getContext('2d').getImageData(...box).data;
                return new Set(Array.from({ length: data.length / 4 }, (_, i) => data.slice(4 * i, 4 * i + 3).join()));
            };
            return [within(5, 5).size, within(15, 15).size, within(2, 9).size];
        }"""
    )
    assert colours[:2] == [1, 1]
    assert colours[2] > 1


def test_sorted_heads_keep_their_names_and_can_be_turned_round(tab):
    tab.open("transformer-seq2seq", view="heads", sort="entropy")
    names = tab.page.locator(".thumb").all_inner_texts()
    assert len({name.rpartition("\n")[0] for name in names}) == len(names) == 12
    assert any("cross attention" in name for name in names)
    tab.page.click("text=the least first")
    values = [float(name.split()[-1]) for name in tab.page.locator(".thumb").all_inner_texts()]
    assert values == sorted(values)
    assert tab.page.locator(".thumb").first.get_attribute("title").endswith("]")


def test_layers_heads_and_cells_are_counted_from_zero(tab):
    tab.open("transformer-seq2seq", view="map", layer="decoder.layer.blocks.1.cross_attention", head=1)
    assert "decoder · layer 1 · cross attention, head 1" in tab.text(".aside")
    tab.open("transformer-lm", view="compare", length=0, off="layer.blocks.0.self_attention[1]")
    assert tab.text(".chip").startswith("layer 0 · self attention · head 1 off")
    assert tab.page.get_attribute(".chip", "title") == "layer.blocks.0.self_attention[1]"


def test_numbers_are_written_in_one_way(tab):
    tab.open("rnn", length=0)
    found = tab.page.evaluate(
        """async () => {
            const { figure, percent } = await import('/static/words.js');
            return [[0, 0.00001, 0.0123, 0.998, 0.99999, 1].map(percent), figure(-0.00076)];
        }"""
    )
    assert found == [["0.0%", "<0.1%", "1.2%", "99.8%", ">99.9%", "100.0%"], "−7.6e−4"]


def test_a_long_source_and_a_short_answer_fill_the_room(tab):
    tab.open("rnn", length=0)
    box = tab.page.evaluate(
        """async () => {
            const { heatmap } = await import('/static/heatmap.js');
            const names = (n) => Array.from({ length: n }, (_, i) => ({ text: `w${i}`, special: false }));
            const [rows, columns] = [12, 351];
            const weights = new Float32Array(rows * columns);
            const grid = heatmap({ weights, rows, columns, names: { rows: names(rows), columns: names(columns) } });
            document.body.append(grid);
            const { width, height } = grid.querySelector('.grip').getBoundingClientRect();
            return [width, height, grid.querySelectorAll('text[text-anchor=end]').length];
        }"""
    )
    assert box[0] > 500
    assert box[1] > 200
    assert box[2] == 12  # every row has its name


# Text


def test_a_line_ends_wherever_one_does(tab):
    tab.open("rnn", length=0)
    breaks = tab.page.evaluate(
        """async () => {
            const { flow } = await import('/static/views/flow.js');
            const texts = ['a', '\\n', 'b', '\\n    ', 'c', '\\n\\n'].map((text) => ({ text, special: false }));
            const wishes = { colour: () => null, at: null, pick: () => {}, tip: () => '', label: 'x' };
            return flow(texts, wishes).querySelectorAll('br').length;
        }"""
    )
    assert breaks == 4


def test_what_was_given_is_told_from_what_was_made(tab, runs):
    family = "lstm"
    tab.open(family, view="ribbon", beneath="false")
    given = tab.page.evaluate(
        "[...document.querySelector('.flow .made').parentElement.childNodes].map((n) => n.textContent).join('')"
    )
    assert pages.text_for(family) in given
    tab.open("lstm", view="compare", other=FAMILIES.index("rnn"))
    tab.page.wait_for_selector("table.judged")
    assert tab.page.locator(".diff .given").all_inner_texts() == [pages.text_for("lstm")] * 2
    struck = "".join(tab.page.locator(".diff del").all_inner_texts())
    assert pages.text_for("lstm") not in struck
    assert all(text == text.strip() for text in tab.page.locator(".diff del, .diff ins").all_inner_texts())


def test_a_text_that_is_cut_says_so(tab):
    tab.open("rnn", length=0, view="decode")
    tab.page.fill("#text", "x" * 10_000)
    tab.page.press("#text", "Enter")
    tab.page.wait_for_selector(".cut")
    assert tab.text(".cut") == "Cut after 4,000 of 10,000 characters: no more is shown here."
    tab.ready()


def test_a_text_can_begin_after_a_held_out_passage(tab, server):
    tab.open("lstm", length=0)
    example = server.answers.runs()[FAMILIES.index("lstm")]["examples"][0]
    tab.page.click("#warm")
    tab.until("document.querySelector('#text').value.length > 30")
    assert tab.page.input_value("#text") == example + pages.text_for("lstm")
    tab.ready()


def test_an_unknown_word_keeps_its_face(tab, runs):
    run = runs[FAMILIES.index("rnn-attention")]
    assert run.record("one bread 🥖 two", Recording()).sequences["source"].words == [
        "one",
        "bread⁇",
        "🥖⁇",
        "two",
        "<stop>",
    ]
    tab.open("rnn-attention", view="map", text="one bread 🥖 two")
    assert "bread⁇" in tab.page.locator(".heat svg text").all_text_contents()
    tab.page.click("#view-compare")
    assert tab.page.locator(".tokens button").all_inner_texts() == ["one", "bread", "🥖", "two"]


# Decode, memory, workbench


def test_choosing_a_token_moves_nothing_and_the_answer_stays_marked(tab):
    tab.open("rnn-attention", view="decode", beam=3)
    chosen = tab.page.locator("#rung-1-1")
    before = chosen.bounding_box()
    chosen.click()
    tab.page.wait_for_selector(".chip")
    tab.ready()
    tab.until("document.querySelector('.tree .best') !== null")
    assert tab.page.locator("#rung-1-1").bounding_box() == before
    assert tab.page.evaluate("document.activeElement.id") == "rung-1-1"


@pytest.mark.parametrize("family", ["lstm", "transformer-seq2seq"])
def test_the_names_of_curves_are_whole_and_apart(tab, family):
    tab.open(family, view="memory")
    tab.settled()
    boxes = tab.page.evaluate(
        """() => {
            const chart = document.querySelector('#figure svg.chart');
            const ends = [...chart.querySelectorAll('text.axis')].filter((one) => one.style.fill);
            const frame = chart.getBoundingClientRect();
            return ends.map((one) => one.getBoundingClientRect()).map((box) => [box.top, box.right <= frame.right]);
        }"""
    )
    assert len(boxes) >= 3
    assert all(inside for _, inside in boxes)
    tops = sorted(top for top, _ in boxes)
    assert all(b - a > 8 for a, b in pairwise(tops))
    assert ("Behind the last attention" in tab.text("#figure")) == (family != "lstm")


def test_the_workbench_has_a_window_and_one_pair_in_full(tab):
    tab.open("rnn-attention", view="workbench", bench="own")
    tab.page.wait_for_selector("#worked")
    assert "false" not in tab.text("#figure")  # it has one head, and so nothing to choose
    assert "masked" not in tab.text("#figure")  # in what was read, everything may be looked at
    tab.open("transformer-lm", view="workbench", bench="own", length=0, head=0)
    tab.page.wait_for_selector("#worked")
    assert "and masked" in tab.text("#figure")
    tab.page.fill("#window-row", "7")
    tab.page.press("#window-row", "Enter")
    tab.until("location.hash.includes('window=7')")
    tab.page.wait_for_selector("#worked")
    names = tab.page.locator("table.matrix:has(caption:has-text('softmax')) tbody th").all_inner_texts()
    assert len(names) == 8
    q, k, terms = (
        [float(cell.replace("−", "-")) for cell in row.locator("td").all_inner_texts()]
        for row in tab.page.locator("section:has(#worked) table.numbers tr").all()
    )
    assert len(q) == len(k) == len(terms) == 8  # every term of the product
    shown = float(tab.text("#worked").split("=")[1].split(",")[0].replace("−", "-"))
    assert sum(terms) == pytest.approx(shown, abs=0.05)


def test_the_editor_keeps_to_its_column(tab):
    tab.open("transformer-seq2seq", view="compare")
    assert "above" not in tab.text("#figure")
    column = tab.page.locator(".editor").bounding_box()
    menu = tab.page.locator(".editor select").first.bounding_box()
    assert menu["x"] + menu["width"] <= column["x"] + column["width"]
    tab.open("classifier", view="compare", text="two one.")
    assert tab.page.locator(".tokens button").all_inner_texts() == ["two", "one", "."]


# Runs, searches and files


def test_runs_of_one_name_are_told_apart(tmp_path):
    paths = [tmp_path / "a/demo", tmp_path / "b/demo", tmp_path / "b/other"]
    assert told_apart(paths) == ["a/demo", "b/demo", "other"]


def test_a_second_run_may_stand_where_a_text_does(runs, capsys):
    first, second = (str(run.folder.path) for run in runs[:2])
    assert [str(one) for one in parse(LookCommand, [first, second]).second] == [second]
    assert parse(LookCommand, [first, "a text " * 600]).second == ()
    assert main(["look", first, second, "--view", "map"]) == 1
    assert capsys.readouterr().err.startswith(f"regard: {second} is a run, and no text to read; name it with --also")


def test_the_finder_explains_its_columns_and_searches_both_sides(runs):
    assert [one.passage.side for one in finding._readings(runs[FAMILIES.index("rnn-attention")])] == [
        "source",
        "target",
    ]
    written = (pages.Path(__file__).parent.parent / "regard/page/static/views/finder.js").read_text()
    assert "title, 'aria-sort'" in written


def test_a_saved_picture_is_the_picture_and_says_what_it_is(tab):
    tab.open("transformer-seq2seq", view="map")
    with open(saved(tab, "svg"), encoding="utf-8") as file:
        words = " ".join(re.findall("<text[^>]*>([^<]*)</text>", file.read()))
    assert "transformer-seq2seq-run · Map · cross attention · mean of 2 layers, mean of 2 heads" in words
    assert pages.text_for("transformer-seq2seq") in words
    assert not {"measure", "predicted", "Hover", "words", "scale"} & set(words.split())
    tab.open("transformer-seq2seq", view="decode", beam=5)
    tree = float(tab.page.get_attribute("svg.tree", "width"))
    with open(saved(tab, "svg"), encoding="utf-8") as file:
        assert float(file.readline().split('width="')[1].split('"')[0]) > tree


def test_a_saved_page_says_what_it_cannot_and_goes_on(tab, browser, tmp_path):
    tab.open("transformer-seq2seq", view="compare")
    file = tmp_path / "saved.html"
    shutil.copy(saved(tab, "html"), file)
    alone = Tab(browser, None, offline=True)
    alone.page.goto(file.as_uri())
    alone.ready()
    alone.page.click("[id='off-decoder.layer.blocks.0.self_attention-0']")
    assert "cannot ask the model" in alone.text(".notice")
    assert alone.page.locator("button.main[disabled]").count() == 1
    for view in ("memory", "workbench", "map", "model"):  # none of them was open when it was saved
        alone.page.click(f"#view-{view}")
        alone.settled()
        assert "did not work" not in alone.text("#figure"), view
        assert "holds what was shown" not in alone.text("#figure"), view
    alone.page.click("#view-map")
    alone.page.select_option("#measure", "off")
    alone.page.wait_for_selector("text=none of these is the reason")
    assert alone.wrong == []
    alone.context.close()


# The model


@pytest.mark.parametrize("family", FAMILIES)
def test_the_model_is_drawn_with_its_own_tensors(tab, runs, family, server):
    """A row for everything that passes, one drawing language: what is handed on has arrows, what is kept a cache."""
    begun = {"answer": "5,5"} if family in ("captioner", "rnn-attention", "transformer-seq2seq") else {}
    tab.open(family, view="model", **begun)
    with open(saved(tab, "csv"), encoding="utf-8") as file:
        listed = {row.split(",")[1]: row.strip().split(",")[3] for row in file.read().splitlines()[1:]}
    run = runs[FAMILIES.index(family)]
    roles = taps_of(run.model)
    vectors = {path for path, tap in roles.items() if tap.axes[:2] == ["B", "T"]}
    layers = {path.rpartition(".")[0] for path, tap in roles.items() if tap.role == "weights"}
    assert listed.keys() == vectors | layers
    assert tab.page.locator("svg.model .part image").count() == len(listed) + (family == "captioner")
    carried = [path for path, tap in roles.items() if tap.carried]
    assert (tab.page.locator("svg.model .over").count() > 0) == bool(carried)
    kept = any(tap.role == "weights" and tap.rows == tap.columns == "written" for tap in roles.values())
    assert (tab.page.locator("svg.model .cache").count() > 0) == kept


def test_the_model_goes_step_by_step_and_opens_its_parts(tab):
    tab.open("transformer-seq2seq", view="model", answer="5,4")
    last = tab.text("#step")
    tab.page.click("#step-back")
    assert tab.text("#step") != last
    tab.page.keyboard.press("ArrowRight")
    assert tab.text("#step") == last
    tab.page.click("text=backwards")
    tab.page.wait_for_selector("svg.model .reach")
    tab.page.click("[id='part-decoder.layer.blocks.1.cross_attention'] text")
    tab.page.wait_for_selector("#view-map[aria-current=page]")
    assert tab.page.input_value("#layer") == "decoder.layer.blocks.1.cross_attention"
    tab.page.click("#view-model")
    tab.page.click("[id='part-decoder.embedding.vectors'] text")
    tab.page.wait_for_selector("#view-ribbon[aria-current=page]")
    assert tab.page.input_value("#cells") == "decoder.embedding.vectors"
