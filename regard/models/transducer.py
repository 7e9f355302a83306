"""Letters to sounds, names to another script: what is written goes along with what is read, never back."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.errors import UserError
from regard.layers.dropout import Dropout
from regard.layers.layer import last_kept
from regard.layers.state import State
from regard.layers.tap import Tap, listening
from regard.models.encoder import Encoder
from regard.models.model import Model, Source, check_fed
from regard.special import STOP

NEVER = -1e4  # log p of what cannot be; finite, so that no gradient is NaN
HARDLY = -50.0  # the same for more tokens than there are slots: whoever feeds them is at the end, and nowhere else
DOUBT = 1e-6  # no token is impossible


class Transducer(Model):
    """Each token read offers K slots; a slot writes one token or nothing; slots speak in their order.

        log p_s = log softmax(W_k h_i),  over "nothing" and the V tokens, for slot s = (i, k)
        a_t(s)  = Σ_{s' < s} α_{t−1}(s') Π_{s' < r < s} p_r(nothing)   all between the last that spoke and s say nothing
        p(y_t)  = Σ_s a_t(s) p_s(y_t),     α_t(s) ∝ a_t(s) p_s(y_t)    which slot was it that wrote y_t?

    Behind all slots stands one that writes the stop token. The sum over all alignments is exact: what is learnt is
    p(y | x) itself, as with CTC (Graves et al. 2006), here without merging repeats, and with hard monotonic attention
    (Wu and Cotterell 2019). A slot does not know what was written before it, so that there is little to learn by heart.
    Of what is fed, the first token says no more than: begin.

    The state, with N = S·K + 1 slots: log a_t (B, N); Σ_{r < s} log p_r(nothing) (B, N); log p_s (B, N, V); where the
    source ends (B,); whether anything has been fed (B,).
    """

    def __init__(self, encoder: Encoder, head: nn.Linear, slots: int, dropout: float) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = head  # (D → K·(1 + V))
        self.slots = slots
        self.dropout = Dropout(dropout)
        self.cross_attention = Alignment()
        _one_token_each(head.bias.data.view(slots, -1))

    def start(self, source: Source | None = None, batch: int = 1) -> State:
        if source is None:
            raise UserError("a transducer wants a source, found none; call start(Source(tokens))")
        vectors, keep = self.encoder(source)[:2]
        scores = self.head(self.dropout(vectors)).unflatten(-1, (self.slots, -1))  # (B, S, K, 1 + V)
        said = (scores.float() if scores.dtype == torch.bfloat16 else scores).log_softmax(-1)
        nothing, tokens = said[..., 0], said[..., 1:]
        if keep is not None:  # padding says nothing
            nothing = nothing.masked_fill(~keep[..., None], 0.0)
            tokens = tokens.masked_fill(~keep[..., None, None], NEVER)
        silence = F.pad(nothing.flatten(1).cumsum(1), (1, 0))  # (B, N)
        end = torch.full_like(tokens[:, 0, :1], HARDLY)
        end[..., STOP] = 0.0
        everyone = torch.cat([tokens.flatten(1, 2), end], 1)  # (B, N, V)
        ends = torch.full_like(silence[:, 0], vectors.shape[1] - 1).long() if keep is None else last_kept(keep)
        return silence, silence, everyone, ends, torch.zeros_like(ends, dtype=torch.bool)

    def forward(
        self, tokens: Int[Tensor, "B T"], state: State, keep: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T V"], State]:
        check_fed(tokens, state)
        reached, silence, said, ends, begun = state
        at_each_step = []
        for t, token in enumerate(tokens.unbind(1)):
            real = torch.ones_like(begun) if keep is None else keep[:, t]
            spoke = reached + said.gather(2, token[:, None, None].expand(-1, said.shape[1], 1)).squeeze(2)
            reached = torch.where((begun & real)[:, None], _next(spoke, silence), reached)
            begun = begun | real
            at_each_step.append(reached)
        weights = torch.stack(at_each_step, 1).exp()  # a_t(s), (B, T, N)
        if listening(self.cross_attention):
            weights = weights * self._watched(weights, silence, ends)
        with torch.autocast(tokens.device.type, enabled=False):  # many small numbers are added up
            probabilities = torch.bmm(weights, said.exp())
        return torch.log(probabilities + DOUBT), (reached, silence, said, ends, begun)

    def _watched(
        self, weights: Float[Tensor, "B T N"], silence: Float[Tensor, "B N"], ends: Int[Tensor, " B"]
    ) -> Float[Tensor, "B T N"]:
        """Shows which source token writes next, the end counted to the last; by how much a listener changed a slot."""
        speak = F.pad(-torch.expm1(silence.diff(dim=1)), (0, 1), value=1.0)  # 1 − p_s(nothing)
        heard = weights * speak[:, None]
        tokens = heard[..., :-1].unflatten(2, (-1, self.slots)).sum(3)  # (B, T, S)
        tokens = tokens + F.one_hot(ends, tokens.shape[2])[:, None] * heard[..., -1:]
        changed = self.cross_attention.weights(tokens[:, None])[:, 0] / tokens.clamp(min=torch.finfo(tokens.dtype).tiny)
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


class Alignment(nn.Module):
    """Where the weights over the source can be looked at."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = Tap("B H T S")


def _next(spoke: Float[Tensor, "B N"], silence: Float[Tensor, "B N"]) -> Float[Tensor, "B N"]:
    """log a_{t+1} from log (a_t(s) p_s(y_t)). Behind the last slot there is none: it writes the stop token again."""
    spoke = spoke.log_softmax(1)  # log α_t
    later = silence[:, 1:] + torch.logcumsumexp(spoke[:, :-1] - silence[:, 1:], 1)
    first = torch.full_like(later[:, :1], NEVER)
    return torch.cat([first, later[:, :-1], torch.logaddexp(later[:, -1:], spoke[:, -1:])], 1)
