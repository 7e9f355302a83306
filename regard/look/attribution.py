"""Beside attention weights: other answers to what an output depended on, and what happens when a part is switched off.

None of them is the reason for an answer. Weights say where a layer looked; the others, each in its own way, how much
came from there; switching off is a measurement.
"""

from collections.abc import Callable, Iterable

import torch
from jaxtyping import Float
from torch import Tensor

from regard.decode.batches import BATCH
from regard.decode.score import forced, score
from regard.errors import UserError
from regard.layers.tap import SOURCE, WRITTEN, layer_of, taps_of
from regard.look.gradients import asked
from regard.look.patch import patch
from regard.look.record import Record
from regard.look.trace import trace
from regard.models.model import Model, Source


@torch.no_grad()
def value_norms(model: Model, record: Record, path: str) -> Float[Tensor, "H T S"]:
    """a_{t,i} ‖v_i W_O‖ for each head: a look at a vector that says little counts little. (Kobayashi et al. 2020)

    `path` is that of the weights.
    """
    layer = layer_of(path)
    with trace(model, path, f"{layer}.values") as seen:
        tokens, state = asked(model, record)
        model(tokens[:, : len(record.top.tokens)], state)
    weights, values = seen[path][0], seen[f"{layer}.values"][0]  # (H, T, S), (H, S, L)
    output: Callable[[Tensor], Tensor] = model.get_submodule(f"{layer}.output")
    heads, positions, width = values.shape
    alone = values.new_zeros(heads, positions, heads, width)  # each head's values with zeros for the other heads'
    alone[range(heads), :, range(heads)] = values
    together = alone.flatten(2)  # (H, S, H · L)
    norms = (output(together) - output(torch.zeros_like(together))).norm(dim=-1)  # (H, S), without W_O's bias
    return (weights * norms[:, None]).float().cpu()


def rollout(record: Record, group: str = "self") -> Float[Tensor, "T T"]:
    """R = Ã_L … Ã_1 with Ã = ½ (Ā + I), Ā the mean over heads: an approximation. (Abnar and Zuidema 2020)

    As if every layer did nothing but mix its inputs by these weights, and half of each stayed where it was.
    """
    total: Tensor | None = None
    for seen in record.attention(group).values():
        if seen.rows != seen.columns:
            raise UserError(f"rollout wants attention within one sequence, found '{seen.group}'; use self or encoder")
        mixed = (seen.values.mean(0) + torch.eye(seen.values.shape[-1])) / 2
        total = mixed if total is None else mixed @ total
    assert total is not None
    return total


def gradient_times_input(
    model: Model, record: Record, steps: Iterable[int] | None = None
) -> dict[str, Float[Tensor, "T S"]]:
    """x_i · ∂ score_t / ∂ x_i: the score of the token said at step t, along the embedding of token i.

    For each sequence whose tokens the model embeds, a row for every step. (Simonyan et al. 2014; Shrikumar et al. 2017)
    """
    vectors: dict[str, Tensor] = {}

    def leaf(name: str) -> Callable[[Tensor], Tensor]:
        def note(value: Tensor) -> Tensor:
            vectors[name] = value.detach().requires_grad_()
            return vectors[name]

        return note

    embeddings = {path: tap.rows for path, tap in taps_of(model).items() if tap.role == "embedding"}
    with torch.enable_grad(), patch(model, {path: leaf(side) for path, side in embeddings.items()}):
        tokens, state = asked(model, record)
        scores, _ = model(tokens[:, :-1], state)
    said = scores[0].gather(1, tokens[0, 1:, None])[:, 0]  # (T,)
    found: dict[str, list[Tensor]] = {name: [] for name in vectors}
    for t in range(len(said)) if steps is None else steps:
        gradients = torch.autograd.grad(
            said[t], list(vectors.values()), retain_graph=True, allow_unused=True, materialize_grads=True
        )
        for (name, vector), gradient in zip(vectors.items(), gradients, strict=True):
            found[name].append((vector * gradient)[0].sum(-1).detach().float().cpu())
    return {name: torch.stack(rows) for name, rows in found.items()}


@torch.no_grad()
def token_effects(model: Model, record: Record, name: str = "", batch: int = BATCH) -> Float[Tensor, "T S"]:
    """Δ log p(y_{t+1}) with token i of a sequence left out, for every step t (rows) and token i (columns): occlusion.

    As if the token were not there: nobody sees it, and the others close up. Below 0: what was said is less probable
    without it. Without a name the sequence is the source, where there is one. The start token is never left out:
    something must be fed. (Zeiler and Fergus 2014)
    """
    name = name or (SOURCE if SOURCE in record.sequences else WRITTEN)
    if record.sequences[name].grid:
        raise UserError("the regions of a picture cannot be switched off one by one; switch off words or units")
    device = next(model.parameters()).device
    tokens, written = record.sequences[name].ids.to(device), record.written.ids.to(device)
    before = _logs(model, record)
    rows = []
    for places in torch.arange(len(tokens), device=device).split(batch):
        keep = torch.arange(len(tokens), device=device) != places[:, None]  # (B, S)
        fed = written.expand(len(places), -1)
        if name == SOURCE:
            logs = score(model, fed, model.start(Source(tokens.expand(len(places), -1), keep)))
        else:
            keep[:, 0] = True
            start = model.start(_repeated(record.source, len(places), device), len(places))
            logs = forced(model, fed[:, :-1], start, keep[:, :-1], fed[:, 1:])
        rows.append(logs.float().cpu())
    return (torch.cat(rows) - before).T


def _repeated(source: Source | None, times: int, device: torch.device) -> Source | None:
    if source is None:
        return None
    return Source(source.content.to(device).expand(times, *source.content.shape[1:]))


def _logs(model: Model, record: Record) -> Float[Tensor, " T"]:
    return score(model, *asked(model, record))[0].float().cpu()
