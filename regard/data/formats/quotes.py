"""Whether quotation marks in a file with tabs belong to its texts, or stand around fields as spreadsheets put them."""

import re
from collections.abc import Iterable, Iterator

FIELD = re.compile(r'(?:"([^"]*(?:""[^"]*)*)"|([^"\t]*))(\t|\Z)')
OPEN = re.compile(r'"[^"]*(?:""[^"]*)*\Z')
NUMBER = re.compile(r"[-+]?[\d.,]+(?:[eE][-+]?\d+)?")
LONGEST = 100_000  # characters of a field over several lines; a cell of a spreadsheet holds 32,767
FEW = 3  # fields quoted for nothing but a comma, as Excel does: fewer may be by chance


class Loose(Exception):
    """A quotation mark that no spreadsheet would have written so."""


def around_fields(lines: Iterable[str]) -> bool:
    """Whether all marks stand around whole fields, doubled within, and some field shows that they are not its own.

    It is shown by a doubled mark, by a tab or a line end within, by marks around everything but numbers, or by marks
    around just those fields that have commas. A field with both a tab and a line end is two lines of an ordinary file
    with a quotation over them. One loose mark anywhere, and all of them are part of the texts.
    """
    shown, every, just_commas, number = False, True, True, 0
    try:
        for raw, quoted in _fields(lines):
            if quoted:
                shown = shown or '""' in raw or "\t" in raw or "\n" in raw
                just_commas = just_commas and any(mark in raw for mark in ',"\t\n')
                number += 1
            elif every or just_commas:
                every = every and all(NUMBER.fullmatch(field.strip()) for field in raw.split("\t") if field.strip())
                just_commas = just_commas and "," not in raw
    except Loose:
        return False
    return shown or (number > 0 and every) or (number >= FEW and just_commas)


def _fields(lines: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """What is written in quotation marks (True) and what is not: single fields, or a line that has no marks at all."""
    held: list[str] = []  # lines of a field that has not ended
    for line in lines:
        if '"' not in line:
            if held:
                held.append(line)
            else:
                yield line, False
            continue
        text, held, at = "\n".join([*held, line]), [], 0
        while at <= len(text):
            found = FIELD.match(text, at)
            if found is None:
                if not OPEN.match(text, at) or len(text) > LONGEST:
                    raise Loose
                held = [text[at:]]
                break
            raw, quoted = (found[2], False) if found[1] is None else (found[1], True)
            if "\t" in raw and "\n" in raw:
                raise Loose
            yield raw, quoted
            at = found.end() + (not found[3])
    if held:
        raise Loose
