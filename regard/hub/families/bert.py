"""BERT, RoBERTa and DistilBERT that say a class. (Devlin et al. 2019, Liu et al. 2019, Sanh et al. 2019)"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from regard.config import Classifier, Transformer
from regard.errors import UserError
from regard.hub.families.activations import ACTIVATIONS
from regard.hub.opened import Opened, Ways, embedding, linear
from regard.hub.package import Facts, Package
from regard.hub.tokens import for_reading
from regard.hub.ways import ByHead, From, Named, NeverSaid, Ordered, PlusRow, Way
from regard.special import NAMES
from regard.text.labels import Labels


@dataclass(frozen=True)
class Called:
    """What a family calls things; {} is the number of a block."""

    prefix: str
    block: str
    query: str
    key: str
    value: str
    parts: Mapping[str, str]
    """Matrices and norms of a block, by our names."""
    pooled: str
    head: str
    pooling: Literal["start", "start-relu"]
    offset: int = 0
    """Rows of the table of positions that no token stands at."""
    types: bool = True
    """Whether there is a table for the first and the second of two texts."""


BERT = Called(
    "bert.embeddings.",
    "bert.encoder.layer.{}.",
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    {
        "self_attention.output": "attention.output.dense",
        "residuals.0.norm": "attention.output.LayerNorm",
        "feed_forward.W_1": "intermediate.dense",
        "feed_forward.W_2": "output.dense",
        "residuals.1.norm": "output.LayerNorm",
    },
    "bert.pooler.dense",
    "classifier",
    "start",
)
ROBERTA = Called(
    "roberta.embeddings.",
    "roberta.encoder.layer.{}.",
    BERT.query,
    BERT.key,
    BERT.value,
    BERT.parts,
    "classifier.dense",
    "classifier.out_proj",
    "start",
    offset=2,
)
DISTILBERT = Called(
    "distilbert.embeddings.",
    "distilbert.transformer.layer.{}.",
    "attention.q_lin",
    "attention.k_lin",
    "attention.v_lin",
    {
        "self_attention.output": "attention.out_lin",
        "residuals.0.norm": "sa_layer_norm",
        "feed_forward.W_1": "ffn.lin1",
        "feed_forward.W_2": "ffn.lin2",
        "residuals.1.norm": "output_layer_norm",
    },
    "pre_classifier",
    "classifier",
    "start-relu",
    types=False,
)
SIZES = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "hidden_act")
DISTILBERT_SIZES = ("dim", "n_layers", "n_heads", "hidden_dim", "activation")


def bert(package: Package) -> Opened:
    """Learned positions, norms after and behind the embedding; what stands for a text is made of its first vector."""
    package.facts.must_be("position_embedding_type", "absolute")
    package.facts.must_be("is_decoder", False)
    return _opened(package, BERT, SIZES, package.facts.number("layer_norm_eps", 1e-12))


def roberta(package: Package) -> Opened:
    """As BERT; the first two positions are for padding."""
    package.facts.must_be("position_embedding_type", "absolute")
    package.facts.must_be("pad_token_id", ROBERTA.offset - 1)
    return _opened(package, ROBERTA, SIZES, package.facts.number("layer_norm_eps", 1e-12))


def distilbert(package: Package) -> Opened:
    """As BERT, half as deep, with a ReLU before it answers."""
    return _opened(package, DISTILBERT, DISTILBERT_SIZES, 1e-12)


def _opened(package: Package, called: Called, sizes: tuple[str, ...], epsilon: float) -> Opened:
    facts = package.facts
    facts.must_be("problem_type", "single_label_classification")
    if f"{called.head}.weight" not in set(package.tensors.names()):
        raise UserError("an encoder without a head that says a class cannot be had; a classifier alone can")
    width, layers, heads, inner, activation = sizes
    longest = facts.whole("max_position_embeddings") - called.offset
    layer = Transformer(
        width=facts.whole(width),
        layers=facts.layers(layers),
        heads=facts.whole(heads),
        inner=facts.whole(inner),
        positions="learned",
        longest=longest,
        embedding="plain",
        embedding_norm=True,
        norm_place="after",
        norm_epsilon=epsilon,
        activation=facts.choice(activation, ACTIVATIONS, "gelu"),
    )
    tokenizer, labels = for_reading(package, facts.whole("vocab_size")), _labels(facts)
    places: Way = From(Named(f"{called.prefix}position_embeddings.weight"), called.offset)
    if called.types:
        places = PlusRow(places, Named(f"{called.prefix}token_type_embeddings.weight"))
    order = tuple([None] * len(NAMES) + list(range(len(labels.names))))
    ways = {
        **embedding(tokenizer, f"{called.prefix}word_embeddings.weight", "encoder."),
        "encoder.layer.position.inner.encoding.table": places,
        **linear("encoder.layer.position.norm", f"{called.prefix}LayerNorm"),
        **linear("pooling.W", called.pooled),
        "head.weight": Ordered(Named(f"{called.head}.weight"), order),
        "head.bias": NeverSaid(Ordered(Named(f"{called.head}.bias"), order), tuple(range(len(NAMES)))),
    }
    for block in range(layer.layers):
        ways |= _block(f"encoder.layer.blocks.{block}", called.block.format(block), called, layer.heads)
    return Opened(
        Classifier(layer, pooling=called.pooling),
        ways,
        labels,
        tokenizer,
        longest=longest,
        unused=(".position_ids",),
        changed=("the type of a single text is added to its positions",) if called.types else (),
    )


def _block(ours: str, theirs: str, called: Called, heads: int) -> Ways:
    ways: Ways = {}
    for part in ("weight", "bias"):
        three = tuple(Named(f"{theirs}{name}.{part}") for name in (called.query, called.key, called.value))
        ways[f"{ours}.self_attention.query_key_value.{part}"] = ByHead(three, heads)
    for mine, other in called.parts.items():
        ways |= linear(f"{ours}.{mine}", f"{theirs}{other}")
    return ways


def _labels(facts: Facts) -> Labels:
    """The names of the classes, in their order."""
    named: Any = facts.values.get("id2label", {"0": "LABEL_0", "1": "LABEL_1"})
    try:
        return Labels([named[str(number)] for number in range(len(named))])
    except (LookupError, TypeError, ValueError, AttributeError):
        raise facts.refused("id2label", "a name for each class is wanted") from None
