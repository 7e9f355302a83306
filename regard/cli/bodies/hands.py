"""Who computes pieces of the work: processes of this machine, or a Ray cluster. One that dies costs its piece."""

import logging
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from regard.cli.commands.shared import InShards
from regard.errors import UserError

TRIES = 3  # of a piece: one that ends three processes would end a fourth
SPAWN = get_context("spawn")  # a fork would take locks along that threads hold


class Portion(NamedTuple):
    """Some of the lines, and the command that is asked about them."""

    name: str
    asked: InShards
    items: list[str]

    @property
    def called(self) -> str:
        assert self.asked.first is not None
        return f"of the {len(self.items)} lines from {self.asked.first + 1} on"


def answered(asked: InShards, items: list[str]) -> bytes:
    """What the command writes about these items, computed here: the command itself, with files of its own."""
    with TemporaryDirectory(prefix="regard-") as name:
        folder = Path(name)
        one = replace(asked.about(items, folder), out=folder / "out")
        module, function = one.body()
        getattr(import_module(module), function)(one)
        return (folder / "out").read_bytes()


def by_processes(pieces: Iterator[Portion], processes: int) -> Iterator[tuple[Portion, bytes]]:
    """The answers as they are found, in no order. A piece whose process dies is given to another one."""
    idle, busy = [_Hand() for _ in range(processes)], dict[Connection, tuple[_Hand, Portion]]()
    again, died = list[Portion](), Counter[str]()
    try:
        while True:
            while len(busy) < processes and (piece := again.pop() if again else next(pieces, None)):
                hand = idle.pop() if idle else _Hand()
                hand.give(piece)
                busy[hand.pipe] = hand, piece
            if not busy:
                return
            for pipe in wait(list(busy)):
                assert isinstance(pipe, Connection)
                hand, piece = busy.pop(pipe)
                try:
                    found = pipe.recv()
                except (EOFError, OSError):
                    died[piece.name] += 1
                    if died[piece.name] == TRIES:
                        raise UserError(
                            f"{TRIES} processes died {piece.called}; if memory is short, use fewer --processes"
                        ) from None
                    again.append(piece)
                    continue
                idle.append(hand)
                if isinstance(found, str):
                    raise UserError(f"{piece.called}: {found}")
                yield piece, found
    finally:
        for hand in (*idle, *(hand for hand, _ in busy.values())):
            hand.end()


class _Hand:
    """A process that answers one piece after the other."""

    def __init__(self) -> None:
        self.pipe, there = SPAWN.Pipe()
        self.process = SPAWN.Process(target=_work, args=(there,), daemon=True)
        self.process.start()
        there.close()  # so that this end notices when the other one goes with its process

    def give(self, piece: Portion) -> None:
        with suppress(OSError):  # it died while it had nothing to do, which shows when it is heard
            self.pipe.send((piece.asked, piece.items))

    def end(self) -> None:
        self.process.terminate()
        self.process.join()
        self.pipe.close()


def _work(pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started this process is asked, and ends it
    warnings.showwarning = lambda message, *_: print(f"regard: {message}", file=sys.stderr)
    with suppress(EOFError):  # who started this process is gone
        while True:
            asked, items = pipe.recv()
            try:
                pipe.send(answered(asked, items))
            except UserError as error:
                pipe.send(str(error))


def by_ray(pieces: Iterator[Portion], address: str) -> Iterator[tuple[Portion, bytes]]:
    """The same by the processes of a cluster, which starts a piece again by itself when one dies."""
    try:
        import ray
    except ImportError:
        raise UserError("--ray wants Ray, which is not installed; pip install 'regard[ray]'") from None
    try:
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, ValueError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"no Ray cluster at {address} ({reason}); start one: ray start --head") from None
    task = ray.remote(max_retries=TRIES - 1)(answered)
    most, busy = 2 * int(ray.cluster_resources().get("CPU", 1)), dict[ray.ObjectRef, Portion]()
    try:
        while True:
            while len(busy) < most and (piece := next(pieces, None)):
                busy[task.options(num_cpus=piece.asked.threads).remote(piece.asked, piece.items)] = piece
            if not busy:
                return
            (done,), _ = ray.wait(list(busy))
            piece = busy.pop(done)
            try:
                yield piece, ray.get(done)
            except ray.exceptions.RayTaskError as error:
                raise UserError(f"{piece.called}: {error.cause}") from None
            except ray.exceptions.RayError as error:
                raise UserError(f"the cluster could not answer {piece.called}: {type(error).__name__}") from None
    finally:
        ray.shutdown()
