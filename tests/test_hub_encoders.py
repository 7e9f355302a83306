"""Encoders on their own and taggers saved by transformers, imported: the same vectors and tags; chat templates."""

import json

import numpy as np
import pytest
import torch
from published import published
from test_hub_families import BERT, SIZE, WORDS, disturbed, save, write_tokenizer

from regard import Reader
from regard.cli import main
from regard.errors import UserError
from regard.hub.importing import import_run
from regard.runs import load_run
from regard.special import START, STOP

transformers = pytest.importorskip("transformers", reason="transformers, our reference, is not installed")
TEXTS = ["The tide comes in, and out", "tide in", "the the"]
SHAPES = {
    "bert": lambda: transformers.BertConfig(**BERT),
    "roberta": lambda: transformers.RobertaConfig(**BERT, layer_norm_eps=1e-5),
    "distilbert": lambda: transformers.DistilBertConfig(
        vocab_size=SIZE, dim=24, hidden_dim=40, n_layers=2, n_heads=4, max_position_embeddings=64,
        id2label=BERT["id2label"],
    ),
}  # fmt: skip
READERS = {
    "bert": ("BertModel", "BertForMaskedLM", "BertForPreTraining"),
    "roberta": ("RobertaModel", "RobertaForMaskedLM"),
    "distilbert": ("DistilBertModel", "DistilBertForMaskedLM"),
}
TAGGERS = {
    "bert": "BertForTokenClassification",
    "roberta": "RobertaForTokenClassification",
    "distilbert": "DistilBertForTokenClassification",
}


def saved(name, kind, folder):
    torch.manual_seed(1)
    model = disturbed(getattr(transformers, kind)(SHAPES[name]()))
    model.save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    names = {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]"}
    if name == "roberta":
        (folder / "vocab.txt").unlink()
        write_tokenizer(folder, "<s>", "</s>")
        names = {"cls_token": {"content": "<s>"}, "sep_token": {"content": "</s>"}}
    (folder / "tokenizer_config.json").write_text(json.dumps(names))
    return model


def theirs_of(run, tokens):
    return torch.tensor([[run.source_tokenizer.order[token] for token in tokens]])


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name, kinds in READERS.items() for kind in kinds])
@torch.no_grad()
def test_an_encoder_gives_the_same_vectors(name, kind, tmp_path):
    model = saved(name, kind, tmp_path / "hf")
    import_run(tmp_path / "hf", tmp_path / "run")
    run = load_run(tmp_path / "run")
    encoder = model if kind.endswith("Model") else model.base_model
    assert run.model_config == Reader(run.model_config.encoder, pooling="mean")
    for text, vector in zip(TEXTS, run.embed(TEXTS), strict=True):
        tokens = [*run.tokenizer.encode(text), STOP]
        assert tokens[0] == START
        wanted = encoder(theirs_of(run, tokens)).last_hidden_state[0].mean(0)
        assert (vector - wanted).abs().max() < 1e-5
    assert ([*run.recipe.origin.changed][-1:] == ["the head that guesses hidden words is left out"]) == (
        not kind.endswith("Model")
    )


@pytest.mark.parametrize("name", TAGGERS)
@torch.no_grad()
def test_a_tagger_says_what_theirs_says_at_the_first_piece_of_each_word(name, tmp_path):
    model = saved(name, TAGGERS[name], tmp_path / "hf")
    import_run(tmp_path / "hf", tmp_path / "run")
    run = load_run(tmp_path / "run")
    words = ["the", "comes", "tide", "comes"]
    (said,) = run.tag([words])
    pieces = [run.source_tokenizer.encode(f" {word}" if place else word)[1:] for place, word in enumerate(words)]
    if name != "roberta":
        assert [len(word) for word in pieces] == [1, 2, 1, 2]
    read = theirs_of(run, [START, *(token for word in pieces for token in word), STOP])
    firsts = np.cumsum([1, *map(len, pieces[:-1])])
    scores = model(read).logits[0]
    assert said == [BERT["id2label"][int(scores[at].argmax())] for at in firsts]


def sentence_transformer(folder, pooling, *more):
    kinds = ["Transformer", "Pooling", *more]
    steps = [{"type": f"sentence_transformers.models.{kind}", "path": f"{at}_{kind}" if at else ""}
             for at, kind in enumerate(kinds)]  # fmt: skip
    (folder / "modules.json").write_text(json.dumps(steps))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling/config.json").write_text(json.dumps(pooling))


@torch.no_grad()
def test_pooling_is_as_sentence_transformers_says(tmp_path):
    model = saved("bert", "BertModel", tmp_path / "hf")
    sentence_transformer(
        tmp_path / "hf", {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "Normalize"
    )
    import_run(tmp_path / "hf", tmp_path / "run")
    run = load_run(tmp_path / "run")
    first = model(theirs_of(run, [*run.tokenizer.encode(TEXTS[0]), STOP])).last_hidden_state[0, 0]
    assert (run.embed(TEXTS[:1])[0] - first / first.norm()).abs().max() < 1e-5


@pytest.mark.parametrize(
    ("pooling", "more", "said"),
    [
        ({"pooling_mode_max_tokens": True}, (), "1_Pooling: pooling_mode_max_tokens is True"),
        ({"pooling_mode": "lasttoken"}, (), "1_Pooling: pooling_mode is 'lasttoken'"),
        ({"pooling_mode_mean_tokens": True}, ("Dense",), "modules.json: Dense"),
    ],
)
def test_another_pooling_is_refused_by_name(pooling, more, said, tmp_path):
    saved("bert", "BertModel", tmp_path / "hf")
    sentence_transformer(tmp_path / "hf", pooling, *more)
    with pytest.raises(UserError, match=said):
        import_run(tmp_path / "hf", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_an_encoder_behaves_as_other_runs(tmp_path, capsys):
    saved("bert", "BertModel", tmp_path / "hf")
    run, lines = tmp_path / "run", tmp_path / "lines.txt"
    lines.write_text("\n".join(TEXTS) + "\n")

    def typed(*words: object) -> str:
        assert main([str(word) for word in words]) == 0
        return capsys.readouterr().out

    assert typed("import", tmp_path / "hf", "--run", run).endswith(f"try: regard embed {run}\n")
    rows = typed("embed", run, lines).splitlines()
    assert [len(row.split("\t")) for row in rows] == [24] * 3
    assert json.loads(typed("embed", run, lines, "--json").splitlines()[1])["text"] == "tide in"
    near = typed("embed", run, lines, "--similar", 2, "--save", tmp_path / "v.npy").splitlines()
    vectors = np.load(tmp_path / "v.npy")
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    first, second = np.argsort(-(unit @ unit[0]))[1:]
    assert [part.split(" ", 1)[1] for part in near[0].split("\t")[1:]] == [TEXTS[first], TEXTS[second]]
    typed("look", run, TEXTS[0], "--save", tmp_path / "look.png")
    typed("heads", run, "--data", lines)
    table = tmp_path / "films.tsv"
    table.write_text("".join(f"good\tthe tide {n}\nbad\tout and out {n}\n" for n in range(40)))
    settings = ("--train.steps", 2, "--train.batch", 64)
    typed("train", "--model.kind", "classifier", "--model.start_from", run, "--data.train", table,
          "--run", tmp_path / "tuned", *settings)  # fmt: skip
    assert {*next(load_run(tmp_path / "tuned").classify(["the tide"]))} == {"good", "bad"}
    assert load_run(tmp_path / "tuned").embed(["the tide"]).shape == (1, 24)
    for command in (("write", run, "--prompt", "a"), ("translate", run, lines)):
        assert main([*map(str, command)]) == 1
        assert "is a text encoder" in capsys.readouterr().err


def test_a_chat_template_is_kept_as_text_and_read_with_its_tokens(tmp_path):
    save("llama", tmp_path / "hf")
    template = "{{ bos_token }}{% for m in messages %}<|chat|>{{ m.content }}{{ eos_token }}{% endfor %}"
    said = {"chat_template": template, "bos_token": "<s>", "eos_token": {"content": "</s>"}}
    (tmp_path / "hf/tokenizer_config.json").write_text(json.dumps(said))
    import_run(tmp_path / "hf", tmp_path / "run")
    run = load_run(tmp_path / "run")
    assert run.chat_template == {"template": template, "bos_token": "<s>", "eos_token": "</s>"}
    word, chat = run.tokenizer.encode("the"), run.tokenizer.encode("<|chat|>")
    assert len(chat) == 1
    assert run.tokenizer.encode_marked("<s><|chat|>the</s><|chat|>") == [START, *chat, *word, STOP, *chat]
    assert STOP not in run.tokenizer.encode("<s><|chat|>the</s>")
    save("llama", tmp_path / "plain")
    import_run(tmp_path / "plain", tmp_path / "without")
    assert load_run(tmp_path / "without").chat_template is None


@torch.no_grad()
def test_minilm_embeds_as_it_does_in_transformers(tmp_path):
    folder = published("minilm") / "all-MiniLM-L6-v2"
    import_run(folder, tmp_path / "run")
    run = load_run(tmp_path / "run")
    library, model = (getattr(transformers, name).from_pretrained(folder) for name in ("AutoTokenizer", "AutoModel"))
    texts = [
        "A man is eating food.",
        "a man eats pasta",
        "Café Zürich, 3 × 4 = 12!",
        "the girl is carrying a baby " * 8,
    ]
    for text, vector in zip(texts, run.embed(texts), strict=True):
        wanted = model(**library(text, return_tensors="pt")).last_hidden_state[0].mean(0)
        assert (vector - wanted / wanted.norm()).abs().max() < 1e-5
