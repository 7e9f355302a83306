"""A training step of a Transformer language model against Hugging Face GPT-2 of the same shape and the matrix peak."""

import statistics
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import regard
from bench.measure import Action, interleaved, is_there, matrix_product, ratio, row

SHAPE = regard.Transformer(width=384, layers=6, heads=6, positions="learned", longest=256)
VOCABULARY, BATCH, DROPOUT = 65, 12, 0.2


def ours(shape: regard.Transformer) -> nn.Module:
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


def our_step(shape: regard.Transformer, tokens: Tensor) -> Action:
    model = ours(shape).train()

    def loss() -> Tensor:
        scores, _ = model(tokens[:, :-1], model.start(batch=BATCH))
        return F.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten())

    return step(model, loss)


def their_step(shape: regard.Transformer, tokens: Tensor) -> Action:
    from transformers import GPT2Config, GPT2LMHeadModel

    settings = GPT2Config(
        vocab_size=VOCABULARY, n_positions=shape.longest, n_embd=shape.width, n_layer=shape.layers, n_head=shape.heads,
        resid_pdrop=shape.dropout, embd_pdrop=shape.dropout, attn_pdrop=shape.dropout, use_cache=False,
        loss_type="ForCausalLM",
    )  # fmt: skip
    model = GPT2LMHeadModel(settings).train()

    def loss() -> Tensor:
        scores = model(tokens[:, :-1]).logits
        return F.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten())

    return step(model, loss)


def operations(shape: regard.Transformer) -> float:
    """Of one step's matrix products: 6 for each weight and token, and attention over the half that is not masked."""
    count = regard.count(ours(shape))
    weights = count.total - count["layer.position"]  # the tied embedding counts once, as the head's matrix
    # per token: two products, forward once and backward twice, half masked
    attention = 6 * shape.layers * shape.longest * shape.width
    return float((6 * weights + attention) * BATCH * shape.longest)


def main(rounds: int = 7, shape: regard.Transformer = SHAPE) -> None:
    torch.manual_seed(0)
    plain, dropping = replace(shape, dropout=0.0), replace(shape, dropout=DROPOUT)
    tokens = torch.randint(VOCABULARY, (BATCH, shape.longest + 1))
    product, product_operations = matrix_product()
    candidates = {
        "matrix": product,
        "ours": our_step(plain, tokens),
        "matrix again": product,
        "ours, dropout": our_step(dropping, tokens),
    }
    peer = is_there("transformers")
    if peer:
        candidates |= {"theirs": their_step(plain, tokens), "theirs, dropout": their_step(dropping, tokens)}
    seconds = interleaved(candidates, rounds)
    best = min(seconds["matrix"] + seconds["matrix again"])
    peak = product_operations / best
    share = operations(plain) / statistics.median(seconds["ours"]) / peak
    speed = BATCH * shape.longest / statistics.median(seconds["ours"])
    row(f"Transformer {shape.layers}×{shape.width}, a training step: tokens/s", f"{speed:,.0f}", "–")
    row(f"  share of the matrix peak ({peak / 1e9:.0f} GFLOP/s)", f"{share:.0%}", "≥ 75 %")
    row(f"  dropout {DROPOUT} costs", f"{ratio(seconds['ours, dropout'], seconds['ours']) - 1:.0%}", "≤ 15 %")
    if not peer:
        row("  against Hugging Face GPT-2", "transformers is not installed", "≥ 1×")
        return
    row("  against Hugging Face GPT-2", f"{ratio(seconds['theirs'], seconds['ours']):.2f}×", "≥ 1×")
    dropped, cost = seconds["theirs, dropout"], ratio(seconds["theirs, dropout"], seconds["theirs"]) - 1
    row(f"  dropout {DROPOUT} costs Hugging Face", f"{cost:.0%}", "–")
    row(f"  with dropout {DROPOUT} against Hugging Face", f"{ratio(dropped, seconds['ours, dropout']):.2f}×", "–")


if __name__ == "__main__":
    main()
