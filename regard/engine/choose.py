"""Which engine answers: the one place that prepares a model for it."""

from collections.abc import Sequence
from typing import cast

import torch

from regard.engine.building import NoLibrary
from regard.engine.library import library
from regard.engine.native import Native
from regard.engine.tape import Unknown
from regard.errors import UserError, unknown
from regard.models.ensemble import Ensemble
from regard.models.model import Model

ENGINES = ("auto", "native", "torch")


def prepare(model: Model, engine: str = "auto") -> Model:
    """The model as it answers fastest: native where that knows it, else as it is; both have the same states.

    Its weights are read now: a model that is trained on must be prepared again.
    """
    if engine not in ENGINES:
        raise unknown("engine", engine, ENGINES)
    if engine == "torch":
        return model
    if isinstance(model, Ensemble):
        return Ensemble([prepare(one, engine) for one in cast(Sequence[Model], list(model.members))]).eval()
    why = refusal(model)
    if isinstance(why, Model):
        return why
    if engine == "native":
        raise UserError(f"the native engine cannot answer here: {why}; leave --engine out, or use --engine torch")
    return model


def refusal(model: Model) -> Model | str:
    """The native engine with this model, or why not, in words."""
    wrong = next((one for one in model.parameters() if one.dtype != torch.float32 or not one.is_cpu), None)
    if wrong is not None:
        return f"it computes in float32 on the CPU, found {str(wrong.dtype).removeprefix('torch.')} on {wrong.device}"
    try:
        return Native(model, library()).eval()
    except NoLibrary as reason:
        return str(reason)
    except Unknown as reason:
        return f"it does not know {reason}"


def account(model: Model) -> list[str]:
    """Which engine each part of a prepared model is answered by, and why, in words."""
    if isinstance(model, Ensemble):
        return [line for one in model.members for line in account(cast(Model, one))]
    if isinstance(model, Native):
        level, size = library().level, model.bytes / 1e6
        lines = [f"native engine, {level.words}: one call for each step, which reads {size:,.1f} MB of weights"]
        return lines + ([f"by torch all the same: {model.by_torch}"] if model.by_torch else [])
    why = refusal(model)
    return ["torch" + (f": {why}" if isinstance(why, str) else "")]
