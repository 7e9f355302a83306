"""CTranslate2: translators and language models of Transformer blocks, for its `Translator` and `Generator`.

Written by its own specifications, not by its converters, which know other programs' models.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from regard.config import Transformer
from regard.hub.out.home import Home, stacks_of
from regard.hub.out.plain import Affine, Attending, PlainStack, plain, plain_head
from regard.hub.out.target import ComparedRow, Target
from regard.hub.out.vocabulary import names, write_library
from regard.runs import Run
from regard.special import NAMES, START, STOP, UNKNOWN

ACTIVATIONS = {"gelu": "GELU", "gelu-tanh": "GELUTanh", "relu": "RELU", "silu": "SWISH"}
HOME = Home(
    "it",
    {
        "positions": ("none", "learned", "sinusoid", "rotary"),
        "join": ("add", "concatenate"),
        "embedding": ("scaled", "plain"),
        "similarity": ("scaled", "dot"),
        "norm": ("layer", "rms"),
        "norm_place": ("before", "after"),
        "activation": tuple(ACTIVATIONS),
    },
    free=("position_width", "key_width", "value_width", "rotary_base", "norm_epsilon"),
)


class CTranslate2(Target):
    """A folder for `ctranslate2.Translator` or `Generator`, which takes 8-bit weights at `compute_type="int8"`."""

    name, title, writers, engine = "ctranslate2", "CTranslate2", ("ctranslate2",), "ctranslate2"

    def refusal(self, run: Run) -> str:
        stacks = stacks_of(run.model_config)
        if not stacks:
            return "it holds translators and language models of Transformer blocks"
        if len({(stack.norm, stack.norm_epsilon) for stack in stacks}) > 1:
            return "it has one norm and norm_epsilon for encoder and decoder, found two"
        return HOME.refusal(*stacks)

    def write(self, run: Run, place: Path) -> None:
        from ctranslate2.specs import TransformerDecoderModelSpec, TransformerSpec

        model: Any = run.trained_model()
        stacks, tokens = stacks_of(run.model_config), names(run.tokenizer)
        if len(stacks) == 2:
            encoder, decoder = plain(model.encoder), plain(model.decoder)
            spec = TransformerSpec(
                _encoder(encoder, stacks[0]), _decoder(decoder, stacks[1], plain_head(model.decoder))
            )
            spec.register_source_vocabulary(names(run.source_tokenizer))
            spec.register_target_vocabulary(tokens)
            spec.config.decoder_start_token = NAMES[START]
            spec.config.add_source_eos = True
        else:
            decoder = plain(model)
            spec = TransformerDecoderModelSpec(_decoder(decoder, stacks[0], plain_head(model)))
            spec.register_vocabulary(tokens)
        spec.config.bos_token, spec.config.eos_token, spec.config.unk_token = NAMES[START], NAMES[STOP], NAMES[UNKNOWN]
        spec.config.layer_norm_epsilon = decoder.epsilon
        spec.validate()
        spec.optimize()
        spec.save(str(place))
        sides = {"tokenizer.json": run.tokenizer, "source-tokenizer.json": run.source_tokenizer}
        for name, tokenizer in list(sides.items())[: 1 if run.tokenizer is run.source_tokenizer else 2]:
            write_library(tokenizer, place / name, "$A" if run.task.has_source else f"{NAMES[START]} $A")

    def log_probabilities(self, run: Run, place: Path, rows: Sequence[ComparedRow]) -> Iterator[list[float]]:
        import ctranslate2

        tokens = names(run.tokenizer)
        engine: Any
        if run.task.has_source:
            engine = ctranslate2.Translator(str(place), intra_threads=torch.get_num_threads())
            read = names(run.source_tokenizer)
            for row in rows:
                assert row.source is not None
                source, said = (
                    _named(row.source[:-1], read),
                    _named(row.wanted[:-1], tokens),
                )  # it adds the stops itself
                yield engine.score_batch([source], [said])[0].log_probs
        else:
            engine = ctranslate2.Generator(str(place), intra_threads=torch.get_num_threads())
            for row in rows:
                yield engine.score_batch([_named([int(row.fed[0]), *row.wanted], tokens)])[0].log_probs

    def example(self, run: Run, place: str) -> str:
        if not run.task.has_source:
            return f"""\
import ctranslate2
from tokenizers import Tokenizer

tokenizer, engine = Tokenizer.from_file("{place}/tokenizer.json"), ctranslate2.Generator("{place}")
found = engine.generate_batch([tokenizer.encode("Once ").tokens], max_length=128)
print(tokenizer.decode(found[0].sequences_ids[0]))"""
        source = "tokenizer" if run.source_tokenizer is run.tokenizer else "source-tokenizer"
        return f"""\
import ctranslate2
from tokenizers import Tokenizer

reader, writer = (Tokenizer.from_file(f"{place}/{{name}}.json") for name in ("{source}", "tokenizer"))
engine = ctranslate2.Translator("{place}")  # compute_type="int8": weights in 8 bits
found = engine.translate_batch([reader.encode("A line.").tokens], beam_size=5)
print(writer.decode([writer.token_to_id(token) for token in found[0].hypotheses[0]]))"""


def _encoder(stack: PlainStack, shape: Transformer) -> Any:
    from ctranslate2.specs.transformer_spec import TransformerEncoderSpec

    spec = TransformerEncoderSpec(shape.layers, shape.heads, **_settings(stack, shape))
    _fill(spec, stack, shape)
    _read(spec.embeddings[0], spec, stack)
    return spec


def _decoder(stack: PlainStack, shape: Transformer, head: Affine) -> Any:
    from ctranslate2.specs.transformer_spec import TransformerDecoderSpec

    sees = stack.blocks[0].source is not None
    spec = TransformerDecoderSpec(shape.layers, shape.heads, with_encoder_attention=sees, **_settings(stack, shape))
    _fill(spec, stack, shape)
    _read(spec.embeddings, spec, stack)
    _linear(spec.projection, head)
    return spec


def _settings(stack: PlainStack, shape: Transformer) -> dict[str, Any]:
    from ctranslate2.specs import Activation

    keys, values = _widths(stack, shape)
    return {
        "pre_norm": shape.norm_place == "before",
        "activation": Activation[ACTIVATIONS[shape.activation]],
        "rms_norm": shape.norm == "rms",
        "head_dim": max(keys, values),
        "rotary_dim": keys if shape.positions == "rotary" else None,
        "rotary_interleave": False,
        "rotary_base": shape.rotary_base,
    }


def _widths(stack: PlainStack, shape: Transformer) -> tuple[int, int]:
    """Of a key and of a value in one head."""
    own = stack.blocks[0].own
    return len(own.key.weight) // shape.heads, len(own.value.weight) // shape.heads


def _read(embeddings: Any, spec: Any, stack: PlainStack) -> None:
    embeddings.weight = stack.tokens.numpy()
    spec.scale_embeddings = False
    if hasattr(spec, "position_encodings") and not hasattr(spec.layer[0].self_attention, "rotary_dim"):
        spec.position_encodings.encodings = stack.positions.numpy()


def _fill(spec: Any, stack: PlainStack, shape: Transformer) -> None:
    """Every block, and the norm behind them."""
    keys, values = _widths(stack, shape)
    scale = 1.0 if shape.similarity == "dot" else keys**-0.5
    for block, layer in zip(stack.blocks, spec.layer, strict=True):
        parts = [layer.self_attention, layer.ffn]
        own = _of_one_width(block.own, shape.heads, max(keys, values))
        layer.self_attention.queries_scale = np.float32(scale)
        _linear(layer.self_attention.linear[0], _joined(own[:3]))
        _linear(layer.self_attention.linear[1], own.output)
        if block.source is not None:
            across = _of_one_width(block.source, shape.heads, max(keys, values))
            layer.attention.queries_scale = np.float32(scale)
            _linear(layer.attention.linear[0], across.query)
            _linear(layer.attention.linear[1], _joined(across[1:3]))
            _linear(layer.attention.linear[2], across.output)
            parts.insert(1, layer.attention)
        _linear(layer.ffn.linear_0, block.inner)
        _linear(layer.ffn.linear_1, block.outer)
        for part, norm in zip(parts, block.norms, strict=True):
            _norm(part.layer_norm, norm)
    if stack.last is not None:
        _norm(spec.layer_norm, stack.last)


def _of_one_width(attending: Attending, heads: int, width: int) -> Attending:
    """Keys and values of one width: zeros change neither q·k nor what is added up."""
    query, key, value = (
        Affine(_wider(matrix.weight, heads, width), _wider(matrix.bias, heads, width)) for matrix in attending[:3]
    )
    output = attending.output
    return Attending(query, key, value, Affine(_wider(output.weight.T, heads, width).T, output.bias))


def _wider(rows: Tensor | None, heads: int, width: int) -> Tensor:
    """Zeros behind the rows of each head."""
    assert rows is not None
    by_head = rows.unflatten(0, (heads, -1))
    missing = width - by_head.shape[1]
    behind = (0, 0, 0, missing) if rows.dim() == 2 else (0, missing)
    return F.pad(by_head, behind).flatten(0, 1)


def _joined(matrices: Sequence[Affine]) -> Affine:
    biases = [one.bias for one in matrices if one.bias is not None]
    return Affine(torch.cat([one.weight for one in matrices]), torch.cat(biases))


def _linear(spec: Any, affine: Affine) -> None:
    assert affine.bias is not None
    spec.weight, spec.bias = affine.weight.contiguous().numpy(), affine.bias.contiguous().numpy()


def _norm(spec: Any, affine: Affine) -> None:
    spec.gamma = affine.weight.numpy()
    if affine.bias is not None:
        spec.beta = affine.bias.numpy()


def _named(tokens: Any, named: Sequence[str]) -> list[str]:
    return [named[int(token)] for token in tokens]
