"""What torch.save wrote, imported: nanoGPT, state dicts with torch's own recurrent layers, old .bin files."""

import pickle

import pytest
import torch
from published import published
from safetensors.torch import load_file
from test_hub_families import disturbed, save
from torch import nn

from regard import LanguageModel, Recurrent
from regard.errors import UserError
from regard.hub.importing import import_run
from regard.runs import load_run
from regard.special import NAMES, START, STOP

transformers = pytest.importorskip("transformers", reason="transformers, our reference, is not installed")
LETTERS = "\n !,abcdefghilmnorstuwy"
SAID = "the tide comes in,\nand out!"
MATRICES = ("attn.c_attn.weight", "attn.c_proj.weight", "mlp.c_fc.weight", "mlp.c_proj.weight")


def nanogpt(folder, biased: bool = True):
    """A GPT-2 as nanoGPT saves it, with its table of characters."""
    config = transformers.GPT2Config(
        vocab_size=len(LETTERS), n_positions=32, n_embd=24, n_layer=2, n_head=4, activation_function="gelu"
    )
    torch.manual_seed(1)
    model = disturbed(transformers.GPT2LMHeadModel(config))
    state = {}
    with torch.no_grad():
        for name, value in model.state_dict().items():
            if name.endswith(".bias") and not biased:
                value.zero_()
            elif not name.endswith(".attn.bias"):
                state[f"_orig_mod.{name}"] = (value.T if name.endswith(MATRICES) else value).contiguous()
    args = {"n_layer": 2, "n_head": 4, "n_embd": 24, "block_size": 32, "bias": biased, "vocab_size": len(LETTERS)}
    folder.mkdir()
    torch.save({"model": state, "model_args": args, "iter_num": 5, "config": {"dataset": "tides"}}, folder / "ckpt.pt")
    table = {
        "vocab_size": len(LETTERS),
        "itos": dict(enumerate(LETTERS)),
        "stoi": {c: n for n, c in enumerate(LETTERS)},
    }
    (folder / "meta.pkl").write_bytes(pickle.dumps(table))
    return model


@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("by_file", [True, False])
@torch.no_grad()
def test_nanogpt_gives_the_same_scores(biased, by_file, tmp_path):
    theirs = nanogpt(tmp_path / "out", biased)
    import_run(tmp_path / "out/ckpt.pt" if by_file else tmp_path / "out", tmp_path / "run")
    run = load_run(tmp_path / "run")
    tokens = [START, *run.tokenizer.encode(SAID)]
    assert run.tokenizer.decode(tokens) == SAID
    model = run.trained_model()
    ours, _ = model(torch.tensor([tokens]), model.start())
    wanted = theirs(torch.tensor([[LETTERS.index(character) for character in f"\n{SAID}"]])).logits
    letters = [run.tokenizer.encode(character)[0] for character in LETTERS]
    assert (ours[0, :, letters] - wanted[0]).abs().max() < 1e-5
    assert ours[0, :, : len(NAMES)].max() < -9000  # of which it has none


class Cells(nn.Module):
    """The usual language model of torch's own parts."""

    def __init__(self, kind: type[nn.RNNBase], embedded: int, layers: int, biased: bool = True) -> None:
        super().__init__()
        self.encoder = nn.Embedding(len(LETTERS), embedded)
        self.rnn = kind(embedded, 12, layers, batch_first=True, bias=biased)
        self.decoder = nn.Linear(12, len(LETTERS))

    def forward(self, tokens):
        return self.decoder(self.rnn(self.encoder(tokens))[0])


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize(("embedded", "layers", "biased"), [(12, 1, True), (12, 2, False), (5, 2, True)])
@torch.no_grad()
def test_torchs_own_cells_give_the_same_scores(kind, embedded, layers, biased, tmp_path):
    theirs = disturbed(Cells(kind, embedded, layers, biased))
    torch.save({"epoch": 3, "state_dict": theirs.state_dict()}, tmp_path / "model.pth")
    (tmp_path / "meta.pkl").write_bytes(pickle.dumps({"itos": dict(enumerate(LETTERS))}))
    import_run(tmp_path / "model.pth", tmp_path / "run")
    run = load_run(tmp_path / "run")
    assert run.model_config == LanguageModel(
        Recurrent(kind.__name__.lower(), width=12, layers=layers, embedding="plain", dropout=0.0)
    )
    model, tokens = run.trained_model(), [START, *run.tokenizer.encode(SAID)]
    ours, _ = model(torch.tensor([tokens]), model.start())
    wanted = theirs(torch.tensor([[LETTERS.index(character) for character in f"\n{SAID}"]]))
    letters = [run.tokenizer.encode(character)[0] for character in LETTERS]
    assert (ours[0, :, letters] - wanted[0]).abs().max() < 1e-5
    assert run.recipe.origin.changed[0] == "a text begins with the end of a line"


@torch.no_grad()
def test_words_of_a_list_begin_with_the_end_of_a_text(tmp_path):
    theirs = disturbed(Cells(nn.LSTM, 12, 1))
    words = ["<unk>", "<eos>", *(f"w{n}" for n in range(len(LETTERS) - 2))]
    torch.save(theirs.state_dict(), tmp_path / "model.pt")
    (tmp_path / "vocab.txt").write_text("\n".join(words) + "\n")
    import_run(tmp_path / "model.pt", tmp_path / "run")
    run = load_run(tmp_path / "run")
    tokens = [START, *run.tokenizer.encode("w3 w0 never w5")]
    assert run.tokenizer.decode(tokens) == "w3 w0 <unknown> w5".replace("<unknown>", run.tokenizer.decode([3]).strip())
    model = run.trained_model()
    ours, _ = model(torch.tensor([tokens]), model.start())
    wanted = theirs(torch.tensor([[words.index(word) for word in ["<eos>", "w3", "w0", "<unk>", "w5"]]]))
    assert (ours[0, :, STOP] - wanted[0, :, 1]).abs().max() < 1e-5
    assert (ours[0, :, len(NAMES) :] - wanted[0, :, 2:]).abs().max() < 1e-5


def test_an_old_folder_of_hugging_face_is_read_by_tensors_alone(tmp_path):
    save("llama", tmp_path / "hf")
    import_run(tmp_path / "hf", tmp_path / "run")
    tensors = load_file(tmp_path / "hf/model.safetensors")
    (tmp_path / "hf/model.safetensors").unlink()
    torch.save(tensors, tmp_path / "hf/pytorch_model.bin")
    import_run(tmp_path / "hf", tmp_path / "again")
    first, again = (load_file(tmp_path / name / "model.safetensors") for name in ("run", "again"))
    assert first.keys() == again.keys()
    assert all(torch.equal(first[name], again[name]) for name in first)


def test_what_cannot_be_had_is_said(tmp_path):
    def refusal(content: object, *beside: str) -> str:
        torch.save(content, tmp_path / "model.pt")
        for name in beside:
            (tmp_path / name).write_bytes(pickle.dumps({"itos": dict(enumerate(LETTERS))}))
        with pytest.raises(UserError) as error:
            import_run(tmp_path / "model.pt", tmp_path / "run")
        assert "\n" not in str(error.value)
        assert not (tmp_path / "run").exists()
        return str(error.value)

    both = nn.LSTM(12, 12, bidirectional=True).state_dict()
    whole = Cells(nn.LSTM, 12, 1).state_dict()
    assert "holds tensors of no model that is known here" in refusal({"a": torch.zeros(3)})
    assert "holds no state dict" in refusal([1, 2])
    assert "no tokenizer beside it" in refusal(whole)
    assert "one nn.Embedding and one nn.Linear" in refusal(nn.GRU(4, 4).state_dict(), "meta.pkl")
    assert "both directions" in refusal({**whole, **{f"rnn.{name}": value for name, value in both.items()}})
    assert "is 20 wide and its cells are 12" in refusal(Cells(nn.LSTM, 20, 1).state_dict())
    narrow = Cells(nn.LSTM, 5, 1).state_dict()
    misspelt = {name.replace("decoder.weight", "decoder.w}ight"): value for name, value in narrow.items()}
    assert "one nn.Embedding and one nn.Linear" in refusal(misspelt)
    spread = torch.zeros(1).expand(1000, 1000)
    assert "is no plain array" in refusal({**whole, "more": spread})
    (tmp_path / "meta.pkl").write_bytes(pickle.dumps({"itos": transformers.GPT2Config}))
    assert "it names transformers" in refusal(whole)


def test_a_published_pickle_of_objects_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"is a pickle with more than tensors in it \(argparse.Namespace\)"):
        import_run(published("fairseq") / "checkpoint_best.pt", tmp_path / "run")
