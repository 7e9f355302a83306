"""GGUF files written by llama.cpp's own package, imported: the same numbers, the same tokens, the same scores."""

from pathlib import Path

import numpy as np
import pytest
import torch
from published import published
from test_hub_families import SIZE, difference, disturbed
from tokenizers import Tokenizer, decoders, models, normalizers

from regard.errors import UserError
from regard.hub.importing import import_run
from regard.hub.reading.gguf_file import GGUFFile
from regard.hub.reading.quantised import KINDS
from regard.runs import load_run
from regard.text.bpe import ALPHABET

gguf = pytest.importorskip("gguf", reason="gguf, our reference, is not installed")
transformers = pytest.importorskip("transformers", reason="transformers, our reference, is not installed")
SMALL = {
    "vocab_size": SIZE, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 48, "rms_norm_eps": 1e-5, "rope_theta": 700.0,
}  # fmt: skip
SAID = "the tide comes in, and “goes” out 12 times"


def byte_tokens() -> tuple[list[str], list[str]]:
    """Tokens and merges of a byte-level tokenizer, with special tokens behind them."""
    tokens = [*ALPHABET.values(), "th", "the", "in", "<|endoftext|>", "<|im_start|>"]
    return tokens + [f"<unused {n}>" for n in range(SIZE - len(tokens))], ["t h", "th e", "i n"]


def piece_tokens() -> tuple[list[str], list[float]]:
    """Tokens and scores of a tokenizer of sentence pieces."""
    learnt = ["▁", *"abcdefghiknmostu,", "th", "▁th", "▁the", "in", "▁in"]
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    tokens = [*tokens[: SIZE - len(learnt)], *learnt]
    return tokens, [0.0 if number < SIZE - len(learnt) + 18 else -1.0 * number for number in range(SIZE)]


def permuted(weight: np.ndarray, heads: int) -> np.ndarray:
    """Rotary pairs side by side, as llama.cpp's converter puts them."""
    return weight.reshape(heads, 2, weight.shape[0] // heads // 2, -1).swapaxes(1, 2).reshape(weight.shape)


def write_llama(path: Path, architecture: str, pieces: bool = False, kind: str = "F32") -> torch.nn.Module:
    """A random Llama, or Qwen2, as a GGUF file."""
    named = {"llama": ("Llama", {}), "qwen2": ("Qwen2", {"tie_word_embeddings": True})}[architecture]
    config = getattr(transformers, f"{named[0]}Config")(**SMALL, **named[1])
    torch.manual_seed(3)
    model = disturbed(getattr(transformers, f"{named[0]}ForCausalLM")(config))
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_context_length(48), writer.add_embedding_length(32), writer.add_block_count(2)
    writer.add_feed_forward_length(64), writer.add_head_count(4), writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5), writer.add_rope_freq_base(700.0), writer.add_rope_dimension_count(8)
    writer.add_string("general.license", "mit")
    if pieces:
        tokens, scores = piece_tokens()
        writer.add_tokenizer_model("llama"), writer.add_token_list(tokens), writer.add_token_scores(scores)
        writer.add_token_types([2, 3, 3, *(6 if token.startswith("<0x") else 1 for token in tokens[3:])])
        writer.add_bos_token_id(1), writer.add_eos_token_id(2), writer.add_unk_token_id(0)
    else:
        tokens, merges = byte_tokens()
        writer.add_tokenizer_model("gpt2"), writer.add_tokenizer_pre("smollm" if architecture == "llama" else "qwen2")
        writer.add_token_list(tokens), writer.add_token_merges(merges)
        writer.add_token_types([3 if token.startswith("<|") else 1 for token in tokens])
        writer.add_eos_token_id(tokens.index("<|im_start|>"))
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, 2)
    for name, tensor in model.state_dict().items():
        if name == "lm_head.weight" and architecture == "qwen2":
            continue
        array = tensor.numpy()
        if architecture == "llama" and ("q_proj" in name or "k_proj" in name):
            array = permuted(array, 4 if "q_proj" in name else 2)
        said = gguf.GGMLQuantizationType[kind if array.ndim == 2 else "F32"]
        writer.add_tensor(names.get_name(name, (".weight", ".bias")),
                          gguf.quants.quantize(array, said), raw_dtype=said)  # fmt: skip
    writer.write_header_to_file(), writer.write_kv_data_to_file(), writer.write_tensors_to_file(), writer.close()
    return model


@pytest.mark.parametrize(("architecture", "pieces"), [("llama", False), ("llama", True), ("qwen2", False)])
@torch.no_grad()
def test_a_file_gives_the_same_scores(architecture, pieces, tmp_path):
    theirs = write_llama(tmp_path / "model.gguf", architecture, pieces)
    import_run(tmp_path / "model.gguf", tmp_path / "run")
    run = load_run(tmp_path / "run")
    order, tokens = run.tokenizer.order, [1, *run.tokenizer.encode(SAID)]
    model = run.trained_model()
    ours, _ = model(torch.tensor([tokens]), model.start())
    read = torch.tensor([[order[token] for token in tokens]])
    assert difference(ours, theirs(read).logits, order) < 1e-5
    assert run.tokenizer.decode(tokens) == SAID
    assert (run.recipe.origin.licence, run.recipe.train.length) == ("mit", 48)


def write_gpt2(path: Path) -> torch.nn.Module:
    """A random GPT-2 as a GGUF file."""
    config = transformers.GPT2Config(vocab_size=SIZE, n_positions=48, n_embd=32, n_layer=2, n_head=4)
    model = disturbed(transformers.GPT2LMHeadModel(config))
    writer = gguf.GGUFWriter(path, "gpt2")
    writer.add_context_length(48), writer.add_embedding_length(32), writer.add_block_count(2)
    writer.add_feed_forward_length(128), writer.add_head_count(4), writer.add_layer_norm_eps(1e-5)
    tokens, merges = byte_tokens()
    writer.add_tokenizer_model("gpt2"), writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens), writer.add_token_merges(merges), writer.add_eos_token_id(SIZE - 1)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.GPT2, 2)
    for name, tensor in model.state_dict().items():
        if name != "lm_head.weight":
            turned = name.endswith(("attn.weight", "proj.weight", "fc.weight"))
            called = names.get_name(name, (".weight", ".bias"))
            writer.add_tensor(called, np.ascontiguousarray(tensor.numpy().T if turned else tensor.numpy()))
    writer.write_header_to_file(), writer.write_kv_data_to_file(), writer.write_tensors_to_file(), writer.close()
    return model


def test_gpt2_in_a_file_gives_the_same_scores(tmp_path):
    model = write_gpt2(tmp_path / "model.gguf")
    import_run(tmp_path / "model.gguf", tmp_path / "run")
    run = load_run(tmp_path / "run")
    order, fed = run.tokenizer.order, [1, *run.tokenizer.encode(SAID)]
    with torch.no_grad():
        ours, _ = run.trained_model()(torch.tensor([fed]), run.trained_model().start())
        assert difference(ours, model(torch.tensor([[order[token] for token in fed]])).logits, order) < 1e-5


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_blocks_stand_for_the_numbers_that_llama_cpp_says(kind):
    raw = np.random.default_rng(0).integers(0, 256, (50, kind.size), np.uint8)
    if kind.numbers == 1:
        raw = raw & 0x3F  # no infinities
    for at in {"Q4_0": [0], "Q8_0": [0], "Q4_1": [0, 2], "Q4_K": [0, 2], "Q6_K": [208]}.get(kind.name, []):
        raw[:, at + 1] &= 0x3F  # scales of 16 bits that are numbers
    wanted = gguf.quants.dequantize(raw, gguf.GGMLQuantizationType[kind.name])
    assert np.array_equal(kind.plain(raw).float().reshape(50, -1).numpy(), wanted.reshape(50, -1))


def test_sentence_pieces_are_cut_as_the_library_cuts_them(tmp_path):
    """Against a tokenizer put together from transformers' merges."""
    from transformers.convert_slow_tokenizer import generate_merges

    write_llama(tmp_path / "model.gguf", "llama", pieces=True)
    import_run(tmp_path / "model.gguf", tmp_path / "run")
    ours = load_run(tmp_path / "run").tokenizer
    tokens, scores = piece_tokens()
    vocab = {token: number for number, token in enumerate(tokens)}
    merges = generate_merges(vocab, dict(zip(tokens, scores, strict=True)))
    theirs = Tokenizer(models.BPE(vocab, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    theirs.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    theirs.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                        decoders.Strip(" ", 1, 0)])  # fmt: skip
    for text in (SAID, "the thin inn", "  two blanks", "ä", ""):
        ids = ours.encode(text)
        assert [ours.order[token] for token in ids] == theirs.encode(text).ids
        assert ours.decode(ids) == theirs.decode(theirs.encode(text).ids)


@pytest.mark.parametrize("kind", ["Q8_0", "Q4_0", "Q4_1", "F16", "BF16"])
def test_what_is_quantised_is_read_as_llama_cpp_reads_it(kind, tmp_path):
    write_llama(tmp_path / "model.gguf", "llama", kind=kind)
    file = GGUFFile(tmp_path / "model.gguf")
    for tensor in gguf.GGUFReader(tmp_path / "model.gguf").tensors:
        wanted = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        assert np.array_equal(file.read(tensor.name).float().numpy(), wanted)


def changed(path: Path, old: bytes, new: bytes) -> None:
    data = path.read_bytes()
    assert data.count(old) == 1
    path.write_bytes(data.replace(old, new))


def test_what_cannot_be_had_is_refused_by_name(tmp_path):
    path = tmp_path / "model.gguf"
    write_llama(path, "llama")
    whole = path.read_bytes()
    for old, new, said in (
        (b"smollm", b"falcon", f"{path}: tokenizer.ggml.pre is 'falcon', which cannot be had exactly; take a model "
                               "with one of gpt-2, smollm, llama-bpe, qwen2"),
        (b"GGUF\x03", b"GGUF\x09", f"{path} is of GGUF version 9; take one of 2 or 3"),
        (b"token_embd.weight", b"token_embd.WEIGHT", f"{path} wants tensor model.embed_tokens.weight, which the "
                                                     "weights do not have; config and weights are of different "
                                                     "models: fetch both again"),
    ):  # fmt: skip
        path.write_bytes(whole)
        changed(path, old, new)
        with pytest.raises(UserError) as error:
            import_run(path, tmp_path / "run")
        assert str(error.value) == said
    assert not (tmp_path / "run").exists()


@torch.no_grad()
def test_smollm2_says_paris(tmp_path):
    import_run(published("smollm2") / "SmolLM2-135M-Instruct.Q4_1.gguf", tmp_path / "run")
    run = load_run(tmp_path / "run")
    from regard.config.decoding import Writing

    said = "".join(run.stream("The capital of France is", Writing(choose="argmax", length=2)))
    assert said == " Paris."
