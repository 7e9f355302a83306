"""A regard model's weights in Hugging Face transformers and in CTranslate2, so that all of them compute the same."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from regard import config

START, STOP = 0, 1
"""The token that a target begins with, and the one that would end it."""


@torch.no_grad()
def qkv(attention: Any) -> list[nn.Linear]:
    """Queries', keys' and values' matrices, each by itself: the only place that knows how we keep them."""
    m, l = attention.key_width, attention.output.in_features // attention.heads
    if hasattr(attention, "query_key_value"):
        return split(attention.query_key_value, attention.heads, [m, m, l])
    return [attention.query, *split(attention.key_value, attention.heads, [m, l])]


def split(layer: nn.Linear, heads: int, widths: list[int]) -> list[nn.Linear]:
    """A matrix in which what belongs to one head stands together, as one matrix for each of the things it computes."""
    weights = layer.weight.unflatten(0, (heads, -1)).split(widths, 1)
    biases = layer.bias.unflatten(0, (heads, -1)).split(widths, 1)
    return [linear(weight.flatten(0, 1), bias.flatten()) for weight, bias in zip(weights, biases, strict=True)]


def joined(parts: list[nn.Linear]) -> nn.Linear:
    """One linear layer whose rows are those of all the parts."""
    return linear(torch.cat([part.weight for part in parts]), torch.cat([part.bias for part in parts]))


def linear(weight: Tensor, bias: Tensor) -> nn.Linear:
    layer = nn.Linear(weight.shape[1], weight.shape[0])
    layer.weight, layer.bias = nn.Parameter(weight), nn.Parameter(bias)
    return layer


@torch.no_grad()
def copy(ours: Iterable[Any], theirs: Iterable[Any]) -> None:
    """Weights and biases of linear layers and norms."""
    for mine, other in zip(ours, theirs, strict=True):
        other.weight.copy_(mine.weight)
        other.bias.copy_(mine.bias)


def norms(block: Any) -> list[nn.Module]:
    return [path.norm for path in block.residuals]


def marian(ours: Any, shape: config.Transformer, positions: int = 64) -> Any:
    """`MarianMTModel` with the weights of a post-norm encoder–decoder; its head, as ours, has a matrix of its own."""
    from transformers import MarianConfig, MarianMTModel

    settings = MarianConfig(
        vocab_size=len(ours.decoder.head.W.weight), d_model=shape.width, max_position_embeddings=positions,
        activation_function="relu", scale_embedding=True, share_encoder_decoder_embeddings=False,
        tie_word_embeddings=False, pad_token_id=START, decoder_start_token_id=START, eos_token_id=STOP,
        forced_eos_token_id=None, encoder_layers=shape.layers, decoder_layers=shape.layers,
        encoder_attention_heads=shape.heads, decoder_attention_heads=shape.heads,
        encoder_ffn_dim=shape.inner, decoder_ffn_dim=shape.inner,
    )  # fmt: skip
    theirs = MarianMTModel(settings).eval()
    for side, other in ((ours.encoder, theirs.model.encoder), (ours.decoder, theirs.model.decoder)):
        with torch.no_grad():
            other.embed_tokens.weight.copy_(side.embedding.lookup.weight)
            places = torch.arange(positions)[None]
            other.embed_positions.weight.copy_(side.layer.position.encoding(places, positions)[0])
        for block, layer in zip(side.layer.blocks, other.layers, strict=True):
            attentions = [(block.self_attention, layer.self_attn)]
            after = [layer.self_attn_layer_norm, layer.final_layer_norm]
            if hasattr(layer, "encoder_attn"):
                attentions.append((block.cross_attention, layer.encoder_attn))
                after.insert(1, layer.encoder_attn_layer_norm)
            for attention, their in attentions:
                copy([*qkv(attention), attention.output], [their.q_proj, their.k_proj, their.v_proj, their.out_proj])
            copy([block.feed_forward.W_1, block.feed_forward.W_2], [layer.fc1, layer.fc2])
            copy(norms(block), after)
    with torch.no_grad():
        theirs.lm_head.weight.copy_(ours.decoder.head.W.weight)
        theirs.final_logits_bias.copy_(ours.decoder.head.W.bias)
    return theirs


def gpt2(ours: Any, shape: config.Transformer) -> Any:
    """`GPT2LMHeadModel` with the weights of a pre-norm language model that learned its positions."""
    from transformers import GPT2Config, GPT2LMHeadModel

    settings = GPT2Config(
        vocab_size=len(ours.head.W.weight), n_positions=shape.longest, n_embd=shape.width, n_layer=shape.layers,
        n_head=shape.heads, n_inner=shape.inner, activation_function="gelu", tie_word_embeddings=False,
        bos_token_id=START, pad_token_id=START, eos_token_id=STOP,
    )  # fmt: skip
    theirs = GPT2LMHeadModel(settings).eval()
    theirs.lm_head = ours.head.W
    with torch.no_grad():
        theirs.transformer.wte.weight.copy_(ours.embedding.lookup.weight * shape.width**0.5)
        theirs.transformer.wpe.weight.copy_(ours.layer.position.encoding.table)
        for block, layer in zip(ours.layer.blocks, theirs.transformer.h, strict=True):
            weights = [joined(qkv(block.self_attention)), block.self_attention.output]
            weights += [block.feed_forward.W_1, block.feed_forward.W_2]
            for mine, other in zip(
                weights, (layer.attn.c_attn, layer.attn.c_proj, layer.mlp.c_fc, layer.mlp.c_proj), strict=True
            ):
                other.weight.copy_(mine.weight.T)  # GPT-2 keeps its matrices as [in, out]
                other.bias.copy_(mine.bias)
            copy(norms(block), [layer.ln_1, layer.ln_2])
    copy([ours.layer.last_norm], [theirs.transformer.ln_f])
    return theirs


def save_for_llama_cpp(ours: Any, settings: config.LanguageModel, file: Path) -> None:
    """A GPT-2 in llama.cpp's format, its matrices in blocks of 8 bits (Q8_0)."""
    import gguf

    shape = settings.layer
    assert isinstance(shape, config.Transformer)
    vocabulary = len(ours.head.W.weight)
    writer = gguf.GGUFWriter(file, "gpt2")
    writer.add_context_length(shape.longest)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.inner)
    writer.add_head_count(shape.heads)
    writer.add_layer_norm_eps(1e-5)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list([f"t{token}" for token in range(vocabulary)])
    writer.add_token_types([gguf.TokenType.NORMAL] * vocabulary)
    writer.add_token_merges(["t 0"])
    writer.add_bos_token_id(START)
    writer.add_eos_token_id(STOP)

    def add(name: str, tensor: Tensor) -> None:
        numbers = tensor.detach().float().contiguous().numpy()
        if tensor.dim() == 2 and name != "position_embd.weight":
            kind = gguf.GGMLQuantizationType.Q8_0
            writer.add_tensor(name, gguf.quants.quantize(numbers, kind), raw_dtype=kind)
        else:
            writer.add_tensor(name, numbers)

    def add_both(name: str, module: Any) -> None:
        add(f"{name}.weight", module.weight)
        add(f"{name}.bias", module.bias)

    add("token_embd.weight", ours.embedding.lookup.weight * ours.embedding.scale)
    add("position_embd.weight", ours.layer.position.encoding.table)
    add("output.weight", ours.head.W.weight)
    add_both("output_norm", ours.layer.last_norm)
    for number, block in enumerate(ours.layer.blocks):
        at = f"blk.{number}"
        add_both(f"{at}.attn_qkv", joined(qkv(block.self_attention)))
        add_both(f"{at}.attn_output", block.self_attention.output)
        add_both(f"{at}.ffn_up", block.feed_forward.W_1)
        add_both(f"{at}.ffn_down", block.feed_forward.W_2)
        for name, norm in zip(("attn_norm", "ffn_norm"), norms(block), strict=True):
            add_both(f"{at}.{name}", norm)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def bare_lstm(ours: Any) -> tuple[nn.Embedding, nn.LSTM, nn.Linear]:
    """torch's own modules with the weights of an LSTM language model."""
    stack, width = ours.layer.layers, ours.head.W.in_features
    embedding = nn.Embedding.from_pretrained(ours.embedding.lookup.weight.detach() * width**0.5)
    lstm = nn.LSTM(width, width, len(stack), batch_first=True).eval()
    with torch.no_grad():
        for depth, cell in enumerate(stack):
            for name, mine in (("ih", cell.W_hx), ("hh", cell.W_hh)):
                lstm.get_parameter(f"weight_{name}_l{depth}").copy_(mine.weight)
                lstm.get_parameter(f"bias_{name}_l{depth}").copy_(mine.bias)
    return embedding, lstm, ours.head.W


def save_for_ctranslate2(theirs: Any, folder: Path) -> None:
    """The transformers model in CTranslate2's format, by its own converter; its words are our numbers, as text."""
    from ctranslate2.converters import transformers as converters

    words = [str(token) for token in range(theirs.config.vocab_size)]
    if theirs.config.is_encoder_decoder:
        theirs.config.normalize_before = theirs.config.normalize_embedding = False
        spec = converters.BartLoader().get_model_spec(theirs)
        spec.register_source_vocabulary(words)
        spec.register_target_vocabulary(words)
        spec.config.decoder_start_token = str(START)
    else:
        spec = converters.GPT2Loader().get_model_spec(theirs)
        spec.register_vocabulary(words)
    spec.config.bos_token, spec.config.eos_token, spec.config.unk_token = str(START), str(STOP), str(START)
    spec.validate()
    spec.optimize()
    folder.mkdir(parents=True)
    spec.save(str(folder))


def as_words(tokens: Tensor) -> list[list[str]]:
    return [[str(token) for token in row] for row in tokens.tolist()]


def as_tokens(words: list[str]) -> list[int]:
    return [int(word) for word in words]
