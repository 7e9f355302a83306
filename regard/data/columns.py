"""What columns are called, and which of them a task reads: as the user says, or by names that many tables have."""

import re
from collections.abc import Sequence

from regard.errors import UserError, counted

CALLED = {
    "source": ("src", "input", "question"),
    "target": ("tgt", "trg", "output", "translation", "answer"),
    "text": ("sentence", "review", "message", "comment", "document", "content", "tweet"),
    "label": ("class", "category", "sentiment"),
    "image": ("picture", "file", "filename", "file name"),
    "caption": ("description",),
}
"""Other names that a column of this name often has, the likeliest first."""
TOGETHER = (("source", "target"), ("text", "label"), ("image", "caption"))
BESIDE = ("", "id", "idx", "index", "no", "number", "score")
"""What a headline often has besides."""
SPOKEN = """
    ar arabic, bg bulgarian, bn bengali, ca catalan, cs czech, cy welsh, da danish, de german, el greek, en english,
    es spanish, et estonian, eu basque, fa persian, fi finnish, fr french, ga irish, gl galician, gu gujarati, he
    hebrew, hi hindi, hr croatian, hu hungarian, hy armenian, id indonesian, is icelandic, it italian, ja japanese,
    ka georgian, ko korean, la latin, lt lithuanian, lv latvian, mk macedonian, ms malay, mt maltese, nb bokmål, nl
    dutch, no norwegian, pl polish, pt portuguese, ro romanian, ru russian, sk slovak, sl slovenian, sq albanian, sr
    serbian, sv swedish, sw swahili, ta tamil, te telugu, th thai, tr turkish, uk ukrainian, ur urdu, vi vietnamese,
    zh chinese
"""
LANGUAGES = dict(each.split() for each in SPOKEN.split(","))
"""Two of these stand for a source and a target, in the order in which they come."""
CODE = re.compile(r"[a-z]{2}(?:[- ][a-z]{2,4})?")


def by_number(columns: Sequence[str]) -> bool:
    """Whether columns are told by where they stand, from 1: such a table has no headline."""
    return bool(columns) and all(column.isdecimal() for column in columns)


def known(names: Sequence[str], keys: Sequence[str]) -> list[str] | None:
    """The columns of these names that hold what a task calls by these keys; None: not all are there."""
    plain = {_plain(name): name for name in reversed(names)}
    # a review among other columns is hardly a text of its own
    sure = len(keys) == 1 and sum(name not in BESIDE for name in plain) > 1
    called = [(key, *(() if sure else CALLED.get(key, ()))) for key in keys]
    found = [plain[name] for each in called for name in [next(filter(plain.__contains__, each), "")] if name]
    if tuple(keys) == TOGETHER[0] and len(found) < 2:
        found = [name for name in names if _language(name)][:2]
    return found if len(found) == len(keys) else None


def chosen(names: Sequence[str], keys: Sequence[str], columns: Sequence[str], place: str) -> list[str]:
    """The columns to read, in the order of the keys; what is missing is said, with what is there instead."""
    wanted = " and ".join(keys)
    if columns and len(columns) != len(keys):
        raise UserError(
            f"data.columns wants {counted(len(keys), 'column')} here, those of {wanted}, found "
            f"{', '.join(columns)}; name as many"
        )
    if not columns:
        found = known(names, keys)
        if found is None:
            raise UserError(unknown_columns(names, wanted, place))
        return found
    plain = {_plain(name): name for name in reversed(names)}
    for column in columns:
        if _plain(column) not in plain:
            raise UserError(
                f"{place} has no column '{column}', it has {listed(names)}; "
                "choose --data.columns from these (evaluate: --columns)"
            )
    return [plain[_plain(column)] for column in columns]


def unknown_columns(names: Sequence[str], wanted: str, place: str) -> str:
    """What is said of a table that no name known here tells how to read."""
    such = " ".join(f"'{name}'" if " " in name else name for name in [each for each in names if each][:2])
    bare = "" if by_number(names) else ", or by number if that is no headline: --data.columns 1 2"
    return f"{place} has the columns {listed(names)}, wanted are {wanted}; say which: --data.columns {such}{bare}"


def has_columns(names: Sequence[str], columns: Sequence[str]) -> bool:
    """Whether the columns that are chosen are among these names, or else some that are known."""
    if columns:
        return {_plain(name) for name in names}.issuperset(map(_plain, columns))
    return any(known(names, keys) for keys in (*TOGETHER, ("text",)))


def is_headline(cells: Sequence[str]) -> bool:
    """Whether a first line is surely one: every cell has a name that columns have, and two of them belong together.

    Codes of languages do not count: English "it" is German "es".
    """
    plain = [_plain(cell) for cell in cells]
    names = {key: key for key in CALLED} | {name: key for key, names in CALLED.items() for name in names}
    roles = {names[name] for name in plain if name in names}
    languages = [name for name in plain if name in LANGUAGES.values()]
    if len(set(plain)) < len(plain) or any(n not in names and n not in languages and n not in BESIDE for n in plain):
        return False
    return any(roles.issuperset(both) for both in TOGETHER) or len(languages) > 1


def listed(names: Sequence[str], most: int = 60) -> str:
    """Names as an error shows them: on one line, not longer than a glance."""
    text = ", ".join(names)
    return repr(text if len(text) <= most else text[:most] + "…")


def _plain(name: str) -> str:
    return " ".join(name.lower().replace("_", " ").split())


def _language(name: str) -> bool:
    """Whether it is a language's name or code, such as French, fr, fr-CA."""
    plain = _plain(name)
    return plain in LANGUAGES.values() or (
        plain not in BESIDE and bool(CODE.fullmatch(plain)) and plain[:2] in LANGUAGES
    )
