"""llama2.c's files, imported: the same scores as transformers gives with these weights."""

import struct
from pathlib import Path

import pytest
import torch
from published import published
from test_hub_families import SIZE, difference, disturbed
from test_hub_gguf import permuted, piece_tokens

from regard.config.decoding import Writing
from regard.errors import UserError
from regard.hub.importing import import_run
from regard.runs import load_run

transformers = pytest.importorskip("transformers", reason="transformers, our reference, is not installed")
SAID = "the tide comes in"


def write(folder: Path, tied: bool) -> torch.nn.Module:
    """A random Llama as llama2.c exports it."""
    config = transformers.LlamaConfig(
        vocab_size=SIZE, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=48, rms_norm_eps=1e-5, tie_word_embeddings=tied,
    )  # fmt: skip
    torch.manual_seed(4)
    model = disturbed(transformers.LlamaForCausalLM(config))
    layers = model.model.layers
    every = [
        [model.model.embed_tokens.weight],
        [layer.input_layernorm.weight for layer in layers],
        [torch.from_numpy(permuted(layer.self_attn.q_proj.weight.detach().numpy(), 4)) for layer in layers],
        [torch.from_numpy(permuted(layer.self_attn.k_proj.weight.detach().numpy(), 2)) for layer in layers],
        [layer.self_attn.v_proj.weight for layer in layers],
        [layer.self_attn.o_proj.weight for layer in layers],
        [layer.post_attention_layernorm.weight for layer in layers],
        [layer.mlp.gate_proj.weight for layer in layers],
        [layer.mlp.down_proj.weight for layer in layers],
        [layer.mlp.up_proj.weight for layer in layers],
        [model.model.norm.weight],
        [torch.zeros(2, 48, 4)],
        *([] if tied else [[model.lm_head.weight]]),
    ]
    header = struct.pack("<7i", 32, 64, 2, 4, 2, SIZE if tied else -SIZE, 48)
    numbers = torch.cat([tensor.detach().flatten() for group in every for tensor in group])
    (folder / "model.bin").write_bytes(header + numpy_bytes(numbers))
    tokens, scores = piece_tokens()
    texts = [token.replace("▁", " ").encode() for token in tokens]
    kept = [struct.pack("<fi", score, len(text)) + text for score, text in zip(scores, texts, strict=True)]
    (folder / "tokenizer.bin").write_bytes(struct.pack("<i", 10) + b"".join(kept))
    return model


def numpy_bytes(numbers: torch.Tensor) -> bytes:
    return numbers.numpy().astype("<f4").tobytes()


@pytest.mark.parametrize("tied", [True, False])
@torch.no_grad()
def test_a_file_gives_the_same_scores(tied, tmp_path):
    theirs = write(tmp_path, tied)
    import_run(tmp_path / "model.bin", tmp_path / "run")
    run = load_run(tmp_path / "run")
    order, tokens, model = run.tokenizer.order, [1, *run.tokenizer.encode(SAID)], run.trained_model()
    ours, _ = model(torch.tensor([tokens]), model.start())
    assert difference(ours, theirs(torch.tensor([[order[token] for token in tokens]])).logits, order) < 1e-5
    assert run.tokenizer.decode(tokens) == SAID


def test_bad_files_are_refused_in_one_line(tmp_path):
    write(tmp_path, True)
    path, tokens = tmp_path / "model.bin", tmp_path / "tokenizer.bin"
    whole, words = path.read_bytes(), tokens.read_bytes()
    for model, tokenizer, said in (
        (whole[:-4], words, f"{path} is in no format that is known here; docs/hub.md lists them"),
        (whole, words[:-1], f"{tokens} is damaged: token 269 has 3 bytes; fetch it again"),
        (whole, words[:40], f"{tokens} ends after 3 of 270 tokens; it is of another model, or damaged"),
        (whole, words + b"more", f"{tokens} has more than 270 tokens; it is of another model, or damaged"),
        (whole, words[:8] + b"\xff\xff\xff\x7f" + words[12:], f"{tokens} is damaged: token 0 has 2147483647 bytes; "
                                                              "fetch it again"),
    ):  # fmt: skip
        path.write_bytes(model)
        tokens.write_bytes(tokenizer)
        with pytest.raises(UserError) as error:
            import_run(path, tmp_path / "run")
        assert str(error.value) == said
    tokens.unlink()
    path.write_bytes(whole)
    with pytest.raises(UserError, match=r"a model of llama2\.c wants its tokenizer\.bin beside it$"):
        import_run(path, tmp_path / "run")


def test_stories15m_tells_of_lily(tmp_path):
    folder = published("stories")
    import_run(folder / "stories15M.bin", tmp_path / "run")
    told = "".join(load_run(tmp_path / "run").stream("", Writing(choose="argmax", length=22)))
    assert told.startswith("Once upon a time, there was a little girl named Lily.")
