"""Alignment by counting: against published numbers, a slow definition, laws of EM; and pairs whose words are known."""

import random
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.cli import main
from regard.data.corpora.phrases import phrases
from regard.look.align import counts
from regard.look.align.counts import FIRST, NO_WORD, ROUNDS, SPARSE, Aligner
from regard.look.align.error_rate import Gold, Overlap, as_links, diagonal, overlap
from regard.look.align.symmetrise import WAYS, grow_diagonal_final_and

HOUSE = [("das Haus", "the house"), ("das Buch", "the book"), ("ein Buch", "a book")]


def split(pairs):
    return [(source.split(), target.split()) for source, target in pairs]


def plainly(number, given, _):
    """Counts over their sum: no prior."""
    return number / counts.summed(given, number, int(given.max()) + 1).clamp(min=1e-9)[given]


def test_the_house_and_the_book(monkeypatch):
    """The example that textbooks work out (Koehn 2010, figure 4.4): t(the | das) after each round of plain Model 1."""
    monkeypatch.setattr(counts, "NO_WORD", 0.0)
    monkeypatch.setattr(counts, "shared_out", plainly)
    aligner, found = Aligner(split(HOUSE)), []
    source = {"das": 0, "haus": 1, "buch": 2, "ein": 3}
    target = {"the": 0, "house": 1, "book": 2, "a": 3}
    for _ in range(3):
        aligner.improve()
        of, said = aligner.links.words
        row = ((of == source["das"]) & (said == target["the"])).nonzero()[0, 0]
        found.append(round(aligner.there.translation[row].item(), 4))
    assert found == [0.5, 0.6364, 0.7479]


def slowly(pairs, rounds):
    """Posteriors of the target given the source after some rounds of Model 1, by dictionaries."""
    kinds = len({word for _, target in pairs for word in target})
    table = {(e, f): 1.0 for source, target in pairs for e in [*source, None] for f in target}
    for last in range(rounds + 1):
        n = dict.fromkeys(table, 0.0)
        posteriors = []
        for source, target in pairs:
            for f in target:
                joint = [(1 - NO_WORD) / len(source) * table[e, f] for e in source] + [NO_WORD * table[None, f]]
                shares = [one / sum(joint) for one in joint]
                posteriors.append(shares[:-1])
                for e, share in zip([*source, None], shares, strict=True):
                    n[e, f] += share
        if last == rounds:
            return posteriors
        for e, f in table:
            total = sum(number for (given, _), number in n.items() if given == e)
            parts = torch.tensor([n[e, f] + SPARSE, total + SPARSE * kinds], dtype=torch.double).digamma()
            table[e, f] = (parts[0] - parts[1]).exp().item()
    raise AssertionError


sentence = st.lists(st.sampled_from("abcd"), min_size=1, max_size=3)


@given(st.lists(st.tuples(sentence, sentence), min_size=1, max_size=4))
def test_rounds_are_those_of_the_definition(pairs):
    aligner = Aligner(pairs)
    for _ in range(3):
        aligner.improve()
    found = aligner.there.posterior()
    for place, wanted in enumerate(slowly(pairs, 3)):
        torch.testing.assert_close(found[aligner.there.at == place], torch.tensor(wanted, dtype=torch.double))


@given(st.lists(st.tuples(sentence, sentence), min_size=1, max_size=4), st.floats(0, 20))
def test_the_diagonal_is_fitted_by_the_slope_of_the_likelihood(pairs, closeness):
    """One step of Newton's, against derivatives that torch finds by itself."""
    aligner = Aligner(pairs)
    there = aligner.there
    expected = there.posterior()
    there.closeness = closeness
    free = torch.tensor(closeness, dtype=torch.double, requires_grad=True)
    weights = torch.exp(-free * there.apart)
    sums = torch.zeros(len(there.said.words), dtype=torch.double).index_add(0, there.at, weights)
    gain = (expected * torch.log(weights / sums[there.at])).sum()
    (slope,) = torch.autograd.grad(gain, free, create_graph=True)
    (bend,) = torch.autograd.grad(slope, free) if slope.requires_grad else (torch.zeros(()),)
    if abs(bend) > 1e-6:
        assert there._towards(expected) == pytest.approx((-slope / bend).item(), rel=1e-6, abs=1e-9)


def test_every_place_shares_out_one():
    random.seed(0)
    aligner = Aligner([(random.choices("abcdef", k=5), random.choices("uvwxyz", k=4)) for _ in range(30)])
    for _ in range(ROUNDS):
        aligner.improve()
        for direction in (aligner.there, aligner.back):
            whole = direction.at_places(direction.posterior())
            assert ((whole > 0) & (whole <= 1 + 1e-9)).all()
            torch.testing.assert_close(direction.at_places(direction.prior()), torch.ones_like(whole))


@given(st.lists(st.tuples(sentence, sentence), min_size=1, max_size=4), st.data())
def test_pairs_turned_round_have_links_turned_round(pairs, data):
    number = data.draw(st.integers(1, len(pairs)))
    one, other = Aligner(pairs), Aligner([(target, source) for source, target in pairs])
    torch.testing.assert_close(one.there.posterior().sort()[0], other.back.posterior().sort()[0])
    for found in (one.first(number), other.first(number)):
        assert len(found) == number
    for (there, back), (source, target) in zip(one.first(number), pairs, strict=False):
        assert len({j for _, j in there}) == len(there)  # one link for each word of the target
        assert len({i for i, _ in back}) == len(back)
        assert all(i < len(source) and j < len(target) for i, j in there | back)


def words_of_two_languages(number):
    """Word n stands for word n; the order is another one, so that the diagonal knows nothing."""
    drawn = random.Random(0)
    for _ in range(number):
        source = drawn.sample(range(40), 6)
        order = drawn.sample(range(6), 6)
        yield [f"e{n}" for n in source], [f"f{source[i]}" for i in order], {(i, j) for j, i in enumerate(order)}


def test_a_dictionary_is_found():
    drawn = list(words_of_two_languages(300))
    aligner = Aligner([(source, target) for source, target, _ in drawn])
    for _ in range(ROUNDS):
        aligner.improve()
    for (there, back), (_, _, gold) in zip(aligner.first(300), drawn, strict=True):
        assert there == back == gold


def test_phrases_are_aligned_better_than_by_the_diagonal():
    drawn = [phrase for _, phrase in zip(range(1500), phrases("french", "train"), strict=False)]
    aligner = Aligner([(phrase.source_words, phrase.target_words) for phrase in drawn])
    for _ in range(ROUNDS):
        aligner.improve()
    assert aligner.there.closeness > 0, f"after {FIRST} rounds"
    found = straight = Overlap()
    for (there, back), phrase in zip(aligner.first(200), drawn, strict=False):
        gold = Gold(frozenset(phrase.alignment), frozenset(phrase.alignment))
        found += overlap(grow_diagonal_final_and(there, back), gold)
        straight += overlap(as_links(diagonal(len(phrase.source_words), len(phrase.target_words))), gold)
    assert found.error < 0.15 < straight.error


some_links = st.frozensets(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=8)


@given(some_links, some_links)
def test_what_both_found_stays_and_nothing_is_invented(there, back):
    grown = grow_diagonal_final_and(there, back)
    assert WAYS["intersection"](there, back) <= grown <= WAYS["union"](there, back)
    assert grow_diagonal_final_and(there, there) == there
    left = (there | back) - grown
    for i, j in left:  # final-and: whoever was left out has a word that is linked
        assert any(i == source or j == target for source, target in grown)
    for link in left:  # grow-diag: and no link beside it that would have let it in
        beside = any((link[0] + a, link[1] + b) in grown for a, b in product((-1, 0, 1), repeat=2))
        lacks = not any(link[0] == i for i, _ in grown) or not any(link[1] == j for _, j in grown)
        grew = any((link[0] + a, link[1] + b) in there & back for a, b in product((-1, 0, 1), repeat=2))
        assert not (beside and grew and lacks)


def test_growing_by_hand():
    """Both found 0-0 and 2-2; 1-1 stands beside them and joins; 3-4, alone, joins; the words of 2-0 have links."""
    assert grow_diagonal_final_and({(0, 0), (2, 2), (1, 1), (2, 0)}, {(0, 0), (2, 2), (3, 4)}) == {
        (0, 0),
        (1, 1),
        (2, 2),
        (3, 4),
    }


# The command


def test_pairs_alone_are_enough(tmp_path, capsys):
    drawn = list(words_of_two_languages(200))
    lines = [f"{' '.join(source)}\t{' '.join(target)}\n" for source, target, _ in drawn]
    (tmp_path / "many").write_text("".join(lines[3:]))
    (tmp_path / "few").write_text("".join(lines[:3]))
    (tmp_path / "gold").write_text("".join(" ".join(f"{i}-{j}" for i, j in gold) + "\n" for *_, gold in drawn[:3]))
    assert main(["align", str(tmp_path / "many"), "--method", "counts"]) == 0
    found = capsys.readouterr().out.splitlines()
    assert [set(line.split()) for line in found] == [{f"{i}-{j}" for i, j in gold} for *_, gold in drawn[3:]]
    assert main(["align", str(tmp_path / "many"), str(tmp_path / "few"), "--method", "counts"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3
    words = ["align", str(tmp_path / "many"), str(tmp_path / "few"), "--method", "counts"]
    assert main([*words, "--gold", str(tmp_path / "gold")]) == 0
    table = capsys.readouterr().out
    assert "counts, source to target" in table
    assert "grow-diag-final-and, both directions" in table


def test_what_can_be_wrong_with_it(tmp_path, capsys):
    (tmp_path / "pairs").write_text("a b\tc\n")

    def said(*words):
        assert main(["align", *map(str, words)]) == 1
        return capsys.readouterr().err

    assert said(tmp_path / "pairs") == (
        f"regard: {tmp_path}/pairs is a file, wanted the folder of a run; to align by counting: --method counts\n"
    )
    assert said(tmp_path / "none", "--method", "counts") == (
        f"regard: {tmp_path}/none does not exist; with --method counts give files of pairs, the one to count in first\n"
    )
    assert said(tmp_path / "pairs", "--method", "counts", "--fed") == (
        "regard: --back, --head, --fed and weights as --json are of attention; leave out --method counts\n"
    )


def test_an_empty_file_is_nothing_to_count_in(tmp_path, capsys):
    (empty := tmp_path / "empty.tsv").touch()
    assert main(["align", str(empty), "--method", "counts"]) == 1
    assert capsys.readouterr().err == f"regard: {empty} is empty; give a file of pairs to count in, source<TAB>target\n"
