"""One command by many processes: what it writes is, byte for byte, what one process would have written.

Lines are cut into pieces of whole windows (`decode/batches.py`), so that the same lines are computed together as in one
process. The answers to a piece are a file in a folder beside OUT, which appears whole or not at all; its name holds a
checksum of the command, the weights and the lines. So a command that is started again does what is missing, and nothing
that lies there can be taken for the answer to something else.
"""

import os
from collections.abc import Iterator
from dataclasses import replace
from functools import reduce
from itertools import count, islice
from pathlib import Path
from shutil import copyfileobj, rmtree

from regard.cli.bodies.hands import Portion, by_processes, by_ray
from regard.cli.commands.shared import InShards
from regard.decode.batches import WINDOW
from regard.disk import checksum, replacing, text_sum
from regard.errors import UserError
from regard.progress import watched

WINDOWS = 4  # of a piece: what is lost with a process that dies, and what a file is written for


def in_shards(asked: InShards) -> int:
    out = _place(asked)
    if out.exists():
        raise UserError(f"{out} is there already, and what is done is not done again; remove it, or name another --out")
    folder, all_of_them = out.with_name(f".{out.name}.shards"), list[Path]()

    def missing() -> Iterator[Portion]:
        for piece in _pieces(asked):
            all_of_them.append(folder / piece.name)
            if not all_of_them[-1].exists():
                yield piece

    found = by_ray(missing(), asked.ray) if asked.ray else by_processes(missing(), asked.processes)
    for piece, answers in watched(found, "answering, piece by piece"):
        with replacing(folder / piece.name) as partial:
            partial.write_bytes(answers)
    with replacing(out) as partial, partial.open("wb") as whole:
        for path in all_of_them:
            with path.open("rb") as file:
                copyfileobj(file, whole)
    rmtree(folder, ignore_errors=True)
    return 0


def answered_once(asked: InShards) -> Path:
    """The file of a command's answers, beside what it names, made in pieces unless it is there.

    The name holds a checksum of the command, the weights and the lines, as those of the pieces do.
    """
    assert asked.out is not None
    files = [checksum(path) for path in asked.relies_on()]
    lines = reduce(lambda before, line: text_sum(f"{before} {line}"), asked.items(), "")
    key = text_sum(repr((replace(asked, out=None, processes=1, threads=0), files, lines)))
    asked = replace(asked, out=asked.out.with_name(f"{asked.out.name}-{key}"))
    assert asked.out is not None
    if not asked.out.exists():
        in_shards(asked)
    return asked.out


def _place(asked: InShards) -> Path:
    """Where the answers go; parts of a whole have names that sort in their order."""
    assert asked.out is not None
    if not asked.shard:
        return asked.out
    part, parts = asked.part()
    return asked.out.with_name(f"{asked.out.name}.{part:0{len(str(parts))}}-of-{parts}")


def _pieces(asked: InShards) -> Iterator[Portion]:
    """The work of this command in order, read as it is wanted."""
    size, threads = WINDOWS * WINDOW * asked.at_once, max(1, (os.cpu_count() or 1) // asked.processes)
    alone = replace(asked, processes=1, shard="", ray="", out=None, threads=asked.threads or threads)
    files = [(str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in asked.relies_on()]
    wanted, items = _wanted(asked, size), iter(asked.items())
    for number in count():
        some = list(islice(items, size))
        if not some or number >= wanted.stop:
            return
        if number in wanted:
            one = replace(alone, first=number * size)
            key = text_sum(repr((type(one), replace(one, threads=0), files, some)))
            yield Portion(f"{number:09}-{key}", one, some)


def _wanted(asked: InShards, size: int) -> range:
    """The numbers of the pieces that are asked for."""
    if not asked.shard:
        return range(1 << 62)
    (part, parts), items = asked.part(), asked.count()
    if items is None:
        raise UserError("--shard wants a file, whose lines can be counted before they are read, found standard input")
    pieces = -(-items // size)
    return range((part - 1) * pieces // parts, part * pieces // parts)
