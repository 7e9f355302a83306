"""regard: train sequence models on your own data, decode with them, and see what they look at."""

from regard.config import Classifier, LanguageModel, Recurrent, Seq2Seq, Tagger, Transducer, Transformer, Vision
from regard.decode.translate import Search, Translation
from regard.decode.write import Writing
from regard.errors import UserError
from regard.layers.state import State, select
from regard.look.patch import patch
from regard.look.record import Record
from regard.look.recording import Recording
from regard.look.trace import Trace, trace
from regard.models.build import build
from regard.models.count import count
from regard.models.model import Model, Source
from regard.page.open import show
from regard.runs import Run
from regard.runs import load_run as load

__version__ = "0.1.0"

__all__ = [
    "Classifier",
    "LanguageModel",
    "Model",
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
    "Writing",
    "__version__",
    "build",
    "count",
    "load",
    "patch",
    "select",
    "show",
    "trace",
]
