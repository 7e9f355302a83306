"""From the name of a corpus to where it is.

A corpus is the name of a built-in one (`python`, `digits:sort`; see `corpora.registry`), a path, or two paths of files
whose lines belong together. A built-in name comes first: `./python` is the file of that name. Files are UTF-8, plain or
packed as .gz or .xz.
"""

import os
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

from regard.config import Data, Where
from regard.data.corpora.registry import CORPORA, BuiltIn
from regard.data.examples import SPLITS, Split, held_out
from regard.data.files import neighbours, no_such_file
from regard.data.formats.archive import book_and_sheet
from regard.errors import UserError, unknown

Example = TypeVar("Example")


def find(where: Where, split: Split | None = None) -> BuiltIn | list[Path]:
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
        book_and_sheet(path)[0].stat()
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


def own(corpus: BuiltIn, wanted: str, split: Split | None) -> Iterator[Any]:
    """A built-in corpus's examples: those of one of its parts, or all."""
    if corpus.kind != wanted:
        others = ", ".join(name for name, other in CORPORA.items() if other.kind == wanted)
        remedy = f"choose one of {others}, or give a file" if others else "give a file"
        raise UserError(f"corpus '{corpus.name}' holds {corpus.kind}, {wanted} is wanted; {remedy}")
    return chain.from_iterable(corpus.read(part) for part in ([split] if split else SPLITS))


def place_of(data: Data, part: Split) -> tuple[Where, Split | None]:
    """Where a part of the data is, and which split of it to read."""
    name = data.train if isinstance(data.train, str) else ""
    if name in CORPORA and (part == "train" or not getattr(data, part)):  # never all of it
        return data.train, part
    return getattr(data, part), None


def has_own_held_out(data: Data) -> bool:
    return bool(data.valid) or data.train in CORPORA


def examples_of(
    data: Data, part: Split, read: Callable[[Where, Split | None], Iterator[Example]], key: Callable[[Example], str]
) -> Iterator[Example]:
    """The examples of a part: all of what is named for it, or else a share of the training data.

    Which share is decided by the key, so that nothing with the same key is on both sides.
    """
    if has_own_held_out(data):
        found = read(*place_of(data, part))
    else:
        found = (e for e in read(data.train, None) if held_out(key(e), data.share) == (part == "valid"))
    return islice(found, (data.limit or None) if part == "train" else None)
