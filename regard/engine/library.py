"""The compiled half of the native engine: found in the package, or compiled once where there is a compiler.

The best level of instructions that this processor has is loaded. Without a compiler, or where anything at all goes
wrong, there is no library, and models answer by torch.
"""

import ctypes
import os
import platform
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import torch

from regard.engine.building import BUILT, Level, NoLibrary, compiled, file_name, is_whole, levels


def _capability() -> str:
    """What torch makes use of: ATEN_CPU_CAPABILITY=avx2 holds this engine to AVX2 as well."""
    return torch.backends.cpu.get_cpu_capability()


def _has_dot_products() -> bool:
    try:
        return "asimddp" in Path("/proc/cpuinfo").read_text()
    except OSError:
        return sys.platform == "darwin"  # every Mac with such a processor


HAS: dict[
    str, Callable[[], bool]
] = {  # whether this processor has the instructions of a level; those not named, all have
    "avx512vnni": lambda: _capability() == "AVX512" and torch.cpu._is_vnni_supported(),
    "avx2": lambda: _capability() in ("AVX2", "AVX512"),
    "dotprod": _has_dot_products,
}


def levels_here() -> list[Level]:
    """Those that this processor has, the best first."""
    return [level for level in levels() if level.name not in HAS or HAS[level.name]()]


def best_level() -> Level:
    """The best that this processor has; REGARD_INSTRUCTIONS=avx2 holds it to less."""
    wanted = os.environ.get("REGARD_INSTRUCTIONS", "")
    for level in levels_here():
        if wanted in ("", level.name):
            return level
    raise NoLibrary(f"it knows no processor like this one ({platform.machine()}{', ' + wanted if wanted else ''})")


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
        self.rank = loaded.regard_rank
        self.rank.argtypes, self.rank.restype = [address], ctypes.c_int32


@cache
def library() -> Library:
    """The library of this machine, compiled if it has to be; `NoLibrary` says why there is none."""
    level = best_level()
    try:
        built = BUILT / file_name(level)
        path = built if is_whole(built) else compiled(level, cache_folder())
        return Library(path, level)
    except (OSError, AttributeError) as error:
        raise NoLibrary(f"it could not be loaded ({error})") from None
