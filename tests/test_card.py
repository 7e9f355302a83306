"""`regard card`: what a run is, without a word about the machine it was made on, and over nobody's file."""

import typed

run, said, refused = typed.run, typed.said, typed.refused


def test_the_card_says_what_it_is_how_good_and_how_it_is_used(run, said, here):
    path = run("lm")
    card = said("card", path)[1]
    assert card.startswith("---\nlibrary_name: regard\n")
    assert "A language model of " in card
    assert "| bits_per_byte |" in card
    assert "\nregard write lm\n" in card
    assert str(path.parents[2]) not in card


def test_a_file_that_is_there_is_not_written_over(run, said, refused, here, tmp_path):
    assert said("card", run("lm"), "--save", "README.md")[1] == "the card is in README.md\n"
    written = (tmp_path / "README.md").read_text()
    assert written == said("card", run("lm"))[1]
    line = refused("card", run("lm"), "--save", "README.md")
    assert line == "README.md is there already; name another file, or remove it first"
    assert (tmp_path / "README.md").read_text() == written
