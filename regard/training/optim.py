"""How weights move: the optimisers."""

import math
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.config import Train
from regard.training.parallel import precision_of, shared_like, whole

QUINTIC = (3.4445, -4.7750, 2.0315)  # of Jordan et al. (2024): five rounds bring every size between about 0.7 and 1.2


def optimiser(model: nn.Module, settings: Train) -> torch.optim.Optimizer:
    """Matrices decay; biases, norms and tables, which have no scale to lose, do not. AdamW goes in one fused pass."""
    tables = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    tables |= {id(p) for name, p in model.named_parameters() if name.endswith(".table")}  # learned positions
    matrices = [p for p in model.parameters() if p.dim() >= 2 and id(p) not in tables]
    others = [p for p in model.parameters() if p.dim() < 2 or id(p) in tables]
    inner: list[nn.Parameter] = []
    if settings.optimiser == "muon":  # what scores tokens and what looks at pictures stays with AdamW
        heads = {id(p) for name, p in model.named_parameters() if "head" in name.split(".")}
        inner = [p for p in matrices if p.dim() == 2 and id(p) not in heads]
        matrices = [p for p in matrices if p.dim() > 2 or id(p) in heads]
    groups = [{"params": matrices, "weight_decay": settings.decay}, {"params": others, "weight_decay": 0.0}]
    adam = torch.optim.AdamW(
        [group for group in groups if group["params"]], settings.rate, (0.9, settings.beta2), fused=True
    )
    return Together(Muon(inner, settings.rate, settings.decay), adam) if inner else adam


class Muon(torch.optim.Optimizer):
    """Momentum, but as far in every direction: for matrices between vectors (Jordan et al. 2024).

        M ← μ M + (1 − μ) G,    O ≈ U Vᵀ where (1 − μ) G + μ M = U Σ Vᵀ,    W ← (1 − η λ) W − 0.2 η √max(R, C) O

    For W (R, C). The last factor (Liu et al. 2025) makes steps about as long as AdamW's. torch.optim.Muon is the same,
    but in bfloat16 everywhere: where a processor has no such numbers that is fifty times slower than 32 bits.
    """

    def __init__(self, matrices: list[nn.Parameter], rate: float, decay: float, momentum: float = 0.95) -> None:
        super().__init__(matrices, {"lr": rate, "weight_decay": decay, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            rate, momentum = group["lr"], group["momentum"]
            for matrix in group["params"]:
                if matrix.grad is None:
                    continue
                memory = self.state[matrix].setdefault("momentum_buffer", torch.zeros_like(matrix))
                memory.lerp_(matrix.grad, 1 - momentum)
                move = orthogonal(whole(matrix.grad.lerp(memory, momentum)))
                matrix.mul_(1 - rate * group["weight_decay"])
                matrix.add_(shared_like(move, matrix), alpha=-rate * 0.2 * math.sqrt(max(matrix.shape)))


def orthogonal(matrix: Float[Tensor, "R C"]) -> Float[Tensor, "R C"]:
    """About U Vᵀ of U Σ Vᵀ: X ← aX + (b XXᵀ + c (XXᵀ)²) X moves every singular value towards 1, without finding any."""
    a, b, c = QUINTIC
    tall = matrix.shape[0] > matrix.shape[1]
    x = (matrix.T if tall else matrix).to(precision_of("auto", matrix.device))
    x = x / x.norm().clamp(min=1e-7)
    for _ in range(5):
        squares = x @ x.T
        x = torch.addmm(x, torch.addmm(squares, squares, squares, beta=b, alpha=c), x, beta=a)
    return (x.T if tall else x).to(matrix.dtype)


class Together(torch.optim.Optimizer):
    """Several optimisers, each with weights of its own, seen from outside as one."""

    def __init__(self, *parts: torch.optim.Optimizer) -> None:
        self.parts = parts
        super().__init__([group for part in parts for group in part.param_groups], {})
        self._hand_out()

    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        for part in self.parts:
            part.step()

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._hand_out()

    def _hand_out(self) -> None:
        """Each part gets its groups, and all of them the one memory, as after loading both are new."""
        groups = iter(self.param_groups)
        for part in self.parts:
            part.state = self.state
            part.param_groups = [next(groups) for _ in part.param_groups]
