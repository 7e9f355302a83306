"""From the name of a corpus, or from files, to examples: texts, pairs, texts with a label, words with tags.

A corpus is the name of a built-in one (`python`, `digits:sort`; see `corpora.registry`), a path, or two paths of files
whose lines belong together. A built-in name comes first: `./python` is the file of that name. Files are UTF-8, plain or
packed as .gz or .xz.
"""

import csv
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from itertools import chain, starmap, zip_longest
from pathlib import Path
from typing import Any

from regard.data.captions import Captioned, together
from regard.data.corpora.registry import CORPORA, BuiltIn
from regard.data.examples import SPLITS, Kind, Labelled, Pair, Split, Tagged, held_out
from regard.data.files import neighbours, no_such_file, read_lines, read_pieces, text_files
from regard.data.tagged import from_columns, from_conllu, sentences
from regard.errors import UserError, unknown

__all__ = [
    "Labelled",
    "Pair",
    "Split",
    "Tagged",
    "Where",
    "held_out",
    "kind_of",
    "read_captions",
    "read_labelled",
    "read_pairs",
    "read_tagged",
    "read_texts",
]

Where = str | tuple[str, ...]
KEYS: dict[Kind, tuple[str, ...]] = {
    "pairs": ("source", "target"),
    "labels": ("label", "text"),
    "text": ("text",),
    "captions": ("image", "caption"),
}
"""What a line of JSON or of a table holds, for each kind of example that can be written so."""
KEYED = (".jsonl", ".csv")
"""Files whose lines say by name what is what: objects, and tables with a headline."""
NAMED: dict[str, tuple[Kind, ...]] = {".tsv": ("pairs", "labels", "tags", "captions"), ".conllu": ("tags",)}
"""What files can hold whose names end so, the likeliest first."""
LONE = re.compile("[\ud800-\udfff]")
"""Half of a character, which JSON can write and UTF-8 cannot."""


def kind_of(where: Where, told: Kind | None = None) -> Kind:
    """Which examples a corpus holds: what one is told, if it can be so, and else the likeliest by its name."""
    kinds = _kinds_of(where)
    return told if told is not None and told in kinds else kinds[0]


def _kinds_of(where: Where) -> tuple[Kind, ...]:
    """What a corpus can hold by its name, the likeliest first; of a .jsonl or .csv file, by its first keys."""
    found = _find(where)
    if isinstance(found, BuiltIn):
        return (found.kind,)
    if found[0].is_dir():
        return ("text",)
    ending = _format(found[0])
    if len(found) == 2:
        return ("pairs", "captions")
    if ending not in KEYED:
        return NAMED.get(ending, ("text", "labels", "tags", "captions"))
    number, first = next(_objects(found[0]), (0, {"text": ""}))  # only blank lines: the reader says so
    for kind, keys in KEYS.items():
        if first.keys() >= set(keys):
            return (kind, "text") if kind == "labels" else (kind,)
    wanted = ", or ".join(" and ".join(keys) for keys in KEYS.values())
    raise UserError(f"line {number} of {found[0]} has the keys {_short(', '.join(first))}; wanted are {wanted}")


def read_texts(where: Where, split: Split | None, skipped: Counter[str] | None = None) -> Iterator[Iterator[str]]:
    """Documents, each in pieces: a file is one, a folder has one in each file, a .jsonl or .csv file one in each line.

    `split` chooses a part of a built-in corpus, or None for all of it; a file has no parts. `skipped` counts what was
    left out, by reason.
    """
    found = _find(where, split)
    if isinstance(found, BuiltIn):
        yield from _own(found, "text", split)
        return
    for path in found:
        if path.is_dir():
            yield from (read_pieces(file) for file in text_files(path, skipped))
        elif _format(path) in KEYED:
            yield from (iter(row) for row in _filled(_from_keys(path, "text"), path, skipped))
        else:
            yield read_pieces(path)


def read_pairs(where: Where, split: Split | None, skipped: Counter[str] | None = None) -> Iterator[Pair]:
    """Pairs, from two parallel files, a .jsonl or .csv file, or any file of lines `source<TAB>target`.

    Further columns are ignored: files of translations often name the translator there.
    """
    return starmap(Pair, _rows(where, "pairs", split, skipped))


def read_labelled(where: Where, split: Split | None, skipped: Counter[str] | None = None) -> Iterator[Labelled]:
    """Labelled texts, from a .jsonl or .csv file or lines `label<TAB>text`; `label text` if the first has no tab."""
    return starmap(Labelled, _rows(where, "labels", split, skipped))


def read_tagged(where: Where, split: Split | None, skipped: Counter[str] | None = None) -> Iterator[Tagged]:
    """Sentences with a tag on each word, from a .conllu file or from lines `word<TAB>tag` with blank lines between."""
    found = _find(where, split)
    if isinstance(found, BuiltIn):
        yield from _own(found, "tags", split)
        return
    if len(found) == 2:
        raise UserError(f"words and tags are read from one file, found {found[0]} and {found[1]}; join them")
    path = found[0]
    tagged = starmap(Tagged, sentences((from_conllu if _format(path) == ".conllu" else from_columns)(path)))
    first = next(tagged, None)
    if first is None:
        raise UserError(f"{path} has no example: no line of it is a word with a tag; give a file with words in it")
    yield from chain([first], tagged)


def read_captions(
    where: Where, split: Split | None, folder: str, skipped: Counter[str] | None = None
) -> Iterator[Captioned]:
    """Pictures with their captions, from lines `image<TAB>caption`, a .jsonl or a .csv file; images are in the folder.

    Without a folder they are beside the file. A second file lists the images to take, one in each line, as Flickr8k has
    them; its numbers behind a name (`dog.jpg#0`) are no part of it.
    """
    found = _find(where, split)
    if isinstance(found, BuiltIn):
        yield from _own(found, "captions", split)
        return
    path = found[0]
    rows = _from_keys(path, "captions") if _format(path) in KEYED else _from_tabs(path, "the image, a tab, the caption")
    beside = Path(os.path.expanduser(folder)) if folder else path.parent
    if not beside.is_dir():
        raise UserError(f"[pictures] folder '{folder}' does not exist; name the folder that the images are in")
    yield from together(_filled(rows, path, skipped), beside, read_lines(found[1]) if len(found) == 2 else None)


def _rows(where: Where, kind: Kind, split: Split | None, skipped: Counter[str] | None) -> Iterator[Sequence[str]]:
    """The examples of a corpus of pairs or of labelled texts, whatever it comes from."""
    found = _find(where, split)
    if isinstance(found, BuiltIn):
        yield from _own(found, kind, split)
        return
    if len(found) == 2 and kind == "labels":
        raise UserError(f"labels and texts are read from one file, found {found[0]} and {found[1]}; join them")
    if len(found) == 2:
        rows = _from_parallel(*found)
    elif _format(found[0]) in KEYED:
        rows = _from_keys(found[0], kind)
    else:
        rows = _from_tabs(found[0]) if kind == "pairs" else _from_labels(found[0])
    yield from _filled(rows, found[0], skipped)


def _find(where: Where, split: Split | None = None) -> BuiltIn | list[Path]:
    """The built-in corpus of that name, or the one or two paths, which exist."""
    names = (where,) if isinstance(where, str) else where
    if len(names) not in (1, 2) or not all(names):
        raise UserError(f"a corpus is a name, a path or two parallel files, found {list(names)}")
    if len(names) == 1 and names[0] in CORPORA:
        return CORPORA[names[0]]
    paths = [_existing(name, may_be_corpus=len(names) == 1) for name in names]
    if split is not None:
        raise UserError(f"{paths[0]} has no '{split}' part, only built-in corpora have; name a file for each part")
    return paths


def _existing(name: str, may_be_corpus: bool) -> Path:
    path = Path(os.path.expanduser(name))
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        if not may_be_corpus or path.suffix or path.name != name:
            raise no_such_file(path) from None
        family = [known for known in CORPORA if known.startswith(name.partition(":")[0] + ":")]
        if family:  # the nearest spelling of phrases:german would not be what is meant
            raise UserError(f"file or corpus '{name}' does not exist; choose one of {', '.join(family)}") from None
        nearby = [*CORPORA, *neighbours(path)]
        raise unknown("file or corpus", name, nearby if get_close_matches(name, nearby) else CORPORA) from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; check the path and its permissions") from error
    return path


def _own(corpus: BuiltIn, wanted: Kind, split: Split | None) -> Iterator[Any]:
    """A built-in corpus's examples: those of one of its parts, or all."""
    if corpus.kind != wanted:
        others = ", ".join(name for name, other in CORPORA.items() if other.kind == wanted)
        remedy = f"choose one of {others}, or give a file" if others else "give a file"
        raise UserError(f"corpus '{corpus.name}' holds {corpus.kind}, {wanted} is wanted; {remedy}")
    return chain.from_iterable(corpus.read(part) for part in ([split] if split else SPLITS))


def _format(path: Path) -> str:
    """How a file's name ends, once .gz or .xz is off."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    return next((suffix for suffix in reversed(suffixes) if suffix not in (".gz", ".xz")), "")


def _from_parallel(first: Path, second: Path) -> Iterator[list[str]]:
    lines = read_lines(first), read_lines(second)
    for number, (source, target) in enumerate(zip_longest(*lines), 1):
        if source is not None and target is not None:
            yield [source, target]
            continue
        longer, shorter, rest = (first, second, lines[0]) if target is None else (second, first, lines[1])
        raise UserError(
            f"{longer} has {number + sum(1 for _ in rest)} lines, {shorter} has {number - 1}: line {number} of "
            f"{longer.name}, {_short(source or target or '')}, has no partner; both files must have the same lines"
        )


def _from_tabs(path: Path, wanted: str = "the source, a tab, the target") -> Iterator[list[str]]:
    for number, line in _numbered(path):
        if "\t" not in line:
            raise UserError(f"line {number} of {path}, {_short(line)}, has no tab; write {wanted}")
        yield line.split("\t")[:2]


def _from_labels(path: Path) -> Iterator[list[str]]:
    mark = ""
    for number, line in _numbered(path):
        mark = mark or ("\t" if "\t" in line else " ")
        label, found, text = line.partition(mark)
        if not (found and label.strip()):
            name = "tab" if mark == "\t" else "space"
            raise UserError(
                f"line {number} of {path}, {_short(line)}, has no label; write the label, a {name}, the text"
            )
        yield [label.strip(), text]


def _from_keys(path: Path, kind: Kind) -> Iterator[list[str]]:
    """What each line of a .jsonl or .csv file has under the keys of this kind. A label may be a number."""
    for number, found in _objects(path):
        row = []
        for key in KEYS[kind]:
            if key not in found:
                wanted = " and ".join(KEYS[kind])
                raise UserError(f"line {number} of {path} has the keys {_short(', '.join(found))}; wanted are {wanted}")
            value = found[key]
            if key == "label" and isinstance(value, int):
                value = json.dumps(value)
            if not isinstance(value, str):
                raise UserError(f"line {number} of {path}: {key} must be text, found {_short(value)}")
            if LONE.search(value):
                raise UserError(
                    f"line {number} of {path}: {key} holds half a character (a lone surrogate); mend or drop it"
                )
            row.append(value)
        yield row


def _objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """What stands on each line by name, with the line's number."""
    if _format(path) == ".csv":
        yield from _table(path)
        return
    for number, line in _numbered(path):
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise UserError(f"line {number} of {path}, {_short(line)}, is not a JSON object; write one on each line")
        yield number, found


def _table(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """The lines of a table under its headline. In quotation marks a field may hold commas and line ends."""
    csv.field_size_limit(sys.maxsize)  # a field may be a whole document
    rows = csv.reader(line + "\n" for line in read_lines(path))
    names = [name.strip() for name in next(rows, [])]
    for row in rows:
        if len(row) != len(names) and row:
            raise UserError(
                f"line {rows.line_num} of {path} has {len(row)} fields, its headline has {len(names)}; "
                "put a field that has commas in quotation marks"
            )
        if row:
            yield rows.line_num, dict(zip(names, row, strict=True))


def _numbered(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers from 1."""
    return ((number, line) for number, line in enumerate(read_lines(path), 1) if line.strip())


def _filled(rows: Iterator[list[str]], path: Path, skipped: Counter[str] | None) -> Iterator[list[str]]:
    """The rows that have something on every side. Those with nothing on any are no more than a blank line."""
    some = False
    for row in rows:
        sides = sum(1 for side in row if side.strip())
        if sides == len(row):
            some = True
            yield row
        elif sides and skipped is not None:
            skipped["one side empty"] += 1
    if not some:
        raise UserError(
            f"{path} has no example: every line is blank, or one side of it is; give a file with text in it"
        )


def _short(value: object, most: int = 40) -> str:
    """A value as an error shows it: on one line, not longer than a glance."""
    text = value if isinstance(value, str) else json.dumps(value)
    return repr(text if len(text) <= most else text[:most] + "…")
