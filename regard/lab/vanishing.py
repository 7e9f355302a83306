"""Gradients vanish in a vanilla RNN and less so in an LSTM: how far back a loss reaches, and what is remembered."""

from collections.abc import Sequence
from random import Random
from typing import Any

import torch
from torch import Tensor

from regard.config import Cell, Classifier
from regard.lab.claim import Claim, Mark, Numbers
from regard.lab.common import cells, classified, draw_lines, letters, recipe
from regard.lab.room import Room
from regard.look.patch import patch
from regard.look.pictures.style import GREY
from regard.models.model import Model, Source
from regard.runs import Run
from regard.special import START, STOP

GAPS = (2, 6, 10, 14, 18, 22)
BACK = 20
KINDS: dict[str, Cell] = {"vanilla RNN": "rnn", "LSTM": "lstm"}


def measure(room: Room) -> Numbers:
    random = Random(room.seed)
    file = room.file("first.tsv", ("\t".join(example(random, random.randint(1, 24))) for _ in range(6000)))
    width, steps = room.by_effort((32, 300), (128, 2000))
    numbers: Numbers = {"back": list(range(BACK + 1)), "gaps": list(GAPS), "gradient": {}, "recall": {}}
    asked = [example(random, 24) for _ in range(50)]
    for name, kind in KINDS.items():
        run = room.train(kind, recipe(file, Classifier(cells(kind, width), "stop"), steps, batch=2500))
        recall = [classified(run, [example(random, gap) for _ in range(100)]) for gap in GAPS]
        numbers["recall"][name] = recall
        numbers[f"recall over 22, {name}"] = recall[-1]
        for state, model in (("new", run.new_model()), ("trained", run.model)):
            numbers["gradient"][f"{name}, {state}"] = found = gradients(run, model, asked)
            numbers[f"gradient left after {BACK} steps, {name}, {state}"] = found[BACK] / found[0]
    for state in ("new", "trained"):
        lstm, rnn = (numbers[f"gradient left after {BACK} steps, {name}, {state}"] for name in ("LSTM", "vanilla RNN"))
        numbers[f"ratio of gradients left, LSTM to vanilla RNN, {state}"] = lstm / max(rnn, 1e-30)
    numbers["difference in recall over 22, LSTM − vanilla RNN"] = (
        numbers["recall over 22, LSTM"] - numbers["recall over 22, vanilla RNN"]
    )
    return numbers


def example(random: Random, gap: int) -> tuple[str, str]:
    """The first letter, and the text that begins with it; so many others follow."""
    (first,) = letters(random, 1, "abcdefgh")
    return first, " ".join([first, *letters(random, gap, "nopqrstu")])


def gradients(run: Run, model: Model, examples: Sequence[tuple[str, str]]) -> list[float]:
    """‖∂loss / ∂h_{T−k}‖ for k = 0, 1, …: zeros are added to every state, and the loss is asked for their gradient."""
    tokens = torch.tensor([[*run.source_tokenizer.encode(text), STOP] for _, text in examples])
    wanted = torch.tensor([run.tokenizer.encode(label)[0] for label, _ in examples])
    added: list[Tensor] = []

    def add(state: Tensor) -> Tensor:
        added.append(torch.zeros_like(state, requires_grad=True))
        return state + added[-1]

    with patch(model, {"hidden": add}):
        scores, _ = model(torch.full((len(tokens), 1), START), model.start(Source(tokens)))
    loss = torch.nn.functional.cross_entropy(scores[:, 0], wanted, reduction="sum")
    norms = [one[:, 0].norm(dim=-1).mean() for one in torch.autograd.grad(loss, added)]
    return [float(norm) for norm in norms[::-1][: BACK + 1]]


def draw(figure: Any, seeds: Sequence[Numbers]) -> None:
    gradient, recall = figure.subplots(1, 2)
    draw_lines(gradient, seeds, "gradient", "back")
    gradient.set(yscale="log", xlabel="steps back k", ylabel="‖∂loss/∂h at k steps back‖")
    draw_lines(recall, seeds, "recall", "gaps")
    recall.axhline(1 / 8, color=GREY, linewidth=0.8, linestyle=":")
    recall.set(xlabel="letters since the one asked for", ylabel="share recalled", ylim=(0, 1.03))


CLAIM = Claim(
    name="vanishing",
    says="Gradients vanish in a vanilla RNN and less so in an LSTM, which remembers over longer gaps",
    equation="∂h_t/∂h_{t−1} = diag(1 − h_t²) W_hh, k times;  ∂c_t/∂c_{t−1} ≈ f_t",
    paper="Bengio et al. 1994; Hochreiter and Schmidhuber 1997; Pascanu et al. 2013",
    setup="A vanilla RNN and an LSTM name the first of up to 25 letters (8 kinds; others follow) from their last "
    "state. The gradient is that of the loss for each state, at 24 letters behind. New, the two are close: W_hh "
    "starts orthogonal and forget gates start open, so that about three quarters pass each step in both; what is "
    "asked of new weights is only that the LSTM keeps more. Quick: width 32, 300 updates; full: 128, 2000. Chance: "
    "1/8.",
    marks=(
        Mark("ratio of gradients left, LSTM to vanilla RNN, new", above=1),
        Mark("ratio of gradients left, LSTM to vanilla RNN, trained", above=10),
        Mark(f"gradient left after {BACK} steps, vanilla RNN, trained", below=1e-3),
        Mark("difference in recall over 22, LSTM − vanilla RNN", above=0.2),
    ),
    measure=measure,
    draw=draw,
    next="Start the LSTM with forget gates near ½ instead of open, and W_hh with small numbers. Try a GRU.",
    changed="The rule: with new weights the two are close, and a first rule had asked there for what training brings.",
)
