"""Reading data: what is in a file comes out of it, whatever it is packed in."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reading import PACKED, documents, kind_of, labelled, pairs, read_labelled, read_pairs, read_texts, write

from regard.data import files
from regard.data.examples import Labelled, Pair
from regard.errors import UserError

pytestmark = pytest.mark.usefixtures("here")
TEXT = "The tide comes in.\nL'été, la mer monte. 世界 👩‍👩‍👧\r\n\n  and\u2028out\x85again\x0b\x0c\x1c. No end"
packed = pytest.mark.parametrize("suffix", PACKED)


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
    assert skipped == {"file that is empty": 1, "file that is binary": 1}
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
    assert skipped == {"example with one side empty": 2}
    assert pairs((write("a", "a\n\n\nc\n"), write("b", "b\nx\n\nd\n")), skipped=skipped) == [("a", "b"), ("c", "d")]
    assert skipped == {"example with one side empty": 3}
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
    assert skipped == {"example with one side empty": 1}


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
