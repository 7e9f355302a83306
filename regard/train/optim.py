"""How weights move: the optimiser, and its rate at each step."""

import math

import torch
from torch import nn

from regard.config import Train


def optimiser(model: nn.Module, settings: Train) -> torch.optim.Optimizer:
    """AdamW in one fused pass. Matrices decay; biases, norms and tables, which have no scale to lose, do not."""
    tables = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    tables |= {id(p) for name, p in model.named_parameters() if name.endswith(".table")}  # learned positions
    matrices = [p for p in model.parameters() if p.dim() >= 2 and id(p) not in tables]
    others = [p for p in model.parameters() if p.dim() < 2 or id(p) in tables]
    groups = [{"params": matrices, "weight_decay": settings.decay}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=settings.rate, betas=(0.9, settings.momentum), fused=True)


def rate_at(step: int, settings: Train) -> float:
    """The learning rate of an update, counted from 0: up along a line, then down along the schedule."""
    if step < settings.warmup:
        return settings.rate * (step + 1) / settings.warmup
    if settings.schedule == "inverse-square-root":
        return settings.rate * math.sqrt(max(settings.warmup, 1) / (step + 1))
    if settings.schedule == "constant":
        return settings.rate
    done = (step - settings.warmup) / max(1, settings.steps - settings.warmup)
    return settings.rate * 0.5 * (1 + math.cos(math.pi * min(done, 1.0)))
