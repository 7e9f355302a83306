"""GGUF: one file with weights, settings and tokenizer, which llama.cpp and all that is built on it reads."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from regard.config import Transformer
from regard.hub.out.gguf_tokens import Tokens, refused, tokens_of
from regard.hub.out.hf_classes import ADDED
from regard.hub.out.home import Home, nearest, stacks_of
from regard.hub.out.plain import Affine, Attending, PlainStack, plain, plain_head, without_bias
from regard.hub.out.target import ComparedRow, Target
from regard.models.decoder import Decoder
from regard.runs import Run

FILE = "model.gguf"
Tensors = dict[str, Tensor]


class Contents(NamedTuple):
    """What an architecture of theirs is made of."""

    architecture: str
    settings: dict[str, Any]
    tensors: Tensors


class GGUF(Target):
    """Weights in 32 bits by llama.cpp's names."""

    name, title, writers, engine = "gguf", "GGUF", ("gguf",), "xllamacpp"
    compared_on = 4  # every token there is a request of its own

    def refusal(self, run: Run) -> str:
        stacks = stacks_of(run.model_config)
        if len(stacks) != 1:
            return "llama.cpp holds language models of Transformer blocks"
        home = nearest([home for home, _ in HOMES], *stacks)
        return home.refusal(*stacks) or refused(run.tokenizer)

    def write(self, run: Run, place: Path) -> None:
        import gguf

        (shape,) = stacks_of(run.model_config)
        tokens, model = tokens_of(run.tokenizer), run.trained_model()
        home = nearest([home for home, _ in HOMES], shape)
        write = next(made for one, made in HOMES if one is home)
        assert isinstance(model, Decoder)
        stack, head = plain(model), plain_head(model)
        rows = torch.tensor(tokens.rows)
        bias = None if head.bias is None else head.bias[rows]
        written = write(stack._replace(tokens=stack.tokens[rows]), Affine(head.weight[rows], bias), shape)
        file = gguf.GGUFWriter(place / FILE, written.architecture)
        file.add_name(run.folder.path.resolve().name)
        file.add_file_type(gguf.LlamaFileType.ALL_F32)
        file.add_context_length(run.recipe.train.length)
        file.add_embedding_length(shape.width)
        file.add_block_count(shape.layers)
        file.add_head_count(shape.heads)
        file.add_vocab_size(len(tokens.names))
        for name, value in written.settings.items():
            add = file.add_float32 if isinstance(value, float) else file.add_bool if value is False else file.add_uint32
            add(f"{written.architecture}.{name}", value)
        tokens.write(file)
        if run.chat_template is not None:
            file.add_chat_template(run.chat_template["template"])
        for name, tensor in written.tensors.items():
            file.add_tensor(name, np.ascontiguousarray(tensor.detach().float().numpy()))
        file.write_header_to_file()
        file.write_kv_data_to_file()
        file.write_tensors_to_file()
        file.close()

    def log_probabilities(self, run: Run, place: Path, rows: Sequence[ComparedRow]) -> Iterator[list[float]]:
        tokens = tokens_of(run.tokenizer)
        server = _server(place / FILE, max(len(row.fed) for row in rows))
        for row in rows:
            fed, wanted = ([tokens.theirs[token] for token in side.tolist()] for side in (row.fed, row.wanted))
            yield [_log_probability(server, fed[: at + 1], one, tokens) for at, one in enumerate(wanted)]

    def example(self, run: Run, place: str) -> str:
        return f"""\
import xllamacpp  # or: llama-cli -m {place}/{FILE} -p "Once "

settings = xllamacpp.CommonParams()
settings.model.path = "{place}/{FILE}"
asked = {{"prompt": "Once ", "max_tokens": 20, "temperature": 0}}
print(xllamacpp.Server(settings).handle_completions(asked)["choices"][0]["text"])"""


def _server(path: Path, longest: int) -> Any:
    """llama.cpp with this model, that rounds no key and no value."""
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path, settings.n_ctx, settings.n_parallel = str(path), max(2 * longest, 64), 1
    settings.cache_type_k = settings.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
    settings.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    settings.warmup, settings.verbosity, settings.offline = False, -1, True
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = torch.get_num_threads()
    return xllamacpp.Server(settings)


def _log_probability(server: Any, fed: list[int], wanted: int, tokens: Tokens) -> float:
    """log p of one token behind others: it lists those of all tokens, and has no shorter way to say it.

    It says nothing of half a character or of a stop, so it is made to go on with a letter; what it lists is as before.
    """
    letter = next(at for at, name in enumerate(tokens.names) if name.isascii() and name.isalpha())
    asked = {"prompt": fed, "max_tokens": 1, "temperature": 0, "logprobs": len(tokens.names)}
    found = server.handle_completions({**asked, "logit_bias": [[letter, 1e4]]})
    (said,) = found["choices"][0]["logprobs"]["content"]
    return next(float(one["logprob"]) for one in said["top_logprobs"] if one["id"] == wanted)


def llama(stack: PlainStack, head: Affine, shape: Transformer) -> Contents:
    """Llama, or where something has a bias, Qwen2, which adds one to queries, keys, values and scores."""
    biased = shape.biases != "none" or (head.bias is not None and bool(head.bias.any()))
    assert stack.last is not None
    memories = shape.key_value_heads or shape.heads
    tensors: Tensors = {"token_embd.weight": stack.tokens, "output_norm.weight": stack.last.weight}
    if biased or not torch.equal(head.weight, stack.tokens):
        tensors["output.weight"] = head.weight
    if biased and head.bias is not None:
        tensors["output.bias"] = head.bias
    for number, block in enumerate(stack.blocks):
        at = f"blk.{number}"
        own = block.own if biased else _neighbours(block.own, shape.heads, memories)
        for name, matrix in (("q", own.query), ("k", own.key), ("v", own.value)):
            tensors[f"{at}.attn_{name}.weight"] = matrix.weight
            if biased:
                tensors[f"{at}.attn_{name}.bias"] = _bias(matrix)
        tensors[f"{at}.attn_output.weight"] = own.output.weight
        gate, value = block.inner.weight.chunk(2)
        tensors |= {f"{at}.ffn_gate.weight": gate, f"{at}.ffn_up.weight": value}
        tensors[f"{at}.ffn_down.weight"] = block.outer.weight
        tensors |= {f"{at}.attn_norm.weight": block.norms[0].weight, f"{at}.ffn_norm.weight": block.norms[1].weight}
    settings = {
        "feed_forward_length": len(stack.blocks[0].inner.weight) // 2,
        "attention.head_count_kv": memories,
        "attention.layer_norm_rms_epsilon": stack.epsilon,
        "rope.freq_base": shape.rotary_base,
        "rope.dimension_count": shape.width // shape.heads,
    }
    return Contents("qwen2" if biased else "llama", settings, tensors)


def gpt2(stack: PlainStack, head: Affine, shape: Transformer) -> Contents:
    """GPT-2. A head's bias goes into the last norm."""
    written = _of_layer_norms("gpt2", stack, head)
    for number, block in enumerate(stack.blocks):
        three = [block.own.query, block.own.key, block.own.value]
        both = Affine(torch.cat([one.weight for one in three]), torch.cat([_bias(one) for one in three]))
        written.tensors.update(_named(f"blk.{number}.attn_qkv", both))
    written.tensors["position_embd.weight"] = stack.positions
    return written._replace(settings={**written.settings, "context_length": len(stack.positions)})


def neox(stack: PlainStack, head: Affine, shape: Transformer) -> Contents:
    """GPT-NeoX without its parallel residual: our default language model."""
    written = _of_layer_norms("gptneox", stack, head)
    for number, block in enumerate(stack.blocks):
        three = [block.own.query, block.own.key, block.own.value]
        both = Affine(torch.cat([one.weight for one in three]), torch.cat([_bias(one) for one in three]))
        written.tensors.update(_named(f"blk.{number}.attn_qkv", both))
    turning = {"rope.dimension_count": shape.width // shape.heads, "rope.freq_base": shape.rotary_base}
    return written._replace(settings={**written.settings, **turning, "use_parallel_residual": False})


def _of_layer_norms(architecture: str, stack: PlainStack, head: Affine) -> Contents:
    """What GPT-2 and GPT-NeoX have in common there."""
    assert stack.last is not None
    weight, last = without_bias(head, stack.last)
    tensors: Tensors = {"token_embd.weight": stack.tokens, "output.weight": weight, **_named("output_norm", last)}
    for number, block in enumerate(stack.blocks):
        at = f"blk.{number}"
        tensors |= _named(f"{at}.attn_norm", block.norms[0]) | _named(f"{at}.ffn_norm", block.norms[1])
        tensors |= _named(f"{at}.attn_output", block.own.output)
        tensors |= _named(f"{at}.ffn_up", block.inner) | _named(f"{at}.ffn_down", block.outer)
    inner = len(stack.blocks[0].inner.weight)
    return Contents(
        architecture, {"feed_forward_length": inner, "attention.layer_norm_epsilon": stack.epsilon}, tensors
    )


def _named(name: str, affine: Affine) -> Tensors:
    return {f"{name}.weight": affine.weight, f"{name}.bias": _bias(affine)}


def _bias(affine: Affine) -> Tensor:
    return torch.zeros(len(affine.weight)) if affine.bias is None else affine.bias


def _neighbours(own: Attending, heads: int, memories: int) -> Attending:
    """Rotary pairs side by side, as llama.cpp keeps those of Llama; ours stand half a head apart."""

    def moved(matrix: Affine, number: int) -> Affine:
        return Affine(matrix.weight.unflatten(0, (number, 2, -1)).transpose(1, 2).flatten(0, 2), None)

    return own._replace(query=moved(own.query, heads), key=moved(own.key, memories))


GELU = {"activation": ("gelu", "gelu-tanh"), "embedding": ("scaled", "plain")}
HOMES: tuple[tuple[Home, Callable[[PlainStack, Affine, Transformer], Contents]], ...] = (
    (
        Home(
            "llama.cpp's Llama",
            {
                "positions": ("rotary",),
                "norm": ("rms",),
                "feed_forward": ("gated",),
                "activation": ("silu",),
                "biases": ("none", "query-key-value"),
                "embedding": ("scaled", "plain"),
            },
            free=("rotary_base", "norm_epsilon", "key_value_heads"),
        ),
        llama,
    ),
    (Home("llama.cpp's GPT-NeoX", {"positions": ("rotary",), **GELU}, free=("rotary_base", "norm_epsilon")), neox),
    (Home("llama.cpp's GPT-2", {**ADDED, **GELU}, free=("norm_epsilon", "position_width")), gpt2),
)
