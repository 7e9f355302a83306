"""Every architecture, small. A new one joins this list and inherits all the laws."""

import torch
from torch import Tensor

from regard import (
    Classifier,
    LanguageModel,
    Model,
    Reader,
    Recurrent,
    Seq2Seq,
    Source,
    State,
    Tagger,
    Transducer,
    Transformer,
    Vision,
    build,
)

VOCABULARY = 11
SOURCE_VOCABULARY = 13


def cells(kind: str, **more) -> Recurrent:
    return Recurrent(kind, width=12, layers=2, **more)


def blocks(**more) -> Transformer:
    return Transformer(**{"width": 16, "layers": 2, "heads": 2, "longest": 32, **more})


LANGUAGE_MODELS = {
    **{f"lm-{kind}": LanguageModel(cells(kind)) for kind in ("rnn", "lstm", "gru")},
    "lm-lstm-tied": LanguageModel(cells("lstm"), tied=True),
    "lm-transformer-none": LanguageModel(blocks(positions="none")),
    "lm-transformer-learned": LanguageModel(blocks(positions="learned")),
    "lm-transformer-learned-concatenated": LanguageModel(blocks(positions="learned", join="concatenate"), tied=True),
    "lm-transformer-sinusoid": LanguageModel(blocks(positions="sinusoid")),
    "lm-transformer-sinusoid-concatenated": LanguageModel(blocks(positions="sinusoid", join="concatenate")),
    "lm-transformer-rotary": LanguageModel(blocks(positions="rotary")),
    "lm-transformer-as-2017": LanguageModel(
        blocks(positions="sinusoid", norm_place="after", activation="relu"), tied=True
    ),
    "lm-transformer-rms-wide-keys": LanguageModel(blocks(norm="rms", heads=3, key_width=6, value_width=4)),
    "lm-transformer-as-llama": LanguageModel(
        blocks(
            heads=4,
            key_value_heads=2,
            norm="rms",
            norm_epsilon=1e-5,
            feed_forward="gated",
            activation="silu",
            rotary_base=500.0,
            embedding="plain",
            biases="none",
        ),
        tied=True,
        tied_bias=True,
    ),
    "lm-transformer-as-neox": LanguageModel(blocks(residual="parallel", rotary_share=0.5, embedding="plain")),
    "lm-transformer-as-gpt2": LanguageModel(blocks(positions="learned", activation="gelu-tanh", embedding="plain")),
    "lm-transformer-shared-keys": LanguageModel(
        blocks(heads=4, key_value_heads=1, biases="query-key-value", similarity="bilinear", embedding_norm=True)
    ),
    "lm-transformer-ssru": LanguageModel(blocks(past="ssru")),
    "lm-transformer-relative": LanguageModel(
        blocks(positions="relative", relative_buckets=4, relative_farthest=4, heads=4, key_value_heads=2)
    ),
    "lm-transformer-additive": LanguageModel(blocks(similarity="additive")),
}
SEQ2SEQ = {
    **{
        f"seq2seq-{kind}-{context}": Seq2Seq(cells(kind), cells(kind), context=context)
        for kind, context in [
            ("rnn", "none"),
            ("rnn", "fixed"),
            ("rnn", "attention"),
            ("lstm", "none"),
            ("lstm", "fixed"),
            ("gru", "attention"),
        ]
    },
    **{
        f"seq2seq-rnn-{similarity}": Seq2Seq(cells("rnn"), cells("rnn"), similarity=similarity)
        for similarity in ("dot", "scaled", "bilinear")
    },
    **{
        f"seq2seq-bilstm-{similarity}": Seq2Seq(cells("lstm", bidirectional=True), cells("lstm"), similarity=similarity)
        for similarity in ("additive", "dot", "scaled", "bilinear")
    },
    "seq2seq-transformer": Seq2Seq(blocks(), blocks()),
    "seq2seq-transformer-learned": Seq2Seq(blocks(positions="learned"), blocks(positions="learned")),
    "seq2seq-transformer-by-place": Seq2Seq(blocks(), blocks(source_positions="rotary")),
    "seq2seq-transformer-as-marian": Seq2Seq(
        *(blocks(positions="sinusoid", norm_place="after", activation="silu") for _ in range(2)),
        tied=True,
        tied_bias=True,
    ),
    "seq2seq-transformer-as-bergamot": Seq2Seq(
        blocks(positions="sinusoid", sinusoid_base=500.0, norm_place="after"),
        blocks(positions="sinusoid", sinusoid_base=500.0, norm_place="after", past="ssru"),
        tied=True,
        tied_bias=True,
    ),
    "seq2seq-transformer-as-t5": Seq2Seq(
        *(
            blocks(
                positions="relative",
                relative_buckets=8,
                relative_farthest=6,
                similarity="dot",
                norm="rms",
                biases="none",
                feed_forward="gated",
                activation="gelu-tanh",
                key_width=6,
                value_width=6,
            )
            for _ in range(2)
        ),
        tied=True,
        tied_bias=True,
    ),
    "seq2seq-transformer-lstm": Seq2Seq(blocks(), cells("lstm")),
    "seq2seq-bigru-transformer": Seq2Seq(cells("gru", bidirectional=True), blocks()),
}
IN_STEP = {  # these say how many answers are wanted by what they are fed, and do not read it
    "classifier-lstm-stop": Classifier(cells("lstm"), pooling="stop"),
    "classifier-bigru-stop": Classifier(cells("gru", bidirectional=True), pooling="stop"),
    "classifier-rnn-mean": Classifier(cells("rnn"), pooling="mean"),
    "classifier-bilstm-attention": Classifier(cells("lstm", bidirectional=True), pooling="attention"),
    **{f"classifier-transformer-{p}": Classifier(blocks(), pooling=p) for p in ("stop", "mean", "attention")},
    "classifier-transformer-as-bert": Classifier(
        blocks(positions="learned", norm_place="after", norm_epsilon=1e-12, embedding="plain", embedding_norm=True),
        pooling="start",
    ),
    "classifier-bigru-start": Classifier(cells("gru", bidirectional=True, embedding="plain"), pooling="start-relu"),
    "tagger-rnn": Tagger(cells("rnn")),
    "tagger-bilstm": Tagger(cells("lstm", bidirectional=True)),
    "tagger-transformer": Tagger(blocks()),
}
READERS = {  # an encoder on its own: what it scores is its vector
    "reader-transformer-mean": Reader(
        blocks(positions="learned", norm_place="after", norm_epsilon=1e-12, embedding="plain", embedding_norm=True),
        unit_length=True,
    ),
    "reader-bilstm-first": Reader(cells("lstm", bidirectional=True), pooling="first"),
}
TRANSDUCERS = {
    "transducer-bilstm": Transducer(cells("lstm", bidirectional=True), slots=2),
    "transducer-transformer": Transducer(blocks(), slots=3),
    "transducer-learned-history": Transducer(cells("rnn"), slots=2, history=blocks(positions="learned")),
}
EYES = Vision("residual", width=12, stages=2, channels=4)
CAPTIONERS = {
    "caption-lstm-one-vector": Seq2Seq(EYES, cells("lstm"), context="none"),
    "caption-gru-fixed": Seq2Seq(EYES, cells("gru"), context="fixed"),
    "caption-rnn-attention": Seq2Seq(Vision("vgg", width=10, stages=2, channels=4), cells("rnn")),
    "caption-lstm-bilinear": Seq2Seq(EYES, cells("lstm"), similarity="bilinear"),
    "caption-transformer": Seq2Seq(EYES, blocks()),
}
READS_TEXT = SEQ2SEQ | TRANSDUCERS | IN_STEP | READERS
READS_A_SOURCE = READS_TEXT | CAPTIONERS
WRITES = LANGUAGE_MODELS | SEQ2SEQ | TRANSDUCERS | CAPTIONERS
MODELS = LANGUAGE_MODELS | READS_A_SOURCE


def make(name: str, dtype: torch.dtype = torch.float64) -> Model:
    """The model with every weight disturbed, so that no bias is zero and no norm is one."""
    torch.manual_seed(1)
    model = build(MODELS[name], VOCABULARY, SOURCE_VOCABULARY if name in READS_A_SOURCE else None).to(dtype).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return model


def tokens(batch: int, steps: int) -> Tensor:
    return torch.randint(VOCABULARY, (batch, steps))


def some_source(batch: int, steps: int = 5) -> Source:
    return Source(torch.randint(SOURCE_VOCABULARY, (batch, steps)))


def source_for(name: str, batch: int, keep: Tensor | None = None) -> Source | None:
    """What the model reads: tokens, of which those that `keep` names are real; a picture; or nothing."""
    if name in CAPTIONERS:
        return Source(torch.randint(256, (batch, 3, 16, 12), dtype=torch.uint8))
    if name not in READS_A_SOURCE:
        return None
    return some_source(batch) if keep is None else Source(some_source(batch, keep.shape[1]).content, keep)


def one_of(source: Source | None, row: int) -> Source | None:
    """One row of a source, less its padding."""
    if source is None:
        return None
    content = source.content[row : row + 1]
    return Source(content if source.keep is None else content[:, source.keep[row]])


def begin(model: Model, name: str, batch: int) -> State:
    """A first state, with a source of its own where the model reads one."""
    return model.start(source_for(name, batch), batch=batch)
