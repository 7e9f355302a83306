"""BERT, RoBERTa and DistilBERT: encoders alone, or with what says a class or tags.

Devlin et al. 2019, Liu et al. 2019, Sanh et al. 2019; the mean of all vectors: Reimers and Gurevych 2019.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from regard.config import Classifier, Reader, Tagger, Transformer
from regard.hub.families.activations import ACTIVATIONS
from regard.hub.opened import Opened, Ways, embedding, linear
from regard.hub.package import Facts, Package
from regard.hub.tokens import for_reading
from regard.hub.ways import ByHead, From, Named, NeverSaid, Ordered, PlusRow, Way
from regard.special import NAMES
from regard.text.labels import Labels


@dataclass(frozen=True)
class Called:
    """What a family calls things."""

    inside: str
    """What stands before all names of the encoder where a head is beside it."""
    block: str
    """What stands before the number of a block."""
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
    "bert.",
    "encoder.layer.",
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
    "roberta.",
    "encoder.layer.",
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
    "distilbert.",
    "transformer.layer.",
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
    facts, there = package.facts, set(package.tensors.names())
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
        dropout=0.0,
    )
    tokenizer = for_reading(package, facts.whole("vocab_size"))
    inside = called.inside if any(name.startswith(called.inside) for name in there) else ""  # alone it has no prefix
    table = f"{inside}embeddings."
    places: Way = From(Named(f"{table}position_embeddings.weight"), called.offset)
    if called.types:
        places = PlusRow(places, Named(f"{table}token_type_embeddings.weight"))
    ways = {
        **embedding(tokenizer, f"{table}word_embeddings.weight", "encoder."),
        "encoder.layer.position.inner.encoding.table": places,
        **linear("encoder.layer.position.norm", f"{table}LayerNorm"),
    }
    for block in range(layer.layers):
        ways |= _block(f"encoder.layer.blocks.{block}", f"{inside}{called.block}{block}.", called, layer.heads)
    read = Opened(
        Reader(layer),
        ways,
        tokenizer,
        longest=longest,
        unused=("*.position_ids",),
        changed=("the type of a single text is added to its positions",) if called.types else (),
    )
    return _answering(package, called, there)(package, called, read, inside)


def _answering(package: Package, called: Called, there: set[str]) -> Callable[[Package, Called, Opened, str], Opened]:
    """What it says, by what it calls itself, or else by which tensors it has: a class, tags, or nothing."""
    named = package.facts.values.get("architectures")
    said = str(named[0]) if isinstance(named, list) and named else ""
    if said.endswith("ForSequenceClassification") or (not said and f"{called.pooled}.weight" in there):
        return _classifier
    if said.endswith("ForTokenClassification") or (not said and "classifier.weight" in there):
        return _tagger
    if said and not said.endswith(("Model", "ForMaskedLM", "ForPreTraining")):
        raise package.facts.refused("architectures", "that says a class or tags, or is an encoder alone")
    return _reader


def _classifier(package: Package, called: Called, read: Opened, inside: str) -> Opened:
    package.facts.must_be("problem_type", "single_label_classification")
    labels = _labels(package.facts)
    assert isinstance(read.model, Reader)
    return replace(
        read,
        model=Classifier(read.model.encoder, pooling=called.pooling),
        ways={**read.ways, **linear("pooling.W", called.pooled), **_head(labels, called.head)},
        tokenizer=labels,
        source_tokenizer=read.tokenizer,
    )


def _tagger(package: Package, called: Called, read: Opened, inside: str) -> Opened:
    labels = _labels(package.facts, at_first=True)
    assert isinstance(read.model, Reader)
    return replace(
        read,
        model=Tagger(read.model.encoder),
        ways={**read.ways, **_head(labels, "classifier")},
        tokenizer=labels,
        source_tokenizer=read.tokenizer,
        unused=(*read.unused, f"{inside}pooler.*"),
    )


def _reader(package: Package, called: Called, read: Opened, inside: str) -> Opened:
    """An encoder on its own; of one that guesses hidden words, the head that does so is left out."""
    assert isinstance(read.model, Reader)
    steps = Facts(package.pooling, "modules.json: ")
    if strange := sorted(set(package.pooling) - {"Transformer", "Pooling", "Normalize"}):
        raise steps.refused(strange[0], "with Transformer, Pooling and Normalize alone")
    pooling, changed = _pooled(Facts(package.pooling.get("Pooling") or {}, "1_Pooling: ")), read.changed
    if not package.pooling:
        changed = (*changed, "the vector of a text is the mean of its tokens', as nothing beside it says another")
    heads = {name for name in package.tensors.names() if name.startswith(HEADS)}
    if heads:
        changed = (*changed, "the head that guesses hidden words is left out")
    return replace(
        read,
        model=replace(read.model, pooling=pooling, unit_length="Normalize" in package.pooling),
        unused=(*read.unused, f"{inside}pooler.*", *heads),
        changed=changed,
    )


HEADS = ("cls.", "lm_head.", "vocab_transform.", "vocab_layer_norm.", "vocab_projector.")
POOLINGS: dict[str, Literal["mean", "first"]] = {"mean": "mean", "cls": "first"}


def _pooled(facts: Facts) -> Literal["mean", "first"]:
    """How sentence-transformers makes one vector of all: one of its settings is true, or one names it."""
    if "pooling_mode" in facts.values:
        return facts.choice("pooling_mode", POOLINGS)
    chosen = [key for key in facts.values if key.startswith("pooling_mode_") and facts.truth(key, False)]
    for key in chosen:
        if len(chosen) > 1 or key not in ("pooling_mode_mean_tokens", "pooling_mode_cls_token"):
            raise facts.refused(key, "that takes the mean of all tokens, or the first one")
    return "first" if chosen == ["pooling_mode_cls_token"] else "mean"


def _head(labels: Labels, theirs: str) -> Ways:
    order = tuple([None] * len(NAMES) + list(range(len(labels.names))))
    return {
        "head.weight": Ordered(Named(f"{theirs}.weight"), order),
        "head.bias": NeverSaid(Ordered(Named(f"{theirs}.bias"), order), tuple(range(len(NAMES)))),
    }


def _block(ours: str, theirs: str, called: Called, heads: int) -> Ways:
    ways: Ways = {}
    for part in ("weight", "bias"):
        three = tuple(Named(f"{theirs}{name}.{part}") for name in (called.query, called.key, called.value))
        ways[f"{ours}.self_attention.query_key_value.{part}"] = ByHead(three, heads)
    for mine, other in called.parts.items():
        ways |= linear(f"{ours}.{mine}", f"{theirs}{other}")
    return ways


def _labels(facts: Facts, at_first: bool = False) -> Labels:
    """The names of the classes, in their order."""
    named: Any = facts.values.get("id2label", {"0": "LABEL_0", "1": "LABEL_1"})
    try:
        return Labels([named[str(number)] for number in range(len(named))], at_first)
    except (LookupError, TypeError, ValueError, AttributeError):
        raise facts.refused("id2label", "with a name for each class") from None
