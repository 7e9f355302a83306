"""The data of docs/results.md, from the packed files that they are published in.

    python -m bench.data ../shared/data data

Texts and parallel files are copied as they are: a packed file can be trained on. A pronouncing dictionary becomes
pairs whose letters and sounds stand apart by spaces: each is then a token of the kind `words`.
"""

import lzma
import shutil
import sys
import tarfile
from collections.abc import Iterable
from pathlib import Path
from unicodedata import normalize

AS_THEY_ARE = {
    "multi30k": ("multi30k", "*.gz"),
    "shakespeare": ("tinyshakespeare", "*.xz"),
    "war_and_peace": ("war_and_peace", "*.xz"),
    "linux": ("linux_kernel_c", "*.xz"),
    "sentences": ("sentences", "*.xz"),
}
CMUDICT = {"train": "train-dev-20-21", "dev": "train-dev-1-21", "test": "test"}


def spelled(word: str, sounds: str) -> str:
    """A line of pairs: the letters of a word, and its sounds. A Korean syllable is taken apart into its letters."""
    letters = "".join(normalize("NFD", letter) if "가" <= letter <= "힣" else letter for letter in word)
    return f"{' '.join(letters)}\t{sounds.strip()}\n"


def write(path: Path, lines: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(lines), encoding="utf-8")


def cmudict(packed: Path, data: Path) -> None:
    """721 of the 5,447 words to choose by are in training too, spoken in another way: they are left out."""
    trained: set[str] = set()
    for part, name in CMUDICT.items():
        with lzma.open(packed / "cmudict_g2p" / f"cmudict-0.7b.{name}.xz", "rt", encoding="utf-8") as lines:
            words = [line.split(maxsplit=1) for line in lines]
        write(data / "cmudict" / f"{part}.tsv", (spelled(*word) for word in words if word[0] not in trained))
        trained |= {word[0] for word in words} if part == "train" else set()


def sigmorphon(packed: Path, data: Path) -> None:
    with tarfile.open(packed / "sigmorphon2021_g2p" / "data.tar.xz") as archive:
        for member in archive:
            if member.name.endswith(".tsv") and (content := archive.extractfile(member)) is not None:
                lines = content.read().decode().splitlines()
                write(data / "sigmorphon" / Path(member.name).name, (spelled(*line.split("\t")) for line in lines))


def sentences(packed: Path, data: Path) -> None:
    """SST-2's phrases with the sentences that they were cut from; TREC's questions in UTF-8."""
    folder = packed / "sentences"
    parts = [lzma.decompress((folder / f"{name}.train.xz").read_bytes()) for name in ("sst2_phrases", "stsa.binary")]
    write(data / "sentences" / "sst2-phrases.train", (part.decode() for part in parts))
    for part in ("train", "test"):
        with lzma.open(folder / f"TREC.{part}.all.xz", "rt", encoding="latin-1") as lines:
            write(data / "sentences" / f"trec.{part}", lines)


def photographs(packed: Path, data: Path) -> None:
    """Flickr8k: half of its pictures; the lists name all, so those that are not there are left out of them."""
    folder = data / "flickr8k"
    with tarfile.open(packed / "flickr8k" / "images128.tar") as archive:
        archive.extractall(folder / "images", filter="data")
    with lzma.open(packed / "flickr8k" / "Flickr8k.token.txt.xz", "rt", encoding="utf-8") as lines:
        write(folder / "captions.txt", lines)
    for part in ("train", "dev", "test"):
        names = (packed / "flickr8k" / f"Flickr_8k.{part}Images.txt").read_text(encoding="utf-8").split()
        write(folder / f"{part}.txt", (f"{name}\n" for name in names if (folder / "images" / name).exists()))


def main(packed: Path, data: Path) -> None:
    for folder, (name, pattern) in AS_THEY_ARE.items():
        (data / folder).mkdir(parents=True, exist_ok=True)
        for file in sorted((packed / name).glob(pattern)):
            shutil.copy(file, data / folder / file.name)
    cmudict(packed, data)
    sigmorphon(packed, data)
    sentences(packed, data)
    photographs(packed, data)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
