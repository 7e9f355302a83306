"""Properties of a text: small functions from a text to one label for each character, by name.

A label is what holds once that character has been read: an opening quotation mark is inside, the closing one is not. It
is True or False, a number, or a name (of a class). To add one:

    @property_named("vowels")
    def vowels(text):
        \"\"\"The letter is a vowel.\"\"\"
        return np.array([letter in "aeiou" for letter in text])
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from regard.errors import UserError, counted, unknown

Property: TypeAlias = Callable[[str], NDArray[Any]]

PROPERTIES: dict[str, Property] = {}

BLANK_LINE = r"(?=\n[ \t\r]*\n)|\Z"


def property_named(name: str) -> Callable[[Property], Property]:
    """Makes a property known by a name. The first line of its docstring is its description."""

    def add(found: Property) -> Property:
        PROPERTIES[name] = found
        return found

    return add


def description(found: Property) -> str:
    """What a property says of a character, in one line."""
    return (found.__doc__ or "").strip().split("\n")[0]


def properties_named(names: Sequence[str]) -> dict[str, Property]:
    """The properties of these names, all of them ours; `own_properties` knows others."""
    for name in names:
        if name not in PROPERTIES:
            raise unknown("property", name, PROPERTIES)
    return {name: PROPERTIES[name] for name in names}


def as_labels(name: str, found: Any, text: str) -> NDArray[Any]:
    """What a property gave for a text, where it is one label for each character."""
    try:
        labels = np.asarray(found)
    except ValueError:  # lists of lists of different lengths
        labels = np.asarray(None)
    if labels.shape != (len(text),):
        what = f"an array of shape {list(labels.shape)}" if labels.shape else f"{type(found).__name__}"
        raise UserError(
            f"property {name} must give one label for each of {counted(len(text), 'character')}, found {what}"
        )
    if labels.dtype.kind not in "biufU" or (labels.dtype.kind == "f" and not np.isfinite(labels).all()):
        what = "numbers that are not finite" if labels.dtype.kind == "f" else f"labels of type {labels.dtype}"
        raise UserError(f"property {name} must give True or False, numbers or names, found {what}")
    return labels


# ---- what kind of text it is, and what is comment and quotation in it


class Grammar(NamedTuple):
    """How a kind of text writes what must not be read as plain text: groups `comment`, `quote` and, hidden, others."""

    hidden: re.Pattern[str]
    condition: re.Pattern[str] | None
    """The beginning of the condition of an `if`; None: there is no such thing."""
    ends: str
    """What ends a condition at the depth at which it began."""
    closes_all: re.Pattern[str] | None
    """Where every bracket must be closed, whatever went before."""


C = Grammar(
    re.compile(
        r"(?P<comment>/\*.*?(?:\*/|\Z)|//(?:\\\n|[^\n])*)"
        r'|(?P<quote>"(?:\\.|[^"\\\n])*(?:"|$))'
        r"|'(?:\\.[0-9a-fA-F]*|[^'\\\n])'",
        re.DOTALL | re.MULTILINE,
    ),
    re.compile(r"\bif\s*\("),
    ")",
    re.compile(r"^}", re.MULTILINE),
)
PYTHON = Grammar(
    re.compile(
        r"(?P<comment>#[^\n]*)"
        r"|(?P<quote>\"\"\".*?(?:\"\"\"|\Z)|'''.*?(?:'''|\Z)"
        r"|\"(?:\\.|[^\"\\\n])*(?:\"|$)|'(?:\\.|[^'\\\n])*(?:'|$))",
        re.DOTALL | re.MULTILINE,
    ),
    re.compile(r"\b(?:el)?if\b"),
    ":",
    re.compile(r"^(?=def |class |@|import |from )", re.MULTILINE),
)
# An apostrophe is no quotation mark, and 5'10" opens none; a paragraph ends what nobody closed.
PROSE = Grammar(
    re.compile(
        rf'(?P<quote>(?<![0-9])"[^"]*?(?:"|{BLANK_LINE})|“[^”]*?(?:”|{BLANK_LINE})|„[^“”]*?(?:[“”]|{BLANK_LINE})'
        rf"|«[^»]*?(?:»|{BLANK_LINE})|(?<!\w)‘[^‘]*?(?:’(?!\w)|{BLANK_LINE}))"
    ),
    None,
    "",
    re.compile(r"^[ \t\r]*\n", re.MULTILINE),
)


def grammar_of(text: str) -> Grammar:
    """C, Python or prose, by how its lines begin and end."""
    block = r"(?:def|class|if|elif|else|for|while|with|try|except)\b.*:[ \t]*(?:#.*)?$"
    lines = {C: r"[;{}][ \t\r]*$", PYTHON: rf"^[ \t]*(?:{block}|from \S+ import |import \w+$)"}
    counts = {grammar: len(re.findall(line, text, re.MULTILINE)) for grammar, line in lines.items()}
    best = max(counts, key=lambda grammar: counts[grammar])
    return best if counts[best] > 0.1 * text.count("\n") else PROSE


@lru_cache(maxsize=4)
def _parted(text: str) -> tuple[Grammar, list[tuple[str, int, int]], str]:
    """Its grammar; each comment and quotation with where it begins and ends; and the text with all of these blank."""
    grammar = grammar_of(text)
    spans, plain, done = [], [], 0
    for match in grammar.hidden.finditer(text):
        begin, end = match.span()
        spans.append((match.lastgroup or "", begin, end))
        if match.lastgroup != "quote" or grammar is not PROSE:  # brackets within speech are brackets
            plain += [text[done:begin], re.sub(r"[^\n]", " ", match[0])]
            done = end
    return grammar, spans, "".join([*plain, text[done:]])


def within(text: str, spans: Iterator[tuple[int, int]]) -> NDArray[np.bool_]:
    """True inside these spans."""
    inside = np.zeros(len(text), bool)
    for begin, end in spans:
        inside[begin:end] = True
    return inside


@property_named("quotes")
def quotes(text: str) -> NDArray[np.bool_]:
    """Inside quotation marks; in code, inside a string."""

    def spans() -> Iterator[tuple[int, int]]:
        for kind, begin, end in _parted(text)[1]:
            if kind == "quote":
                opening = 3 if text[begin : begin + 3] in ('"""', "'''") else 1
                closed = end - begin > opening and text[end - 1] in "\"'”“»’"
                yield begin + opening - 1, end - 1 if closed else end

    return within(text, spans())


@property_named("comment")
def comment(text: str) -> NDArray[np.bool_]:
    """Inside a comment: /* … */ and // in C, # in Python."""

    def spans() -> Iterator[tuple[int, int]]:
        for kind, begin, end in _parted(text)[1]:
            if kind == "comment":
                opening = 1 if text[begin] == "#" else 2
                yield (
                    begin + opening - 1,
                    end - 1 if text[begin : begin + 2] == "/*" and text[end - 2 : end] == "*/" else end,
                )

    return within(text, spans())


@property_named("if_condition")
def if_condition(text: str) -> NDArray[np.bool_]:
    """Inside the condition of an if: its brackets in C, up to the colon in Python."""
    grammar, _, plain = _parted(text)
    condition = grammar.condition
    if condition is None:
        return np.zeros(len(text), bool)

    def spans() -> Iterator[tuple[int, int]]:
        assert condition is not None
        for match in condition.finditer(plain):
            depth = 0
            for place in range(match.end(), min(len(plain), match.end() + 2000)):
                letter = plain[place]
                if depth == 0 and letter in grammar.ends:
                    yield match.end() - (grammar is C), place
                    break
                depth += (letter in "([{") - (letter in ")]}")
                if depth < 0 or (letter == "\n" and depth == 0 and grammar is PYTHON):  # `x if y else z` has no colon
                    break

    return within(text, spans())


@property_named("depth")
def depth(text: str) -> NDArray[np.int_]:
    """How many brackets ( [ { are open; those in comments and strings do not count."""
    grammar, _, plain = _parted(text)
    steps = np.zeros(len(text), int)
    fresh = {match.start() for match in grammar.closes_all.finditer(plain)} if grammar.closes_all else set()
    events = sorted(fresh | {match.start() for match in re.finditer(r"[][(){}]", plain)})
    now = 0
    for place in events:
        letter = plain[place]
        after = 0 if place in fresh else now
        after = max(0, after + (letter in "([{") - (letter in ")]}"))
        steps[place] = after - now
        now = after
    return np.cumsum(steps)


# ---- lines


def _line_starts(text: str) -> NDArray[np.int_]:
    """Where the line of each character begins. A line end belongs to the line that it begins."""
    places = np.arange(len(text))
    return np.maximum.accumulate(np.where(_letters(text) == ord("\n"), places, -1))


def _letters(text: str) -> NDArray[np.int_]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(int)


@property_named("position_in_line")
def position_in_line(text: str) -> NDArray[np.int_]:
    """How many characters of its line have been read."""
    return np.arange(len(text)) - _line_starts(text)


@property_named("line_length")
def line_length(text: str) -> NDArray[np.int_]:
    """How long its line will be as a whole, which nobody can know before it ends."""
    starts = _line_starts(text)
    ends = np.append(starts[np.flatnonzero(np.diff(starts)) + 1], len(text))  # the next line end, for each line
    return ends[np.searchsorted(ends, np.arange(len(text)), side="right")] - starts - 1


@property_named("indent")
def indent(text: str) -> NDArray[np.int_]:
    """How wide the blanks at the beginning of its line are, so far; a tab reaches the next multiple of 8."""
    widths = np.zeros(len(text), int)
    for line in re.finditer(r"(?m)^([ \t]*)[^\n]*", text):
        width = 0
        for place in range(*line.span(1)):
            width = (width // 8 + 1) * 8 if text[place] == "\t" else width + 1
            widths[place] = width
        widths[line.end(1) : line.end()] = width
    return widths


# ---- single characters and words

MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:t(?:ember)?)?"
    r"|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
DAY, YEAR = r"(?:0?[1-9]|[12]\d|3[01])", r"(?:1\d{3}|20\d{2})"
DATE = re.compile(
    rf"\b(?:{YEAR}[-/.](?:0?[1-9]|1[0-2])[-/.]{DAY}|{DAY}[-/.](?:0?[1-9]|1[0-2])[-/.](?:{YEAR}|\d\d)"
    rf"|{DAY}(?:st|nd|rd|th)?(?: of)? {MONTH}(?:,? {YEAR})?|{MONTH} {DAY}(?:st|nd|rd|th)?(?:,? {YEAR})?|{MONTH} {YEAR})"
    r"(?![\w-])"
)
SENTENCE_END = re.compile(r"(?:[.!?]+|…)[\"'”’»)\]]*(?=\s+[\"'“‘«(\[]*[A-ZÀ-ÞА-Я0-9]|\s*\Z|\s*\n[ \t\r]*\n)")
ABBREVIATION = re.compile(r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|No|vs|etc|Jr|Sr|Capt|Gen|Col|Lt|e\.g|i\.e)|\b[A-Z])\Z")


@property_named("digits")
def digits(text: str) -> NDArray[np.bool_]:
    """The character is a digit."""
    return np.array([letter.isdigit() for letter in text], bool)


@property_named("dates")
def dates(text: str) -> NDArray[np.bool_]:
    """Inside a date: 2024-01-31, 31/1/2024, January 31, 31 January 2024; a year alone is none."""
    return within(text, (match.span() for match in DATE.finditer(text)))


@property_named("capitals")
def capitals(text: str) -> NDArray[np.bool_]:
    """The character is a capital letter."""
    return np.array([letter.isupper() for letter in text], bool)


@property_named("end_of_sentence")
def end_of_sentence(text: str) -> NDArray[np.bool_]:
    """The mark that ends a sentence; not that of an abbreviation or an initial."""

    def spans() -> Iterator[tuple[int, int]]:
        for match in SENTENCE_END.finditer(text):
            if match[0] != "." or not ABBREVIATION.search(text, max(0, match.start() - 8), match.start()):
                yield match.span()

    return within(text, spans())
