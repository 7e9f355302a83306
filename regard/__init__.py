"""regard: train sequence models on your own data, decode with them, and see what they look at.

A name is imported when it is first asked for (PEP 562), so that torch is loaded when something is computed, not before.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.config import (
        Classifier,
        LanguageModel,
        Reader,
        Recurrent,
        Seq2Seq,
        Tagger,
        Transducer,
        Transformer,
        Vision,
    )
    from regard.config.decoding import Search, Writing
    from regard.config.looking import Recording
    from regard.decode.translate import Translation
    from regard.errors import UserError
    from regard.layers.state import State, select
    from regard.look.arrays import Weights
    from regard.look.patch import patch
    from regard.look.record import Record
    from regard.look.trace import Trace, trace
    from regard.models.build import build
    from regard.models.count import count
    from regard.models.model import Model, Source
    from regard.page.open import show
    from regard.runs import Run
    from regard.runs import load_run as load
    from regard.training.start import train, train_seeds

__version__ = "0.1.0"

__all__ = [
    "Classifier",
    "LanguageModel",
    "Model",
    "Reader",
    "Record",
    "Recording",
    "Recurrent",
    "Run",
    "Search",
    "Seq2Seq",
    "Source",
    "State",
    "Tagger",
    "Trace",
    "Transducer",
    "Transformer",
    "Translation",
    "UserError",
    "Vision",
    "Weights",
    "Writing",
    "__version__",
    "build",
    "count",
    "load",
    "patch",
    "select",
    "show",
    "trace",
    "train",
    "train_seeds",
]

_HOMES = {
    "training.start": "train train_seeds",
    "config": "Classifier LanguageModel Reader Recurrent Seq2Seq Tagger Transducer Transformer Vision",
    "decode.translate": "Translation",
    "config.decoding": "Search Writing",
    "errors": "UserError",
    "layers.state": "State select",
    "look.arrays": "Weights",
    "look.patch": "patch",
    "look.record": "Record",
    "look.trace": "Trace trace",
    "config.looking": "Recording",
    "models.build": "build",
    "models.count": "count",
    "models.model": "Model Source",
    "page.open": "show",
    "runs": "Run load_run",
}
_HOME = {name: f"regard.{module}" for module, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    own = {"load": "load_run"}.get(name, name)  # what it is called at home
    if name not in __all__ or own not in _HOME:
        raise AttributeError(f"module 'regard' has no attribute '{name}'")
    found = globals()[name] = getattr(import_module(_HOME[own]), own)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
