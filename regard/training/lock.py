"""One process trains in a run folder at a time. The lock is the system's: it goes with the process that holds it."""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import IO

from regard.errors import UserError

try:
    import fcntl
except ImportError:  # not on every system: there nobody is kept out
    fcntl = None  # type: ignore[assignment]


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds a folder for this process, or says who does. A folder that was not there, and stayed empty, goes again."""
    made = [folder for folder in (path, *path.parents) if not folder.exists()]
    lock = path / ".lock"
    try:
        path.mkdir(parents=True, exist_ok=True)
        file = _held(lock)
    except OSError as error:
        raise UserError(f"cannot write {lock}: {error.strerror}; check the folder and the space left on it") from error
    try:
        with file:
            try:
                yield
            finally:
                lock.unlink(missing_ok=True)  # before it is let go: who comes next makes one of their own
    finally:
        with suppress(OSError):
            for folder in made:
                folder.rmdir()


def _held(lock: Path) -> IO[str]:
    """The file of that name, locked, with our name in it."""
    file = lock.open("a+", encoding="utf-8")
    try:
        _hold(file, lock)
        if not _is_at(lock, file):  # who held it has let it go, and taken the file away
            file.close()
            return _held(lock)
        file.truncate(0)
        since = datetime.now().astimezone().isoformat(" ", "seconds")
        json.dump({"process": os.getpid(), "host": socket.gethostname(), "since": since}, file)
        file.flush()
    except BaseException:
        file.close()
        raise
    return file


def _hold(file: IO[str], lock: Path) -> None:
    if fcntl is None:
        return
    remedy = "wait for it, stop it, or choose another folder with --run"
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UserError(f"{lock.parent} is being trained already{_by(file)}; {remedy}") from None
    except OSError:  # a disk without locks has only what is written there
        if _by(file) and not _is_dead(file):
            raise UserError(
                f"{lock.parent} is being trained already{_by(file)}; {remedy}; if it is gone, delete {lock}"
            ) from None


def _by(file: IO[str]) -> str:
    """Who wrote the file, in words; nothing, if that cannot be read."""
    file.seek(0)
    with suppress(ValueError, KeyError, TypeError):
        holder = json.load(file)
        return f", by process {holder['process']} on {holder['host']} since {holder['since']}"
    return ""


def _is_dead(file: IO[str]) -> bool:
    """Whether a process of this machine wrote the file and is no more."""
    file.seek(0)
    holder = json.load(file)
    try:
        os.kill(int(holder["process"]), 0)
    except ProcessLookupError:
        return bool(holder["host"] == socket.gethostname())
    except (PermissionError, ValueError, OverflowError):
        return False
    return False


def _is_at(path: Path, file: IO[str]) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
