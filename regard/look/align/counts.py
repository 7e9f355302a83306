"""Alignment by counting: which word stands for which, learnt from pairs of sentences alone (IBM Models 1 and 2).

    p(f_j, a_j = i | e) = p(i | j) t(f_j | e_i),      p(i | j) ∝ exp(−λ |i/I − j/J|),  p(no word | j) = p₀

t says which words translate which, λ how close to the diagonal links lie; Model 1 is λ = 0. Both are fitted by EM over
all links that could be: N of them, in flat arrays, so that a round is a handful of sums. (Brown et al. 1993; with this
diagonal and a Dirichlet prior on t: Dyer, Chahuneau & Smith 2013, whose p₀ and α these are)
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.look.align.error_rate import Link

Sentence = Sequence[str]
NO_WORD = 0.08  # p₀
SPARSE = 0.01  # α of the Dirichlet prior: a word has few translations
FIRST, ROUNDS = 5, 10  # rounds of Model 1, and all of them


@dataclass(frozen=True)
class Side:
    """One language of all pairs, flat: P places."""

    words: Int[Tensor, " P"]
    """Which word stands at each place; capitals do not count."""
    sizes: Int[Tensor, " K"]
    """Places of each sentence."""
    kinds: int
    """Different words."""

    @classmethod
    def of(cls, sentences: Sequence[Sentence]) -> "Side":
        numbers: dict[str, int] = {}
        words = [numbers.setdefault(word.lower(), len(numbers)) for sentence in sentences for word in sentence]
        sizes = [len(sentence) for sentence in sentences]
        return cls(torch.tensor(words, dtype=torch.long), torch.tensor(sizes, dtype=torch.long), len(numbers))

    @property
    def begins(self) -> Int[Tensor, " K"]:
        """The first place of each sentence."""
        return self.sizes.cumsum(0) - self.sizes


@dataclass(frozen=True)
class Links:
    """All links that could be: of every pair of sentences, every place of one with every place of the other."""

    places: tuple[Int[Tensor, " N"], Int[Tensor, " N"]]
    """The place in the source and in the target."""
    kind: Int[Tensor, " N"]
    """Which two words: a row of the table of translations."""
    words: tuple[Int[Tensor, " R"], Int[Tensor, " R"]]
    """The word of the source and of the target in each row of the table."""
    apart: Float[Tensor, " N"]
    """|i/I − j/J|, both counted from the middle of a word."""

    @classmethod
    def between(cls, source: Side, target: Side) -> "Links":
        squares = source.sizes * target.sizes
        pair = torch.repeat_interleave(squares)  # (N,)
        within = torch.arange(len(pair)) - (squares.cumsum(0) - squares)[pair]
        i, j = within // target.sizes[pair], within % target.sizes[pair]
        places = source.begins[pair] + i, target.begins[pair] + j
        keys = source.words[places[0]] * target.kinds + target.words[places[1]]
        table, kind = torch.unique(keys, return_inverse=True)
        apart = ((i + 0.5) / source.sizes[pair] - (j + 0.5) / target.sizes[pair]).abs()
        return cls(places, kind, (table // max(target.kinds, 1), table % max(target.kinds, 1)), apart)


class Direction:
    """One language said, given the other: t and λ, and what EM makes of them. Places of what is said are P."""

    def __init__(self, sides: tuple[Side, Side], links: Links, said: int) -> None:
        self.said, self.apart, self.kind = sides[said], links.apart.double(), links.kind
        self.at, self.row_given = links.places[said], links.words[1 - said]
        self.translation = torch.ones(len(self.row_given), dtype=torch.double)
        self.said_alone = torch.ones(self.said.kinds, dtype=torch.double)  # t(f | no word)
        self.closeness = 0.0

    def prior(self) -> Float[Tensor, " N"]:
        """p(i | j) where there is a word: the ones of a place are 1."""
        weights = torch.exp(-self.closeness * self.apart)
        return weights / self.at_places(weights)[self.at]

    def posterior(self) -> Float[Tensor, " N"]:
        """p(a_j = i | e, f); what is missing to 1 at a place is for no word."""
        joint = (1 - NO_WORD) * self.prior() * self.translation[self.kind]
        alone = NO_WORD * self.said_alone[self.said.words]
        return joint / (self.at_places(joint) + alone)[self.at]

    def learn(self, expected: Float[Tensor, " N"], near_the_diagonal: bool) -> None:
        """What fits these links best: t by counting, λ by one step of Newton's."""
        counts = summed(self.kind, expected, len(self.row_given))
        self.translation = shared_out(counts, self.row_given, self.said.kinds)
        unlinked = (1 - self.at_places(expected)).clamp(min=0)
        alone = summed(self.said.words, unlinked, self.said.kinds)
        self.said_alone = shared_out(alone, torch.zeros(self.said.kinds, dtype=torch.long), self.said.kinds)
        if near_the_diagonal:
            self.closeness = max(0.0, self.closeness + self._towards(expected))

    def _towards(self, expected: Float[Tensor, " N"]) -> float:
        """With d = |i/I − j/J|: dL/dλ = Σ_j (n_j mean_λ d − Σ_i E d), d²L/dλ² = −Σ_j n_j variance_λ d, n_j = Σ_i E."""
        prior, number = self.prior(), self.at_places(expected)
        mean = self.at_places(prior * self.apart)
        variance = self.at_places(prior * self.apart**2) - mean**2
        slope = (number * mean).sum() - (expected * self.apart).sum()
        return (slope / (number * variance).sum().clamp(min=1e-9)).item()

    def likeliest(self, links: int) -> Int[Tensor, " chosen"]:
        """Of the first so many links the likeliest of each place, where it is likelier than no word."""
        posterior = self.posterior()[:links]
        at = self.at[:links]
        most = torch.zeros(len(self.said.words), dtype=torch.double).scatter_reduce(0, at, posterior, "amax")
        alone = 1 - summed(at, posterior, len(self.said.words))
        chosen = ((posterior == most[at]) & (most > alone)[at]).nonzero()[:, 0]
        first = torch.full((len(self.said.words),), links).scatter_reduce(0, at[chosen], chosen, "amin")
        return first[first < links]  # of equal ones the first

    def at_places(self, values: Float[Tensor, " N"]) -> Float[Tensor, " P"]:
        return summed(self.at, values, len(self.said.words))


class Aligner:
    """Both directions over the same pairs of sentences; EM makes each better by itself, round by round."""

    def __init__(self, pairs: Sequence[tuple[Sentence, Sentence]]) -> None:
        self.sides = Side.of([source for source, _ in pairs]), Side.of([target for _, target in pairs])
        self.links = Links.between(*self.sides)
        self.there, self.back = (Direction(self.sides, self.links, said) for said in (1, 0))
        self.rounds = 0

    def improve(self) -> None:
        """One round of EM: what the links are by what is known, then what is known by these links."""
        self.rounds += 1
        for direction in (self.there, self.back):
            direction.learn(direction.posterior(), near_the_diagonal=self.rounds > FIRST)

    def first(self, number: int) -> list[tuple[frozenset[Link], frozenset[Link]]]:
        """Links of the first pairs: one for each word of the target, and one for each word of the source."""
        source, target = self.sides
        links = int((source.sizes * target.sizes)[:number].sum())
        pair = torch.repeat_interleave((source.sizes * target.sizes)[:number])
        i, j = self.links.places[0][:links] - source.begins[pair], self.links.places[1][:links] - target.begins[pair]
        found: list[tuple[set[Link], set[Link]]] = [(set(), set()) for _ in range(number)]
        for side, direction in enumerate((self.there, self.back)):
            chosen = direction.likeliest(links)
            for at, *link in zip(*(part[chosen].tolist() for part in (pair, i, j)), strict=True):
                found[at][side].add((link[0], link[1]))
        return [(frozenset(there), frozenset(back)) for there, back in found]


def summed(places: Int[Tensor, " M"], values: Float[Tensor, " M"], size: int) -> Float[Tensor, " size"]:
    """The sum of the values at each place."""
    return torch.bincount(places, values, size)


def shared_out(counts: Float[Tensor, " M"], given: Int[Tensor, " M"], kinds: int) -> Float[Tensor, " M"]:
    """What is said, given each word: exp(ψ(n + α) − ψ(Σ n + α kinds)), counts whose small ones are taken for chance."""
    total = summed(given, counts, int(given.max()) + 1 if len(given) else 0)
    return torch.exp(torch.digamma(counts + SPARSE) - torch.digamma(total + SPARSE * kinds)[given])
