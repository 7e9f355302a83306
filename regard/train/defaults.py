"""What to choose when a user names only a kind of layer: sizes for the amount of data at hand."""

from regard.config import Classifier, LanguageModel, ModelConfig, Recurrent, Seq2Seq, Tagger, Transformer, Vision

LITTLE = 1_000_000  # training tokens below which a model is kept smaller and drops more


def model_for(name: str, kind: str, tokens: int) -> ModelConfig:
    """A model of this kind for that many training tokens: little data wants fewer layers and more dropout."""
    little = tokens < LITTLE
    dropout = 0.3 if little else 0.1
    if kind in ("labels", "tags"):
        encoder = _encoder(name)
        return Classifier(encoder) if kind == "labels" else Tagger(encoder)
    if kind == "captions":
        side = Transformer(width=128, layers=2, heads=4, dropout=dropout)
        cells = Recurrent(name, width=256, layers=1, dropout=dropout)  # type: ignore[arg-type]
        return Seq2Seq(Vision(stages=4, width=128), side if name == "transformer" else cells)
    if kind == "text":
        if name == "transformer":
            layers, width = (4, 128) if little else (6, 256)
            return LanguageModel(Transformer(width=width, layers=layers, heads=4, dropout=0.1 if little else 0.05))
        return LanguageModel(Recurrent(name, width=256 if little else 512, layers=2, dropout=dropout))  # type: ignore[arg-type]
    if name == "transformer":
        layers, width = (3, 128) if little else (4, 256)
        side = Transformer(width=width, layers=layers, heads=4, dropout=dropout)
        return Seq2Seq(side, side)
    width = 256
    encoder = Recurrent(name, width=width, layers=1, dropout=dropout, bidirectional=True)  # type: ignore[arg-type]
    return Seq2Seq(encoder, Recurrent(name, width=width, layers=1, dropout=dropout))  # type: ignore[arg-type]


def _encoder(name: str) -> Recurrent | Transformer:
    """For labels and tags, of which there are never many."""
    if name == "transformer":
        return Transformer(width=128, layers=2, heads=4, dropout=0.3)
    return Recurrent(name, width=256, layers=1, dropout=0.5, bidirectional=True)  # type: ignore[arg-type]
