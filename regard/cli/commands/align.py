"""`regard align`."""

from dataclasses import dataclass

from regard.cli.command import STANDARD, option, place
from regard.cli.commands.shared import OnLines
from regard.config.settings import at_least


@dataclass(frozen=True, kw_only=True)
class AlignCommand(OnLines):
    """Attention as a word alignment of given pairs: Pharaoh lines source-target, or how good it is against gold."""

    examples = """
        paste test.en test.fr | regard align runs/fr
        regard align runs/fr pairs.txt --gold links.txt              (error rates, beside baselines)
        regard align runs/fr hansards.txt --gold hansards.gold --from-one
        regard align runs/fr --gold phrases-short:french             (built-in pairs with their own gold)"""
    piped = "source ||| target"

    file: str = place("FILE", STANDARD)
    """Lines source<TAB>target or source ||| target; words are what blanks separate; -: standard input."""
    head: str = option("", "NAME")
    """A head as --gold names it; none: the mean of all heads."""
    fed: bool = False
    """Read a word where it is fed to the decoder, not where it is predicted."""
    glued: str = option("", "MARKS")
    """Marks that are words by themselves in FILE, but that the model reads right behind a word, such as ',.'."""
    gold: str | None = option(None, "FILE")
    """Score all heads against these links instead: 0-0 sure, 0?0 or 0p0 possible, the source's word first; or
    phrases:french and the like."""
    from_one: bool = False
    """Gold counts words from 1, as the Hansards do."""
    target_first: bool = False
    """Gold has the target's word first."""
    number: int = at_least(1, 200)
    """How many built-in pairs."""
    json: bool = False
    """Print all weights of each line, or all scores, as JSON."""
