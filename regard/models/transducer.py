"""Letters to sounds, names to another script: what is written goes along with what is read, never back."""

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.errors import UserError
from regard.layers.dropout import Dropout
from regard.layers.layer import last_kept
from regard.layers.state import State
from regard.layers.tap import SOURCE, Tap, listening
from regard.models.decoder import Decoder
from regard.models.encoder import Encoder
from regard.models.model import Model, Source, check_fed
from regard.special import STOP

NEVER = -1e4  # log p of what cannot be; finite, so that no gradient is NaN
HARDLY = -50.0  # the same for more tokens than there are slots: whoever feeds them is at the end, and nowhere else
DOUBT = 1e-6  # no token is impossible
MOST = 1 << 29  # scores at once: 2 GB of them, of which training keeps several


class TransducerState(NamedTuple):
    """How far the answer has come along the source, with N = S·K slots."""

    spoke: Float[Tensor, "B N+2"]  # log α_t: in front of the slots the beginning, behind them the end
    letters: Float[Tensor, "B N V1"]  # W_k h_i, 1 + V of them
    told: Float[Tensor, "B 1 V1"]  # U g_t
    history: State  # the language model's own
    real: Bool[Tensor, "B S"]  # which source tokens are no padding
    begun: Bool[Tensor, " B"]  # whether anything has been fed


class Transducer(Model[TransducerState]):
    """Each token read offers K slots; a slot writes one token or nothing; slots speak in their order.

        log p_s(· | y_<t) = log softmax(W_k h_i + U g_t),  over "nothing" and the V tokens, for slot s = (i, k)
        a_t(s) = Σ_{s' < s} α_{t−1}(s') Π_{s' < r < s} p_r(nothing | y_<t)     nobody between the last that spoke and s
        p(y_t) = Σ_s a_t(s) p_s(y_t | y_<t),  α_t(s) ∝ a_t(s) p_s(y_t | y_<t)  which slot was it that wrote y_t?

    h_i is what the encoder made of the i-th token, U g_t the scores of a language model for what may come next. Behind
    all slots stands one that writes the stop token. The sum over all alignments is exact: what is learnt is p(y | x)
    itself, as in Graves (2012), here with K slots where there any number of tokens may be written at one place. Scores
    are added, so that what a letter sounds like is learnt apart from which sounds follow which: a word has one stress,
    whichever vowel it is on.

    """

    def __init__(self, encoder: Encoder, head: nn.Linear, slots: int, dropout: float, history: Decoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = head  # (D → K·(1 + V))
        self.slots = slots
        self.dropout = Dropout(dropout)
        self.history = history  # scores of 1 + V
        self.longest, self.grows = history.longest, history.grows
        self.alignment = Tap("B H T S", "weights", columns=SOURCE)
        _one_token_each(head.bias.data.view(slots, -1))
        for parameter in history.head.parameters():
            nn.init.zeros_(parameter)  # at first the letters alone decide

    def start(self, source: Source | None = None, batch: int = 1) -> TransducerState:
        if source is None:
            raise UserError("a transducer wants a source, found none; call start(Source(tokens))")
        vectors, keep = self.encoder(source)[:2]
        letters = self.head(self.dropout(vectors)).unflatten(-1, (self.slots, -1)).flatten(1, 2)  # (B, N, 1 + V)
        letters = letters.float() if letters.dtype == torch.bfloat16 else letters
        rows, slots, _ = letters.shape
        spoke = letters.new_full((rows, slots + 2), NEVER)
        spoke[:, 0] = 0.0
        real = torch.ones_like(vectors[..., 0], dtype=torch.bool) if keep is None else keep
        begun = torch.zeros_like(real[:, 0])
        told = torch.zeros_like(letters[:, :1])
        return TransducerState(spoke, letters, told, self.history.start(batch=rows), real, begun)

    def forward(
        self, tokens: Int[Tensor, "B T"], state: TransducerState, keep: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T V"], TransducerState]:
        check_fed(tokens, state)
        scores, history = self.history(tokens, state.history, keep)
        told = torch.cat([state.told, scores.to(state.told.dtype)], 1)  # (B, 1 + T, 1 + V): first, what came before
        told = _latest(told, keep)
        silence, said = self._said(state.letters, told, state.real)
        wrote = said[:, :-1].gather(3, tokens[:, :, None, None].expand(-1, -1, said.shape[2], 1)).squeeze(3)
        spoke, begun = state.spoke, state.begun
        reached = _next(spoke, silence[:, 0])
        at_each_step = []
        for t in range(tokens.shape[1]):
            fed = torch.ones_like(begun) if keep is None else keep[:, t]
            now = F.pad(reached + wrote[:, t], (1, 0), value=NEVER).log_softmax(1)
            spoke = torch.where((begun & fed)[:, None], now, spoke)
            begun = begun | fed
            reached = _next(spoke, silence[:, t + 1])
            at_each_step.append(reached)
        weights = torch.stack(at_each_step, 1).exp()  # a_t(s), (B, T, N + 1)
        if listening(self.alignment):
            weights = weights * self._watched(weights, silence[:, 1:], last_kept(state.real))
        with torch.autocast(tokens.device.type, enabled=False):  # many small numbers are added up
            probabilities = (weights[..., None] * said[:, 1:].exp()).sum(2)  # not a product: its bits vary with B
        after = state._replace(spoke=spoke, told=told[:, -1:], history=history, begun=begun)
        return torch.log(probabilities + DOUBT), after

    def _said(
        self, letters: Float[Tensor, "B N V1"], told: Float[Tensor, "B T V1"], real: Bool[Tensor, "B S"]
    ) -> tuple[Float[Tensor, "B T N1"], Float[Tensor, "B T N1 V"]]:
        """Σ_{r < s} log p_r(nothing | y_<t), and log p_s(· | y_<t), both with the slot at the end."""
        if letters.numel() * told.shape[1] > MOST:
            raise UserError(
                f"a transducer is for words, found {real.shape[1]} tokens beside {told.shape[1]} "
                f"of {told.shape[2]} kinds, {len(real)} at once; use kind = 'seq2seq', or a smaller batch"
            )
        said = (letters[:, None] + told[:, :, None]).log_softmax(-1)
        padding = ~real.repeat_interleave(self.slots, 1)[:, None]  # says nothing
        nothing = said[..., 0].masked_fill(padding, 0.0)
        tokens = said[..., 1:].masked_fill(padding[..., None], NEVER)
        end = torch.full_like(tokens[:, :, :1], HARDLY)
        end[..., STOP] = 0.0
        return F.pad(nothing.cumsum(2), (1, 0)), torch.cat([tokens, end], 2)

    def _watched(
        self, weights: Float[Tensor, "B T N1"], silence: Float[Tensor, "B T N1"], ends: Int[Tensor, " B"]
    ) -> Float[Tensor, "B T N1"]:
        """Shows which source token writes next, the end counted to the last; by how much a listener changed a slot."""
        speak = F.pad(-torch.expm1(silence.diff(dim=2)), (0, 1), value=1.0)  # 1 − p_s(nothing)
        heard = weights * speak
        tokens = heard[..., :-1].unflatten(2, (-1, self.slots)).sum(3)  # (B, T, S)
        tokens = tokens + F.one_hot(ends, tokens.shape[2])[:, None] * heard[..., -1:]
        changed = self.alignment(tokens[:, None])[:, 0] / tokens.clamp(min=torch.finfo(tokens.dtype).tiny)
        last = changed.gather(2, ends[:, None, None].expand(-1, changed.shape[1], 1))
        return torch.cat([changed.repeat_interleave(self.slots, 2), last], 2)


def _one_token_each(biases: Float[Tensor, "K V1"]) -> None:
    """A new model writes about one token for each that it reads: the first slot mostly speaks, the others do not.

    If all spoke, the first letters would write the whole word, and it would never learn otherwise (12 % of words right
    instead of 75).
    """
    tokens = biases.shape[1] - 1
    biases.zero_()
    biases[:, 0] = math.log(9 * tokens)  # p(nothing) = 0.9
    biases[0, 0] = math.log(tokens / 4)  # 0.2


def _next(spoke: Float[Tensor, "B N2"], silence: Float[Tensor, "B N1"]) -> Float[Tensor, "B N1"]:
    """log a_{t+1} from log α_t. Behind the end there is nobody: it writes the stop token again."""
    later = silence + _running_sum(spoke[:, :-1] - silence)
    return torch.cat([later[:, :-1], torch.logaddexp(later[:, -1:], spoke[:, -1:])], 1)


def _running_sum(logs: Float[Tensor, "B N1"]) -> Float[Tensor, "B N1"]:
    """log Σ_{j ≤ i} exp x_j. In a graph that others run, what is small beside what is large would be lost that way."""
    if not torch.compiler.is_exporting():
        return torch.logcumsumexp(logs, 1)
    later = torch.ones(logs.shape[1], logs.shape[1], dtype=torch.bool, device=logs.device).triu(1)
    return logs[:, None].masked_fill(later, -math.inf).logsumexp(-1)


def _latest(told: Float[Tensor, "B T1 V1"], keep: Bool[Tensor, "B T"] | None) -> Float[Tensor, "B T1 V1"]:
    """Where a token is padding, what was told before it."""
    if keep is None:
        return told
    places = torch.arange(1, told.shape[1], device=told.device) * keep
    return told.gather(1, F.pad(places.cummax(1).values, (1, 0))[..., None].expand_as(told))
