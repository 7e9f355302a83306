"""Tokenizers: what is encoded comes back, what is saved is loaded, and what is wrong is said."""

import json
import os
import random
import subprocess
import sys
import unicodedata
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from regard.errors import UserError
from regard.text import (
    KINDS,
    PADDING,
    START,
    STOP,
    UNKNOWN,
    Lower,
    Tokenizer,
    load,
    save,
    train_tokenizer,
    train_without_capitals,
)
from regard.text.bpe import BPE
from regard.text.words import UNKNOWN_WORD, Words, after, split

TEXTS = [
    "The tide comes in, the tide goes out; nobody asked it to.\n",
    "The boats don't mind: they rise (and fall) with it.\n",
    "L'été, la mer monte. L'hiver, elle monte aussi, mais l'eau est froide.\n",
    'He said: "no, it\'s 3.5%!" — and then the tide came in.\n',
] * 3
TOKENIZERS = {kind: train_tokenizer(kind, TEXTS, size=300 if kind == "bpe" else None) for kind in KINDS}
TOKENIZERS |= {
    f"lower {kind}": train_without_capitals(kind, TEXTS, size=300 if kind == "bpe" else None)
    for kind in ("characters", "words", "bpe")
}
WORDS = TOKENIZERS["words"]
assert isinstance(WORDS, Words)

anything = st.text(st.characters(exclude_categories=["Cs"]))
turns = [
    "a",
    "été",
    "e\u0301",
    "ि",
    "l'",
    "'s",
    "’LL",
    "t",
    "'",
    "⁇",
    ".",
    '"',
    "(",
    "-",
    " ",
    "\n",
    "\u00a0",
    "<stop>",
    "0",
]
likely = st.lists(st.sampled_from(turns)).map("".join)  # what the rules of words turn on
hard = [
    "",
    "👩‍👩‍👧 e\u0301 \u0301",
    "\0\x01\x7f\x1c\u2028",
    "a\r\nb\n\r\tc  d ",
    "<stop><padding> <unknown>",
    "Привет, 世界! ⁇\ufeff\U0010ffff",
]
many = settings(max_examples=200)  # a text is cheap to try, and the odd character in a million is the point
every_kind = pytest.mark.parametrize("tokenizer", TOKENIZERS.values(), ids=TOKENIZERS)


def expected(tokenizer: Tokenizer, text: str) -> str:
    if isinstance(tokenizer, Lower):
        return expected(tokenizer.inner, text.lower())
    if not isinstance(tokenizer, Words):
        return text
    # é always as one character, each run of blanks as one space, and ⁇, as a word of its own, for what is not known.
    known = set(tokenizer.to_json()["tokens"])
    tokens = [token if token in known else UNKNOWN_WORD for token in split(text)]
    return "".join(after(before, token) for before, token in pairwise(["", *tokens]))


# Round trips


@every_kind
@many
@given(text=anything | likely)
def test_what_is_encoded_comes_back(tokenizer: Tokenizer, text: str) -> None:
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == expected(tokenizer, text)
    assert tokenizer.check(ids) == ids
    assert not {PADDING, START, STOP} & set(ids)
    assert isinstance(getattr(tokenizer, "inner", tokenizer), Words) or UNKNOWN not in ids


@every_kind
@pytest.mark.parametrize("text", [*hard, *TEXTS[:4]])
def test_hard_texts_come_back(tokenizer: Tokenizer, text: str) -> None:
    assert tokenizer.decode(tokenizer.encode(text)) == expected(tokenizer, text)


@every_kind
@many
@given(text=anything | likely)
def test_pieces_join_to_the_text_and_look_only_back(tokenizer: Tokenizer, text: str) -> None:
    ids = tokenizer.encode(text)
    pieces = tokenizer.pieces(ids)
    assert len(pieces) == len(ids)
    assert b"".join(pieces) == expected(tokenizer, text).encode()
    half = len(ids) // 2
    assert tokenizer.pieces(ids[:half]) == pieces[:half]


@every_kind
@many
@given(ids=st.lists(st.integers(0, 299)))
def test_anything_a_model_writes_can_be_read(tokenizer: Tokenizer, ids: list[int]) -> None:
    ids = [token % tokenizer.vocabulary for token in ids]
    shown = ids[: ids.index(STOP)] if STOP in ids else ids
    assert tokenizer.decode(ids) == b"".join(tokenizer.pieces(shown)).decode(errors="replace")
    assert all(tokenizer.label(token).isprintable() and tokenizer.label(token) for token in ids)


@every_kind
@many
@given(texts=st.lists(anything, max_size=5))
def test_many_at_once_is_one_by_one(tokenizer: Tokenizer, texts: list[str]) -> None:
    assert tokenizer.encode_all(texts) == [tokenizer.encode(text) for text in texts]


@every_kind
def test_special_tokens_have_no_text(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("the tide")
    assert tokenizer.decode([START, *ids[:2], PADDING, *ids[2:], STOP, *ids]) == "the tide"
    assert tokenizer.pieces([PADDING, START, STOP]) == [b"", b"", b""]
    assert [tokenizer.label(token) for token in range(4)] == ["<padding>", "<start>", "<stop>", "<unknown>"]


def test_a_text_after_a_stop_begins_anew() -> None:
    ids = WORDS.encode("the tide")
    assert WORDS.pieces([*ids, STOP, *ids]) == [b"the", b" tide", b"", b"the", b" tide"]


def test_a_text_that_spells_a_special_token_is_only_text() -> None:
    tokenizer = train_tokenizer("bpe", ["<stop>", "a<stop>"] * 9, size=300)
    assert tokenizer.decode(tokenizer.encode("a<stop><stop> <padding>")) == "a<stop><stop> <padding>"


# Each kind


def test_characters_spell_what_they_have_not_seen_in_half_bytes() -> None:
    tokenizer = train_tokenizer("characters", ["b", "a"])
    assert tokenizer.vocabulary == 4 + 16 + 2
    assert tokenizer.encode("ab") == [20, 21]
    assert tokenizer.encode("aé") == [20, 4 + 0xC, 4 + 0x3, 4 + 0xA, 4 + 0x9]
    assert tokenizer.pieces(tokenizer.encode("é")) == [b"", b"\xc3", b"", b"\xa9"]
    assert tokenizer.label(4 + 0xC) == "<half-byte c>"
    assert tokenizer.pieces([16, 20, 16, 16]) == [b"", b"a", b"", b"\xcc"]


def test_bytes_are_ids_from_four() -> None:
    assert TOKENIZERS["bytes"].encode("\0é") == [4, 4 + 0xC3, 4 + 0xA9]
    assert TOKENIZERS["bytes"].vocabulary == 260


def test_labels_show_blanks() -> None:
    assert [TOKENIZERS["bytes"].label(4 + byte) for byte in b" \n\ta\0\xc3"] == ["␣", "⏎", "⇥", "a", "\\x00", "\\xc3"]
    assert WORDS.label(WORDS.encode("in, out")[1]) == ",␣"


@settings(max_examples=300)
@given(parts=st.lists(st.sampled_from([*turns, " ", "  ", "\n", "\t ", "\u180e", "\u3000", "\x1c", "_", "tide", "７"])))
def test_bpe_cut_into_words_is_the_library_on_the_whole(parts: list[str]) -> None:
    """Each word is encoded once and remembered: no token reaches over the space before a word."""
    text, tokenizer = "".join(parts), TOKENIZERS["bpe"]
    assert isinstance(tokenizer, BPE)
    assert tokenizer.encode(text) == tokenizer._library.encode(text).ids


def test_bpe_remembers_short_words_only() -> None:
    """A text without spaces is one word: kept as often as it comes in, it would fill the memory."""
    tokenizer = train_tokenizer("bpe", TEXTS, size=300)
    assert isinstance(tokenizer, BPE)
    tokenizer.encode("tide" * 100 + " goes out")
    assert set(tokenizer._known) == {" goes", " out"}


def test_bpe_learns_what_is_frequent() -> None:
    tokenizer = TOKENIZERS["bpe"]
    assert tokenizer.vocabulary == 300
    assert b" tide" in tokenizer.pieces(tokenizer.encode("the tide"))
    assert train_tokenizer("bpe", TEXTS).vocabulary < 300  # of its own accord it learns nothing seen too rarely


def test_bpe_two_merges_can_make_one_token() -> None:
    tokenizer = train_tokenizer("bpe", ["a" * length for length in range(1, 40)], size=290)
    assert tokenizer.decode(tokenizer.encode("a" * 41)) == "a" * 41


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("L'eau, l'été.", "L' eau ,␣ l' été .␣"),
        ("They don't; it's John's.", "They don 't ;␣ it 's John 's .␣"),
        ("WE'LL rock'n'roll", "WE 'LL rock' n' roll"),
        ("l'studio d'roma", "l' studio d' roma"),
        ('(the "tide")', '␣( the ␣" tide " )␣'),
        ("हिन्दी e\u0301te\u0301", "हिन्दी été"),
    ],
)
def test_words_and_marks(text: str, labels: str) -> None:
    tokenizer = train_tokenizer("words", [text])
    assert [tokenizer.label(token) for token in tokenizer.encode(text)] == labels.split(" ")


@many
@given(text=likely.filter(str.strip) | anything.filter(str.strip))
@example("l'accord sur la zone économique européenne a été signé en août 1992.")
@example('He said: "no, it\'s 3.5%!"')
@example("a⁇b ⁇")
def test_words_that_are_known_change_only_blanks(text: str) -> None:
    tokenizer = train_tokenizer("words", [text])
    assert tokenizer.decode(tokenizer.encode(text)) == " ".join(unicodedata.normalize("NFC", text).split())


def test_words_that_are_unknown_are_shown() -> None:
    assert WORDS.decode(WORDS.encode("The whale comes in, l'été.")) == "The ⁇ comes in, l'été."
    assert WORDS.pieces([UNKNOWN, UNKNOWN]) == ["⁇".encode(), " ⁇".encode()]


def test_words_keep_the_most_frequent() -> None:
    tokenizer = train_tokenizer("words", ["b a c c"], size=6)
    assert [tokenizer.label(token) for token in range(4, tokenizer.vocabulary)] == ["c", "a"]


# Learning and saving


@pytest.mark.parametrize("kind", KINDS)
def test_learning_is_the_same_each_time(kind: str) -> None:
    shuffled = random.Random(0).sample(TEXTS, len(TEXTS))
    size = 300 if kind == "bpe" else None
    assert train_tokenizer(kind, shuffled, size).to_json() == TOKENIZERS[kind].to_json()


def test_one_string_is_one_text() -> None:
    assert train_tokenizer("words", "tide in").to_json() == train_tokenizer("words", ["tide in"]).to_json()


def test_learning_is_the_same_in_another_process() -> None:
    program = (
        "import json, sys; from regard.text import train_tokenizer\n"
        "texts = json.load(sys.stdin)\n"
        "print(json.dumps([train_tokenizer(*a).to_json() for a in (('words', texts), ('bpe', texts, 300))]))"
    )
    run = [sys.executable, "-c", program]
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    done = subprocess.run(run, input=json.dumps(TEXTS), capture_output=True, text=True, env=environment, check=True)
    assert json.loads(done.stdout) == [TOKENIZERS["words"].to_json(), TOKENIZERS["bpe"].to_json()]


@every_kind
def test_saved_and_loaded_is_the_same(tokenizer: Tokenizer, tmp_path: Path) -> None:
    save(tokenizer, tmp_path / "tokenizer.json")
    loaded = load(tmp_path / "tokenizer.json")
    assert loaded.to_json() == tokenizer.to_json()
    assert loaded.encode_all([*hard, *TEXTS]) == tokenizer.encode_all([*hard, *TEXTS])
    assert [path.name for path in tmp_path.iterdir()] == ["tokenizer.json"]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=repr)
def test_a_save_that_fails_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    path = tmp_path / "tokenizer.json"
    save(WORDS, path)
    before = path.read_bytes()

    def fail(file: int) -> None:
        raise error

    monkeypatch.setattr(os, "fsync", fail)  # half-way: written, not yet in place
    with pytest.raises((UserError, KeyboardInterrupt)) as caught:
        save(TOKENIZERS["bytes"], path)
    if isinstance(error, OSError):
        assert str(caught.value) == (
            f"cannot write {path}: No space left on device; the earlier one is untouched; "
            "check the folder and the space left on it"
        )
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


# What is wrong is said


def says(text: str) -> pytest.RaisesExc[UserError]:
    return pytest.RaisesExc(UserError, check=lambda error: str(error) == text)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("byts", TEXTS), "tokenizer 'byts' does not exist; did you mean 'bytes'?"),
        (("x", TEXTS), "tokenizer 'x' does not exist; choose one of characters, bytes, words, bpe"),
        (("bpe", []), "a tokenizer learns from text, found none; check that the text files are not empty"),
        (("words", ["", " \n"]), "a tokenizer learns from text, found none; check that the text files are not empty"),
        (("bpe", TEXTS, 259), "size must be at least 260 for a bpe tokenizer, found 259"),
        (("words", TEXTS, 0), "size must be at least 5 for a words tokenizer, found 0"),
        (
            ("bytes", TEXTS, 300),
            "a bytes tokenizer has no size to choose, found 300; leave size out, or use words or bpe",
        ),
    ],
)
def test_mistakes_in_learning(arguments: tuple[str, list[str]], text: str) -> None:
    with says(text):
        train_tokenizer(*arguments)


@every_kind
def test_half_a_surrogate_pair(tokenizer: Tokenizer) -> None:
    text = (
        "a text must be valid Unicode, found half a surrogate pair (U+D83D) at position 2; "
        "read the file as UTF-8, or drop it with text.encode(errors='ignore').decode()"
    )
    with says(text):
        tokenizer.encode("ab\ud83d")
    with says(text):
        tokenizer.encode_all(["ab", "ab\ud83d"])
    with says(text):
        if isinstance(tokenizer, Lower):
            train_without_capitals(tokenizer.inner.kind, ["ab\ud83d"])
        else:
            train_tokenizer(tokenizer.kind, ["ab\ud83d"])


@every_kind
@pytest.mark.parametrize("wrong", [-1, 5000])
def test_an_id_out_of_range(tokenizer: Tokenizer, wrong: int) -> None:
    text = (
        f"token {wrong} is not in the vocabulary, which has 0 to {tokenizer.vocabulary - 1}; "
        "decode with the tokenizer that the model was trained with"
    )
    with says(text):
        tokenizer.decode([4, wrong])
    with says(text):
        tokenizer.label(wrong)


AGAIN = "train the tokenizer again or restore the file from a copy"
DAMAGED = f"is damaged: it is JSON but not a whole tokenizer; {AGAIN}"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b'{"format": 1, "kind": "wor', f"is broken or is not JSON; {AGAIN}"),
        (b"\xff\xfe", f"is broken or is not JSON; {AGAIN}"),
        (b"[" * 100_000, f"is broken or is not JSON; {AGAIN}"),
        (b"[1]", f"is not a tokenizer that regard wrote (it has no format version); {AGAIN}"),
        (b'{"version": "1.0"}', f"is not a tokenizer that regard wrote (it has no format version); {AGAIN}"),
        (b'{"format": 2}', f"has format 2, this version reads 1; update regard, or {AGAIN}"),
        (b'{"format": 1}', DAMAGED),
        (b'{"format": 1, "kind": "eval"}', DAMAGED),
        (b'{"format": 1, "kind": ["bpe"]}', DAMAGED),
        (b'{"format": 1, "kind": "words", "tokens": [5]}', DAMAGED),
        (b'{"format": 1, "kind": "words", "tokens": ["a", "a"]}', DAMAGED),
        (b'{"format": 1, "kind": "characters", "characters": "aa"}', DAMAGED),
        (b'{"format": 1, "kind": "characters", "characters": "\\ud800"}', DAMAGED),
        (b'{"format": 1, "kind": "bpe", "merges": ["a b", "abc d"]}', DAMAGED),
        (b'{"format": 1, "kind": "bpe", "merges": ["a b c"]}', DAMAGED),
        (b'{"format": 1, "kind": "bpe", "merges": [7]}', DAMAGED),
    ],
)
def test_files_that_cannot_be_loaded(content: bytes, text: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with says(f"{path} {text}"):
        load(path)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    with says(f"tokenizer file {path} does not exist; check the folder, or train a tokenizer first"):
        load(path)
    with says(f"cannot read {tmp_path}: Is a directory; check the path and its permissions"):
        load(tmp_path)
    path.write_text("a file, not a folder")
    with says(f"cannot write {path / 'x'}: File exists; check the folder and the space left on it"):
        save(WORDS, path / "x")
