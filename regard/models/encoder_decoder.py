"""The encoder–decoder: a language model whose first state knows a source."""

from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.errors import UserError
from regard.layers.state import State
from regard.models.decoder import Decoder
from regard.models.encoder import Encoder, PictureEncoder
from regard.models.model import Model, Source


class EncoderDecoder(Model[State]):
    """p(y | x) = Π_t p(y_t | y_1 … y_{t−1}, x). What the decoder knows of x is all in its state."""

    def __init__(self, encoder: Encoder | PictureEncoder, decoder: Decoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.longest, self.grows = decoder.longest, decoder.grows

    def start(self, source: Source | None = None, batch: int = 1) -> State:
        if source is None:
            raise UserError("an encoder–decoder wants a source, found none; call start(Source(tokens))")
        return self.decoder.start_from(self.encoder(source))

    def forward(
        self, tokens: Int[Tensor, "B T"], state: State, keep: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T V"], State]:
        return self.decoder(tokens, state, keep)

    def prefill(
        self, tokens: Int[Tensor, "B T"], state: State, keep: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B V"], State]:
        return self.decoder.prefill(tokens, state, keep)
