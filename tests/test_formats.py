"""Spreadsheets, Parquet and translation memories: as other programs write them, and refused in one line if broken."""

import gzip
import io
import zipfile
from collections import Counter
from pathlib import Path

import pytest
from asserting import text_of
from reading import documents, kind_of, labelled, pairs, read_labelled, read_pairs, read_texts, write

from regard.tasks import TASKS

pytestmark = pytest.mark.usefixtures("here")
PAIRS = [("Go.", "Va !"), ('He said "no", then\nleft.', "Il a dit « non »."), ("été  <b> & é", "a;b\tc")]

# Translation memories

OMEGAT = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx11.dtd">
<tmx version="1.1">
  <header creationtool="OmegaT" o-tmf="OmegaT TMX" adminlang="EN-US" datatype="plaintext" creationtoolversion="6.0"
          segtype="sentence" srclang="EN-US"/>
  <body>
<!-- Default translations -->
    <tu>
      <tuv lang="EN-US"><seg>Go &amp; see.</seg></tuv>
      <tuv lang="FR-FR" changeid="me"><seg>Va voir\u00a0!</seg></tuv>
    </tu>
    <tu>
      <tuv lang="EN-US"><seg>Only here.</seg></tuv>
    </tu>
  </body>
</tmx>
"""
TRADOS = """<?xml version="1.0" encoding="utf-16"?>
<tmx version="1.4">
  <header creationtool="TRADOS Translator's Workbench" srclang="*all*" segtype="sentence" o-tmf="TW4Win" adminlang="EN"
          datatype="rtf"><prop type="RTFFontTable">{\\fonttbl}</prop></header>
  <body>
    <tu creationdate="20200101T000000Z"><prop type="Txt::Domain">law</prop>
      <tuv xml:lang="de-DE"><seg>Der <bpt i="1">{\\b </bpt>Vertrag<ept i="1">}</ept> gilt<ph x="1">
        {\\line}</ph>.</seg></tuv>
      <tuv xml:lang="en-GB"><seg>The <hi type="bold">contract</hi>
        holds.</seg></tuv>
      <tuv xml:lang="fr-FR"><seg>Le contrat vaut.</seg></tuv>
    </tu>
  </body>
</tmx>
"""


def test_a_memory_as_omegat_writes_it():
    skipped = Counter()
    write("a.tmx.gz", OMEGAT)
    assert kind_of("a.tmx.gz") == "pairs"
    assert pairs("a.tmx.gz", skipped=skipped) == [("Go & see.", "Va voir\u00a0!")]
    assert skipped == {"example with one side empty": 1}


def test_blanks_of_a_memory_are_those_of_the_same_plain_files():
    """All of them belong to the segment (TMX 1.4b), but for where lines of the file end and how far they stand in."""
    sides = " Un  homme\u202f! ", "A man!\t"
    units = "".join(
        f'<tuv xml:lang="{name}"><seg>{side}</seg></tuv>' for name, side in zip(("fr", "en"), sides, strict=True)
    )
    write("a.tmx", f"<tmx><header srclang='fr'/><body><tu>{units}</tu></body></tmx>")
    for name, side in zip(("a.fr", "a.en"), sides, strict=True):
        write(name, f"{side}\n")
    assert pairs("a.tmx") == pairs(("a.fr", "a.en")) == [sides]
    write(
        "b.tmx",
        OMEGAT.replace("<seg>", "<seg>\r\n        ").replace(" & see", "\n\n\t  & see").replace("</seg>", " \n</seg>"),
    )
    assert pairs("b.tmx") == [("Go & see.", "Va voir\u00a0!")]


def test_a_memory_as_trados_writes_it():
    write("a.tmx", TRADOS.encode("utf-16"))
    assert pairs("a.tmx") == [("Der Vertrag gilt.", "The contract holds.")]
    assert list(read_pairs("a.tmx", None, columns=("fr", "EN"))) == [("Le contrat vaut.", "The contract holds.")]
    assert ["".join(text) for text in read_texts("a.tmx", None, columns=("fr",))] == ["Le contrat vaut."]
    assert text_of(lambda: list(read_pairs("a.tmx", None, columns=("es", "en")))) == (
        "a.tmx has no unit in es; it has de-DE, en-GB, fr-FR: choose --data.columns from these"
    )


LAUGHS = '<?xml version="1.0"?><!DOCTYPE tmx [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><tmx><body>&b;</body></tmx>'
ELSEWHERE = '<?xml version="1.0"?><!DOCTYPE tmx [<!ENTITY a SYSTEM "file:///etc/passwd">]><tmx><body>&a;</body></tmx>'


@pytest.mark.parametrize("text", [LAUGHS, ELSEWHERE])
def test_entities_are_neither_unfolded_nor_fetched(text):
    assert text_of(lambda: pairs(write("a.tmx", text))) == (
        "a.tmx declares entities, by which a small file can unfold to a huge one; take <!ENTITY …> out"
    )


# Spreadsheets

LIBRE = """<?xml version="1.0" encoding="UTF-8"?>
<office:document-content xmlns:office="o" xmlns:table="t" xmlns:text="x" xmlns:dc="d"><office:body><office:spreadsheet>
<table:table table:name="Films"><table:table-column table:number-columns-repeated="16384"/>
<table:table-row>
<table:table-cell office:value-type="string"><text:p>Review</text:p></table:table-cell>
<table:table-cell table:number-columns-repeated="2"/>
<table:table-cell office:value-type="string"><text:p>Sentiment</text:p></table:table-cell>
<table:table-cell table:number-columns-repeated="16380"/></table:table-row>
<table:table-row><table:table-cell office:value-type="string">
<office:annotation><text:p>mine</text:p></office:annotation>
<text:p>a <text:s/>good <text:span>film</text:span></text:p><text:p>indeed</text:p></table:table-cell>
<table:table-cell table:number-columns-repeated="2"/>
<table:table-cell table:formula="of:=1+0" office:value-type="float" office:value="1"><text:p>1,00</text:p>
</table:table-cell>
</table:table-row>
<table:table-row table:number-rows-repeated="3"><table:table-cell table:number-columns-repeated="16384"/>
</table:table-row>
<table:table-row table:number-rows-repeated="2">
<table:table-cell office:value-type="string"><text:p>bad</text:p></table:table-cell>
<table:covered-table-cell table:number-columns-repeated="2"/>
<table:table-cell office:value-type="float" office:value="2.5"><text:p>2,5</text:p></table:table-cell></table:table-row>
<table:table-row table:number-rows-repeated="1048566"><table:table-cell/></table:table-row>
</table:table>
<table:table table:name="Other"><table:table-row>
<table:table-cell office:value-type="string"><text:p>text</text:p></table:table-cell>
</table:table-row><table:table-row>
<table:table-cell office:value-type="string"><text:p>elsewhere</text:p></table:table-cell></table:table-row>
</table:table></office:spreadsheet></office:body></office:document-content>""".replace("\n", "")


def zipped(**parts: str | bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, part in parts.items():
            packed.writestr(name, part)
    return made.getvalue()


def as_ods(content: str | bytes, **others: str) -> bytes:
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    return zipped(**{"mimetype": kind, "content.xml": content, "META-INF/manifest.xml": "<m/>", **others})


def test_a_sheet_of_libreoffice():
    write("a.ods", as_ods(LIBRE))
    skipped = Counter()
    assert kind_of("a.ods") == "labels"
    assert labelled("a.ods", skipped=skipped) == [("1", "a  good film\nindeed"), ("2.5", "bad"), ("2.5", "bad")]
    assert skipped == {"sheet behind the first (take one with a.ods#NAME)": 1}
    assert documents("a.ods#Other") == ["elsewhere"]
    assert text_of(lambda: documents("a.ods#Third")) == "a.ods has no sheet 'Third'; it has Films, Other"


def book(rows, name: str = "a.xlsx", sheets: int = 1) -> str:
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl writes the spreadsheets")
    made = openpyxl.Workbook()
    for row in rows:
        made.active.append(row)
    for number in range(1, sheets):
        made.create_sheet(f"More {number}").append(["text"])
    made.save(name)
    return name


def test_a_sheet_of_excel():
    book([("id", "Source", "Target"), *((n, *pair) for n, pair in enumerate(PAIRS)), (9, "left", None)], sheets=3)
    skipped = Counter()
    assert kind_of("a.xlsx") == "pairs"
    assert pairs("a.xlsx", skipped=skipped) == PAIRS
    assert skipped == {"sheet behind the first (take one with a.xlsx#NAME)": 2, "example with one side empty": 1}
    assert text_of(lambda: documents("a.xlsx#Third")) == "a.xlsx has no sheet 'Third'; it has Sheet, More 1, More 2"


def test_numbers_and_blanks_in_a_sheet():
    book([("Satz", None, "Note"), ("gut", None, 1), ("fein", None, 1.0), (1984, None, True), ("so", None, 0.1)])
    found = list(read_labelled("a.xlsx", None, columns=("Satz", "Note")))
    assert found == [("1", "gut"), ("1", "fein"), ("true", "1984"), ("0.1", "so")]
    book([("gut", 1), ("schlecht", 2)])
    assert list(read_labelled("a.xlsx", None, columns=("1", "2"))) == [("1", "gut"), ("2", "schlecht")]


def test_a_sheet_holds_what_another_reader_finds_in_it():
    """A reference that we did not write."""
    other = pytest.importorskip("python_calamine", reason="python-calamine reads the spreadsheets once more")
    book([("source", "target"), *PAIRS])
    write("a.ods", as_ods(LIBRE))
    rows = other.CalamineWorkbook.from_path("a.xlsx").get_sheet_by_index(0).to_python()
    assert [tuple(row) for row in rows[1:]] == pairs("a.xlsx") == PAIRS
    rows = other.CalamineWorkbook.from_path("a.ods").get_sheet_by_index(0).to_python()
    assert [float(row[3]) for row in rows[1:] if row[0]] == [float(label) for label, _ in labelled("a.ods")]


def test_a_formula_counts_as_its_value():
    parts = {
        "xl/workbook.xml": '<workbook xmlns:r="r"><sheets><sheet name="S" r:id="a"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": '<R><Relationship Id="a" Target="worksheets/sheet1.xml"/></R>',
        "xl/worksheets/sheet1.xml": "<worksheet><sheetData>"
        '<row r="1"><c r="A1" t="inlineStr"><is><t>text</t></is></c></row>'
        '<row r="4"><c r="A4" t="str"><f>A1&amp;"s"</f><v>texts</v></c></row>'
        '<row r="5"><c r="A5" t="e"><f>1/0</f><v>#DIV/0!</v></c></row></sheetData></worksheet>',
    }
    write("a.xlsx", zipped(**parts))
    assert documents("a.xlsx") == ["texts"]
    far = parts["xl/worksheets/sheet1.xml"].replace('r="A4"', 'r="XFDXFD4"').replace('t="str"', 't="s"')
    write("b.xlsx", zipped(**{**parts, "xl/worksheets/sheet1.xml": far}))
    assert text_of(lambda: documents("b.xlsx")) == (
        "row 4 of b.xlsx names a text that is not there; the file is damaged: save it again"
    )


# Parquet


def test_a_table_of_columns():
    tables = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    import pyarrow

    rows = {"review": ["good", "bad", None], "sentiment": [1.0, 0.0, 1.0], "id": [1, 2, 3]}
    tables.write_table(pyarrow.table(rows), "a.parquet")
    skipped = Counter()
    assert kind_of("a.parquet") == "labels"
    assert labelled("a.parquet", skipped=skipped) == [("1", "good"), ("0", "bad")]
    assert skipped == {"example with one side empty": 1}
    Path("b.parquet").write_bytes(Path("a.parquet").read_bytes()[:-30])
    assert text_of(lambda: labelled("b.parquet")).startswith("b.parquet is damaged or no Parquet file (")


def test_a_package_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    assert text_of(lambda: labelled(write("a.parquet", "PAR1"))) == (
        "a.parquet is a Parquet file, which wants a package; pip install 'regard[parquet]'"
    )


# What cannot be read

DAMAGED = "is damaged or no spreadsheet, whatever its name says; save it again"
LOCKED = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500)


def bomb() -> bytes:
    """A sheet that is said to unpack to gigabytes."""
    return with_size(as_ods(LIBRE), 0xFFFFFFF0)


def with_size(packed: bytes, size: int) -> bytes:
    """The same file, which says another size of its content, unpacked, in its directory."""
    place = packed.index(b"content.xml", packed.index(b"PK\x01\x02")) - 46
    return packed[: place + 24] + size.to_bytes(4, "little") + packed[place + 28 :]


MISTAKES = {
    "a wrong ending": ("a.xlsx", lambda: b"source,target\na,b\n", f"a.xlsx {DAMAGED}"),
    "cut short": ("a.ods", lambda: as_ods(LIBRE)[:-200], f"a.ods {DAMAGED}"),
    "no sheet": ("a.xlsx", lambda: zipped(a="b"), "a.xlsx is damaged or no spreadsheet (it has no "
                 "xl/_rels/workbook.xml.rels); save it again"),
    "locked": ("a.xlsx", lambda: LOCKED,
               "a.xlsx is locked with a password, or an .xls file; save it as .xlsx without one"),
    "locked, of LibreOffice": (
        "a.ods",
        lambda: as_ods(b"\x8f\x01", **{"META-INF/manifest.xml": "<m:encryption-data/>"}),
        "a.ods is locked with a password; save it without one",
    ),
    "too large": ("a.ods", bomb, "a.ods would unpack to 4.3 GB, more than a sheet of texts has; save it as .csv"),
    "XML cut short": (
        "a.ods",
        lambda: as_ods(LIBRE[:-100]),
        "a.ods is damaged or cut short: line 1 is not XML (unclosed token); save it again",
    ),
    "a memory cut short": (
        "a.tmx",
        lambda: OMEGAT[:-60].encode(),
        "a.tmx is damaged or cut short: line 13 is not XML (unclosed token); save it again",
    ),
    "a memory of nothing": (
        "a.tmx",
        lambda: b"<tmx><body/></tmx>",
        "a.tmx has no translation unit in two languages; give a file with <tu> and <tuv> in it",
    ),
    "a memory that is none": (
        "a.tmx",
        lambda: b"Go.\tVa.\n",
        "a.tmx is damaged or cut short: line 1 is not XML (syntax error); save it again",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_what_cannot_be_read_is_said_in_one_line(name):
    where, made, expected = MISTAKES[name]
    Path(where).write_bytes(made())
    assert text_of(lambda: list(TASKS[kind_of(where)].read(where, None))) == expected


def test_a_part_that_lies_about_its_size_is_read_no_further_than_it_says():
    Path("a.ods").write_bytes(with_size(as_ods(LIBRE), 100))
    assert text_of(lambda: documents("a.ods")) == f"a.ods {DAMAGED}"


def test_packed_once_more():
    write("a.tmx", OMEGAT)
    Path("b.tmx.gz").write_bytes(gzip.compress(OMEGAT.encode()))
    assert pairs("a.tmx") == pairs("b.tmx.gz")
