"""Many vectors to one: what stands for a whole text. Shapes: Encoded (B, S, D) → (B, D)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.layers.attention import attend_to_inputs
from regard.layers.history import padding_mask
from regard.layers.layer import Encoded


class Pooling(nn.Module):
    """c = h_S: the vector at the stop token, which has seen all the others. The base of the others."""

    def forward(self, encoded: Encoded) -> Float[Tensor, "B D"]:
        return encoded.summary


class MeanPooling(Pooling):
    """c = Σ_i h_i / S, over the positions kept."""

    def forward(self, encoded: Encoded) -> Float[Tensor, "B D"]:
        if encoded.keep is None:
            return encoded.vectors.mean(1)
        kept = encoded.keep[..., None].to(encoded.vectors.dtype)  # (B, S, 1)
        return (encoded.vectors * kept).sum(1) / kept.sum(1).clamp(min=1)


class AttentionPooling(Pooling):
    """e_i = f_att(q, h_i), a = softmax(e), c = Σ_i a_i h_i, with one learned query q. (Yang et al. 2016)

    The question is the same for every text; where it finds its answer is to be seen in the weights.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.zeros(width))
        self.attention = attend_to_inputs(width, width, "additive")

    def forward(self, encoded: Encoded) -> Float[Tensor, "B D"]:
        query = self.query.expand(encoded.vectors.shape[0], 1, -1)  # (B, 1, D)
        mask = padding_mask(encoded.keep)
        return self.attention.attend(query, self.attention.keys_values(encoded.vectors), mask)[:, 0]


class FirstPooling(Pooling):
    """c = h_1: the vector at the first token kept, such as [CLS], which has looked at all. (Devlin et al. 2019)"""

    def forward(self, encoded: Encoded) -> Float[Tensor, "B D"]:
        vectors, keep = encoded.vectors, encoded.keep
        first = 0 if keep is None else keep.long().argmax(1)
        return vectors[torch.arange(vectors.shape[0], device=vectors.device), first]


class StartPooling(FirstPooling):
    """c = φ(W h_1 + b), with h_1 as above. (Devlin et al. 2019)"""

    def __init__(self, width: int, activation: nn.Module) -> None:
        super().__init__()
        self.W = nn.Linear(width, width)
        self.activation = activation

    def forward(self, encoded: Encoded) -> Float[Tensor, "B D"]:
        return self.activation(self.W(super().forward(encoded)))


class UnitLength(Pooling):
    """c / ‖c‖, of another pooling's c: products of two such vectors are cosines. (Reimers and Gurevych 2019)"""

    def __init__(self, pooling: Pooling) -> None:
        super().__init__()
        self.pooling = pooling

    def forward(self, encoded: Encoded) -> Float[Tensor, "B D"]:
        return nn.functional.normalize(self.pooling(encoded), dim=-1)
