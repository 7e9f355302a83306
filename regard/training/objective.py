"""What a training makes small."""

import torch

from regard.config import Train
from regard.evaluate.consistency import Consistent
from regard.evaluate.distilled import Distilled
from regard.evaluate.loss import Objective
from regard.models.model import Model


def objective(model: Model, settings: Train, precision: torch.dtype) -> Objective:
    """−log p of what is wanted, and whatever else these settings ask for, each around the one before."""
    found = Objective(model, settings.smoothing or 0.0, precision)
    if settings.teacher:
        found = Distilled(found, settings.teacher)
    if settings.consistency:
        found = Consistent(found, settings.consistency, settings.cut)
    return found
