"""GPT-2. (Radford et al. 2019)"""

from regard.config import LanguageModel, Transformer
from regard.hub.families.activations import ACTIVATIONS
from regard.hub.opened import Opened, Ways, linear, tied, untied
from regard.hub.package import Package
from regard.hub.tokens import for_writing
from regard.hub.ways import InThirds, Named, Turned


def opened(package: Package) -> Opened:
    """Learned positions, norms before; matrices are kept as (in, out)."""
    facts = package.facts
    facts.must_be("scale_attn_weights", True)
    facts.must_be("scale_attn_by_inverse_layer_idx", False)
    facts.must_be("add_cross_attention", False)
    width, longest, heads = facts.whole("n_embd"), facts.whole("n_positions"), facts.whole("n_head")
    layer = Transformer(
        width=width,
        layers=facts.layers("n_layer"),
        heads=heads,
        inner=facts.whole("n_inner", 4 * width),
        positions="learned",
        longest=longest,
        embedding="plain",
        norm_epsilon=facts.number("layer_norm_epsilon", 1e-5),
        activation=facts.choice("activation_function", ACTIVATIONS, "gelu_new"),
        dropout=0.0,
    )
    tokenizer = for_writing(package, facts.whole("vocab_size"))
    ways: Ways = {"layer.position.encoding.table": Named("transformer.wpe.weight")}
    ways |= linear("layer.last_norm", "transformer.ln_f")
    for block in range(layer.layers):
        ways |= block_of(f"layer.blocks.{block}", f"transformer.h.{block}", heads)
    own, biased = (name in set(package.tensors.names()) for name in ("lm_head.weight", "lm_head.bias"))
    table = "transformer.wte.weight"
    ways |= untied(tokenizer, table, "lm_head.weight", biased=biased) if own else tied(tokenizer, table)
    return Opened(
        LanguageModel(layer, tied=not own, tied_bias=not own),
        ways,
        tokenizer,
        longest=longest,
        unused=("*.attn.bias", "*.attn.masked_bias"),
    )


def block_of(ours: str, theirs: str, heads: int) -> Ways:
    """The tensors of one block, in the first GPT as in the second."""
    ways = linear(f"{ours}.residuals.0.norm", f"{theirs}.ln_1") | linear(f"{ours}.residuals.1.norm", f"{theirs}.ln_2")
    attention = f"{ours}.self_attention.query_key_value"
    ways[f"{attention}.weight"] = InThirds(Turned(Named(f"{theirs}.attn.c_attn.weight")), heads)
    ways[f"{attention}.bias"] = InThirds(Named(f"{theirs}.attn.c_attn.bias"), heads)
    for mine, other in (
        ("self_attention.output", "attn.c_proj"),
        ("feed_forward.W_1", "mlp.c_fc"),
        ("feed_forward.W_2", "mlp.c_proj"),
    ):
        ways[f"{ours}.{mine}.weight"] = Turned(Named(f"{theirs}.{other}.weight"))
        ways[f"{ours}.{mine}.bias"] = Named(f"{theirs}.{other}.bias")
    return ways
