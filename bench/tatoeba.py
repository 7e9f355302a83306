"""Tatoeba's English–French pairs, spelt as the Hansards' gold alignments are: python -m bench.tatoeba FILE FOLDER

Lower case; marks by themselves; what is contracted is written out (l' → le, du → de le, n't → not). A thousand English
sentences are held out with all their translations. docs/heads.md says what was trained on it.
"""

import lzma
import random
import re
import sys
from pathlib import Path

ENGLISH = {"n't": "not", "'m": "am", "'re": "are", "'ve": "have", "'ll": "will", "'d": "would"}
FRENCH = {
    **{f"{word}'": f"{word}e" for word in ("l", "d", "n", "qu", "j", "c", "s", "m", "t", "jusqu", "lorsqu", "puisqu")},
    "du": "de le",
    "des": "de les",
    "au": "à le",
    "aux": "à les",
}
HELD_OUT = 1000


def marks_apart(text: str) -> str:
    plain = text.replace("\u202f", " ").replace("\xa0", " ").replace("\u2019", "'").lower()
    return re.sub(r"([.,!?;:\"()«»…%$-])", r" \1 ", plain)


def english(text: str) -> str:
    text = marks_apart(text).replace("can't", "can n't").replace("won't", "will n't")
    words = re.sub(r"(\w)\s*(n't|'s|'re|'ve|'ll|'m|'d)\b", r"\1 \2", text).split()
    return " ".join(ENGLISH.get(word, word) for word in words)


def french(text: str) -> str:
    words = re.sub(r"\b(\w+)'", r"\1' ", marks_apart(text)).split()
    return " ".join(FRENCH.get(word, word) for word in words)


def main(file: str, folder: str) -> None:
    with lzma.open(file, "rt", encoding="utf-8") as lines:
        pairs = [line.rstrip("\n").split("\t")[:2] for line in lines]
    sources = sorted({source for source, _ in pairs})
    random.Random(0).shuffle(sources)
    held = set(sources[:HELD_OUT])
    for name, wanted in (("train", False), ("valid", True)):
        chosen = [f"{english(s)}\t{french(t)}\n" for s, t in pairs if (s in held) == wanted]
        random.Random(1).shuffle(chosen)
        Path(folder, f"tatoeba.{name}.tsv").write_text("".join(chosen), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
