"""Data that cannot be read: what is wrong with it is said in one line."""

import os
from pathlib import Path

import pytest
from asserting import text_of
from reading import PACKED, documents, kind_of, labelled, pairs, write

pytestmark = pytest.mark.usefixtures("here")
NAMES = (
    "phrases:french, phrases:spanish, phrases-short:french, phrases-short:spanish, "
    "news:french, news:spanish, digits:copy, digits:reverse, digits:sort"
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
    "half of UTF-16": (
        {"books/a.txt": "a text 👩".encode("utf-16")[:-2]},
        lambda: documents("books"),
        "books/a.txt begins as UTF-16 and does not go on so; save it again, as UTF-8",
    ),
    "a binary file": (
        {"a.png": b"\x89PNG\r\n\x1a\n\0\0"},
        lambda: documents("a.png"),
        "a.png is a binary file (line 3 has a zero byte), text in UTF-8 is wanted; leave it out",
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
        "line 1 of a.csv has the columns 'good, a film', wanted are text, or source and target, or text and label, "
        "or image and caption; say which: --data.columns good 'a film', or by number if that is no headline: "
        "--data.columns 1 2",
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
        {"a.jsonl": '\n{"from": "a", "to": "b"}'},
        lambda: kind_of("a.jsonl"),
        "line 2 of a.jsonl has the columns 'from, to', wanted are text, or source and target, or text and label, "
        "or image and caption; say which: --data.columns from to, or by number if that is no headline: "
        "--data.columns 1 2",
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
