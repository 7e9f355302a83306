"""Spreadsheets of LibreOffice (OpenDocument): the rows of a sheet, formulas as the values they last had."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from regard.data.formats.archive import Archive, book_and_sheet, further_sheets, no_such_sheet, opened
from regard.data.formats.elements import Element, elements
from regard.data.formats.line import Line, in_words, under_headline
from regard.errors import UserError

WIDEST, TALLEST = 1 << 14, 1 << 20  # cells of a row and rows of a sheet, as LibreOffice has them
BLANKS = {"s": " ", "tab": "\t", "line-break": "\n"}
CELLS = ("table-cell", "covered-table-cell")


def ods(path: Path, columns: Sequence[str], skipped: Counter[str] | None) -> Iterator[Line]:
    """The rows of the first sheet, or of the one named behind a #."""
    path, wanted = book_and_sheet(path)
    with opened(path) as book:
        manifest = b"".join(book.blocks("META-INF/manifest.xml")) if "META-INF/manifest.xml" in book else b""
        if b"encryption-data" in manifest:
            raise UserError(f"{path} is locked with a password; save it without one")
        yield from under_headline(_rows(book, wanted, skipped), columns)


def _rows(book: Archive, wanted: str, skipped: Counter[str] | None) -> Iterator[tuple[int, list[str]]]:
    names: list[str] = []
    number, times, row, empty, cell, inside = 0, 1, list[str](), 0, _Cell(), False
    for element in elements(book.blocks("content.xml"), book.path, ("p",), ("annotation", "shapes"), BLANKS):
        name, ends = element.name, element.ends
        if name == "table":
            if not ends:
                names.append(_said(element, "name"))
            inside = not ends and names[-1] == (wanted or names[0])
        elif not inside:
            continue
        elif name == "table-row" and not ends:
            times, row, empty = _times(element, "number-rows-repeated", TALLEST), [], 0
        elif name == "table-row":
            for _ in range(times if any(row) else 0):
                number += 1
                yield number, row
            number += 0 if any(row) else times
            if number > TALLEST:
                raise UserError(f"{book.path} has more than {TALLEST:,} rows, more than a sheet can; save it as .csv")
        elif name in CELLS and not ends:
            cell = _Cell(element)
        elif name == "p" and ends:
            cell.lines.append(element.text)
        elif name in CELLS:
            if cell.value and len(row) + empty + cell.times <= WIDEST:
                row, empty = [*row, *[""] * empty, *[cell.value] * cell.times], 0
            else:
                empty += cell.times  # the last cell stands for all to the edge of the sheet
    if wanted and wanted not in names:
        raise no_such_sheet(book.path, wanted, names)
    if not wanted and len(names) > 1 and skipped is not None:
        skipped[further_sheets(book.path)] = len(names) - 1


class _Cell:
    """A cell, so many times beside itself."""

    def __init__(self, element: Element | None = None) -> None:
        self.lines: list[str] = []
        self.times = _times(element, "number-columns-repeated", WIDEST) if element else 1
        self._value = next(
            (said for kind in ("value", "boolean-value") if element and (said := _said(element, kind))), ""
        )

    @property
    def value(self) -> str:
        """A number as it is, not as it is shown; anything else as its lines."""
        try:
            return in_words(float(self._value)) if self._value else "\n".join(self.lines)
        except ValueError:
            return self._value


def _said(element: Element, name: str) -> str:
    """An attribute, whatever its namespace is called."""
    return next((value for key, value in element.attributes.items() if key.rpartition(":")[2] == name), "")


def _times(element: Element, name: str, most: int) -> int:
    said = _said(element, name)
    return min(int(said), most) if said.isdecimal() else 1
