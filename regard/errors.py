"""What a user can put right: one line that says what was wanted, what was found, and the remedy."""

from collections.abc import Iterable
from difflib import get_close_matches


class UserError(Exception):
    """A mistake in a setting, a file or a call. Its text is one line, meant for the person who made the call."""


def counted(count: int | str, noun: str, several: str = "") -> str:
    """So many of something, in the right number: 1 update, 1,000 updates, 2 entries. As text: 0.5 epochs."""
    shown = count if isinstance(count, str) else f"{count:,}"
    return f"{shown} {noun if shown == '1' else several or f'{noun}s'}"


def few_digits(number: float) -> str:
    """A number as people say it: three digits, and no power of ten."""
    return "under 0.01" if 0 < number < 0.01 else f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def unknown(what: str, found: object, known: Iterable[str]) -> UserError:
    """The error for a name that does not exist: says which one was probably meant, or lists them all."""
    names = list(known)
    close = get_close_matches(str(found), names, n=1)
    remedy = f"did you mean '{close[0]}'?" if close else f"choose one of {', '.join(names)}"
    return UserError(f"{what} '{found}' does not exist; {remedy}")
