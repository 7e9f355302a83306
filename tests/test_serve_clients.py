"""What others' programs ask of a server, call by call: lm-eval's `local-completions`, LibreTranslate's own tests."""

import json
from urllib.parse import urlencode

import pages
import pytest
from at_a_port import ask, serving, told

from regard.special import NAMES, START, STOP


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    families = ["transformer-lm", "transformer-seq2seq"]
    return dict(zip(("lm", "tr"), pages.make_runs(tmp_path_factory.mktemp("served"), families), strict=True))


@pytest.fixture(scope="module")
def there(runs):
    with serving(runs) as server:
        yield server


# ---- lm-eval: tokens by the server's own tokenizer, then the probability of some of them behind the others


def tokens_of(there, text):
    return told(there, "/tokenize", {"prompt": text, "add_special_tokens": False})["tokens"]


def likelihood(there, context, continuation):
    """As lm-eval asks and adds up: one token more than is wanted, whose number is left out."""
    wish = {"model": "lm", "prompt": [context + continuation], "temperature": 0, "max_tokens": 1, "logprobs": 1}
    (choice,) = told(there, "/v1/completions", wish | {"seed": 1234, "echo": True})["choices"]
    logs, best = (choice["logprobs"][name][len(context) : -1] for name in ("token_logprobs", "top_logprobs"))
    assert len(logs) == len(continuation)
    return sum(logs), all(log == max(top.values()) for log, top in zip(logs, best, strict=True))


def test_its_tokenizer_is_found_without_a_name(there, runs):
    info = told(there, "/tokenizer_info")
    assert tokens_of(there, info["bos_token"]) == [START]
    assert tokens_of(there, info["eos_token"]) == [STOP]
    assert tokens_of(there, f"a{NAMES[STOP]}") == runs["lm"].tokenizer.encode(f"a{NAMES[STOP]}"), "a text has none"
    assert told(there, "/detokenize", {"tokens": tokens_of(there, "day 7")}) == {"prompt": "day 7"}


def test_the_probability_of_a_continuation_is_what_score_says(there, runs):
    context, continuation = tokens_of(there, "day 7: the"), tokens_of(there, " tide")
    (scored,) = runs["lm"].score(["day 7: the tide"])
    found, _ = likelihood(there, context, continuation)
    assert found == pytest.approx(sum(scored.logs[len(context) : len(context) + len(continuation)]), abs=1e-4)


def test_the_probability_of_a_whole_text_is_what_score_says(there, runs):
    """Its first token too, which comes behind the start, where a client names the start itself."""
    ids = tokens_of(there, "day 7: the tide")
    (scored,) = runs["lm"].score(["day 7: the tide"])
    assert likelihood(there, [START], ids)[0] == pytest.approx(sum(scored.logs[: len(ids)]), abs=1e-4)


def test_what_the_model_would_write_itself_is_known_as_such(there):
    wish = {"model": "lm", "prompt": "day", "max_tokens": 6, "temperature": 0}
    written = tokens_of(there, told(there, "/v1/completions", wish)["choices"][0]["text"])
    assert likelihood(there, tokens_of(there, "day"), written)[1]
    other = [*written[:-1], 4 + (written[-1] - 3) % 8]
    assert not likelihood(there, tokens_of(there, "day"), other)[1]


# ---- LibreTranslate: what its own tests of its interface send, and what they look for in the answers


def form(there, path, **fields):
    body = urlencode(fields).encode()
    status, _, found = ask(there, path, body, content_type="application/x-www-form-urlencoded")
    return status, json.loads(found)


HELLO = {"q": "one two", "source": "en", "target": "fr", "format": "text"}


def test_a_form_is_translated(there):
    status, found = form(there, "/translate", **HELLO)
    assert status == 200
    assert isinstance(found["translatedText"], str)


def test_a_list_is_translated_into_a_list(there):
    found = told(there, "/translate", HELLO | {"q": ["one", "two"]})["translatedText"]
    assert [type(one) for one in found] == [str, str]


def test_a_language_that_nobody_knows(there):
    assert form(there, "/translate", **HELLO | {"target": "zz"}) == (400, {"error": "zz is not supported"})


def test_a_form_without_a_text(there):
    without = {name: value for name, value in HELLO.items() if name != "q"}
    assert form(there, "/translate", **without) == (400, {"error": "Invalid request: missing q parameter"})


def test_a_language_is_detected(there):
    status, found = form(there, "/detect", q="one two")
    assert status == 200
    assert {"confidence", "language"} <= found[0].keys()


def test_nothing_to_be_detected(there):
    status, _, found = ask(there, "/detect", b"", content_type="application/x-www-form-urlencoded")
    assert status == 400
    assert "error" in json.loads(found)


def test_languages_have_codes_and_names(there):
    assert all({"code", "name", "targets"} <= one.keys() for one in told(there, "/languages"))


@pytest.mark.parametrize("path", ["/frontend/settings", "/spec", "/health"])
def test_what_is_only_looked_at(there, path):
    assert told(there, path)
    assert ask(there, path, {})[0] == 405


def test_a_text_is_not_detected_by_looking(there):
    assert ask(there, "/detect")[0] == 405
