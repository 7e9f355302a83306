"""Random models saved by transformers, imported: the same scores as transformers gives."""

import json
from functools import partial
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from torch import Tensor, nn

from regard import Source
from regard.cli import main
from regard.errors import UserError
from regard.hub.importing import import_run
from regard.runs import load_run
from regard.special import START
from regard.text.bpe import ALPHABET

transformers = pytest.importorskip("transformers", reason="transformers, our reference, is not installed")
SAID = "the tide comes in, and “goes” out"
MERGES = [("t", "h"), ("th", "e"), ("i", "n")]
SIZE = 270  # tokens, of which the tokenizer knows a few less


def write_tokenizer(folder: Path, *special: str) -> dict[str, int]:
    """A byte-level tokenizer with these special tokens behind the others."""
    names = [*ALPHABET.values(), *(a + b for a, b in MERGES)]
    library = Tokenizer(models.BPE({name: number for number, name in enumerate(names)}, MERGES))
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    library.add_special_tokens(list(special))
    folder.mkdir(exist_ok=True)
    library.save(str(folder / "tokenizer.json"))
    return {name: library.token_to_id(name) for name in special}


def disturbed(model: nn.Module) -> nn.Module:
    """Every weight moved, so that no bias is zero and no norm is one; sinusoids stay what they are."""
    torch.manual_seed(2)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embed_positions" in name:
                continue
            parameter.add_(torch.randn_like(parameter) * 0.1)
    return model.eval()


def difference(ours: Tensor, theirs: Tensor, order: list[int | None]) -> float:
    """The largest between scores of the same tokens."""
    both = [(mine, other) for mine, other in enumerate(order) if other is not None]
    mine, other = (torch.tensor(each) for each in zip(*both, strict=True))
    return (ours[..., mine] - theirs[..., other]).abs().max().item()


SMALL = {
    "vocab_size": SIZE, "hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 2, "num_attention_heads": 4,
    "max_position_embeddings": 64,
}  # fmt: skip
LANGUAGE_MODELS = {
    "gpt2": lambda: transformers.GPT2LMHeadModel(
        transformers.GPT2Config(vocab_size=SIZE, n_positions=64, n_embd=24, n_layer=2, n_head=4)
    ),
    "gpt2-untied": lambda: transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=SIZE, n_positions=64, n_embd=24, n_layer=2, n_head=4, tie_word_embeddings=False,
            activation_function="relu", n_inner=20,
        )
    ),
    "llama": lambda: transformers.LlamaForCausalLM(
        transformers.LlamaConfig(**SMALL, num_key_value_heads=2, rms_norm_eps=1e-5, rope_theta=500.0)
    ),
    "llama-tied": lambda: transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMALL, tie_word_embeddings=True)),
    "mistral": lambda: transformers.MistralForCausalLM(
        transformers.MistralConfig(**SMALL, num_key_value_heads=1, sliding_window=48, head_dim=6)
    ),
    "qwen2": lambda: transformers.Qwen2ForCausalLM(
        transformers.Qwen2Config(**SMALL, num_key_value_heads=2, tie_word_embeddings=True)
    ),
    "gpt-neox": lambda: transformers.GPTNeoXForCausalLM(transformers.GPTNeoXConfig(**SMALL, rotary_pct=0.34)),
    "gpt-neox-serial": lambda: transformers.GPTNeoXForCausalLM(
        transformers.GPTNeoXConfig(**SMALL, use_parallel_residual=False, rotary_pct=1.0)
    ),
    "openai-gpt": lambda: transformers.OpenAIGPTLMHeadModel(
        transformers.OpenAIGPTConfig(
            vocab_size=SIZE, n_positions=64, n_embd=24, n_layer=2, n_head=4, tie_word_embeddings=False
        )
    ),
}  # fmt: skip


def save(name: str, folder: Path) -> nn.Module:
    """The model of that name and its tokenizer in a folder, as transformers saves it."""
    ids = write_tokenizer(folder, "<s>", "</s>", "<unk>", "<|chat|>")
    torch.manual_seed(1)
    model = disturbed(LANGUAGE_MODELS[name]())
    model.config.bos_token_id, model.config.eos_token_id, model.config.pad_token_id = ids["<s>"], ids["</s>"], None
    model.save_pretrained(folder)
    return model


@pytest.mark.parametrize("name", LANGUAGE_MODELS)
@torch.no_grad()
def test_a_language_model_gives_the_same_scores(name, tmp_path):
    theirs = save(name, tmp_path / "hf")
    import_run(tmp_path / "hf", tmp_path / "run")
    run = load_run(tmp_path / "run")
    order = run.tokenizer.order
    tokens = [1, *run.tokenizer.encode(SAID)]
    library = Tokenizer.from_file(str(tmp_path / "hf/tokenizer.json"))
    assert [order[token] for token in tokens[1:]] == library.encode(SAID).ids
    assert run.tokenizer.decode(tokens) == SAID
    theirs_read = torch.tensor([[order[token] for token in tokens]])
    model = run.trained_model()
    ours, _ = model(torch.tensor([tokens]), model.start())
    found = difference(ours, theirs(theirs_read).logits, order)
    assert found < 1e-5
    assert run.recipe.train.length == (48 if name == "mistral" else 64)
    assert run.model_config.layer.dropout == 0  # ours would stand where theirs has none, and ruin what it learnt


def test_the_two_files_of_an_older_folder_are_the_same_tokenizer(tmp_path):
    save("gpt2", tmp_path / "hf")
    library = json.loads((tmp_path / "hf/tokenizer.json").read_text())
    vocab = library["model"]["vocab"] | {token["content"]: token["id"] for token in library["added_tokens"]}
    (tmp_path / "hf/tokenizer.json").unlink()
    (tmp_path / "hf/vocab.json").write_text(json.dumps(vocab))
    (tmp_path / "hf/merges.txt").write_text("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in MERGES))
    for number, blank in enumerate((False, True)):  # Blenderbot's words all begin with a blank
        settings = {"add_prefix_space": blank}
        (tmp_path / "hf/tokenizer_config.json").write_text(json.dumps(settings))
        import_run(tmp_path / "hf", tmp_path / f"run{number}")
        ours = load_run(tmp_path / f"run{number}").tokenizer
        theirs = transformers.GPT2Tokenizer.from_pretrained(tmp_path / "hf", **settings)
        assert [ours.order[token] for token in ours.encode(SAID)] == theirs(SAID).input_ids
    (tmp_path / "hf/vocab.json").write_text(json.dumps({**vocab, "in</w>": 269}))
    with pytest.raises(UserError, match=r"vocab.json marks where words end \(</w>\), which cannot be had exactly"):
        import_run(tmp_path / "hf", tmp_path / "more")


BERT = {**SMALL, "num_labels": 3, "id2label": {0: "good", 1: "bad", 2: "neither"}}
CLASSIFIERS = {
    "bert": lambda: transformers.BertForSequenceClassification(transformers.BertConfig(**BERT)),
    "roberta": lambda: transformers.RobertaForSequenceClassification(
        transformers.RobertaConfig(**BERT, layer_norm_eps=1e-5)
    ),
    "distilbert": lambda: transformers.DistilBertForSequenceClassification(
        transformers.DistilBertConfig(
            vocab_size=SIZE, dim=24, hidden_dim=40, n_layers=2, n_heads=4, max_position_embeddings=64,
            num_labels=3, id2label=BERT["id2label"],
        )
    ),
}  # fmt: skip
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "tide", "come", "##s", "in", ",", "and", "out"]


def save_classifier(name: str, folder: Path) -> nn.Module:
    """The classifier of that name in a folder, with an old vocab.txt, or a tokenizer.json as RoBERTa has it."""
    torch.manual_seed(1)
    model = disturbed(CLASSIFIERS[name]())
    model.save_pretrained(folder)
    names = {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]"}
    if name == "roberta":
        write_tokenizer(folder, "<s>", "</s>")
        names = {"cls_token": {"content": "<s>"}, "sep_token": {"content": "</s>"}}
    else:
        (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(names))
    return model


@pytest.mark.parametrize("name", CLASSIFIERS)
@torch.no_grad()
def test_a_classifier_gives_the_same_probabilities(name, tmp_path):
    theirs = save_classifier(name, tmp_path / "hf")
    import_run(tmp_path / "hf", tmp_path / "run")
    run = load_run(tmp_path / "run")
    texts = ["The tide comes in, and out", "tide in"]
    for text, likely in zip(texts, run.classify(texts), strict=True):
        tokens = [*run.source_tokenizer.encode(text), 2]
        read = torch.tensor([[run.source_tokenizer.order[token] for token in tokens]])
        wanted = theirs(read).logits.softmax(-1)[0]
        for number, label in BERT["id2label"].items():
            assert likely[label] == pytest.approx(wanted[number].item(), abs=1e-5)
    assert [run.source_tokenizer.label(token) for token in tokens][:1] == ["<start>"]
    if name != "roberta":
        assert run.source_tokenizer.decode(run.source_tokenizer.encode(texts[0])) == "the tide comes in , and out"
        assert not run.source_tokenizer.cased


def test_an_imported_run_behaves_as_any_other(tmp_path, capsys):
    save("llama", tmp_path / "hf")
    run, text = tmp_path / "run", tmp_path / "tides.txt"
    text.write_text("the tide comes in, and the tide goes out.\n" * 60)

    def typed(*words: object) -> str:
        assert main([str(word) for word in words]) == 0
        return capsys.readouterr().out

    said = typed("import", tmp_path / "hf", "--run", run)
    assert said.startswith(f"{run} is a language model now (llama, hugging face)")
    assert typed("write", run, "--prompt", "the tide", "--length", 4, "--choose", "argmax").startswith("the tide")
    assert typed("write", run, "--prompt", "the tide", "--length", 4, "--precision", "int8").startswith("the tide")
    assert typed("score", run, text).count("the tide comes in") == 60
    assert "bits_per_byte" in typed("evaluate", run, "--data", text)
    typed("look", run, "the tide", "--save", tmp_path / "look.png")
    typed("heads", run, "--data", text, "--save", tmp_path / "heads.json")
    settings = ("--train.steps", 2, "--train.batch", 64, "--train.length", 16)
    before = load_run(run).trained_model().state_dict()
    table, first, last = (
        "embedding.lookup.weight",
        "layer.blocks.0.feed_forward.W_1.weight",
        "layer.blocks.1.feed_forward.W_1.weight",
    )
    for part, learnt in (
        ((), {table, first, last}),
        (("--train.last", 1), {last}),
        (("--train.lora", 2), {first, last}),
    ):
        tuned = tmp_path / f"tuned{len(learnt)}"
        typed("train", "--model.start_from", run, "--data.train", text, "--run", tuned, *settings, *part)
        assert load_run(tuned).tokenizer.to_json() == load_run(run).tokenizer.to_json()
        after = load_run(tuned).trained_model().state_dict()
        assert {name for name in (table, first, last) if not torch.equal(before[name], after[name])} == learnt
    for command in ("train", "evaluate", "heads"):
        assert main([command, str(run)]) == 1
        assert capsys.readouterr().err.splitlines()[-1] == (
            f"regard: {run} was imported and has no data of its own; name some, or begin a run with it: "
            f"regard train --model.start_from {run} --data.train FILE"
        )


def _marian(ids: dict[str, int], **facts: object) -> nn.Module:
    config = transformers.MarianConfig(
        vocab_size=SIZE, d_model=24, encoder_layers=2, decoder_layers=1, encoder_attention_heads=4,
        decoder_attention_heads=2, encoder_ffn_dim=40, decoder_ffn_dim=32, max_position_embeddings=192,
        activation_function="swish", pad_token_id=ids["<pad>"], decoder_start_token_id=ids["<pad>"],
        eos_token_id=ids["</s>"], forced_eos_token_id=None, **facts,
    )  # fmt: skip
    return transformers.MarianMTModel(config)


def _blenderbot(ids: dict[str, int], **facts: object) -> nn.Module:
    config = transformers.BlenderbotConfig(
        vocab_size=SIZE, d_model=24, encoder_layers=1, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=2, encoder_ffn_dim=40, decoder_ffn_dim=32, max_position_embeddings=192,
        pad_token_id=ids["<pad>"], bos_token_id=ids["<unk>"], decoder_start_token_id=ids["<pad>"],
        eos_token_id=ids["</s>"], forced_eos_token_id=None, **facts,
    )  # fmt: skip
    return transformers.BlenderbotForConditionalGeneration(config)


def _t5(ids: dict[str, int], **facts: object) -> nn.Module:
    config = transformers.T5Config(
        vocab_size=SIZE, d_model=24, d_kv=5, d_ff=40, num_layers=2, num_heads=4, pad_token_id=ids["<pad>"],
        decoder_start_token_id=ids["<pad>"], eos_token_id=ids["</s>"], **facts,
    )  # fmt: skip
    return transformers.T5ForConditionalGeneration(config)


APART = {"scale_embedding": False, "share_encoder_decoder_embeddings": False, "tie_word_embeddings": False}
TRANSLATORS = {
    "marian": partial(_marian, scale_embedding=True),
    "marian-untied": partial(_marian, **APART),
    "blenderbot": partial(_blenderbot, scale_embedding=True),
    "blenderbot-untied": partial(_blenderbot, tie_word_embeddings=False, activation_function="relu"),
    "t5": _t5,
    "t5-v1.1": partial(_t5, feed_forward_proj="gated-gelu", tie_word_embeddings=False, num_decoder_layers=1),
    "t5-few-buckets": partial(_t5, relative_attention_num_buckets=8, relative_attention_max_distance=12),
}


def save_translator(name: str, folder: Path) -> nn.Module:
    """The translator of that name and its tokenizer in a folder, as transformers saves it."""
    ids = write_tokenizer(folder, "</s>", "<pad>", "<unk>")
    torch.manual_seed(1)
    model = disturbed(TRANSLATORS[name](ids))
    if hasattr(model, "final_logits_bias"):
        model.final_logits_bias.normal_()
    model.save_pretrained(folder)
    return model


@pytest.mark.parametrize("name", TRANSLATORS)
@torch.no_grad()
def test_a_translator_gives_the_same_scores(name, tmp_path):
    theirs = save_translator(name, tmp_path / "hf")
    import_run(tmp_path / "hf", tmp_path / "run")
    run = load_run(tmp_path / "run")
    order, model = run.tokenizer.order, run.trained_model()
    read, said = [*run.tokenizer.encode(SAID * 5), 2], [1, *run.tokenizer.encode(SAID)]
    assert len(read) > 128  # beyond the farthest distance that T5 knows apart
    ours, _ = model(torch.tensor([said]), model.start(Source(torch.tensor([read]))))
    their_read, their_said = (torch.tensor([[order[token] for token in tokens]]) for tokens in (read, said))
    scores = theirs(input_ids=their_read, decoder_input_ids=their_said).logits
    never = hasattr(theirs, "final_logits_bias")  # there, what starts an answer is never said here
    spoken = [None if never and place == START else number for place, number in enumerate(order)]
    assert difference(ours, scores, spoken) < 1e-5
    assert run.translate([SAID], beam=2)
