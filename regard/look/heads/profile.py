"""The profile of every head of self-attention: where it looks, how sharply, and what it costs to switch it off."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.decode.score import score
from regard.errors import UserError
from regard.layers.tap import SOURCE, WRITTEN, layer_of, taps_of
from regard.look.heads.marks import TextMark, marked
from regard.look.patch import patch
from regard.look.trace import trace
from regard.look.units import Unit, clamped
from regard.models.model import Model, Source
from regard.padding import padded
from regard.special import START, STOP
from regard.text.tokenizer import Tokenizer

FAR = 16  # the largest offset that is counted by itself
TOGETHER = 16  # texts, while a head is off
AT_ONCE = 1 << 23  # weights of all heads over one text
AFFORDABLE = 4e12  # heads × tokens × parameters: a minute or two of switching off on a laptop
UNIFORM = "uniform"


class Example(NamedTuple):
    """What a model reads and what it is to say: a text for a language model, where there is no source."""

    source: list[int] | None
    target: list[int]

    @property
    def looking(self) -> list[int]:
        """The tokens that look at each other: the source with its stop, or the text behind its start."""
        return [START, *self.target] if self.source is None else [*self.source, STOP]

    @property
    def visible(self) -> Bool[Tensor, "T T"]:
        """Who may look at whom: in a source everybody at everybody, in a text nobody at what comes later."""
        size = len(self.looking)
        return torch.ones(size, size, dtype=torch.bool).tril(0 if self.source is None else size)


def head_paths(model: Model) -> list[str]:
    """The taps of self-attention over what is read: the encoder's where there is one."""
    taps = taps_of(model)
    side = SOURCE if any(tap.rows == SOURCE for tap in taps.values()) else WRITTEN
    found = [path for path, tap in taps.items() if tap.role == "weights" and tap.rows == tap.columns == side]
    if not found:
        raise UserError("this run has no heads of self-attention; the units of a recurrent one are cells: regard find")
    return found


@torch.inference_mode()
def look_at(model: Model, example: Example) -> dict[Unit, Float[Tensor, "T T"]]:
    """a_{t,i} of every head, for one text."""
    device = next(model.parameters()).device
    looking = torch.tensor([example.looking], device=device)
    with trace(model, *head_paths(model)) as seen:
        if example.source is None:
            model(looking, model.start())
        else:
            model.start(Source(looking))
    found = {layer_of(path): weights[0].cpu() for path, weights in seen.items()}  # each (H, T, T)
    return {Unit(layer, head, True): one for layer, weights in found.items() for head, one in enumerate(weights)}


def heads_of(model: Model) -> list[Unit]:
    """Every head of self-attention over what is read."""
    reads = any(tap.rows == SOURCE for tap in taps_of(model).values())
    return list(look_at(model, Example([] if reads else None, [])))


def uniform(visible: Bool[Tensor, "T T"]) -> Float[Tensor, "T T"]:
    """Equal weight for all that a row may look at: what a head that does not choose would do."""
    return visible / visible.sum(1, keepdim=True)


@dataclass
class Profile:
    """Means over all positions that have a choice. `loss`: how much more nats a token without this head, and ±."""

    name: str
    confidence: float = 0.0
    entropy: float = 0.0
    shares: dict[str, float] = field(default_factory=dict)
    offsets: dict[int, float] = field(default_factory=dict)
    induction: float | None = None
    loss: tuple[float, float] | None = None

    @property
    def offset(self) -> int:
        """The offset that gets most: −1 is the token before."""
        return max(self.offsets, key=lambda offset: self.offsets[offset])


def profiles(
    model: Model, tokenizer: Tokenizer, examples: Iterable[Example], marks: Mapping[str, TextMark]
) -> list[Profile]:
    """Of every head, and of uniform weights on the same texts, which say what each figure would be without a choice.

    confidence  mean of max_i a_{t,i}
    entropy     mean of −Σ_i a_{t,i} log₂ a_{t,i}, in bits
    shares      mean of Σ a_{t,i} over the first token, stop tokens, and the tokens with each mark
    offsets     mean of a_{t,t+o} for each o from −16 to 16
    """
    total, rows, names = torch.zeros(0), 0, [""]
    for example in examples:
        visible = example.visible
        choice = visible.sum(1) > 1
        found = look_at(model, example)
        names = [*map(str, found), UNIFORM]
        weights = torch.stack([*found.values(), uniform(visible).to(next(iter(found.values())))])
        columns = _columns(tokenizer, example.looking, marks)
        figures = _figures(weights[:, choice], columns, choice.nonzero()[:, 0])  # (heads, figures)
        total = figures if not rows else total + figures
        rows += int(choice.sum())
    if not rows:
        raise UserError("heads are measured on texts of two tokens or more, found none; give more text")
    return [_profile(name, row, ["first", "stop", *marks]) for name, row in zip(names, total / rows, strict=True)]


def _columns(tokenizer: Tokenizer, tokens: list[int], marks: Mapping[str, TextMark]) -> Bool[Tensor, "M T"]:
    """Which tokens are the first, stops, and marked."""
    flags = [[place == 0 for place in range(len(tokens))], [token == STOP for token in tokens]]
    return torch.tensor(flags + [marked(tokenizer, tokens, mark) for mark in marks.values()])


def _figures(
    weights: Float[Tensor, "H R S"], columns: Bool[Tensor, "M S"], rows: Int[Tensor, " R"]
) -> Float[Tensor, "H F"]:
    """Sums over rows: confidence, entropy, shares, offsets."""
    weights = weights.double()
    entropy = -torch.special.xlogy(weights, weights).sum((1, 2)) / math.log(2)
    shares = weights.sum(1) @ columns.double().T  # (H, M)
    offset = torch.arange(weights.shape[-1]) - rows[:, None]  # (R, S)
    near = offset.abs() <= FAR
    offsets = weights.new_zeros(len(weights), 2 * FAR + 1).index_add_(1, offset[near] + FAR, weights[:, near])
    return torch.cat([weights.amax(-1).sum(1)[:, None], entropy[:, None], shares, offsets], 1)


def _profile(name: str, row: Float[Tensor, " F"], shares: Sequence[str]) -> Profile:
    confidence, entropy, *others = row.tolist()
    offsets = dict(zip(range(-FAR, FAR + 1), others[len(shares) :], strict=True))
    return Profile(name, confidence, entropy, dict(zip(shares, others, strict=False)), offsets)


def longest_text(heads: int) -> int:
    """How many tokens a text may have so that the weights of all heads can be looked at together."""
    return math.isqrt(AT_ONCE // heads)


def affordable(model: Model, examples: Sequence[Example], heads: int) -> bool:
    """Whether each head can be switched off without a long wait: the model reads all texts once for each."""
    tokens = sum(len(example.looking) for example in examples)
    return heads * tokens * sum(parameter.numel() for parameter in model.parameters()) <= AFFORDABLE


@torch.inference_mode()
def nats(model: Model, examples: Sequence[Example]) -> Float[Tensor, " N"]:
    """−log p of what each example is to say."""
    device, found = next(model.parameters()).device, []
    for begin in range(0, len(examples), TOGETHER):
        some = examples[begin : begin + TOGETHER]
        tokens, keep = padded([[START, *example.target] for example in some])
        sources = [[*example.source, STOP] for example in some if example.source is not None]
        source = Source(*(part.to(device) for part in padded(sources))) if sources else None
        logs = score(model, tokens.to(device), model.start(source, len(some)), keep.to(device))
        found.append(-logs.sum(1).double().cpu())
    return torch.cat(found)


def switched_off(
    model: Model, examples: Sequence[Example], units: Iterable[Unit]
) -> Iterable[tuple[Unit, tuple[float, float]]]:
    """Δ loss = Σ_n (nats without the head − nats) / Σ_n tokens, and half the width of its 95 % interval over texts.

    A head is switched off by a zero in place of what it mixes, Σ_i a_{t,i} v_i, at every position.
    """
    sizes = torch.tensor([float(len(example.target)) for example in examples], dtype=torch.double)
    before = nats(model, examples)
    for unit in units:
        with patch(model, clamped(unit)):
            change = nats(model, examples) - before
        mean = change.sum() / sizes.sum()
        apart = (change - mean * sizes).square().sum() * len(sizes) / max(len(sizes) - 1, 1)
        yield unit, (mean.item(), 1.96 * apart.sqrt().item() / sizes.sum().item())
