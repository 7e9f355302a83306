"""How a recurrent decoder comes to know its source: the forms of the notes, each around the same decoder.

Copied            s_0 = h_T                         s_t = g_U(y_t, s_{t−1})
Started           s_0 = tanh(W v)                   s_t = g_U(y_t, s_{t−1})
FixedContext      c = h_T, s_0 = tanh(W h_T)        s_t = g_U(y_t, s_{t−1}, c)
AttendedContext   c_t = Σ_i a_{t,i} h_i             s_t = g_U(y_t, s_{t−1}, c_t)

The last two answer from o_t = tanh(W [s_t; c_t]), the others from s_t.
"""

from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.layers.attention import KeyValueAttention
from regard.layers.history import padding_mask
from regard.layers.layer import Encoded, Layer
from regard.layers.recurrent import Stack
from regard.layers.state import Lines, State, leaves, like


class FirstState(nn.Module):
    """s_0 = tanh(W h_T), for every layer of the decoder and everything it carries."""

    def __init__(self, source_width: int, decoder: Stack) -> None:
        super().__init__()
        self.widths = [leaf.shape[1] for leaf in leaves(decoder.start(1))]
        self.W = nn.Linear(source_width, sum(self.widths))

    def forward(self, summary: Float[Tensor, "B D"], template: State) -> State:
        parts = torch.tanh(self.W(summary)).split(self.widths, -1)
        return like(template, [part.contiguous() for part in parts])  # GPU kernels want their states in one piece


class Readout(nn.Module):
    """o_t = tanh(W [s_t; c_t]): what is said next may read the context directly. (Bahdanau et al. 2015, "deep output")

    Without it all that the context tells must pass through s_t: attention then took a quarter more steps to learn.
    """

    def __init__(self, source_width: int, decoder: Stack) -> None:
        super().__init__()
        self.W = nn.Linear(decoder.width + source_width, decoder.width)

    def forward(
        self, states: Float[Tensor, "B T D"], contexts: Float[Tensor, "B T D_source"]
    ) -> Float[Tensor, "B T D"]:
        return torch.tanh(self.W(torch.cat([states, contexts], -1)))


class Copied(Layer[State]):
    """s_0 = h_T: the decoder goes on where the encoder stopped. (Sutskever et al. 2014)"""

    def __init__(self, decoder: Stack) -> None:
        super().__init__()
        self.decoder = decoder

    def start(self, batch: int, source: Encoded | None = None) -> State:
        assert source is not None
        return source.state

    def forward(
        self, x: Float[Tensor, "B T D_in"], keep: Bool[Tensor, "B T"] | None, state: State
    ) -> tuple[Float[Tensor, "B T D"], State]:
        return self.decoder(x, keep, state)


class Started(Copied):
    """s_0 = tanh(W v): a picture's one vector starts the decoder, and is all it knows. (Vinyals et al. 2015)"""

    def __init__(self, decoder: Stack, source_width: int) -> None:
        super().__init__(decoder)
        self.first_state = FirstState(source_width, decoder)

    def start(self, batch: int, source: Encoded | None = None) -> State:
        assert source is not None
        return self.first_state(source.summary, self.decoder.start(batch))


class FixedContextState(NamedTuple):
    """What the decoder remembers, and the context it reads at every step."""

    cells: State
    context: Float[Tensor, "B D"]


class FixedContext(Layer[FixedContextState]):
    """The decoder reads [y_t; c] with the same c = h_T at every step. (Cho et al. 2014)"""

    def __init__(self, decoder: Stack, source_width: int) -> None:
        super().__init__()
        self.decoder = decoder
        self.first_state = FirstState(source_width, decoder)
        self.readout = Readout(source_width, decoder)

    def start(self, batch: int, source: Encoded | None = None) -> FixedContextState:
        assert source is not None
        return FixedContextState(self.first_state(source.summary, self.decoder.start(batch)), source.summary)

    def forward(
        self, x: Float[Tensor, "B T D_in"], keep: Bool[Tensor, "B T"] | None, state: FixedContextState
    ) -> tuple[Float[Tensor, "B T D"], FixedContextState]:
        everywhere = state.context[:, None].expand(-1, x.shape[1], -1)  # (B, D) → (B, T, D)
        y, cells = self.decoder(torch.cat([x, everywhere], -1), keep, state.cells)
        return self.readout(y, everywhere), state._replace(cells=cells)


class AttendedContextState(NamedTuple):
    """What the decoder remembers, and the source that it attends to."""

    cells: tuple[Any, ...]
    memory: Lines  # keys and values
    source_keep: Lines | None  # which positions of the source are real; None: all


class AttendedContext(Layer[AttendedContextState]):
    """e_{t,i} = f_att(s_{t−1}, h_i), a_t = softmax(e_t), c_t = Σ_i a_{t,i} h_i: another context at every step.

    s_{t−1} is needed before c_t, so this goes step by step also in training. (Bahdanau et al. 2015)
    """

    def __init__(self, decoder: Stack, source_width: int, attention: KeyValueAttention) -> None:
        super().__init__()
        self.decoder = decoder
        self.first_state = FirstState(source_width, decoder)
        self.attention = attention
        self.readout = Readout(source_width, decoder)

    def start(self, batch: int, source: Encoded | None = None) -> AttendedContextState:
        assert source is not None
        cells = self.first_state(source.summary, self.decoder.start(batch))
        kept = None if source.keep is None else Lines(source.keep)
        return AttendedContextState(cells, self.attention.keys_values(source.vectors), kept)

    def forward(
        self, x: Float[Tensor, "B T D_in"], keep: Bool[Tensor, "B T"] | None, state: AttendedContextState
    ) -> tuple[Float[Tensor, "B T D"], AttendedContextState]:
        cells, memory, kept = state
        mask = padding_mask(None if kept is None else kept.value)
        outputs, contexts = [], []
        for t, x_t in enumerate(x.split(1, 1)):  # each (B, 1, D_in)
            query = self.decoder.last_hidden(cells)[:, None]  # s_{t−1} as (B, 1, D)
            context = self.attention.attend(query, memory, mask)  # (B, 1, D_source)
            real = None if keep is None else keep[:, t : t + 1]
            y, cells = self.decoder(torch.cat([x_t, context], -1), real, cells)
            outputs.append(y)
            contexts.append(context)
        return self.readout(torch.cat(outputs, 1), torch.cat(contexts, 1)), state._replace(cells=cells)
