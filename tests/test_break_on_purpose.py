"""The mutants still fit: each breaks code that is there, once, and the tests that must notice are there."""

import pytest
from break_on_purpose import MUTANTS, ROOT, TESTS


@pytest.mark.parametrize("name", MUTANTS)
def test_the_code_that_it_breaks_is_there(name):
    file, right, wrong = MUTANTS[name]
    text = (ROOT / "regard" / file).read_text(encoding="utf-8")
    assert right in text
    assert text.replace(right, wrong, 1) != text


def test_the_tests_that_must_notice_are_there():
    assert all((ROOT / test).exists() for test in TESTS)
