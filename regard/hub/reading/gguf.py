"""GGUF, llama.cpp's format, in the words of Hugging Face's classes."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from regard.errors import UserError
from regard.hub.package import Facts, Package
from regard.hub.reading.gguf_file import MAGIC, GGUFFile
from regard.hub.reading.vocabularies import CUTS, byte_level_bpe, sentence_pieces
from regard.hub.translated import Translated
from regard.hub.ways import Halves, InThirds, Named, Turned, Way

FACTS = {
    "llama": {
        "embedding_length": "hidden_size",
        "block_count": "num_hidden_layers",
        "attention.head_count": "num_attention_heads",
        "attention.head_count_kv": "num_key_value_heads",
        "attention.layer_norm_rms_epsilon": "rms_norm_eps",
        "attention.key_length": "head_dim",
        "attention.value_length": "head_dim",
        "rope.dimension_count": "head_dim",
        "rope.freq_base": "rope_theta",
        "feed_forward_length": "intermediate_size",
        "context_length": "max_position_embeddings",
    },
    "gpt2": {
        "embedding_length": "n_embd",
        "block_count": "n_layer",
        "attention.head_count": "n_head",
        "attention.layer_norm_epsilon": "layer_norm_epsilon",
        "feed_forward_length": "n_inner",
        "context_length": "n_positions",
    },
}
FACTS["gptneox"] = {
    "embedding_length": "hidden_size",
    "block_count": "num_hidden_layers",
    "attention.head_count": "num_attention_heads",
    "attention.layer_norm_epsilon": "layer_norm_eps",
    "rope.dimension_count": "rotary_ndims",
    "rope.freq_base": "rotary_emb_base",
    "feed_forward_length": "intermediate_size",
    "context_length": "max_position_embeddings",
    "use_parallel_residual": "use_parallel_residual",
}
FACTS["qwen2"] = FACTS["llama"]
WITHOUT = ("expert_count", "expert_used_count", "rope.scaling.type", "attention.sliding_window")
"""Facts that change what is computed, and so must not be there."""
LLAMA = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
GPT2 = {
    "token_embd": "transformer.wte",
    "position_embd": "transformer.wpe",
    "output_norm": "transformer.ln_f",
    "output": "lm_head",
    "attn_norm": "ln_1",
    "attn_qkv": "attn.c_attn",
    "attn_output": "attn.c_proj",
    "ffn_norm": "ln_2",
    "ffn_up": "mlp.c_fc",
    "ffn_down": "mlp.c_proj",
}
NEOX = {
    "token_embd": "gpt_neox.embed_in",
    "output_norm": "gpt_neox.final_layer_norm",
    "output": "embed_out",
    "attn_norm": "input_layernorm",
    "attn_qkv": "attention.query_key_value",
    "attn_output": "attention.dense",
    "ffn_norm": "post_attention_layernorm",
    "ffn_up": "mlp.dense_h_to_4h",
    "ffn_down": "mlp.dense_4h_to_h",
}
NAMES = {
    "llama": (LLAMA, "model.layers"),
    "qwen2": (LLAMA, "model.layers"),
    "gpt2": (GPT2, "transformer.h"),
    "gptneox": (NEOX, "gpt_neox.layers"),
}
CALLED = {"gptneox": "gpt_neox"}  # where Hugging Face has another name for a family
SPECIAL = {"bos": "bos_token_id", "eos": "eos_token_id", "padding": "pad_token_id"}
WORDS = {"bos_token": "bos", "eos_token": "eos", "pad_token": "padding", "unk_token": "unknown"}
ADDED = (3, 4)  # kinds of tokens that a text spells as a whole: control, and named by whoever made the file


def can_read(path: Path) -> bool:
    path = _file(path)
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == MAGIC


def _file(path: Path) -> Path:
    """The file itself, or the only one of a folder."""
    found = [*path.glob("*.gguf")] if path.is_dir() else []
    return found[0] if len(found) == 1 else path


def read(path: Path) -> Package:
    """What the file holds."""
    path = _file(path)
    file = GGUFFile(path)
    family = str(file.facts.get("general.architecture", ""))
    if family not in FACTS:
        raise UserError(
            f"{path}: general.architecture is {family!r}, which does not open here; take a model of {', '.join(FACTS)}"
        )
    return Package(
        str(path),
        "gguf",
        CALLED.get(family, family),
        Facts(_facts(path, family, file.facts)),
        Translated(file, {_called(name, family): _way(name, family, file.facts) for name in file.names()}),
        (path,),
        _tokenizer(path, file.facts),
        _words(file.facts),
        str(file.facts.get("general.license", "")),
        str(file.facts.get("tokenizer.chat_template", "")),
    )


def _facts(path: Path, family: str, said: Mapping[str, Any]) -> dict[str, Any]:
    for name in WITHOUT:
        value = said.get(f"{family}.{name}")
        if value not in (None, 0, "none"):
            raise UserError(f"{path}: {family}.{name} is {value}, which cannot be had exactly; take a model without it")
    found: dict[str, Any] = {"vocab_size": len(_list(path, said, "tokenizer.ggml.tokens"))}
    for theirs, name in FACTS[family].items():
        value = said.get(f"{family}.{theirs}")
        if value is not None and found.setdefault(name, value) != value:
            raise UserError(f"{path}: {family}.{theirs} is {value}, which contradicts {name} {found[name]}")
    if "rotary_ndims" in found:  # which part of a head turns, as a share of it
        sizes = Facts(found)
        turning, heads = sizes.whole("rotary_ndims"), sizes.whole("num_attention_heads")
        found |= {"rotary_pct": turning * heads / sizes.whole("hidden_size"), "hidden_act": "gelu_new"}
    for role, name in SPECIAL.items():
        found[name] = said.get(f"tokenizer.ggml.{role}_token_id")
    return found


def _words(said: Mapping[str, Any]) -> dict[str, Any]:
    """Which tokens are special, and whether a text begins with one."""
    tokens = said.get("tokenizer.ggml.tokens")
    begins = bool(said.get("tokenizer.ggml.add_bos_token", said.get("tokenizer.ggml.model") == "llama"))
    words: dict[str, Any] = {"add_bos_token": begins}
    for role, name in WORDS.items():
        number = said.get(f"tokenizer.ggml.{name}_token_id")
        if isinstance(number, int) and isinstance(tokens, list) and 0 <= number < len(tokens):
            words[role] = tokens[number]
    return words


def _called(name: str, family: str) -> str:
    """What Hugging Face calls a tensor; one that is not known keeps its name."""
    names, blocks = NAMES[family]
    parts = name.split(".")
    where, core, end = ("", parts[0], parts[1:]) if parts[0] != "blk" else (f"{blocks}.{parts[1]}.", *_core(parts))
    return f"{where}{names[core]}.{'.'.join(end)}" if core in names else name


def _core(parts: list[str]) -> tuple[str, list[str]]:
    return (parts[2], parts[3:]) if len(parts) > 2 else ("", [])


def _way(name: str, family: str, said: Mapping[str, Any]) -> Way:
    """llama.cpp keeps rotary pairs of Llama side by side, and no matrix turned."""
    core = name.split(".")[2] if name.startswith("blk.") and name.count(".") > 2 else ""
    if family == "llama" and core in ("attn_q", "attn_k"):
        heads = said.get("llama.attention.head_count")
        number = heads if core == "attn_q" else said.get("llama.attention.head_count_kv", heads)
        return Halves(Named(name), number if isinstance(number, int) and number > 0 else 1)
    if family == "gptneox" and core == "attn_qkv":  # of all heads below each other
        number = said.get("gptneox.attention.head_count")
        return InThirds(Named(name), number if isinstance(number, int) and number > 0 else 1)
    turned = family == "gpt2" and name.endswith(".weight") and core in ("attn_qkv", "attn_output", "ffn_up", "ffn_down")
    return Turned(Named(name)) if turned else Named(name)


def _tokenizer(path: Path, said: Mapping[str, Any]) -> dict[str, Any]:
    kind = said.get("tokenizer.ggml.model")
    if kind not in TOKENIZERS:
        raise Facts(said, f"{path}: ").refused("tokenizer.ggml.model", f"with one of {', '.join(TOKENIZERS)}")
    tokens = _list(path, said, "tokenizer.ggml.tokens")
    kinds = said.get("tokenizer.ggml.token_type") or [1] * len(tokens)
    if not isinstance(kinds, list) or len(kinds) != len(tokens) or not all(isinstance(one, str) for one in tokens):
        raise UserError(f"{path} is damaged: its tokens and their kinds do not belong together; fetch it again")
    made = TOKENIZERS[kind](path, said, tokens)
    usual = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    added = [{"id": at, "content": tokens[at], **usual} for at, one in enumerate(kinds) if one in ADDED]
    return {**made, "added_tokens": added}


def _by_bytes(path: Path, said: Mapping[str, Any], tokens: list[str]) -> dict[str, Any]:
    vocab = {token: number for number, token in enumerate(tokens)}
    merges = _list(path, said, "tokenizer.ggml.merges")
    if not all(isinstance(merge, str) for merge in merges):
        raise UserError(f"{path} is damaged: a merge is no text; fetch it again")
    cut = said.get("tokenizer.ggml.pre")
    if cut not in CUTS:
        raise Facts(said, f"{path}: ").refused("tokenizer.ggml.pre", f"with one of {', '.join(CUTS)}")
    return byte_level_bpe(vocab, merges, cut)


def _by_scores(path: Path, said: Mapping[str, Any], tokens: list[str]) -> dict[str, Any]:
    scores = _list(path, said, "tokenizer.ggml.scores")
    if len(scores) != len(tokens) or not all(isinstance(score, float) for score in scores):
        raise UserError(f"{path} is damaged: its tokens and their scores do not belong together; fetch it again")
    unknown_token = said.get("tokenizer.ggml.unknown_token_id", 0)
    named = isinstance(unknown_token, int) and 0 <= unknown_token < len(tokens)
    begins = bool(said.get("tokenizer.ggml.add_space_prefix", True))
    return sentence_pieces(tokens, scores, tokens[unknown_token] if named else "", begins)


def _list(path: Path, said: Mapping[str, Any], name: str) -> list[Any]:
    value = said.get(name)
    if not isinstance(value, list):
        raise UserError(f"{path} wants a list {name}, found none; a file with its tokenizer is wanted")
    return value


TOKENIZERS: dict[Any, Callable[[Path, Mapping[str, Any], list[str]], dict[str, Any]]] = {
    "gpt2": _by_bytes,
    "llama": _by_scores,
}
