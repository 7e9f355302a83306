"""How the native engine is compiled: one text, for each level of instructions.

Only what Python itself has is needed, so that a wheel can be built where nothing else is installed (`hatch_build.py`).
"""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parent / "source"
BUILT = Path(__file__).parent / "built"  # what a wheel brings
COMPILERS = ("c++", "g++", "clang++")
# REGARD_FLAGS adds to them, such as -fsanitize=address
FLAGS = ("-std=c++17", "-O3", "-fPIC", "-shared", "-pthread", "-w", *os.environ.get("REGARD_FLAGS", "").split())


@dataclass(frozen=True)
class Level:
    """Which instructions a library is compiled for."""

    name: str
    words: str
    flags: tuple[str, ...] = ()


X86 = (
    Level(
        "avx512vnni",
        "AVX-512 with VNNI",
        ("-mavx2", "-mfma", "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mavx512vnni"),
    ),
    Level("avx2", "AVX2", ("-mavx2", "-mfma")),
    Level("sse2", "SSE2, which every such processor has"),
)
ARM = (Level("dotprod", "NEON with dot products", ("-march=armv8.2-a+dotprod",)), Level("neon", "NEON"))
LEVELS: dict[str, tuple[Level, ...]] = {"x86_64": X86, "amd64": X86, "aarch64": ARM, "arm64": ARM}


class NoLibrary(Exception):
    """Why there is none, in words."""


def levels() -> tuple[Level, ...]:
    """Those that a library can be compiled for on this kind of machine, the best first."""
    return LEVELS.get(platform.machine().lower(), ())


def texts() -> list[Path]:
    return sorted(SOURCE.glob("*.?pp"))


def file_name(level: Level, flags: Sequence[str] = FLAGS) -> str:
    """A name that changes with the text and with how it is compiled: an old library is never taken for a new one."""
    told = hashlib.sha256(" ".join([sys.platform, *flags, *level.flags]).encode())
    for path in texts():
        told.update(path.read_bytes())
    return f"{level.name}-{told.hexdigest()[:16]}.so"


def compiler() -> str | None:
    """The user's own word ($CXX), or what is there."""
    return next((found for name in (os.environ.get("CXX"), *COMPILERS) if name and (found := shutil.which(name))), None)


def compiled(level: Level, folder: Path, flags: Sequence[str] = FLAGS) -> Path:
    """The library for a level in a folder, compiled if it is not there. A file appears whole, with its checksum."""
    to = folder / file_name(level, flags)
    if is_whole(to):
        return to
    found = compiler()
    if found is None:
        raise NoLibrary("there is no C++ compiler to build it with (c++, g++ or clang++)")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        made = Path(scratch) / to.name
        command = [found, *flags, *level.flags, str(SOURCE / "engine.cpp"), "-o", str(made)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NoLibrary(f"the compiler {found} did not come to an end ({error})") from None
        if done.returncode:
            raise NoLibrary(f"the compiler {found} refused it: {(done.stderr.strip().splitlines() or ['?'])[0]}")
        (Path(scratch) / "sum").write_text(_checksum(made))
        os.replace(Path(scratch) / "sum", to.with_suffix(".sha256"))
        os.replace(made, to)
    return to


def _checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def is_whole(path: Path) -> bool:
    """A library that was cut off would end this process when it is loaded."""
    try:
        return path.with_suffix(".sha256").read_text() == _checksum(path)
    except OSError:
        return False
