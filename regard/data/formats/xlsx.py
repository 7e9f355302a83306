"""Spreadsheets of Excel (Office Open XML): the rows of a sheet, formulas as the values they last had."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from regard.data.formats.archive import Archive, book_and_sheet, further_sheets, no_such_sheet, opened
from regard.data.formats.elements import elements
from regard.data.formats.line import Line, in_words, under_headline
from regard.errors import UserError

PLACE = re.compile(r"([A-Z]{1,3})\d+")
SHARED = "xl/sharedStrings.xml"


def xlsx(path: Path, columns: Sequence[str], skipped: Counter[str] | None) -> Iterator[Line]:
    """The rows of the first sheet, or of the one named behind a #."""
    path, wanted = book_and_sheet(path)
    with opened(path) as book:
        sheets = _sheets(book)
        if wanted and wanted not in sheets:
            raise no_such_sheet(path, wanted, list(sheets))
        if not wanted and len(sheets) > 1 and skipped is not None:
            skipped[further_sheets(path)] = len(sheets) - 1
        chosen = sheets[wanted] if wanted else next(iter(sheets.values()))
        yield from under_headline(_rows(book, chosen, _shared(book)), columns)


def _sheets(book: Archive) -> dict[str, str]:
    """Which part holds the sheet of a name, in their order."""
    related = {
        element.attributes.get("Id"): element.attributes.get("Target", "")
        for element in elements(book.blocks("xl/_rels/workbook.xml.rels"), book.path, ())
        if element.name == "Relationship"
    }
    found = {}
    for element in elements(book.blocks("xl/workbook.xml"), book.path, ()):
        if element.name == "sheet" and not element.ends:
            key = next((value for name, value in element.attributes.items() if name.endswith(":id")), "")
            target = related.get(key) or ""
            part = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
            if part in book:
                found[element.attributes.get("name", "")] = part
    if not found:
        raise UserError(f"{book.path} is damaged or no spreadsheet (it has no sheet); save it again")
    return found


def _shared(book: Archive) -> list[str]:
    """The texts that cells name by number, each kept once."""
    texts: list[str] = []
    for element in elements(book.blocks(SHARED), book.path, ("si",), ("rPh",)) if SHARED in book else ():
        if element.ends and element.name == "si":
            texts.append(element.text)
    return texts


def _rows(book: Archive, part: str, shared: list[str]) -> Iterator[tuple[int, list[str]]]:
    number, row, kind = 0, list[str](), ""
    for element in elements(book.blocks(part), book.path, ("v", "is"), ("f", "rPh")):
        name, ends = element.name, element.ends
        if name == "row" and not ends:
            number, row = number + 1, []
            if (said := element.attributes.get("r", "")).isdecimal():
                number = int(said)
        elif name == "row":
            yield number, row
        elif name == "c" and not ends:
            kind = element.attributes.get("t", "n")
            row += [""] * (_column(element.attributes.get("r", ""), len(row)) - len(row) + 1)
        elif name in ("v", "is") and ends and row:
            row[-1] = _value(kind, element.text, shared, f"row {number} of {book.path}")


def _column(place: str, otherwise: int) -> int:
    """Of a cell such as AB12, from 0."""
    found, column = PLACE.fullmatch(place), 0
    if found is None:
        return otherwise
    for letter in found[1]:
        column = 26 * column + ord(letter) - 64
    return column - 1


def _value(kind: str, text: str, shared: list[str], place: str) -> str:
    match kind:
        case "s":
            if not (text.isdecimal() and int(text) < len(shared)):
                raise UserError(f"{place} names a text that is not there; the file is damaged: save it again")
            return shared[int(text)]
        case "b":
            return in_words(text == "1")
        case "e":  # an error, such as #REF!
            return ""
        case "n":
            try:
                return in_words(float(text))
            except ValueError:
                return text
        case _:
            return text
