"""What a model is made of, how it is trained and what is asked of it: frozen values, checked when made. No torch."""

from regard.config.model import (
    Classifier,
    FromRun,
    LanguageModel,
    ModelConfig,
    Reader,
    Recurrent,
    Seq2Seq,
    Tagger,
    Transducer,
    Transformer,
    Vision,
)
from regard.config.pictures import Pictures
from regard.config.recipe import Data, Origin, Recipe, Text, Train, Where, read_recipe, recipe_from
from regard.config.settings import from_table, to_table

__all__ = [
    "Classifier",
    "Data",
    "FromRun",
    "LanguageModel",
    "ModelConfig",
    "Origin",
    "Pictures",
    "Reader",
    "Recipe",
    "Recurrent",
    "Seq2Seq",
    "Tagger",
    "Text",
    "Train",
    "Transducer",
    "Transformer",
    "Vision",
    "Where",
    "from_table",
    "read_recipe",
    "recipe_from",
    "to_table",
]
