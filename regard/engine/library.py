"""The compiled half of the native engine: found in the package, or compiled once where there is a compiler.

One text (`source/`) is compiled for each level of instructions, and the best that this processor has is loaded. Without
a compiler, or where anything at all goes wrong, there is no library, and models answer by torch.
"""

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch

SOURCE = Path(__file__).parent / "source"
BUILT = Path(__file__).parent / "built"  # what a wheel brings
COMPILERS = ("c++", "g++", "clang++")
# REGARD_FLAGS adds to them, such as -fsanitize=address
FLAGS = ("-std=c++17", "-O3", "-fPIC", "-shared", "-pthread", "-w", *os.environ.get("REGARD_FLAGS", "").split())


@dataclass(frozen=True)
class Level:
    """Which instructions a library is compiled for, and whether this processor has them."""

    name: str
    words: str
    flags: tuple[str, ...]
    is_there: Callable[[], bool]


def _capability() -> str:
    """What torch makes use of: ATEN_CPU_CAPABILITY=avx2 holds this engine to AVX2 as well."""
    return torch.backends.cpu.get_cpu_capability()


def _has_dot_products() -> bool:
    try:
        return "asimddp" in Path("/proc/cpuinfo").read_text()
    except OSError:
        return sys.platform == "darwin"  # every Mac with such a processor


X86 = (
    Level(
        "avx512vnni",
        "AVX-512 with VNNI",
        ("-mavx2", "-mfma", "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mavx512vnni"),
        lambda: _capability() == "AVX512" and torch.cpu._is_vnni_supported(),
    ),
    Level("avx2", "AVX2", ("-mavx2", "-mfma"), lambda: _capability() in ("AVX2", "AVX512")),
    Level("sse2", "SSE2, which every such processor has", (), lambda: True),
)
ARM = (
    Level("dotprod", "NEON with dot products", ("-march=armv8.2-a+dotprod",), _has_dot_products),
    Level("neon", "NEON", (), lambda: True),
)
LEVELS: dict[str, tuple[Level, ...]] = {"x86_64": X86, "amd64": X86, "aarch64": ARM, "arm64": ARM}


class NoLibrary(Exception):
    """Why there is none, in words."""


def levels() -> tuple[Level, ...]:
    """Those that a library can be compiled for on this kind of machine, the best first."""
    return LEVELS.get(platform.machine().lower(), ())


def best_level() -> Level:
    """The best that this processor has; REGARD_INSTRUCTIONS=avx2 holds it to less."""
    wanted = os.environ.get("REGARD_INSTRUCTIONS", "")
    for level in levels():
        if level.is_there() and wanted in ("", level.name):
            return level
    raise NoLibrary(f"it knows no processor like this one ({platform.machine()}{', ' + wanted if wanted else ''})")


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
    if _is_whole(to):
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


def _is_whole(path: Path) -> bool:
    """A library that was cut off would end this process when it is loaded."""
    try:
        return path.with_suffix(".sha256").read_text() == _checksum(path)
    except OSError:
        return False


def cache_folder() -> Path:
    """Where libraries are kept that no wheel brought; REGARD_CACHE names another place."""
    home = os.environ.get("REGARD_CACHE") or os.environ.get("XDG_CACHE_HOME")
    return Path(home or Path.home() / ".cache") / "regard" / "engine"


class Library:
    """The functions of a library, with their types."""

    def __init__(self, path: Path, level: Level) -> None:
        self.path, self.level = path, level
        loaded = ctypes.CDLL(str(path))
        number, address = ctypes.c_int64, ctypes.c_void_p
        self.pack = loaded.regard_pack
        self.pack.argtypes, self.pack.restype = [address, address, number, number, address, ctypes.c_int32], address
        self.free = loaded.regard_free
        self.free.argtypes, self.free.restype = [address], None
        self.bytes = loaded.regard_bytes
        self.bytes.argtypes, self.bytes.restype = [address], number
        self.run = loaded.regard_run
        self.run.argtypes, self.run.restype = [address], ctypes.c_int32


@cache
def library() -> Library:
    """The library of this machine, compiled if it has to be; `NoLibrary` says why there is none."""
    level = best_level()
    try:
        built = BUILT / file_name(level)
        path = built if _is_whole(built) else compiled(level, cache_folder())
        return Library(path, level)
    except (OSError, AttributeError) as error:
        raise NoLibrary(f"it could not be loaded ({error})") from None
