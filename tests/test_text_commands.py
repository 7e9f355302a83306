"""`regard translate`, `write`, `score` and `evaluate` as people use them; and the same from Python."""

import itertools
import json
import re
from dataclasses import replace

import pytest
import tiny
import typed

import regard
from regard import Search, Writing
from regard.training.loop import train
from regard.training.report import Report

run, said, refused = typed.run, typed.said, typed.refused


# Translating


def test_three_lines_in_order(run, said):
    code, out, err = said("translate", run("pairs"), given="one two\n\nthree\n")
    assert (code, err) == (0, "")
    first, empty, last = out.removesuffix("\n").split("\n")
    assert first
    assert empty == ""
    assert [first, last] == regard.load(run("pairs")).translate(["one two", "three"])


@pytest.mark.parametrize(
    "given", [b"one two\r\n\r\nthree\r\n", b"\xef\xbb\xbfone two\n\nthree", b"one two\n \nthree\n"]
)
def test_line_ends_and_marks_are_no_text(run, said, given):
    assert (
        said("translate", run("pairs"), given=given)[1]
        == said("translate", run("pairs"), given="one two\n\nthree\n")[1]
    )


def test_nothing_to_translate(run, said):
    assert said("translate", run("pairs")) == (0, "", "")


def test_a_file_and_a_file_to_write(run, said, tmp_path):
    (tmp_path / "in.txt").write_text("one two\n\nthree\n")
    assert said("translate", run("pairs"), tmp_path / "in.txt", "--output", tmp_path / "out.txt") == (0, "", "")
    assert (tmp_path / "out.txt").read_bytes().decode() == said("translate", run("pairs"), tmp_path / "in.txt")[1]


def test_empty_lines_keep_their_place_in_every_format(run, said):
    given = "one two\n\nthree\n"
    out = said("translate", run("pairs"), "--scores", given=given)[1].split("\n")
    assert re.fullmatch(r"[a-z ]+ \|\|\| -\d\.\d{4}", out[0])
    assert out[1] == " ||| 0.0000"
    out = said("translate", run("pairs"), "--n-best", "3", "--beam", "4", given=given)[1].splitlines()
    assert [line.split(" ||| ")[0] for line in out] == ["0", "0", "0", "1", "2", "2", "2"]
    assert out[3] == "1 |||  ||| logprob= 0.0000 ||| 0.0000"
    assert all(
        re.fullmatch(r"\d \|\|\| [a-z ]* \|\|\| logprob= -?\d+\.\d{4} \|\|\| -?\d+\.\d{4}", line) for line in out
    )
    out = said("translate", run("pairs"), "--alignments", "pharaoh", given=given)[1].split("\n")
    text, links = out[0].split(" ||| ")
    assert out[1] == " ||| "
    assert re.fullmatch(r"(\d+-\d+ ?)*", links)
    assert all(int(link.split("-")[1]) < len(text.split()) for link in links.split())
    out = [
        json.loads(line)
        for line in said("translate", run("pairs"), "--alignments", "json", given=given)[1].splitlines()
    ]
    assert [one["line"] for one in out] == [0, 1, 2]
    assert out[1] == {"line": 1, "text": "", "score": 0.0, "source": [], "target": [], "weights": []}
    assert out[0]["source"] == ["one", "two"]
    assert out[0]["target"] == text.split()
    assert [len(row) for row in out[0]["weights"]] == [2] * len(text.split())


def test_wishes_reach_the_search(run, said):
    def translated(*words: object) -> str:
        return said("translate", run("pairs"), *words, given="one two three\n")[1].strip()

    plain = translated()
    assert translated("--never", plain.split()[0]).find(plain.split()[0]) < 0
    assert translated("--prefix", "four four").startswith("four four")
    assert len(translated("--max-length", "2").split()) <= 2
    assert len(translated("--min-length", "6", "--no-repeat", "0").split()) >= 6
    assert translated("--beam", "1", "--length-penalty", "average")


def test_a_line_end_in_a_translation_does_not_become_a_line(run, said, monkeypatch):
    monkeypatch.setattr("regard.decode.translate.Tokenizer.decode", lambda self, ids: "a\nb\r\nc")
    assert said("translate", run("pairs"), given="one\ntwo\n")[1] == "a b  c\na b  c\n"


def test_an_ensemble(run, said, refused):
    alone = said("translate", run("pairs"), "--scores", given="one two\n")[1]
    twice = said("translate", run("pairs"), "--scores", "--ensemble", run("pairs"), given="one two\n")[1]
    assert twice == alone  # the mean of two equal ones
    assert said("translate", run("pairs"), "--scores", "--ensemble", run("pairs-2"), given="one two\n")[1] != alone
    assert refused("translate", run("pairs"), "--ensemble", run("pairs-other"), given="one\n") == (
        f"{run('pairs-other')} cannot answer together with {run('pairs')}: an ensemble wants runs of one kind with the "
        "same tokenizers; train both on the same data with the same [text] settings"
    )


def test_a_beam_wider_than_the_vocabulary(run, said):
    code, out, err = said("translate", run("pairs"), "--beam", "50", "--n-best", "50", given="one two\n")
    assert (code, err) == (0, "")
    assert len(set(out.splitlines())) == out.count("\n") > 1


# Writing


def test_write_shows_the_prompt_and_what_follows(run, said):
    code, out, err = said("write", run("lm"), "--prompt", "the ", "--length", "30", "--seed", "3")
    assert (code, err) == (0, "")
    assert out.removesuffix("\n") == ("the " + regard.load(run("lm")).write("the ", length=30, seed=3)).removesuffix(
        "\n"
    )
    assert len(out) > 20


def test_several_texts_stand_under_their_seeds(run, said):
    out = said("write", run("lm"), "--prompt", "the ", "--length", "9", "--seed", "3", "--n", "2", "--stop", "\n")[1]
    texts = [regard.load(run("lm")).write("the ", length=9, seed=seed, stop="\n") for seed in (3, 4)]
    assert out == f"--- seed 3 ---\nthe {texts[0]}\n--- seed 4 ---\nthe {texts[1]}\n"


@pytest.mark.parametrize("prompt", [[], ["--prompt", "-"]])
def test_a_prompt_from_standard_input(run, said, prompt):
    words = ["write", run("lm"), "--length", "9", "--choose", "argmax"]
    assert said(*words, *prompt, given="the tide\n")[1] == said(*words, "--prompt", "the tide")[1]


def test_characters_never_seen(run, said):
    code, out, err = said("write", run("lm"), "--prompt", "日本 ☃", "--length", "5")
    assert (code, err) == (0, "")
    assert out.startswith("日本 ☃")


def test_the_end_of_a_learned_table(run, said, refused):
    """A beam stops there; otherwise the last half of what was written is read again, and it goes on."""
    code, out, err = said(
        "write", run("lm-learned"), "--prompt", "the tide " * 3, "--choose", "argmax", "--length", "30"
    )
    assert (code, err) == (0, "")
    assert len(out) <= len("the tide " * 3 + "\n") + 30
    code, out, err = said("write", run("lm-learned"), "--prompt", "the tide", "--choose", "beam", "--beam", "1")
    if len(out) - len("the tide\n") < 12:
        pytest.fail(f"stopped by itself: {out!r}")
    assert (code, len(out)) == (0, len("the tide\n") + 12)
    assert err == (
        "regard: the learned position table (longest = 20) ends here, after 12 of 500 tokens; "
        "write less, or train with a larger 'longest' or positions = 'rotary'\n"
    )
    assert refused("write", run("lm-learned"), "--prompt", "the tide " * 3, "--choose", "beam") == (
        "position 28 is past the end of the learned position table (longest = 20); "
        "use a shorter text, train with a larger 'longest', or positions = 'rotary'"
    )


# Scoring


def test_scores_of_lines(run, said):
    code, out, _ = said("score", run("lm"), given="the tide\n\nzzz\n")
    rows = [line.split("\t") for line in out.splitlines()]
    assert code == 0
    assert [row[2] for row in rows] == ["the tide", "", "zzz"]
    assert float(rows[0][0]) < 0 < float(rows[0][1])
    assert rows[1][:2] == ["0.0000", "0.0000"]


def test_scores_token_by_token(run, said):
    code, out, _ = said("score", run("pairs"), "--tokens", given="one two\ttwo one\n")
    found = json.loads(out)
    assert code == 0
    assert [token for token, _ in found["tokens"]] == ["two", "one", "<stop>"]
    assert found["log_probability"] == pytest.approx(sum(log for _, log in found["tokens"]), abs=1e-3)


# The same from Python


def test_a_run_in_python(run):
    writer, translator = regard.load(run("lm")), regard.load(run("pairs"))
    assert "".join(writer.stream("the ", Writing(length=30, seed=1))) == writer.write("the ", length=30, seed=1)
    assert writer.samples("the ", Writing(length=9, number=2, seed=1))[1] == writer.write("the ", length=9, seed=2)
    lines = ["one two", "", "three"]
    found = list(translator.translations(lines, Search(n_best=2)))
    assert [one[0].text for one in found] == translator.translate(lines)
    assert [len(one) for one in found] == [2, 1, 2]
    (scored,) = translator.score([("one two", found[0][0].text)])
    assert scored.logs == pytest.approx(found[0][0].logs, abs=1e-4)
    (line,) = writer.score(["the tide"])
    assert len(line.logs) == len("the tide")


# Judging


def test_without_capitals_the_signature_says_so(tmp_path, said):
    """What was trained without capitals writes none, and is not blamed for those of the reference."""
    plan = tiny.recipe(tmp_path, "seq2seq-rnn-attention", steps=2, evaluate=2)
    train(replace(plan, text=replace(plan.text, lower=True)), tmp_path / "run", Report(True))
    sources = [pair.split("\t")[0] for pair in (tmp_path / "backwards.tsv").read_text().splitlines()[:20]]
    answers = said("translate", tmp_path / "run", "-", "--beam", "1", given="\n".join(sources))[1].splitlines()
    assert any(answers)
    loud = tmp_path / "loud.tsv"
    loud.write_text("".join(f"{a.upper()}\t{b.upper()}\n" for a, b in zip(sources, answers, strict=True) if b))
    found = json.loads(said("evaluate", tmp_path / "run", "--data", loud, "--json")[1])
    assert found["exact"] == 100
    assert found["error_rate"] == 0
    assert "case:lc" in found["bleu_signature"]


def test_an_ensemble_is_judged_as_one(run, said):
    """Of twice the same run: the mean of its probabilities are its probabilities."""
    alone = json.loads(said("evaluate", run("pairs"), "--json")[1])
    twice = json.loads(said("evaluate", run("pairs"), "--ensemble", run("pairs"), "--json")[1])
    intervals = [one.pop("intervals") for one in (twice, alone)]
    assert twice == pytest.approx(alone)
    for name, ends in intervals[1].items():
        assert intervals[0][name] == pytest.approx(ends)
    assert "an ensemble wants runs of one kind" in said("evaluate", run("pairs"), "--ensemble", run("lm"))[2]


def test_evaluate_by_beam_and_precision(run, said):
    code, out, err = said("evaluate", run("pairs"), "--precision", "int8", "--beam", "2", "--json")
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert list(found) == ["int8", "float32", "change"]
    assert found["change"]["bleu"] == found["int8"]["bleu"] - found["float32"]["bleu"]
    _, plain, _ = said("evaluate", run("pairs"), "--beam", "2", "--json")
    assert found["float32"] == json.loads(plain)
    _, table, _ = said("evaluate", run("lm"), "--precision", "int8")
    assert re.search(r"^ +int8 +float32 +change$", table, re.MULTILINE)
    assert re.search(r"^bits_per_byte +\d\.\d{4} +\d\.\d{4} +-?\d\.\d{4}$", table, re.MULTILINE)


def test_evaluate_searches_as_translate_does(run, said, tmp_path):
    """Against what `translate` says with that length penalty, everything is right; with another, not."""
    sources = [" ".join(words) for words in itertools.permutations(["one", "two", "three", "four"], 3)]
    long = ("--beam", "4", "--length-penalty", "9")
    answers = said("translate", run("pairs"), "-", *long, given="\n".join(sources))[1].splitlines()
    (tmp_path / "own.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in zip(sources, answers, strict=True)))

    def exact(*wishes: str) -> float:
        return json.loads(said("evaluate", run("pairs"), "--data", tmp_path / "own.tsv", "--json", *wishes)[1])["exact"]

    assert exact(*long) == 100
    assert exact("--beam", "4", "--length-penalty", "0") < 100
    code, _, err = said("evaluate", run("pairs"), "--length-penalty", "-1")
    assert (code, err) == (1, "regard: length_penalty must be a number from 0 up or 'average', found -1.0\n")
