"""`regard serve` as its clients see it: a real server at a free port, and clients that others wrote."""

import base64
import http.client
import io
import json
import threading

import jsonschema
import libretranslatepy
import openai
import pages
import pytest
from at_a_port import ask, serving, told, wait_until
from PIL import Image
from prometheus_client.parser import text_string_to_metric_families

from regard.config.decoding import Search, Writing
from regard.serve.app import OPENAI, PLAIN
from regard.serve.openapi import ASKED, BODIES

NAMES = {
    "lm": "transformer-lm",
    "lstm": "lstm",
    "tr": "transformer-seq2seq",
    "classes": "classifier",
    "pictures": "captioner",
}
TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    made = pages.make_runs(tmp_path_factory.mktemp("served"), list(NAMES.values()))
    made[1].folder.write_chat_template({"template": TEMPLATE})
    return dict(zip(NAMES, made, strict=True))


@pytest.fixture(scope="module")
def there(runs):
    with serving(runs) as server:
        yield server


@pytest.fixture(scope="module")
def client(there):
    return openai.OpenAI(base_url=f"{there.url}/v1", api_key="none", max_retries=0)


# ---- OpenAI's client


def test_models(client):
    assert [one.id for one in client.models.list()] == list(NAMES)
    assert client.models.retrieve("lm").id == "lm"


def test_a_completion_is_what_the_run_writes(client, runs):
    for name in ("lm", "lstm"):
        made = client.completions.create(model=name, prompt="day 7: the", max_tokens=30, temperature=0)
        (wanted,) = runs[name].samples("day 7: the", Writing(length=30, choose="argmax"))
        assert made.choices[0].text == wanted
        assert made.usage.prompt_tokens == 10


def test_longer_than_the_window(client, runs):
    """What is read again joins the others anew."""
    length = runs["lm"].window + 40
    made = client.completions.create(model="lm", prompt="day 7: the", max_tokens=length, temperature=0)
    assert made.choices[0].text == runs["lm"].samples("day 7: the", Writing(length=length, choose="argmax"))[0]


def test_a_stream_is_the_same_in_pieces(client):
    wishes = {"model": "lm", "prompt": "the tide", "max_tokens": 20, "seed": 5, "temperature": 1.2}
    whole = client.completions.create(**wishes)
    pieces = list(client.completions.create(**wishes, stream=True, stream_options={"include_usage": True}))
    assert "".join(piece.choices[0].text for piece in pieces if piece.choices) == whole.choices[0].text
    assert pieces[-1].usage == whole.usage
    assert [piece.choices[0].finish_reason for piece in pieces if piece.choices][-1] == whole.choices[0].finish_reason


def test_several_prompts_and_answers(client):
    wishes = {"model": "lm", "max_tokens": 8, "seed": 1, "temperature": 1.5}
    together = client.completions.create(prompt=["day", "the"], n=3, **wishes)
    assert [choice.index for choice in together.choices] == list(range(6))
    alone = client.completions.create(prompt="the", n=1, **wishes | {"seed": 2})
    assert together.choices[4].text == alone.choices[0].text


def test_tokens_as_a_prompt(client, there, runs):
    ids = told(there, "/tokenize", {"model": "lm", "prompt": "day 7"})["tokens"]
    assert ids == runs["lm"].tokenizer.encode("day 7")
    assert told(there, "/detokenize", {"model": "lm", "tokens": ids}) == {"prompt": "day 7"}
    wishes = {"model": "lm", "max_tokens": 9, "temperature": 0}
    as_text = client.completions.create(prompt="day 7", **wishes).choices[0].text
    for prompt in (ids, [ids]):
        assert client.completions.create(prompt=prompt, **wishes).choices[0].text == as_text


def test_echo_with_log_probabilities_is_what_score_says(client, runs):
    """As lm-eval asks: the prompt's own tokens, the first without a number, the best beside each."""
    text = "day 7: the tide comes in"
    made = client.completions.create(model="lm", prompt=text, max_tokens=1, echo=True, logprobs=1, temperature=0)
    found, (scored,) = made.choices[0].logprobs, runs["lm"].score([text])
    assert found.token_logprobs[0] is None
    assert found.token_logprobs[1:-1] == pytest.approx(scored.logs[1:], abs=1e-4)
    assert "".join(found.tokens[:-1]) == text
    for log, best in zip(found.token_logprobs[1:], found.top_logprobs[1:], strict=True):
        assert log <= max(best.values())
    assert max(found.top_logprobs[-1].values()) == found.token_logprobs[-1]
    assert made.choices[0].text.startswith(text)


def test_stop_texts(client):
    free = client.completions.create(model="lm", prompt="day", max_tokens=40, temperature=0).choices[0].text
    stops = [free[9:12], free[4:7]]
    held = client.completions.create(model="lm", prompt="day", max_tokens=40, temperature=0, stop=stops).choices[0]
    assert held.text == free[: min(free.index(stop) for stop in stops)]
    assert held.finish_reason == "stop"


def test_penalties_and_bias_change_what_is_said(client, runs):
    wishes = {"model": "lm", "prompt": "day", "max_tokens": 12, "temperature": 0}
    plain = client.completions.create(**wishes).choices[0].text
    often = client.completions.create(**wishes, frequency_penalty=2, presence_penalty=2).choices[0].text
    assert len(set(often)) > len(set(plain))
    (token,) = runs["lm"].tokenizer.encode("t")
    biased = client.completions.create(**wishes, logit_bias={str(token): 100}).choices[0].text
    assert len(set(biased)) == 1


def test_a_chat_is_the_template_written(client, runs):
    messages = [{"role": "user", "content": "the tide"}]
    said = client.chat.completions.create(model="lstm", messages=messages, max_tokens=9, temperature=0, logprobs=True)
    prompt = "user: the tide\nassistant:"
    wanted = client.completions.create(model="lstm", prompt=prompt, max_tokens=9, temperature=0).choices[0].text
    assert said.choices[0].message.content == wanted
    assert len(said.choices[0].logprobs.content) == said.usage.completion_tokens
    pieces = client.chat.completions.create(model="lstm", messages=messages, max_tokens=9, temperature=0, stream=True)
    assert "".join(piece.choices[0].delta.content or "" for piece in pieces) == wanted


def test_embeddings(client, runs):
    made = client.embeddings.create(model="classes", input=["one two", "three"])  # the client asks for base64
    assert made.data[1].embedding == pytest.approx(runs["classes"].embed(["three"])[0].tolist(), abs=1e-6)


@pytest.mark.parametrize(
    ("body", "kind", "told"),
    [
        ({"model": "nobody"}, openai.NotFoundError, "does not exist"),
        ({"model": "tr"}, openai.BadRequestError, "cannot write"),
        ({"prompt": "a" * 9000}, openai.BadRequestError, "at most 4096 are read"),
        ({"prompt": [99999]}, openai.BadRequestError, "tokens must be from 0"),
        ({"temperature": -1}, openai.BadRequestError, "'temperature' must be from 0 to 100"),
        ({"max_tokens": "many"}, openai.BadRequestError, "'max_tokens' must be an integer"),
        ({"n": 99}, openai.BadRequestError, "'n' must be from 1 to 16"),
        ({"extra_body": {"guided": 1}}, openai.BadRequestError, "'guided' is not known here"),
    ],
    ids=lambda one: str(one)[:30],
)
def test_mistakes_are_typed(client, body, kind, told):
    with pytest.raises(kind, match=told):
        client.completions.create(**{"model": "lm", "prompt": "day"} | body)


# ---- LibreTranslate's client


def test_libretranslate_client(there, runs):
    api = libretranslatepy.LibreTranslateAPI(there.url)
    (wanted,) = runs["tr"].translate(["one two three"])
    assert api.translate("one two three", "en", "fr") == wanted
    assert api.languages()[0] == {"code": "en", "name": "English", "targets": ["en", "fr"]}
    assert api.detect("one two") == [{"language": "en", "confidence": 0.0}]


def test_translations_are_those_of_the_command(there, runs):
    lines = ["one two three", "four", "two four one one three two"]
    found = told(there, "/translate", {"q": lines, "source": "en", "target": "fr", "alternatives": 2, "beam": 4})
    wanted = list(runs["tr"].translations(lines, Search(beam=4, n_best=3)))
    assert found["translatedText"] == [several[0].text for several in wanted]
    assert [len(others) for others in found["alternatives"]] <= [2, 2, 2]


def test_many_translations_at_once_are_those_one_by_one(there):
    body = {"source": "en", "target": "fr", "alternatives": 2}
    words = ["one", "two", "three", "four", "two", "one"] * 4
    asked = [body | {"q": " ".join(words[:n]), "beam": 1 + n % 6} for n in range(1, 20)]
    found = [None] * len(asked)

    def one(place):
        found[place] = told(there, "/translate", asked[place])

    threads = [threading.Thread(target=one, args=(place,)) for place in range(len(asked))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [told(there, "/translate", each) for each in asked]


def test_where_it_looked(there):
    found = told(there, "/translate", {"q": "one two three", "source": "en", "target": "fr", "alignments": True})
    (line,) = found["alignments"]
    assert len(line["weights"]) == len(line["target"])


def test_html_keeps_its_tags(there):
    text = "<p class='a'>one <b>two</b><br/>&amp; three</p><script>one</script>"
    found = told(there, "/translate", {"q": text, "source": "en", "target": "fr", "format": "html"})["translatedText"]
    for part in ("<p class='a'>", "<b>", "</b><br/>", "</p><script>one</script>"):
        assert part in found


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ({"source": "en", "target": "fr"}, "Invalid request: missing q parameter"),
        ({"q": "a", "target": "fr"}, "Invalid request: missing source parameter"),
        ({"q": "a", "source": "zz", "target": "fr"}, "zz is not supported"),
        ({"q": "a", "source": "fr", "target": "en"}, "en is not available as a target language from fr"),
    ],
)
def test_what_libretranslate_refuses(there, body, wrong):
    status, _, found = ask(there, "/translate", body)
    assert (status, json.loads(found)) == (400, {"error": wrong})


def test_methods(there):
    assert ask(there, "/detect")[0] == ask(there, "/languages", {})[0] == 405
    assert ask(there, "/nothing")[0] == 404


# ---- labels


def test_classes(there, runs):
    (found,) = told(there, "/classify", {"model": "classes", "texts": "two one"})["results"]
    (wanted,) = runs["classes"].classify(["two one"])
    assert found["probabilities"] == pytest.approx(wanted, abs=1e-6)


def test_captions(there):
    held = io.BytesIO()
    Image.new("RGB", (40, 30), "red").save(held, "PNG")
    picture = base64.b64encode(held.getvalue()).decode()
    assert "caption" in told(there, "/caption", {"model": "pictures", "picture": picture})
    assert ask(there, "/caption", {"model": "pictures", "picture": "bm8="})[0] == 400


# ---- limits, keys, figures


def test_metrics_are_what_clients_were_told(runs):
    with serving({"lm": runs["lm"]}) as there:
        client = openai.OpenAI(base_url=f"{there.url}/v1", api_key="none", max_retries=0)
        usage = [client.completions.create(model="lm", prompt="day", max_tokens=n).usage for n in (3, 5)]
        text = ask(there, "/metrics")[2].decode()
    found = {sample.name: sample.value for one in text_string_to_metric_families(text) for sample in one.samples}
    assert found["regard_prompt_tokens_total"] == sum(one.prompt_tokens for one in usage)
    assert found["regard_generation_tokens_total"] == sum(one.completion_tokens for one in usage)
    assert found["regard_num_requests_running"] == 0
    assert found["regard_time_to_first_token_seconds_count"] == 2


def test_a_key_guards_everything_but_health(runs):
    with serving({"lm": runs["lm"], "tr": runs["tr"]}, key=b"secret") as there:
        for table in (OPENAI, PLAIN):
            for path, method, _ in table:
                place = path.replace("{name:path}", "lm").replace("{name}", "try.js")
                status = ask(there, place, b"{}" if method == "POST" else None)[0]
                assert status == (200 if path == "/health" else 403 if path in ("/translate", "/detect") else 401), path
        assert ask(there, "/v1/models", authorization="Bearer secret")[0] == 200
        assert ask(there, "/v1/models", authorization="Bearer secre")[0] == 401
        basic = base64.b64encode(b"me:secret").decode()
        assert ask(there, "/", authorization=f"Basic {basic}")[0] == 200
        body = {"q": "one", "source": "en", "target": "fr"}
        assert ask(there, "/translate", body | {"api_key": "secret"})[0] == 200
        assert ask(there, "/translate", body | {"api_key": "wrong"})[0] == 403


def test_other_pages_and_other_names_are_turned_away(there):
    assert ask(there, "/v1/models", origin="http://evil.example")[0] == 403
    for host in ("evil.example", "[::1", "127.0.0.1.evil.example", ""):
        assert ask(there, "/v1/models", host=host)[0] == 403
    assert ask(there, "/v1/models", origin="http://[")[0] == 403
    status, headers, _ = ask(there, "/v1/models", origin="http://good.example")
    assert (status, headers["access-control-allow-origin"]) == (200, "http://good.example")


def test_a_body_that_is_too_large(runs):
    with serving({"lm": runs["lm"]}, body=1000) as there:
        assert ask(there, "/v1/completions", b"x" * 1001)[0] == 413
        assert ask(there, "/v1/completions", b"x" * 999)[0] == 400


def test_full_says_when_to_come_again(runs):
    """Of many at once, some are told so; whoever comes again is answered, and nobody is lost."""
    with serving({"lm": runs["lm"]}, rows=1, queue=2) as there:
        body = {"model": "lm", "prompt": "day", "max_tokens": 40, "temperature": 0}
        found = [None] * 12

        def one(place):
            while found[place] is None:
                status, headers, answer = ask(there, "/v1/completions", body)
                if status == 200:
                    found[place] = json.loads(answer)["choices"][0]["text"]
                else:
                    refused.add((status, int(headers["retry-after"]) >= 1))

        refused = set()
        threads = [threading.Thread(target=one, args=(place,)) for place in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert refused <= {(429, True)}
    assert len(set(found)) == 1


def test_a_client_that_goes_away_is_noticed(runs):
    with serving({"lm": runs["lm"]}) as there:
        for stream in (True, False):
            body = json.dumps(
                {"model": "lm", "prompt": "day", "max_tokens": 4000, "stream": stream, "logit_bias": {"2": -100}}
            )
            connection = http.client.HTTPConnection("127.0.0.1", there.port, timeout=60)
            connection.request("POST", "/v1/completions", body, {"content-type": "application/json"})
            engine = there.served["lm"].engine
            wait_until(lambda engine=engine: engine.running)
            connection.close()
            wait_until(lambda engine=engine: not engine.running)
        assert told(there, "/ready")["status"] == "ready"


def test_draining_finishes_what_runs(runs):
    with serving({"lstm": runs["lstm"]}) as there:
        client = openai.OpenAI(base_url=f"{there.url}/v1", api_key="none", max_retries=0)
        wishes = {"model": "lstm", "prompt": "day", "max_tokens": 300, "seed": 1, "logit_bias": {"2": -100}}
        pieces = iter(client.completions.create(**wishes, stream=True))
        next(pieces)
        there.server.handle_exit(15, None)
        assert [piece.choices[0].finish_reason for piece in pieces][-1] == "length"


def test_the_description_names_every_route(there):
    described = told(there, "/openapi.json")["paths"]
    hidden = {"/", "/static/{name}", "/runs", "/openapi.json", "/spec", "/v1/models/{name:path}", "/tokenizer_info"}
    assert set(described) == {path for table in (OPENAI, PLAIN) for path, _, _ in table} - hidden
    assert set(described) == {*BODIES, *ASKED}
    fields = described["/v1/completions"]["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"]
    assert fields["top_p"]["description"]


def test_what_is_described_is_what_is_read(there):
    """The schemas are schemas, allow what clients send, and refuse what the server refuses."""
    paths = told(there, "/openapi.json")["paths"]
    sent = [
        (
            "/v1/completions",
            {"model": "lm", "prompt": [[4, 5], [6]], "max_tokens": 1, "logprobs": 1, "echo": True},
            200,
        ),
        (
            "/v1/completions",
            {"model": "lm", "prompt": "day", "stop": ["a"], "max_tokens": 1, "logit_bias": {"5": 1}},
            200,
        ),
        ("/v1/completions", {"model": "lm", "prompt": "day", "max_tokens": "many"}, 400),
        ("/v1/completions", {"prompt": "day"}, 400),
        ("/v1/chat/completions", {"model": "lstm", "messages": [{"role": "user", "content": "a"}], "n": 1}, 200),
        ("/v1/chat/completions", {"model": "lstm", "messages": "a"}, 400),
        ("/translate", {"q": ["one"], "source": "en", "target": "fr", "format": "html"}, 200),
        ("/translate", {"q": "one", "source": "en", "target": "fr", "format": "rtf"}, 400),
        ("/tokenize", {"model": "lm", "prompt": "day"}, 200),
        ("/tokenize", {"model": "lm", "prompt": 7}, 400),
    ]
    for path, body, status in sent:
        schema = paths[path]["post"]["requestBody"]["content"]["application/json"]["schema"]
        jsonschema.Draft202012Validator.check_schema(schema)
        assert jsonschema.Draft202012Validator(schema).is_valid(body) == (status == 200), body
        assert ask(there, path, body)[0] == status, body


def test_no_route_fails_on_what_it_cannot_read(there):
    for table in (OPENAI, PLAIN):
        for path, method, _ in table:
            if method == "POST":
                for body in (
                    b"",
                    b"\xff",
                    b"[]",
                    b"{",
                    b"null",
                    b'{"model": "\\ud800"}',
                    b"[" * 5000,
                    b'{"model": 1e999}',
                ):
                    assert 400 <= ask(there, path, body)[0] < 500, (path, body)
    assert ask(there, "/translate", b"q=%ff&source=en", content_type="application/x-www-form-urlencoded")[0] == 400


def test_files_of_the_page(there):
    status, headers, found = ask(there, "/")
    assert status == 200
    assert b"<title>regard serve" in found
    assert "default-src 'none'" in headers["content-security-policy"]
    assert ask(there, "/static/../app.py")[0] == ask(there, "/static/app.py")[0] == 404
