"""A formula as it is typed in a claim, set by the browser itself: MathML, which wants no script and no network.

`h_t`, `W_hh` and `h_{t−1}` have something below, `x^2`, `h^(l)` and `y^{1/T}` above; `√m` is a root of what follows;
`∂c_t/∂h` without blanks is a fraction; ² and ᵀ stand above too. Words stay words, and a line may end between formulas.
"""

import re
from html import escape

WORDS = re.compile(r"(?<![\w^{])[^\W\d_]{2,}(?:[ -][^\W\d_]{2,})*(?![\w^(])")
ATOM = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+|\S")
ABOVE = {"²": "^2", "ᵀ": "^T"}
OPEN, CLOSE = "([{", ")]}"


def formula(text: str) -> str:
    """As HTML: formulas as MathML, the words between them as words."""
    for sign, typed in ABOVE.items():
        text = text.replace(sign, typed)
    found, at = [], 0
    for words in WORDS.finditer(text):
        found += [*_formulas(text[at : words.start()]), escape(words[0])]
        at = words.end()
    return "".join([*found, *_formulas(text[at:])])


def _formulas(text: str) -> list[str]:
    """What stands between commas that are in no bracket, each by itself; the commas are text."""
    found, piece, depth = [], "", 0
    for place, sign in enumerate(text):
        depth += (sign in OPEN) - (sign in CLOSE)
        ends = sign in ",;:" and depth <= 0 and text[place + 1 : place + 2] in ("", " ")
        piece += "" if ends else sign
        if ends or place == len(text) - 1:
            bare = piece.strip()
            before, _, behind = piece.partition(bare) if bare else (piece, "", "")
            found += [before, f"<math>{_row(bare)}</math>" if bare else "", behind, sign if ends else ""]
            piece = ""
    return found


def _row(text: str, fractions: bool = True) -> str:
    """One part after the other. Inside what is small already, a slash stays a slash."""
    parts: list[str] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
        elif text[at] == "/" and fractions and parts and text[at - 1] != " " and text[at + 1 : at + 2] not in ("", " "):
            below, at = _part(text, at + 1)
            parts.append(f"<mfrac>{parts.pop()}{below}</mfrac>")
        else:
            part, at = _part(text, at)
            parts.append(part)
    return "".join(parts)


def _part(text: str, at: int) -> tuple[str, int]:
    """A letter, number or sign with what is written below and above it; and where it ends."""
    atom = ATOM.match(text, at)
    assert atom is not None
    if atom[0] == "√":
        inside, end = _part(text, atom.end())
        return f"<msqrt>{inside}</msqrt>", end
    if atom[0] == "∂":
        inside, end = _part(text, atom.end())
        return f"<mrow><mo>∂</mo>{inside}</mrow>", end
    end, scripts = atom.end(), {}
    while text[end : end + 1] in ("_", "^"):
        sign = text[end]
        scripts[sign], end = _script(text, end + 1)
    tags = {"_": "msub", "^": "msup", "_^": "msubsup"}
    tag = tags.get("".join(sorted(scripts, reverse=True)))
    base = _leaf(atom[0])
    return (f"<{tag}>{base}{scripts.get('_', '')}{scripts.get('^', '')}</{tag}>" if tag else base), end


def _script(text: str, at: int) -> tuple[str, int]:
    """What follows _ or ^: all in braces, all in parentheses with them, or one letter or number or word."""
    if text[at] in "{(":
        end = text.index(CLOSE[OPEN.index(text[at])], at) + 1
        inside = text[at + 1 : end - 1] if text[at] == "{" else text[at:end]
        return f"<mrow>{_row(inside, fractions=False)}</mrow>", end
    atom = ATOM.match(text, at)
    assert atom is not None
    return _leaf(atom[0]), atom.end()


def _leaf(atom: str) -> str:
    if atom[0].isdigit():
        return f"<mn>{atom}</mn>"
    if atom[0].isalpha():
        return f"<mi>{escape(atom)}</mi>"
    return f'<mo stretchy="false">{escape(atom)}</mo>'
