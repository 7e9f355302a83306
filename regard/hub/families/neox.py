"""GPT-NeoX and Pythia. (Black et al. 2022; Biderman et al. 2023)"""

from regard.config import LanguageModel, Transformer
from regard.errors import UserError
from regard.hub.families.activations import ACTIVATIONS
from regard.hub.families.llama import rotary_base
from regard.hub.opened import Opened, Ways, linear, tied, untied
from regard.hub.package import Facts, Package
from regard.hub.tokens import for_writing
from regard.hub.ways import Named, TurningFirst


def opened(package: Package) -> Opened:
    """Rotary positions on a part of each head; attention and feed-forward may read the same."""
    facts = package.facts
    facts.must_be("attention_bias", True)
    width, heads, longest = (
        facts.whole(key) for key in ("hidden_size", "num_attention_heads", "max_position_embeddings")
    )
    if width % heads:
        raise UserError(f"hidden_size ({width}) must be divisible by num_attention_heads ({heads})")
    share = _share(facts)
    turning = int(width // heads * share)
    if turning % 2 or turning < 2 or width // heads % 2:
        raise UserError(f"rotary_pct {share} of {width // heads} numbers are no pairs to be rotated")
    layer = Transformer(
        width=width,
        layers=facts.layers("num_hidden_layers"),
        heads=heads,
        inner=facts.whole("intermediate_size"),
        rotary_base=rotary_base(facts) if "rope_parameters" in facts.values else facts.number("rotary_emb_base", 1e4),
        rotary_share=turning / (width // heads),
        embedding="plain",
        norm_epsilon=facts.number("layer_norm_eps", 1e-5),
        activation=facts.choice("hidden_act", ACTIVATIONS, "gelu"),
        residual="parallel" if facts.truth("use_parallel_residual", True) else "serial",
        dropout=0.0,
    )
    tokenizer = for_writing(package, facts.whole("vocab_size"))
    ways = linear("layer.last_norm", "gpt_neox.final_layer_norm")
    for block in range(layer.layers):
        ways |= _block(f"layer.blocks.{block}", f"gpt_neox.layers.{block}", heads, turning)
    head = next((name for name in ("embed_out.weight", "lm_head.weight") if name in set(package.tensors.names())), "")
    table = "gpt_neox.embed_in.weight"
    ways |= untied(tokenizer, table, head) if head else tied(tokenizer, table)
    return Opened(
        LanguageModel(layer, tied=not head, tied_bias=not head),
        ways,
        tokenizer,
        longest=longest,
        unused=("*.attention.bias", "*.attention.masked_bias", "*.rotary_emb.inv_freq"),
        changed=("pairs that are rotated half a head apart",) if share < 1 else (),
    )


def _share(facts: Facts) -> float:
    """Which part of a head is rotated; newer files keep it with other facts of the rotation."""
    inner = facts.values.get("rope_parameters")
    if isinstance(inner, dict) and "partial_rotary_factor" in inner:
        return Facts(inner, "rope_parameters.").number("partial_rotary_factor")
    return facts.number("rotary_pct", 0.25)


def _block(ours: str, theirs: str, heads: int, turning: int) -> Ways:
    ways: Ways = {}
    for part in ("weight", "bias"):
        three = Named(f"{theirs}.attention.query_key_value.{part}")
        ways[f"{ours}.self_attention.query_key_value.{part}"] = TurningFirst(three, heads, turning)
    return (
        ways
        | linear(f"{ours}.self_attention.output", f"{theirs}.attention.dense")
        | linear(f"{ours}.feed_forward.W_1", f"{theirs}.mlp.dense_h_to_4h")
        | linear(f"{ours}.feed_forward.W_2", f"{theirs}.mlp.dense_4h_to_h")
        | linear(f"{ours}.residuals.0.norm", f"{theirs}.input_layernorm")
        | linear(f"{ours}.residuals.1.norm", f"{theirs}.post_attention_layernorm")
    )
