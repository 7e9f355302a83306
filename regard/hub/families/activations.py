"""What activations are called elsewhere."""

from typing import Literal

Activation = Literal["gelu", "gelu-tanh", "relu", "silu"]
ACTIVATIONS: dict[str, Activation] = {
    "gelu": "gelu",
    "gelu_new": "gelu-tanh",
    "gelu_pytorch_tanh": "gelu-tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
}
