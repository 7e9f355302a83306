"""The contract: a sequence model is a function (tokens, state) → (scores, state)."""

from typing import Generic, NamedTuple

import torch
from jaxtyping import Bool, Float, Float16, Int, UInt8
from torch import Tensor, nn

from regard.errors import UserError
from regard.layers.state import S, State, batch_size
from regard.models.ranking import Ranked, ranked


class Source(NamedTuple):
    """What an encoder reads: tokens and which of them are real (None: all), or the pixels of a picture."""

    content: Int[Tensor, "B S"] | UInt8[Tensor, "B 3 Y X"] | Float16[Tensor, "B C y x"]
    keep: Bool[Tensor, "B S"] | None = None


class Model(nn.Module, Generic[S]):
    """Training feeds all T tokens at once, test time one by one: the same method, the same maths.

    The state is a value. Feeding it never changes it, so the same state can be continued in two ways.
    """

    longest: int | None = None
    """How many tokens it can be fed from its start, where its positions end; None: any number."""
    grows: bool = False
    """Whether its state grows with every token fed. One that does not can go on for ever, at no cost."""

    row_by_row: bool = False
    """Whether a step gives each row the bits that it would give it alone, however many there are."""

    def start(self, source: Source | None = None, batch: int = 1) -> S:
        """s_0. With a source, its rows give the batch, and it is encoded here, once."""
        raise NotImplementedError

    def forward(
        self, tokens: Int[Tensor, "B T"], state: S, keep: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T V"], S]:
        """Scores (logits) for the token after each position, and the state behind the last.

        `keep` is True where a token is real. Padding, wherever it stands, changes neither the state nor any other
        score; the scores at padding mean nothing.
        """
        raise NotImplementedError

    def prefill(
        self, tokens: Int[Tensor, "B T"], state: S, keep: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B V"], S]:
        """Prefill: `forward` over a whole prompt, with the scores behind its last token alone."""
        scores, state = self(tokens, state, keep)
        return scores[:, -1], state

    def step(self, token: Int[Tensor, " B"], state: S) -> tuple[Float[Tensor, "B V"], S]:
        """`forward` for one token."""
        return self.prefill(token[:, None], state)

    def ranked(self, scores: Float[Tensor, "R V"], count: int, every: bool = False) -> Ranked:
        """The `count` most probable tokens by these scores with their log p; with `every`, the log p of all besides."""
        return ranked(scores, count, every)


def check_fed(tokens: Int[Tensor, "B T"], state: State) -> None:
    """What every model asks of the tokens that it is fed."""
    if not tokens.shape[1]:
        raise UserError("tokens must have at least one position to compute, found none; feed the start token first")
    if torch.compiler.is_exporting():  # a graph that others run has rows in any number
        return
    if len(tokens) != batch_size(state):
        raise UserError(
            f"tokens have {len(tokens)} rows, the state has {batch_size(state)}; start with batch={len(tokens)}"
        )
