"""From a config to a model: the only place that knows which name means which class."""

import math
from collections.abc import Callable, Iterable
from functools import partial

import torch
from torch import nn

from regard import config
from regard.errors import UserError
from regard.layers.attention import (
    CrossAttention,
    CrossAttentionByPlace,
    GroupedSelfAttention,
    HeadShape,
    SelfAttention,
    attend_to_inputs,
)
from regard.layers.block import (
    Block,
    CausalTransformer,
    FeedForward,
    GatedFeedForward,
    NormAfter,
    NormBefore,
    ParallelBlock,
    Transformer,
)
from regard.layers.context import AttendedContext, Copied, FixedContext, Started
from regard.layers.embedding import BiasedTiedHead, Embedding, Head, PlainEmbedding, TiedHead
from regard.layers.layer import Layer
from regard.layers.lite import lite_0
from regard.layers.pooling import AttentionPooling, FirstPooling, MeanPooling, Pooling, StartPooling, UnitLength
from regard.layers.position import (
    Added,
    Concatenated,
    Learned,
    Normed,
    Positions,
    Relative,
    RelativePast,
    Rotary,
    Sinusoid,
)
from regard.layers.recurrent import GRU, LSTM, RNN, Bidirectional, Recurrent, Stack
from regard.layers.ssru import SSRU
from regard.layers.vision import Body, Regions, resnet_50, small_residual, small_vgg, vgg_16
from regard.models.classifier import Classifier
from regard.models.decoder import Decoder
from regard.models.encoder import Encoder, PictureEncoder
from regard.models.encoder_decoder import EncoderDecoder
from regard.models.model import Model
from regard.models.tagger import Tagger
from regard.models.transducer import Transducer

CELLS: dict[str, type[Recurrent]] = {"rnn": RNN, "lstm": LSTM, "gru": GRU}
NORMS: dict[str, type[nn.Module]] = {"layer": nn.LayerNorm, "rms": nn.RMSNorm}
ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "gelu": nn.GELU,
    "gelu-tanh": partial(nn.GELU, approximate="tanh"),
    "relu": nn.ReLU,
    "silu": nn.SiLU,
}
POOLINGS: dict[str, type[Pooling]] = {"stop": Pooling, "mean": MeanPooling, "first": FirstPooling}
STARTS: dict[str, type[nn.Module]] = {"start": nn.Tanh, "start-relu": nn.ReLU}
EMBEDDINGS: dict[str, type[Embedding]] = {"scaled": Embedding, "plain": PlainEmbedding}
FEED_FORWARDS: dict[str, type[FeedForward]] = {"plain": FeedForward, "gated": GatedFeedForward}
BLOCKS: dict[str, type[Block]] = {"serial": Block, "parallel": ParallelBlock}
BIASED: dict[str, tuple[str, ...]] = {"query-key-value": ("query", "key_value", "query_key_value"), "none": ()}
CROSS_ATTENTIONS: dict[str, type[CrossAttention]] = {"none": CrossAttention, "rotary": CrossAttentionByPlace}
RESIDUALS: dict[str, type[NormBefore]] = {"before": NormBefore, "after": NormAfter}
SMALL: dict[str, Callable[[int, int], Body]] = {"vgg": small_vgg, "residual": small_residual}
LARGE: dict[str, Callable[[], Body]] = {"vgg16": vgg_16, "resnet50": resnet_50, "lite0": lite_0}

StackConfig = config.Recurrent | config.Transformer


def build(settings: config.ModelConfig, vocabulary: int, source_vocabulary: int | None = None) -> Model:
    """A new model. `vocabulary` counts the tokens it writes, `source_vocabulary` those its encoder reads."""
    for name, size in (("vocabulary", vocabulary), ("source_vocabulary", source_vocabulary)):
        if size is not None and size < 1:
            raise UserError(f"{name} must be at least 1, found {size}")
    if isinstance(settings, config.LanguageModel):
        if source_vocabulary is not None:
            raise UserError("a language model reads no source, found a source_vocabulary; leave it out")
        layer, head = decoder_layer(settings.layer), head_of(settings, settings.layer, vocabulary)
        return decoder(layer, settings.layer, vocabulary, head)
    if isinstance(settings, config.Seq2Seq):
        layer, head = layer_with_source(settings), head_of(settings, settings.decoder, vocabulary)
        answers = decoder(layer, settings.decoder, vocabulary, head)
        if isinstance(settings.encoder, config.Vision):
            return EncoderDecoder(picture_encoder(settings.encoder), answers)
        return EncoderDecoder(text_encoder(settings.encoder, source_vocabulary or vocabulary), answers)
    width, dropout = settings.encoder.width, settings.encoder.dropout
    # a Transformer drops out of its embeddings itself
    dropped = dropout if isinstance(settings.encoder, config.Recurrent) else 0.0
    encoder = text_encoder(settings.encoder, source_vocabulary or vocabulary, dropped)
    if isinstance(settings, config.Transducer):
        outcomes = 1 + vocabulary  # a slot may also write nothing
        layer, head = decoder_layer(settings.history), Head(settings.history.width, outcomes)
        history = decoder(layer, settings.history, outcomes, head)
        return Transducer(encoder, nn.Linear(width, settings.slots * outcomes), settings.slots, dropout, history)
    if isinstance(settings, config.Reader):
        pooled = pooling(settings)
        return Classifier(encoder, UnitLength(pooled) if settings.unit_length else pooled, nn.Identity(), 0.0)
    answer = nn.Linear(width, vocabulary)
    if isinstance(settings, config.Tagger):
        return Tagger(encoder, answer, dropout)
    return Classifier(encoder, pooling(settings), answer, dropout)


def pooling(settings: config.Classifier | config.Reader) -> Pooling:
    if settings.pooling == "attention":
        return AttentionPooling(settings.encoder.width)
    if settings.pooling in STARTS:
        return StartPooling(settings.encoder.width, STARTS[settings.pooling]())
    return POOLINGS[settings.pooling]()


def text_encoder(settings: StackConfig, vocabulary: int, dropout: float = 0.0) -> Encoder:
    return Encoder(embedding(settings, vocabulary), encoder_layer(settings), dropout)


def picture_encoder(settings: config.Vision) -> PictureEncoder:
    found = body(settings)
    if settings.frozen:
        found.requires_grad_(False)
    return PictureEncoder(Regions(found, settings.width, settings.dropout))


def body(settings: config.Vision) -> Body:
    if settings.kind in LARGE:
        return LARGE[settings.kind]()
    return SMALL[settings.kind](settings.stages, settings.channels)


def decoder(layer: Layer, settings: StackConfig, vocabulary: int, head: Head | TiedHead) -> Decoder:
    return Decoder(embedding(settings, vocabulary), layer, head, settings.dropout)


def embedding(settings: StackConfig, vocabulary: int) -> Embedding:
    return EMBEDDINGS[settings.embedding](vocabulary, token_width(settings))


def head_of(model: config.LanguageModel | config.Seq2Seq, settings: StackConfig, vocabulary: int) -> Head | TiedHead:
    if not model.tied:
        return Head(settings.width, vocabulary)
    if model.tied_bias:
        return BiasedTiedHead(settings.width, token_width(settings), vocabulary)
    return TiedHead(settings.width, token_width(settings))


def token_width(settings: StackConfig) -> int:
    return settings.token_width if isinstance(settings, config.Transformer) else settings.width


def encoder_layer(settings: StackConfig) -> Layer:
    if isinstance(settings, config.Transformer):
        return transformer(Transformer, settings)
    return recurrent(settings, settings.width)


def decoder_layer(settings: StackConfig) -> Layer:
    if isinstance(settings, config.Transformer):
        return transformer(CausalTransformer, settings)
    return recurrent(settings, settings.width)


def layer_with_source(settings: config.Seq2Seq) -> Layer:
    """The five forms of the notes: how the decoder comes to know its source."""
    source, target = settings.encoder.width, settings.decoder
    if isinstance(target, config.Transformer):
        return transformer(CausalTransformer, target, source)
    if settings.context == "none" and isinstance(settings.encoder, config.Vision):
        return Started(recurrent(target, target.width), source)
    if settings.context == "none":
        return Copied(recurrent(target, target.width))
    cells = recurrent(target, target.width + source)  # reads [y_t; c]
    if settings.context == "fixed":
        return FixedContext(cells, source)
    return AttendedContext(cells, source, attend_to_inputs(target.width, source, settings.similarity))


def recurrent(settings: config.Recurrent, inputs: int) -> Stack:
    cell, width = CELLS[settings.kind], settings.width
    layers: list[Recurrent | Bidirectional] = []
    for depth in range(settings.layers):
        reads = inputs if depth == 0 else width
        if settings.bidirectional:
            layers.append(Bidirectional(cell(reads, width // 2), cell(reads, width // 2)))
        else:
            layers.append(cell(reads, width))
    return Stack(layers, settings.dropout)


def transformer(kind: type[Transformer], settings: config.Transformer, source_width: int | None = None) -> Transformer:
    """A stack of blocks; those of a decoder that has a source look at it too."""
    width, inner, similarity = settings.width, settings.inner or 4 * settings.width, settings.similarity
    heads = HeadShape.of(width, settings.heads, settings.key_width or None, settings.value_width or None)

    def norm() -> nn.Module:
        return NORMS[settings.norm](width, **({"eps": settings.norm_epsilon} if settings.norm_epsilon else {}))

    def self_attention() -> SelfAttention:
        if settings.key_value_heads in (0, settings.heads):
            return SelfAttention(width, heads, similarity)
        return GroupedSelfAttention(width, heads, settings.key_value_heads, similarity)

    def block() -> Block:
        parts: dict[str, nn.Module] = (
            {"ssru": SSRU(width)} if settings.past == "ssru" else {"self_attention": self_attention()}
        )
        if source_width is not None:
            across = CROSS_ATTENTIONS[settings.source_positions]
            parts["cross_attention"] = across(width, heads, source_width, similarity)
        parts["feed_forward"] = FEED_FORWARDS[settings.feed_forward](width, inner, ACTIVATIONS[settings.activation]())
        if settings.biases != "all":
            _without_biases(parts.values(), BIASED[settings.biases])
        return BLOCKS[settings.residual](parts, lambda: RESIDUALS[settings.norm_place](norm(), settings.dropout))

    blocks = [block() for _ in range(settings.layers)]
    before = settings.norm_place == "before"
    if before:
        _quieten(blocks)
    place = position(settings, kind.causal)
    return kind(
        Normed(place, norm()) if settings.embedding_norm else place,
        blocks,
        settings.dropout,
        norm() if before else nn.Identity(),
    )


def position(settings: config.Transformer, causal: bool) -> Positions:
    if settings.positions == "none":
        return Positions()
    if settings.positions == "rotary":
        return Rotary(settings.keys, settings.rotary_base, settings.rotary_share)
    if settings.positions == "relative":
        relative = RelativePast if causal else Relative
        return relative(settings.heads, settings.relative_buckets, settings.relative_farthest)
    width = settings.encoding_width
    encoding = (
        Learned(settings.longest, width) if settings.positions == "learned" else Sinusoid(width, settings.sinusoid_base)
    )
    return Added(encoding) if settings.join == "add" else Concatenated(encoding)


def _without_biases(parts: Iterable[nn.Module], kept: tuple[str, ...]) -> None:
    """Takes the bias from every matrix but those with these names."""
    for part in parts:
        for name, matrix in part.named_children():
            if isinstance(matrix, nn.Linear) and name not in kept:
                matrix.register_parameter("bias", None)


@torch.no_grad()
def _quieten(blocks: list[Block]) -> None:
    """Every part adds to one residual path; 1/√(number of parts) keeps its size at 1 whatever the depth. (GPT-2)"""
    ends = [path for path, _ in blocks[0].named_modules() if path.endswith((".output", ".W_2"))]
    for block in blocks:
        for path in ends:
            block.get_parameter(f"{path}.weight").div_(math.sqrt(len(ends) * len(blocks)))
