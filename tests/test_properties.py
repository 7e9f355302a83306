"""Every property on small texts, with the labels that a reader would give."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.look.find.properties import PROPERTIES, PROSE, PYTHON, C, description, grammar_of, property_named

C_TEXT = r"""int f(char *s) { /* don't "x" ( */
	if (s[0] == '"' && g(s, "a\"b(")) // it's
		return '\'';
	#error don't
}
"""
PYTHON_TEXT = """def f(x):  # isn't "it"
    '''don't (
    '''
    if x[1:2] == ")" and x:
        return 1 if x else {'a': "it's"}
"""


def marked(text: str, labels: np.ndarray) -> str:
    """What stands where the label is True; a bar between stretches."""
    stretches = "".join(letter if label else "\0" for letter, label in zip(text, labels, strict=True))
    return "|".join(part for part in stretches.split("\0") if part)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("quotes", C_TEXT, '"a\\"b('),
        ("comment", C_TEXT, "* don't \"x\" ( *|/ it's"),
        ("if_condition", C_TEXT, "(s[0] == '\"' && g(s, \"a\\\"b(\")"),
        ("quotes", PYTHON_TEXT, "'don't (\n    ''|\")|'a|\"it's"),
        ("comment", PYTHON_TEXT, '# isn\'t "it"'),
        ("if_condition", PYTHON_TEXT, ' x[1:2] == ")" and x'),
        ("quotes", 'She said "it\'s 5\'10" and left.\n\nThe dogs\' bones.', "\"it's 5'10"),
        ("quotes", 'A table of 10" and "no end\n\nnext "one" here', '"no end|"one'),
        ("quotes", "“Don’t,” he said, ‘it’s’ «là» „so“", "“Don’t,|‘it’s|«là|„so"),
        ("comment", "a # b // c /* d */\n", ""),
        ("if_condition", "What if (this) is prose?\n", ""),
        ("digits", "a1 22b", "1|22"),
        ("dates", "On 2024-01-31, 3/12/99. In 1805 v1.2.3", "2024-01-31|3/12/99"),
        ("dates", "May 5, 1805; 12 March 1990 and maybe 12", "May 5, 1805|12 March 1990"),
        ("capitals", "Der Ärger IST", "D|Ä|IST"),
        ("end_of_sentence", 'Mr. A. Bee left. "Why?" No... Pi is 3.14! So e.g. this', '.|?"|...|!'),
        ("end_of_sentence", "It ends.\n\nso", "."),
    ],
)  # fmt: skip
def test_what_is_inside(name, text, expected):
    assert marked(text, PROPERTIES[name](text)) == expected


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("depth", "f(a[1], {2}) )x(;\n", "011221112210000111"),
        ("depth", "a ((b\n\nc (d)\n", "0012220001100"),
        ("position_in_line", "ab\n\ncde", "1200123"),
        ("line_length", "ab\n\ncde", "2203333"),
        ("indent", "a\n  b\n\tc", "00122088"),
    ],
)
def test_what_is_counted(name, text, expected):
    assert "".join(map(str, PROPERTIES[name](text))) == expected


def test_brackets_in_strings_and_comments_do_not_count():
    depth = PROPERTIES["depth"](C_TEXT)
    assert depth[C_TEXT.index("return")] == 1
    assert depth[-1] == 0
    assert depth.max() == 3


def test_a_brace_in_the_first_column_closes_everything():
    text = "int f() {\n#ifdef A\n\tif (a) {\n#else\n\tif (b) {\n#endif\n\t}\n}\nint x;\n"
    assert PROPERTIES["depth"](text)[-2] == 0


def test_the_kind_of_text_is_seen():
    assert grammar_of(C_TEXT) is C
    assert grammar_of(PYTHON_TEXT) is PYTHON
    assert grammar_of("If I were you, I would import nothing.\nReturn soon: we wait.\n" * 9) is PROSE


@pytest.mark.parametrize("name", PROPERTIES)
@given(text=st.text(alphabet="ab \n\t\"'\\()[]{}/*#;:.“”«1ifé", max_size=80))
def test_one_label_for_each_character_of_any_text(name, text):
    labels = PROPERTIES[name](text)
    assert labels.shape == (len(text),)
    assert labels.dtype == bool or (labels >= 0).all()


def test_a_new_property_is_known_by_its_name():
    @property_named("vowels")
    def vowels(text):
        """The letter is a vowel."""
        return np.array([letter in "aeiou" for letter in text])

    try:
        assert PROPERTIES["vowels"] is vowels
        assert description(vowels) == "The letter is a vowel."
    finally:
        del PROPERTIES["vowels"]


def test_every_property_says_what_it_is():
    assert all(description(found).endswith((".", "…")) for found in PROPERTIES.values())
