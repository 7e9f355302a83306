"""A training step of an LSTM language model against bare `nn.LSTM` with the same head, and a Python loop over cells."""

import statistics

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import regard
from bench.language_model import step
from bench.measure import Action, interleaved, ratio, row

SHAPE = regard.Recurrent("lstm", width=512, layers=2, dropout=0.0)
LENGTH, BATCH, VOCABULARY = 64, 32, 100


class Bare(nn.Module):
    """What anybody would write first."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, width)
        self.lstm = nn.LSTM(width, width, layers, batch_first=True)
        self.head = nn.Linear(width, VOCABULARY)

    def forward(self, tokens: Tensor) -> Tensor:
        y, _ = self.lstm(self.embedding(tokens))
        return self.head(y)


def training(model: nn.Module, scores: Action, tokens: Tensor) -> Action:
    def loss() -> Tensor:
        answer = scores()
        assert isinstance(answer, Tensor)
        return F.cross_entropy(answer.flatten(0, 1), tokens[:, 1:].flatten())

    return step(model, loss)


def main(rounds: int = 15, shape: regard.Recurrent = SHAPE) -> None:
    torch.manual_seed(0)
    tokens = torch.randint(VOCABULARY, (BATCH, LENGTH + 1))
    config = regard.LanguageModel(shape, tied=False)
    ours, looped = regard.build(config, VOCABULARY), regard.build(config, VOCABULARY)
    bare = Bare(shape.width, shape.layers)

    def listened_to() -> Tensor:
        with regard.trace(looped, "*.hidden"):
            return looped(tokens[:, :-1], looped.start(batch=BATCH))[0]

    seconds = interleaved(
        {
            "bare": training(bare, lambda: bare(tokens[:, :-1]), tokens),
            "ours": training(ours, lambda: ours(tokens[:, :-1], ours.start(batch=BATCH))[0], tokens),
            "equations": training(looped, listened_to, tokens),
        },
        rounds,
    )
    speed = BATCH * LENGTH / statistics.median(seconds["ours"])
    row(f"LSTM {shape.layers}×{shape.width}, a training step: tokens/s", f"{speed:,.0f}", "–")
    row("  against bare nn.LSTM", f"{ratio(seconds['bare'], seconds['ours']):.2f}×", "≥ 0.95×")
    row("  by the equations (somebody listens)", f"{ratio(seconds['bare'], seconds['equations']):.2f}×", "–")


if __name__ == "__main__":
    main()
