"""Llama and what is built like it: Mistral, SmolLM2, Qwen2. (Touvron et al. 2023, Jiang et al. 2023)"""

from regard.config import LanguageModel, Transformer
from regard.errors import UserError
from regard.hub.families.activations import ACTIVATIONS
from regard.hub.opened import Opened, Ways, linear, tied, untied
from regard.hub.package import Facts, Package
from regard.hub.tokens import for_writing
from regard.hub.ways import ByHead, Named, Stacked


def llama(package: Package) -> Opened:
    """Rotary positions, RMS norms before, gated feed-forward, grouped keys and values, no biases."""
    package.facts.must_be("attention_bias", False)
    package.facts.must_be("mlp_bias", False)
    return _opened(package, queries_biased=False)


def mistral(package: Package) -> Opened:
    """As Llama; what looks back through a window is held to its width, within which it is the same."""
    return llama(package)


def qwen2(package: Package) -> Opened:
    """As Llama, with biases on queries, keys and values."""
    package.facts.must_be("use_sliding_window", False)
    return _opened(package, queries_biased=True)


def _opened(package: Package, queries_biased: bool) -> Opened:
    facts = package.facts
    width, heads = facts.whole("hidden_size"), facts.whole("num_attention_heads")
    memories = facts.whole("num_key_value_heads", heads)
    if width % heads or heads % memories:
        raise UserError(
            f"hidden_size ({width}) must be divisible by num_attention_heads ({heads}), and that by "
            f"num_key_value_heads ({memories})"
        )
    facts.must_be("head_dim", width // heads)
    longest = facts.whole("max_position_embeddings", 2048)
    window = facts.whole("sliding_window", longest) if facts.values.get("use_sliding_window", True) else longest
    layer = Transformer(
        width=width,
        layers=facts.layers("num_hidden_layers"),
        heads=heads,
        key_value_heads=memories if memories < heads else 0,
        inner=facts.whole("intermediate_size"),
        rotary_base=rotary_base(facts),
        embedding="plain",
        norm="rms",
        norm_epsilon=facts.number("rms_norm_eps", 1e-6),
        feed_forward="gated",
        activation=facts.choice("hidden_act", ACTIVATIONS, "silu"),
        biases="query-key-value" if queries_biased else "none",
        dropout=0.0,
    )
    tokenizer = for_writing(package, facts.whole("vocab_size"))
    ways = linear("layer.last_norm", "model.norm", biased=False)
    for block in range(layer.layers):
        ways |= _block(f"layer.blocks.{block}", f"model.layers.{block}", memories, queries_biased)
    own, biased = (name in set(package.tensors.names()) for name in ("lm_head.weight", "lm_head.bias"))
    table = "model.embed_tokens.weight"
    ways |= untied(tokenizer, table, "lm_head.weight", biased=biased) if own else tied(tokenizer, table)
    return Opened(
        LanguageModel(layer, tied=not own, tied_bias=not own),
        ways,
        tokenizer,
        longest=min(longest, window),
        unused=("*.rotary_emb.inv_freq",),
        changed=("queries, keys and values in one matrix", "gate and value of feed-forward in one matrix"),
    )


def rotary_base(facts: Facts) -> float:
    """θ, which newer files keep with other facts of the rotation; a rotation that is stretched is refused."""
    for key in ("rope_scaling", "rope_parameters"):
        inner = facts.values.get(key)
        if inner is None:
            continue
        if not isinstance(inner, dict):
            raise facts.refused(key, "with a table there")
        within = Facts(inner, f"{key}.")
        within.must_be("rope_type", "default")
        within.must_be("type", "default")
        if "rope_theta" in inner:
            return within.number("rope_theta")
    return facts.number("rope_theta", 10000.0)


def _block(ours: str, theirs: str, memories: int, queries_biased: bool) -> Ways:
    ways = linear(f"{ours}.residuals.0.norm", f"{theirs}.input_layernorm", biased=False)
    ways |= linear(f"{ours}.residuals.1.norm", f"{theirs}.post_attention_layernorm", biased=False)
    ways |= linear(f"{ours}.self_attention.output", f"{theirs}.self_attn.o_proj", biased=False)
    for part in ("weight", "bias") if queries_biased else ("weight",):
        three = tuple(Named(f"{theirs}.self_attn.{name}_proj.{part}") for name in "qkv")
        ways[f"{ours}.self_attention.query_key_value.{part}"] = ByHead(three, memories)
    gate_and_value = (Named(f"{theirs}.mlp.gate_proj.weight"), Named(f"{theirs}.mlp.up_proj.weight"))
    ways[f"{ours}.feed_forward.W_1.weight"] = Stacked(gate_and_value)
    return ways | linear(f"{ours}.feed_forward.W_2", f"{theirs}.mlp.down_proj", biased=False)
