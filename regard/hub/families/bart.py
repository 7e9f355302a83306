"""What is built like BART: Marian and Blenderbot, as Hugging Face keeps them.

(Lewis et al. 2020, Junczys-Dowmunt et al. 2018, Roller et al. 2021)
"""

from typing import Literal

from regard.config import Seq2Seq, Transformer
from regard.errors import UserError
from regard.hub.families.activations import ACTIVATIONS
from regard.hub.opened import Opened, Ways, embedding, linear, never_said
from regard.hub.package import Package
from regard.hub.tokens import for_translating
from regard.hub.ways import ByHead, Flat, Named, NeverSaid, Ordered
from regard.special import START

SIDES = ("encoder", "decoder")
SHARED = "model.shared.weight"


def marian(package: Package) -> Opened:
    """Sinusoid positions, norms after."""
    facts = package.facts
    facts.must_be("normalize_embedding", False)
    facts.must_be("add_final_layer_norm", False)
    width = facts.whole("d_model")
    if width % 2:
        raise UserError(f"d_model ({width}) must be even: sinusoids are pairs")
    stacks = {side: _stack(package, side, "sinusoid", "after") for side in SIDES}
    return _opened(package, stacks, {}, unused=("*.embed_positions.weight",))


def blenderbot(package: Package) -> Opened:
    """Learned positions, norms before, and one behind the last block."""
    facts = package.facts
    facts.must_be("normalize_embedding", False)
    facts.must_be("static_position_embeddings", False)
    facts.must_be("layernorm_variant", "prelayernorm")
    facts.must_be("extra_pos_embeddings", 0)
    ways: Ways = {}
    for side in SIDES:
        ways[f"{side}.layer.position.encoding.table"] = Named(f"model.{side}.embed_positions.weight")
        ways |= linear(f"{side}.layer.last_norm", f"model.{side}.layer_norm")
    return _opened(package, {side: _stack(package, side, "learned", "before") for side in SIDES}, ways)


def _opened(package: Package, stacks: dict[str, Transformer], ways: Ways, unused: tuple[str, ...] = ()) -> Opened:
    """With what all of them share; what starts an answer is never said."""
    facts, there = package.facts, set(package.tensors.names())
    size = facts.whole("vocab_size")
    if package.source is None:
        facts.must_be("decoder_vocab_size", size)
    tokenizer = for_translating(package, facts.whole("decoder_vocab_size", size))
    source = None if package.source is None else for_translating(package.reading, size)
    tables = {side: name if (name := f"model.{side}.embed_tokens.weight") in there else SHARED for side in SIDES}
    own = "lm_head.weight" in there
    order = tuple(tokenizer.order)
    said = NeverSaid(Ordered(Flat(Named("final_logits_bias")), order), (*never_said(tokenizer), START))
    ways = {**ways, f"decoder.head.{'W.bias' if own else 'b'}": said}
    if own:
        ways["decoder.head.W.weight"] = Ordered(Named("lm_head.weight"), order)
    ways |= embedding(source or tokenizer, tables["encoder"], "encoder.")
    ways |= embedding(tokenizer, tables["decoder"], "decoder.")
    for side, stack in stacks.items():
        for block in range(stack.layers):
            ways |= _block(f"{side}.layer.blocks.{block}", f"model.{side}.layers.{block}", stack.heads, side)
    return Opened(
        Seq2Seq(stacks["encoder"], stacks["decoder"], tied=not own, tied_bias=not own),
        ways,
        tokenizer,
        source,
        longest=_longest(package),
        unused=(*unused, *(() if SHARED in tables.values() else (SHARED,))),
        changed=("queries, keys and values in one matrix",),
    )


def _longest(package: Package) -> int:
    return package.facts.whole("max_position_embeddings", 512)


def _stack(
    package: Package, side: str, positions: Literal["sinusoid", "learned"], norm_place: Literal["before", "after"]
) -> Transformer:
    facts = package.facts
    return Transformer(
        width=facts.whole("d_model"),
        layers=facts.layers(f"{side}_layers"),
        heads=facts.whole(f"{side}_attention_heads"),
        inner=facts.whole(f"{side}_ffn_dim"),
        positions=positions,
        longest=_longest(package) if positions == "learned" else Transformer.longest,
        embedding="scaled" if facts.truth("scale_embedding", False) else "plain",
        norm_place=norm_place,
        norm_epsilon=1e-5,
        activation=facts.choice("activation_function", ACTIVATIONS, "gelu"),
        dropout=0.0,
    )


def _block(ours: str, theirs: str, heads: int, side: str) -> Ways:
    ways = linear(f"{ours}.self_attention.output", f"{theirs}.self_attn.out_proj")
    norms = ["self_attn_layer_norm", "final_layer_norm"]
    for part in ("weight", "bias"):
        query, key, value = (Named(f"{theirs}.self_attn.{name}_proj.{part}") for name in "qkv")
        ways[f"{ours}.self_attention.query_key_value.{part}"] = ByHead((query, key, value), heads)
        if side == "decoder":
            query, key, value = (Named(f"{theirs}.encoder_attn.{name}_proj.{part}") for name in "qkv")
            ways[f"{ours}.cross_attention.query.{part}"] = query
            ways[f"{ours}.cross_attention.key_value.{part}"] = ByHead((key, value), heads)
    if side == "decoder":
        norms.insert(1, "encoder_attn_layer_norm")
        ways |= linear(f"{ours}.cross_attention.output", f"{theirs}.encoder_attn.out_proj")
    for number, name in enumerate(norms):
        ways |= linear(f"{ours}.residuals.{number}.norm", f"{theirs}.{name}")
    return (
        ways | linear(f"{ours}.feed_forward.W_1", f"{theirs}.fc1") | linear(f"{ours}.feed_forward.W_2", f"{theirs}.fc2")
    )
