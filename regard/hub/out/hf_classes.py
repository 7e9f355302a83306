"""Classes of Hugging Face's transformers that compute what a Transformer of ours does, and our weights by their names.

A head's bias, which none of the language models there has, is folded into the last norm (`without_bias`).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.config import Transformer
from regard.hub.out.home import Home
from regard.hub.out.plain import Affine, Attending, PlainStack, plain, plain_head, without_bias
from regard.models.decoder import Decoder
from regard.models.encoder_decoder import EncoderDecoder
from regard.special import PADDING, START, STOP

Tensors = dict[str, Tensor]
NEVER = -1e4  # the score of a token that is in a table only to make it as long as another
SPECIAL = {"pad_token_id": PADDING, "bos_token_id": START, "eos_token_id": STOP, "tie_word_embeddings": False}
ACTIVATIONS = {"gelu": "gelu", "gelu-tanh": "gelu_new", "relu": "relu", "silu": "silu"}
ADDED = {"positions": ("none", "learned", "sinusoid"), "join": ("add", "concatenate")}  # a table, as it is added


class Written(NamedTuple):
    """What a class of theirs is made of."""

    settings: dict[str, Any]
    tensors: Tensors


class HomeOf(NamedTuple):
    """A class of theirs, what it holds, and how our model becomes it."""

    home: Home
    write: Callable[..., Written]


def neox(model: Decoder, shape: Transformer, context: int) -> Written:
    """Its matrix of queries, keys and values has the order of ours."""
    stack = plain(model)
    tensors = _embedded_and_answered(model, stack, "gpt_neox.embed_in", "gpt_neox.final_layer_norm", "embed_out")
    for number, block in enumerate(stack.blocks):
        by_head = [x.unflatten(0, (shape.heads, -1)) for x in _columns(block.own, "weight")]
        biases = [x.unflatten(0, (shape.heads, -1)) for x in _columns(block.own, "bias")]
        at = f"gpt_neox.layers.{number}"
        tensors |= _named(f"{at}.attention.query_key_value", _joined(by_head, biases))
        tensors |= _named(f"{at}.attention.dense", block.own.output)
        tensors |= _named(f"{at}.mlp.dense_h_to_4h", block.inner) | _named(f"{at}.mlp.dense_4h_to_h", block.outer)
        tensors |= _norms(at, ("input_layernorm", "post_attention_layernorm"), block.norms)
    turning = {"rope_theta": shape.rotary_base, "partial_rotary_factor": 1.0}
    return Written(
        {
            **_called("gpt_neox", "GPTNeoXForCausalLM", stack),
            "hidden_size": shape.width,
            "num_hidden_layers": shape.layers,
            "num_attention_heads": shape.heads,
            "intermediate_size": len(stack.blocks[0].inner.weight),
            "hidden_act": ACTIVATIONS[shape.activation],
            "layer_norm_eps": stack.epsilon,
            "use_parallel_residual": False,
            "attention_bias": True,
            "max_position_embeddings": context,
            "rope_parameters": {"rope_type": "default", **turning},
            "rotary_emb_base": 10000,
            "rotary_pct": 1.0,  # the same, to readers before version 5
        },
        tensors,
    )


def gpt2(model: Decoder, shape: Transformer, context: int) -> Written:
    return _gpt(
        model,
        shape,
        {"tokens": "wte", "positions": "wpe", "last": "transformer.ln_f"},
        {"activation_function": ACTIVATIONS[shape.activation], "n_inner": shape.inner or 4 * shape.width},
        ("gpt2", "GPT2LMHeadModel"),
    )


def first_gpt(model: Decoder, shape: Transformer, context: int) -> Written:
    """Norms come after, so the head reads the last block's."""
    last = f"transformer.h.{shape.layers - 1}.ln_2"
    names = {"tokens": "tokens_embed", "positions": "positions_embed", "last": last}
    return _gpt(model, shape, names, {"afn": shape.activation}, ("openai-gpt", "OpenAIGPTLMHeadModel"))


def _gpt(
    model: Decoder, shape: Transformer, names: dict[str, str], more: dict[str, Any], called: tuple[str, str]
) -> Written:
    """GPT and GPT-2 keep their matrices as (in, out)."""
    stack = plain(model)
    tensors: Tensors = {f"transformer.{names['positions']}.weight": stack.positions}
    for number, block in enumerate(stack.blocks):
        at = f"transformer.h.{number}"
        together = Affine(torch.cat(_columns(block.own, "weight")), torch.cat(_columns(block.own, "bias")))
        matrices = {"attn.c_attn": together, "attn.c_proj": block.own.output}
        matrices |= {"mlp.c_fc": block.inner, "mlp.c_proj": block.outer}
        for name, matrix in matrices.items():
            tensors |= _named(f"{at}.{name}", Affine(matrix.weight.T, matrix.bias))
        tensors |= _norms(at, ("ln_1", "ln_2"), block.norms)
    tensors |= _embedded_and_answered(model, stack, f"transformer.{names['tokens']}", names["last"], "lm_head")
    kind, architecture = called
    return Written(
        {
            **_called(kind, architecture, stack),
            "n_positions": len(stack.positions),
            "n_embd": shape.width,
            "n_layer": shape.layers,
            "n_head": shape.heads,
            "layer_norm_epsilon": stack.epsilon,
            **more,
        },
        tensors,
    )


def marian(model: EncoderDecoder, encoder: Transformer, decoder: Transformer, context: int) -> Written:
    """Its sinusoid is ours, and made there anew."""
    written = _of_two(model, encoder, decoder, ("marian", "MarianMTModel"))
    del written.tensors["model.shared.weight"]
    names = ["model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight"]
    rows = min(len(written.tensors.pop(name)) for name in names)
    more = {"max_position_embeddings": rows, "share_encoder_decoder_embeddings": False}
    sizes = {"vocab_size": _read(written), "decoder_vocab_size": len(written.tensors["lm_head.weight"])}
    return Written({**written.settings, **more, **sizes, "forced_eos_token_id": None}, written.tensors)


def blenderbot(model: EncoderDecoder, encoder: Transformer, decoder: Transformer, context: int) -> Written:
    """One size for both vocabularies, and for both tables of positions."""
    written = _of_two(model, encoder, decoder, ("blenderbot", "BlenderbotForConditionalGeneration"))
    tensors = written.tensors
    size = max(_read(written), len(tensors["lm_head.weight"]))
    for name in ("model.shared", "model.encoder.embed_tokens", "model.decoder.embed_tokens", "lm_head"):
        tensors[f"{name}.weight"] = _longer(tensors[f"{name}.weight"], size)
    bias = tensors["final_logits_bias"]
    tensors["final_logits_bias"] = F.pad(bias, (0, size - bias.shape[1]), value=NEVER)
    names = ["model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight"]
    rows = min(len(tensors[name]) for name in names)
    tensors |= {name: tensors[name][:rows] for name in names}
    for side, stack in (("encoder", model.encoder), ("decoder", model.decoder)):
        last = plain(stack).last
        assert last is not None
        tensors |= _named(f"model.{side}.layer_norm", last)
    more = {"vocab_size": size, "max_position_embeddings": rows, "forced_eos_token_id": None}
    return Written({**written.settings, **more}, tensors)


def _of_two(model: EncoderDecoder, encoder: Transformer, decoder: Transformer, called: tuple[str, str]) -> Written:
    """What the descendants of BART have in common."""
    tensors: Tensors = {}
    kind, architecture = called
    settings: dict[str, Any] = {
        "model_type": kind,
        "architectures": [architecture],
        "dtype": "float32",
        **SPECIAL,
        "is_encoder_decoder": True,
        "decoder_start_token_id": START,
        "d_model": encoder.width,
        "scale_embedding": False,
        "activation_function": ACTIVATIONS[encoder.activation],
    }
    for side, shape, half in (("encoder", encoder, model.encoder), ("decoder", decoder, model.decoder)):
        stack = plain(half)
        at = f"model.{side}"
        tensors |= {f"{at}.embed_tokens.weight": stack.tokens, f"{at}.embed_positions.weight": stack.positions}
        settings |= {f"{side}_layers": shape.layers, f"{side}_attention_heads": shape.heads}
        settings[f"{side}_ffn_dim"] = len(stack.blocks[0].inner.weight)
        for number, block in enumerate(stack.blocks):
            here = f"{at}.layers.{number}"
            tensors |= _asking(f"{here}.self_attn", block.own)
            norms = ["self_attn_layer_norm", "final_layer_norm"]
            if block.source is not None:
                tensors |= _asking(f"{here}.encoder_attn", block.source)
                norms.insert(1, "encoder_attn_layer_norm")
            tensors |= _named(f"{here}.fc1", block.inner) | _named(f"{here}.fc2", block.outer)
            tensors |= _norms(here, tuple(norms), block.norms)
    head = plain_head(model.decoder)
    assert head.bias is not None
    shared = tensors["model.decoder.embed_tokens.weight"]
    tensors |= {"lm_head.weight": head.weight, "final_logits_bias": head.bias[None], "model.shared.weight": shared}
    return Written(settings, tensors)


def _embedded_and_answered(model: Decoder, stack: PlainStack, tokens: str, last: str, answer: str) -> Tensors:
    """The table that is read, the last norm, and the head, whose bias the norm has taken in."""
    norm = stack.last or stack.blocks[-1].norms[-1]
    weight, norm = without_bias(plain_head(model), norm)
    return {f"{tokens}.weight": stack.tokens, f"{answer}.weight": weight, **_named(last, norm)}


def _called(kind: str, architecture: str, stack: PlainStack) -> dict[str, Any]:
    size = {"vocab_size": len(stack.tokens)}
    return {"model_type": kind, "architectures": [architecture], "dtype": "float32", **SPECIAL, **size}


def _read(written: Written) -> int:
    return len(written.tensors["model.encoder.embed_tokens.weight"])


def _columns(attending: Attending, what: str) -> list[Tensor]:
    return [getattr(matrix, what) for matrix in (attending.query, attending.key, attending.value)]


def _joined(weights: list[Tensor], biases: list[Tensor]) -> Affine:
    """What belongs to one head together again."""
    return Affine(torch.cat(weights, 1).flatten(0, 1), torch.cat(biases, 1).flatten())


def _asking(at: str, attending: Attending) -> Tensors:
    query, key, value = (_named(f"{at}.{name}_proj", matrix) for name, matrix in zip("qkv", attending[:3], strict=True))
    return {**query, **key, **value, **_named(f"{at}.out_proj", attending.output)}


def _norms(at: str, names: tuple[str, ...], norms: tuple[Affine, ...]) -> Tensors:
    found: Tensors = {}
    for name, norm in zip(names, norms, strict=True):
        found |= _named(f"{at}.{name}", norm)
    return found


def _named(name: str, affine: Affine) -> Tensors:
    assert affine.bias is not None
    return {f"{name}.weight": affine.weight, f"{name}.bias": affine.bias}


def _longer(table: Tensor, rows: int) -> Tensor:
    return F.pad(table, (0, 0, 0, rows - len(table)))


ANY_WAY = {"activation": tuple(ACTIVATIONS), "embedding": ("scaled", "plain")}
WRITING = (  # language models
    HomeOf(Home("GPT-NeoX", {"positions": ("rotary",), **ANY_WAY}, free=("rotary_base", "norm_epsilon")), neox),
    HomeOf(Home("GPT-2", {**ADDED, **ANY_WAY}, free=("norm_epsilon", "position_width")), gpt2),
    HomeOf(
        Home("the first GPT", {**ADDED, **ANY_WAY, "norm_place": ("after",), "activation": ("relu",), "inner": (0,)}),
        first_gpt,
    ),
)
TRANSLATING = (
    HomeOf(Home("Marian", {**ANY_WAY, "positions": ("sinusoid",), "norm_place": ("after",)}), marian),
    HomeOf(Home("Blenderbot", {**ADDED, **ANY_WAY}, free=("position_width",)), blenderbot),
)
