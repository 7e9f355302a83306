"""Marian as Hugging Face keeps it. (Junczys-Dowmunt et al. 2018)"""

from regard.config import Seq2Seq, Transformer
from regard.errors import UserError
from regard.hub.families.activations import ACTIVATIONS
from regard.hub.opened import Opened, Ways, embedding, linear, never_said
from regard.hub.package import Package
from regard.hub.tokens import for_translating
from regard.hub.ways import ByHead, Flat, Named, NeverSaid, Ordered
from regard.special import START

SIDES = ("encoder", "decoder")


def opened(package: Package) -> Opened:
    """Sinusoid positions, norms after; what starts a translation is never said."""
    facts, there = package.facts, set(package.tensors.names())
    facts.must_be("normalize_embedding", False)
    facts.must_be("add_final_layer_norm", False)
    size, width = facts.whole("vocab_size"), facts.whole("d_model")
    facts.must_be("decoder_vocab_size", size)
    if width % 2:
        raise UserError(f"d_model ({width}) must be even: sinusoids are pairs")
    stacks = {side: _stack(package, side, width) for side in SIDES}
    tokenizer = for_translating(package, size)
    shared = "model.shared.weight"
    tables = {side: name if (name := f"model.{side}.embed_tokens.weight") in there else shared for side in SIDES}
    own = "lm_head.weight" in there
    order = tuple(tokenizer.order)
    said = NeverSaid(Ordered(Flat(Named("final_logits_bias")), order), (*never_said(tokenizer), START))
    ways: Ways = {f"decoder.head.{'W.bias' if own else 'b'}": said}
    if own:
        ways["decoder.head.W.weight"] = Ordered(Named("lm_head.weight"), order)
    for side, stack in stacks.items():
        ways |= embedding(tokenizer, tables[side], f"{side}.")
        for block in range(stack.layers):
            ways |= _block(f"{side}.layer.blocks.{block}", f"model.{side}.layers.{block}", stack.heads, side)
    return Opened(
        Seq2Seq(stacks["encoder"], stacks["decoder"], tied=not own, tied_bias=not own),
        ways,
        tokenizer,
        longest=facts.whole("max_position_embeddings", 512),
        unused=("*.embed_positions.weight", *(() if shared in tables.values() else (shared,))),
        changed=("queries, keys and values in one matrix",),
    )


def _stack(package: Package, side: str, width: int) -> Transformer:
    facts = package.facts
    return Transformer(
        width=width,
        layers=facts.layers(f"{side}_layers"),
        heads=facts.whole(f"{side}_attention_heads"),
        inner=facts.whole(f"{side}_ffn_dim"),
        positions="sinusoid",
        embedding="scaled" if facts.truth("scale_embedding", False) else "plain",
        norm_place="after",
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
