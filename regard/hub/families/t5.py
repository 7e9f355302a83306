"""T5, also as version 1.1 and FLAN have it. (Raffel et al. 2020)"""

from math import sqrt

from regard.config import Activation, Seq2Seq, Transformer
from regard.hub.families.activations import ACTIVATIONS
from regard.hub.opened import Opened, Ways, embedding, tied, untied
from regard.hub.package import Package
from regard.hub.tokens import for_translating
from regard.hub.ways import ByHead, Named, Scaled, Stacked

PHI: dict[str, Activation] = ACTIVATIONS | {f"gated-{name}": ours for name, ours in ACTIVATIONS.items()}
PHI["gated-gelu"] = "gelu-tanh"
"""φ by what `feed_forward_proj` says; what is called gated-gelu is the tanh one."""


def opened(package: Package) -> Opened:
    """Relative positions, scores that are not divided by anything, RMS norms before, no bias anywhere."""
    facts, there = package.facts, set(package.tensors.names())
    facts.must_be("is_encoder_decoder", True)
    size, width = facts.whole("vocab_size"), facts.whole("d_model")
    own = "lm_head.weight" in there
    scaled = facts.truth("scale_decoder_outputs", facts.truth("tie_word_embeddings", True))
    table = "shared.weight"
    deep = facts.layers("num_layers")
    stacks = {
        "encoder": _stack(package, deep, scaled and not own),
        "decoder": _stack(
            package, deep if facts.values.get("num_decoder_layers") is None else facts.layers("num_decoder_layers"),
            scaled and not own,
        ),
    }  # fmt: skip
    tokenizer = for_translating(package, size)
    ways = embedding(tokenizer, table, "encoder.")
    ways |= untied(tokenizer, table, "lm_head.weight", "decoder.") if own else tied(tokenizer, table, "decoder.")
    if scaled:  # E h / √D: where it is tied, E / √D is both tables, and √D of our embedding makes it E again
        for name in ["decoder.head.W.weight"] if own else [f"{side}.embedding.lookup.weight" for side in stacks]:
            ways[name] = Scaled(ways[name], 1 / sqrt(width))
    for side, stack in stacks.items():
        first = f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        ways[f"{side}.layer.position.table"] = Named(first)
        ways[f"{side}.layer.last_norm.weight"] = Named(f"{side}.final_layer_norm.weight")
        for block in range(stack.layers):
            ways |= _block(f"{side}.layer.blocks.{block}", f"{side}.block.{block}.layer", stack, side)
    return Opened(
        Seq2Seq(stacks["encoder"], stacks["decoder"], tied=not own, tied_bias=not own),
        ways,
        tokenizer,
        longest=facts.whole("n_positions", 512),
        unused=("*.embed_tokens.weight", "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"),
        changed=("queries, keys and values in one matrix",),
    )


def _stack(package: Package, layers: int, scaled: bool) -> Transformer:
    facts = package.facts
    activation = facts.choice("feed_forward_proj", PHI, "relu")
    gated = str(facts.values.get("feed_forward_proj")).startswith("gated-")
    return Transformer(
        width=facts.whole("d_model"),
        layers=layers,
        heads=facts.whole("num_heads"),
        key_width=facts.whole("d_kv"),
        value_width=facts.whole("d_kv"),
        inner=facts.whole("d_ff"),
        similarity="dot",
        positions="relative",
        relative_buckets=facts.whole("relative_attention_num_buckets", 32),
        relative_farthest=facts.whole("relative_attention_max_distance", 128),
        embedding="scaled" if scaled else "plain",
        norm="rms",
        norm_epsilon=facts.number("layer_norm_epsilon", 1e-6),
        feed_forward="gated" if gated else "plain",
        activation=activation,
        biases="none",
        dropout=0.0,
    )


def _block(ours: str, theirs: str, stack: Transformer, side: str) -> Ways:
    query, key, value = (Named(f"{theirs}.0.SelfAttention.{name}.weight") for name in "qkv")
    last = 2 if side == "decoder" else 1
    ways: Ways = {
        f"{ours}.self_attention.query_key_value.weight": ByHead((query, key, value), stack.heads),
        f"{ours}.self_attention.output.weight": Named(f"{theirs}.0.SelfAttention.o.weight"),
        f"{ours}.feed_forward.W_2.weight": Named(f"{theirs}.{last}.DenseReluDense.wo.weight"),
    }
    if side == "decoder":
        query, key, value = (Named(f"{theirs}.1.EncDecAttention.{name}.weight") for name in "qkv")
        ways[f"{ours}.cross_attention.query.weight"] = query
        ways[f"{ours}.cross_attention.key_value.weight"] = ByHead((key, value), stack.heads)
        ways[f"{ours}.cross_attention.output.weight"] = Named(f"{theirs}.1.EncDecAttention.o.weight")
    inner = ("wi_0", "wi_1") if stack.feed_forward == "gated" else ("wi",)
    rows = tuple(Named(f"{theirs}.{last}.DenseReluDense.{name}.weight") for name in inner)
    ways[f"{ours}.feed_forward.W_1.weight"] = Stacked(rows)
    for number in range(last + 1):
        ways[f"{ours}.residuals.{number}.norm.weight"] = Named(f"{theirs}.{number}.layer_norm.weight")
    return ways
