"""Translators of Marian's own format, among them Firefox's (Bergamot). (Junczys-Dowmunt et al. 2018)"""

from collections.abc import Iterable
from typing import Any

from regard.config import Activation, Seq2Seq, Transformer
from regard.errors import UserError
from regard.hub.opened import Opened, Ways, embedding, never_said
from regard.hub.package import Facts, Package
from regard.hub.tokens import made
from regard.hub.ways import ByHead, Flat, Named, NeverSaid, Ordered, Turned, Way

ACTIVATIONS: dict[str, Activation] = {"relu": "relu", "swish": "silu", "gelu": "gelu"}
ALONE: dict[str, tuple[Any, ...]] = {  # what would change a score, and what it must be
    "type": ("transformer",), "transformer-preprocess": ("", None), "transformer-postprocess": ("dan",),
    "transformer-postprocess-top": ("", None), "transformer-postprocess-emb": ("d", "", None),
    "transformer-ffn-depth": (2,), "transformer-no-projection": (False,), "transformer-tied-layers": ([],),
    "transformer-train-position-embeddings": (False,), "transformer-decoder-autoreg": ("rnn", "self-attention"),
    "tied-embeddings-all": (True,), "right-left": (False,), "output-omit-bias": (False,), "ulr": (False,),
    "lemma-dim-emb": (0,), "input-types": ([],),
}  # fmt: skip
STOP, UNKNOWN = 0, 1  # the first two words of every vocabulary
EPSILON = 1e-9


def opened(package: Package) -> Opened:
    """Sinusoids, norms behind; in the decoder self-attention or an SSRU. What is answered first is told by nothing."""
    facts = package.facts
    for key, allowed in ALONE.items():
        facts.must_be(key, *allowed)
    width, heads = facts.whole("dim-emb"), facts.whole("transformer-heads")
    if width % heads or width % 2 or width < 4:
        raise UserError(f"dim-emb ({width}) must be even and divisible by transformer-heads ({heads})")
    size = _size(facts)
    encoder = Transformer(
        width=width,
        layers=facts.layers("enc-depth"),
        heads=heads,
        inner=facts.whole("transformer-dim-ffn"),
        positions="sinusoid",
        # Marian has ω_i = 10000^(−i/(n − 1)) for n = D/2 pairs, ours is base^(−i/n).
        sinusoid_base=10000.0 ** (width / 2 / (width / 2 - 1)),
        norm_place="after",
        norm_epsilon=EPSILON,
        activation=facts.choice("transformer-ffn-activation", ACTIVATIONS, "relu"),
        dropout=0.0,
    )
    recurrent = facts.values.get("transformer-decoder-autoreg") == "rnn"
    if recurrent:
        facts.must_be("dec-cell", "ssru")
    past = "ssru" if recurrent else "attention"
    decoder = Transformer(**{**vars(encoder), "layers": facts.layers("dec-depth"), "past": past})
    tokenizer = made(package, (None, None, STOP, UNKNOWN), size)
    ways = embedding(tokenizer, "Wemb", "encoder.") | embedding(tokenizer, "Wemb", "decoder.")
    bias = Ordered(Flat(Named("decoder_ff_logit_out_b")), tuple(tokenizer.order))
    ways["decoder.head.b"] = NeverSaid(bias, never_said(tokenizer))
    for number in range(encoder.layers):
        ours, theirs = f"encoder.layer.blocks.{number}", f"encoder_l{number + 1}"
        ways |= _attention(f"{ours}.self_attention", f"{theirs}_self", ("query_key_value", "qkv"), heads=heads)
        ways |= _rest(ours, theirs, (f"{theirs}_self_Wo", f"{theirs}_ffn_ffn"))
    for number in range(decoder.layers):
        ours, theirs = f"decoder.layer.blocks.{number}", f"decoder_l{number + 1}"
        if recurrent:
            ways |= {
                f"{ours}.ssru.W.weight": Turned(Named(f"{theirs}_rnn_W")),
                f"{ours}.ssru.W_f.weight": Turned(Named(f"{theirs}_rnn_Wf")),
                f"{ours}.ssru.W_f.bias": Flat(Named(f"{theirs}_rnn_bf")),
            }
        else:
            ways |= _attention(f"{ours}.self_attention", f"{theirs}_self", ("query_key_value", "qkv"), heads=heads)
        across = f"{theirs}_context"
        ways |= _attention(f"{ours}.cross_attention", across, ("query", "q"), ("key_value", "kv"), heads=heads)
        first = f"{theirs}_rnn_ffn" if recurrent else f"{theirs}_self_Wo"
        ways |= _rest(ours, theirs, (first, f"{across}_Wo", f"{theirs}_ffn_ffn"))
    return Opened(
        Seq2Seq(encoder, decoder, tied=True, tied_bias=True),
        ways,
        tokenizer,
        unused=("*_QuantMultA", "special:model.yml"),
        changed=("numbers of 8 bits as 32-bit ones", "start has a row of zeros, which is what its decoder begins with"),
    )


def _size(facts: Facts) -> int:
    """Both sides have the same words."""
    found = facts.values.get("dim-vocabs")
    sizes = {*found} if isinstance(found, list) else set()
    if len(sizes) != 1:
        raise UserError(f"dim-vocabs must be one size for both languages, found {found}")
    return Facts({"dim-vocabs": sizes.pop()}).whole("dim-vocabs")


def _attention(ours: str, theirs: str, *matrices: tuple[str, str], heads: int) -> Ways:
    """Matrices that are one here, each of those named by a letter there; and W_O."""
    ways: Ways = {}
    for name, letters in matrices:
        ways[f"{ours}.{name}.weight"] = _together((Turned(Named(f"{theirs}_W{letter}")) for letter in letters), heads)
        ways[f"{ours}.{name}.bias"] = _together((Flat(Named(f"{theirs}_b{letter}")) for letter in letters), heads)
    ways[f"{ours}.output.weight"] = Turned(Named(f"{theirs}_Wo"))
    ways[f"{ours}.output.bias"] = Flat(Named(f"{theirs}_bo"))
    return ways


def _together(ways: Iterable[Way], heads: int) -> Way:
    every = tuple(ways)
    return every[0] if len(every) == 1 else ByHead(every, heads)


def _rest(ours: str, theirs: str, norms: tuple[str, ...]) -> Ways:
    """Feed-forward, and the norm behind each part."""
    ways: Ways = {}
    for number in (1, 2):
        ways[f"{ours}.feed_forward.W_{number}.weight"] = Turned(Named(f"{theirs}_ffn_W{number}"))
        ways[f"{ours}.feed_forward.W_{number}.bias"] = Flat(Named(f"{theirs}_ffn_b{number}"))
    for number, name in enumerate(norms):
        ways[f"{ours}.residuals.{number}.norm.weight"] = Flat(Named(f"{name}_ln_scale"))
        ways[f"{ours}.residuals.{number}.norm.bias"] = Flat(Named(f"{name}_ln_bias"))
    return ways
