"""Tables as people have them: any names, marks and quotation marks, told by looking at the file."""

import csv
import io
from collections import Counter
from itertools import product
from pathlib import Path

import pytest
from asserting import text_of
from hypothesis import given
from hypothesis import strategies as st
from reading import documents, kind_of, labelled, pairs, read_labelled, read_pairs, write

from regard.data.columns import is_headline
from regard.data.formats.quotes import around_fields

pytestmark = pytest.mark.usefixtures("here")
MARKS = {"commas": ",", "semicolons": ";", "tabs": "\t", "bars": "|"}
QUOTING = {"needed": csv.QUOTE_MINIMAL, "all": csv.QUOTE_ALL, "not numbers": csv.QUOTE_NONNUMERIC}
FIELDS = st.text(alphabet="ab é\"\n\t,;|'", min_size=1, max_size=12).filter(str.strip)
"""What is hard to write in a table."""


def as_table(rows, mark: str, quoting: int, end: str = "\r\n") -> str:
    written = io.StringIO()
    csv.writer(written, delimiter=mark, quoting=quoting, lineterminator=end).writerows(rows)
    return written.getvalue()


# Marks and quotation marks


@pytest.mark.parametrize(("mark", "quoting"), list(product(MARKS.values(), QUOTING.values())))
@given(rows=st.lists(st.tuples(FIELDS, FIELDS), min_size=1, max_size=8), end=st.sampled_from(["\n", "\r\n"]))
def test_what_a_table_writer_wrote_is_read_back(mark, quoting, rows, end):
    rows = [
        tuple(field.replace("\t", " ") if mark == "\t" and "\n" in field else field for field in row) for row in rows
    ]  # with both, it cannot be told from two lines with a quotation over them
    text = as_table([("source", "target"), *rows], mark, quoting, end)
    assert pairs(write("a.csv", text)) == rows
    if mark == "\t":
        assert pairs(write("a.tsv", text)) == rows
        if '"' in text:
            assert pairs(write("b.tsv", as_table(rows, mark, quoting, end))) == rows


@given(
    st.lists(
        st.tuples(
            *[st.lists(st.sampled_from(['"', "a", "b ", "é", ", ", "''"]), min_size=1).map("".join).filter(str.strip)]
            * 2
        ),
        min_size=1,
        max_size=6,
    )
)
def test_quotation_marks_of_ordinary_sentences_stay(rows):
    """One that no spreadsheet would have written so, and all of them are part of the texts."""
    rows = [*rows, ('He said "no".', "Il a dit « non ».")]
    assert pairs(write("a.tsv", "".join(f"{source}\t{target}\n" for source, target in rows))) == rows


ORDINARY = {
    "a lone one": '"Hello.\tBonjour.\n',
    "a dialogue": '"Go," he said.\t« Va », dit-il.\n"Stay."\t« Reste. »\n',
    "a quotation over two lines": '"I came,\tJe suis venu,\nI saw."\tj\'ai vu.\n',
    "one line of two is quoted": '"Stay."\t"Reste."\nGo.\tVa.\n',
    "inches": '5" pipe\ttuyau de 5"\n',
    "never closed": 'a\tb\n"a\tb\n' + "a\tb\n" * 50,
}
QUOTED = {
    "doubled marks": '"He said ""no""."\tNon.\n',
    "everything": '"Go."\t"Va."\n"1"\t2\n',
    "a tab within": '"a\tb"\tc\n',
    "a line end within": 'a\t"b\nc"\n',
    "commas, as Excel does": 'Go.\tVa.\n"Well, go."\t"Bon, va."\n"Oh, no."\tNon.\n',
}


@pytest.mark.parametrize("name", [*ORDINARY, *QUOTED])
def test_what_a_quotation_mark_means_is_told_by_looking(name):
    assert around_fields({**ORDINARY, **QUOTED}[name].split("\n")) == (name in QUOTED)


def test_a_spreadsheets_tsv():
    write("a.tsv", '"source"\t"target"\r\n"He said ""go""."\t"Il a dit « va »."\r\n')
    skipped = Counter()
    assert pairs("a.tsv", skipped=skipped) == [('He said "go".', "Il a dit « va ».")]
    assert skipped == {"headline ('source, target'; if it is an example, say --data.columns 1 2)": 1}


def test_a_semicolon_table_of_european_excel():
    write("a.csv", '\ufeffText;Label\r\nGut, sehr gut;1\r\n"a; b";0\r\n')
    assert kind_of("a.csv") == "labels"
    assert labelled("a.csv") == [("1", "Gut, sehr gut"), ("0", "a; b")]
    assert pairs(write("b.csv", "sep=;\r\nSource;Target\r\na,b;c,d\r\n")) == [("a,b", "c,d")]
    assert labelled(write("c.csv", "sep=#\ntext#label\na;b#c,d\n")) == [("c,d", "a;b")]


def test_a_table_of_another_mark_than_its_ending_says():
    assert pairs(write("a.csv", "source\ttarget\nI, too\tmoi, aussi\n")) == [("I, too", "moi, aussi")]
    assert pairs(write("a.tsv", "source;target\nI, too;moi, aussi\n")) == [("I, too", "moi, aussi")]


def test_unicode_text_as_excel_saves_it():
    data = 'source\ttarget\r\n"He said ""é"""\tIl a dit é\r\n'.encode("utf-16")
    assert pairs(write("a.tsv", data)) == [('He said "é"', "Il a dit é")]
    assert documents(write("a.txt", "l'été\n".encode("utf-16-be").join([b"\xfe\xff", b""]))) == ["l'été\n"]


# Headlines and names


HEADLINES = ["Source,Target", "SRC,TGT", "id,source,target", "English,French", "en,fr_FR", "Question,Answer"]


@pytest.mark.parametrize("names", HEADLINES)
def test_any_case_and_common_names_of_pairs(names):
    number = names.count(",") - 1
    write("a.csv", f"{names}\n{'7,' * number}a,b\n")
    assert kind_of("a.csv") == "pairs"
    assert pairs("a.csv") == [("a", "b")]


def test_review_and_sentiment():
    write("own2.csv", "review,sentiment\nGood film.,pos\nBad film.,neg\n")
    assert kind_of("own2.csv") == "labels"
    assert labelled("own2.csv") == [("pos", "Good film."), ("neg", "Bad film.")]


def test_any_names_are_chosen():
    write("a.csv", "Satz;Note;Übersetzung\nGut.;1;Good.\nSchlecht.;2;Bad.\n")
    assert list(read_pairs("a.csv", None, columns=("satz", "Übersetzung"))) == [
        ("Gut.", "Good."),
        ("Schlecht.", "Bad."),
    ]
    assert list(read_labelled("a.csv", None, columns=("Satz", "Note"))) == [("1", "Gut."), ("2", "Schlecht.")]
    write("b.tsv", "Satz\tSentence\nGut.\tGood.\n")
    assert list(read_pairs("b.tsv", None, columns=("Sentence", "Satz"))) == [("Good.", "Gut.")]


def test_columns_by_number_mean_that_there_is_no_headline():
    write("a.csv", "good,1,a film\nbad,2,no film\n")
    assert list(read_labelled("a.csv", None, columns=("3", "1"))) == [("good", "a film"), ("bad", "no film")]
    write("b.tsv", "source\ttarget\n")
    assert list(read_pairs("b.tsv", None, columns=("1", "2"))) == [("source", "target")]


def test_two_chosen_columns_are_labels_if_the_same_few_answers_come_again():
    write("a.csv", "Satz;Note;Übersetzung\n" + "".join(f"Satz {n}.;{n % 2};No. {n}.\n" for n in range(20)))
    assert kind_of("a.csv", columns=("Satz", "Note")) == "labels"
    assert kind_of("a.csv", columns=("Satz", "Übersetzung")) == "pairs"
    assert kind_of("a.csv", "pairs", columns=("Satz", "Note")) == "pairs"
    assert kind_of("a.csv", columns=("Satz",)) == "text"
    write("b.csv", "bild,satz\na.jpg,one\nb.PNG,two\n")
    assert kind_of("b.csv", columns=("bild", "satz")) == "captions"


def test_a_headline_with_tabs_is_left_out_and_said():
    for headline in ("source\ttarget", "English\tFrench", "Source\tTarget"):
        skipped = Counter()
        assert pairs(write("a.tsv", f"{headline}\na\tb\n"), skipped=skipped) == [("a", "b")]
        (said,) = skipped
        assert said.startswith(f"headline ({headline.replace(chr(9), ', ')!r};")
    write("a.tsv", "target\tid\tsource\nb\t1\ta\n")
    assert pairs("a.tsv") == [("a", "b")]
    write("sst.tsv", "sentence\tlabel\na good film\t1\n")
    assert kind_of("sst.tsv") == "labels"
    assert labelled("sst.tsv") == [("1", "a good film")]


NO_HEADLINE = ["it\tes", "source\tQuelle", "class\tcategory", "text\ttext", "English\tAnglais", "label\tgood", "en\tfr"]


@pytest.mark.parametrize("line", NO_HEADLINE)
def test_a_first_pair_is_never_taken_for_a_headline(line):
    """English "it" is German "es": codes of languages are words."""
    skipped = Counter()
    assert pairs(write("a.tsv", f"{line}\na\tb\n"), skipped=skipped) == [tuple(line.split("\t")), ("a", "b")]
    assert not is_headline(line.split("\t"))
    assert not skipped


def test_json_in_one_list():
    write("a.json", '[{"Text": "a", "Label": 1.0}, {"Text": "b", "Label": 2}]')
    assert kind_of("a.json") == "labels"
    assert labelled("a.json") == [("1", "a"), ("2", "b")]


# What cannot be read

MISTAKES = {
    "English": (
        {"a.csv": "Phrase,Traduction\na,b\n"},
        lambda: kind_of("a.csv"),
        "line 1 of a.csv has the columns 'Phrase, Traduction', wanted are text, or source and target, or text and "
        "label, or image and caption; say which: --data.columns Phrase Traduction, or by number if that is no "
        "headline: --data.columns 1 2",
    ),
    "a column that is not there": (
        {"a.csv": "Phrase,Traduction\na,b\n"},
        lambda: list(read_pairs("a.csv", None, columns=("Phrase", "Tradition"))),
        "line 1 of a.csv has no column 'Tradition', it has 'Phrase, Traduction'; "
        "choose --data.columns from these (evaluate: --columns)",
    ),
    "a column too few": (
        {"a.csv": "Phrase,Traduction\na,b\n"},
        lambda: list(read_pairs("a.csv", None, columns=("Phrase",))),
        "data.columns wants 2 columns here, those of source and target, found Phrase; name as many",
    ),
    "a semicolon too many": (
        {"a.csv": "text;label\na;b;c\n"},
        lambda: labelled("a.csv"),
        "line 2 of a.csv has 3 fields, its headline has 2; put a field that has semicolons in quotation marks",
    ),
    "a mark that never closes": (
        {"a.csv": 'text,label\n"a,b\nc,d\ne,f\n'},
        lambda: labelled("a.csv"),
        "line 2 of a.csv has 1 field, its headline has 2; a quotation mark in it closes only some lines later; "
        "double one that is meant as such",
    ),
    "a headed line without a tab": (
        {"a.tsv": "source\ttarget\na\n"},
        lambda: pairs("a.tsv"),
        "line 2 of a.tsv has 1 field, its headline has 2; add what is missing, or tabs for empty fields",
    ),
    "lines of an old Macintosh": (
        {"a.csv": "text,label\ra,b\rc,d\r"},
        lambda: labelled("a.csv"),
        "a.csv ends its lines with a carriage return alone; convert it: tr '\\r' '\\n'",
    ),
    "JSON that is no list": (
        {"a.json": '{"text": "a"}'},
        lambda: documents("a.json"),
        "a.json is no list of JSON objects; write [{…}, {…}], or one on each line of a .jsonl file",
    ),
    "JSON cut short": (
        {"a.json": '[{"text": "a"}'},
        lambda: documents("a.json"),
        "a.json is not JSON (Expecting ',' delimiter: line 1 column 15 (char 14)); objects on single lines want the "
        "ending .jsonl",
    ),
}


@pytest.mark.parametrize(("given", "call", "expected"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_said_in_one_line(given, call, expected):
    for name, data in given.items():
        write(name, data)
    assert text_of(call) == expected


# Zero bytes


def test_a_line_with_a_zero_byte_is_left_out_and_named():
    lines = [f"line {n}\tligne {n}\n" for n in range(1, 40)]
    lines[6] = "line\0 7\tligne 7\n"
    lines[9] = "line 10\tligne\0 10\n"
    skipped = Counter()
    assert len(pairs(write("a.tsv", "".join(lines)), skipped=skipped)) == 37
    assert skipped == {"line with a zero byte (first: line 7 of a.tsv)": 2}
    skipped = Counter()
    (text,) = documents(write("a.txt", "".join(lines)), skipped=skipped)
    assert text == "".join(line for line in lines if "\0" not in line)
    assert skipped == {"line with a zero byte (first: line 7 of a.txt)": 2}
    write("a.en", "".join(f"{line.partition(chr(9))[0]}\n" for line in lines))
    write("a.fr", "".join(f"{n}\n" for n in range(1, 40)))
    assert [int(target) for _, target in pairs(("a.en", "a.fr"))] == [n for n in range(1, 40) if n != 7]


@pytest.mark.parametrize("data", [b"a\0b", b"ab\n" * 9 + b"a\0\0b\n", "a text\nof lines\n".encode("utf-16-le")])
def test_a_binary_file_is_refused_with_its_line(data):
    line = data[: data.index(b"\0")].count(b"\n") + 1
    assert text_of(lambda: documents(write("a.txt", data))) == (
        f"a.txt is a binary file (line {line} has a zero byte), text in UTF-8 is wanted; leave it out"
    )
    assert Path("a.txt").exists()
