"""A training step of a Transformer language model against Hugging Face GPT-2 of the same shape and the matrix peak."""

import statistics

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import regard
from bench.measure import Action, interleaved, matrix_product, ratio, row

LAYERS, HEADS, WIDTH, LENGTH, VOCABULARY, BATCH = 6, 6, 384, 256, 65, 12


def ours(dropout: float) -> nn.Module:
    shape = regard.Transformer(
        width=WIDTH, layers=LAYERS, heads=HEADS, positions="learned", longest=LENGTH, dropout=dropout
    )
    return regard.build(regard.LanguageModel(shape, tied=True), VOCABULARY)


def step(model: nn.Module, loss: Action) -> Action:
    """Forward, backward and update."""
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def one() -> None:
        optimiser.zero_grad()
        value = loss()
        assert isinstance(value, Tensor)
        value.backward()
        optimiser.step()

    return one


def our_step(dropout: float, tokens: Tensor) -> Action:
    model = ours(dropout).train()

    def loss() -> Tensor:
        scores, _ = model(tokens[:, :-1], model.start(batch=BATCH))
        return F.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten())

    return step(model, loss)


def their_step(dropout: float, tokens: Tensor) -> Action:
    from transformers import GPT2Config, GPT2LMHeadModel

    shape = GPT2Config(
        vocab_size=VOCABULARY, n_positions=LENGTH, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS,
        resid_pdrop=dropout, embd_pdrop=dropout, attn_pdrop=dropout, use_cache=False, loss_type="ForCausalLM",
    )  # fmt: skip
    model = GPT2LMHeadModel(shape).train()

    def loss() -> Tensor:
        scores = model(tokens[:, :-1]).logits
        return F.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten())

    return step(model, loss)


def operations() -> float:
    """Of one step's matrix products: 6 for each weight and token, and attention over the half that is not masked."""
    count = regard.count(ours(0.0))
    weights = count.total - count["layer.position"]  # the tied embedding counts once, as the head's matrix
    attention = 6 * LAYERS * LENGTH * WIDTH  # per token: two products, forward once and backward twice, half masked
    return float((6 * weights + attention) * BATCH * LENGTH)


def main(rounds: int = 7) -> None:
    torch.manual_seed(0)
    tokens = torch.randint(VOCABULARY, (BATCH, LENGTH + 1))
    product, product_operations = matrix_product()
    seconds = interleaved(
        {
            "matrix": product,
            "ours": our_step(0.0, tokens),
            "matrix again": product,
            "ours, dropout": our_step(0.2, tokens),
            "theirs": their_step(0.0, tokens),
            "theirs, dropout": their_step(0.2, tokens),
        },
        rounds,
    )
    best = min(seconds["matrix"] + seconds["matrix again"])
    peak = product_operations / best
    share = operations() / statistics.median(seconds["ours"]) / peak
    speed = BATCH * LENGTH / statistics.median(seconds["ours"])
    row("Transformer 6×384, a training step: tokens/s", f"{speed:,.0f}", "–")
    row("  against Hugging Face GPT-2", f"{ratio(seconds['theirs'], seconds['ours']):.2f}×", "≥ 1×")
    row(f"  share of the matrix peak ({peak / 1e9:.0f} GFLOP/s)", f"{share:.0%}", "≥ 75 %")
    row("  dropout 0.2 costs", f"{ratio(seconds['ours, dropout'], seconds['ours']) - 1:.0%}", "≤ 15 %")
    row("  dropout 0.2 costs Hugging Face", f"{ratio(seconds['theirs, dropout'], seconds['theirs']) - 1:.0%}", "–")
    row(
        "  with dropout 0.2 against Hugging Face",
        f"{ratio(seconds['theirs, dropout'], seconds['ours, dropout']):.2f}×",
        "–",
    )


if __name__ == "__main__":
    main()
