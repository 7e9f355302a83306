"""The first GPT. (Radford et al. 2018)"""

from regard.config import Activation, LanguageModel, Transformer
from regard.hub.families.gpt2 import block_of
from regard.hub.opened import Opened, Ways, tied, untied
from regard.hub.package import Package
from regard.hub.tokens import for_writing
from regard.hub.ways import Named

PHI: dict[str, Activation] = {"gelu": "gelu-tanh", "relu": "relu", "silu": "silu", "swish": "silu"}
"""φ by what `afn` says; what is called gelu there is the tanh one."""


def opened(package: Package) -> Opened:
    """Learned positions, norms after; matrices as GPT-2 keeps them."""
    facts = package.facts
    heads, longest = facts.whole("n_head"), facts.whole("n_positions")
    layer = Transformer(
        width=facts.whole("n_embd"),
        layers=facts.layers("n_layer"),
        heads=heads,
        positions="learned",
        longest=longest,
        embedding="plain",
        norm_place="after",
        norm_epsilon=facts.number("layer_norm_epsilon", 1e-5),
        activation=facts.choice("afn", PHI, "gelu"),
        dropout=0.0,
    )
    tokenizer = for_writing(package, facts.whole("vocab_size"))
    ways: Ways = {"layer.position.encoding.table": Named("transformer.positions_embed.weight")}
    for block in range(layer.layers):
        ways |= block_of(f"layer.blocks.{block}", f"transformer.h.{block}", heads)
    own, table = "lm_head.weight" in set(package.tensors.names()), "transformer.tokens_embed.weight"
    ways |= untied(tokenizer, table, "lm_head.weight") if own else tied(tokenizer, table)
    return Opened(
        LanguageModel(layer, tied=not own, tied_bias=not own),
        ways,
        tokenizer,
        longest=longest,
        unused=("*.attn.bias", "transformer.position_ids"),
    )
