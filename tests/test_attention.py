"""What the notes say of attention itself: masks, similarities, heads, parameters."""

import pytest
import torch
from torch import nn

import regard
from regard.layers.attention import (
    SIMILARITIES,
    HeadShape,
    KeyValueAttention,
    MultiHead,
    SelfAttention,
    attend_to_inputs,
    masked_softmax,
    similarity,
)
from regard.layers.history import AttentionInputs, Mask, padding_mask

CAUSAL = AttentionInputs(Mask(causal=True), Mask())


def test_a_row_with_nothing_to_look_at_gives_zeros_and_finite_gradients():
    scores = torch.randn(1, 1, 2, 3, dtype=torch.double, requires_grad=True)
    mask = torch.tensor([[[[True, False, True], [False, False, False]]]])
    weights = masked_softmax(scores, Mask(mask))
    assert weights[0, 0, 1].tolist() == [0, 0, 0]
    assert weights[0, 0, 0, 1] == 0
    torch.testing.assert_close(weights[0, 0, 0].sum(), torch.tensor(1.0, dtype=torch.double))
    (weights * torch.randn_like(weights)).sum().backward()
    assert scores.grad.isfinite().all()


@pytest.mark.parametrize("kind", SIMILARITIES)
@pytest.mark.parametrize("listening", [False, True])
def test_nothing_to_look_at_gives_zeros_for_every_similarity(kind, listening):
    layer = attend_to_inputs(4, 4, kind)
    memory = layer.keys_values(torch.randn(2, 3, 4))
    mask = padding_mask(torch.tensor([[True, False, True], [False, False, False]]))
    query = torch.randn(2, 1, 4, requires_grad=True)
    if listening:
        with regard.trace(layer) as seen:
            y = layer.attend(query, memory, mask)
        assert seen["weights"].shape == (2, 1, 1, 3)
    else:
        y = layer.attend(query, memory, mask)
    assert y[1].tolist() == [[0, 0, 0, 0]]
    assert y[0].abs().sum() > 0
    y.sum().backward()
    assert query.grad.isfinite().all()


@pytest.mark.parametrize("kind", SIMILARITIES)
def test_one_query_or_many_give_the_same(kind):
    layer = attend_to_inputs(4, 4, kind).double()
    memory = layer.keys_values(torch.randn(2, 5, 4, dtype=torch.double))
    queries = torch.randn(2, 3, 4, dtype=torch.double)
    together = layer.attend(queries, memory, Mask())
    for t in range(3):
        torch.testing.assert_close(together[:, t : t + 1], layer.attend(queries[:, t : t + 1], memory, Mask()))


@pytest.mark.parametrize("kind", SIMILARITIES)
def test_similarity_is_the_equation_of_the_notes(kind):
    layer = attend_to_inputs(4, 4, kind).double()
    q, x = torch.randn(1, 1, 4, dtype=torch.double), torch.randn(1, 3, 4, dtype=torch.double)
    f = layer.similarity
    expected = {
        "dot": lambda q, k: q @ k,
        "scaled": lambda q, k: q @ k / 2,  # √4
        "bilinear": lambda q, k: q @ f.W.weight @ k,
        "additive": lambda q, k: f.v.weight[0] @ torch.tanh(f.W.weight @ q + f.W.bias + f.U.weight @ k),
    }[kind]
    with regard.trace(layer) as seen:
        layer.attend(q, layer.keys_values(x), Mask())
    torch.testing.assert_close(seen["scores"].flatten(), torch.stack([expected(q[0, 0], key) for key in x[0]]))


@pytest.mark.parametrize(("m", "l"), [(4, 4), (6, 3), (2, 5)])
def test_keys_and_values_of_different_width_on_the_fused_path(m, l):
    layer = SelfAttention(12, HeadShape(3, m, l)).double()
    x = torch.randn(2, 7, 12, dtype=torch.double)
    fused, _ = layer(x, None, CAUSAL)
    with regard.trace(layer) as seen:
        explicit, _ = layer(x, None, CAUSAL)
    torch.testing.assert_close(fused, explicit)
    assert seen["queries"].shape == (2, 3, 7, m)
    assert seen["values"].shape == (2, 3, 7, l)


@pytest.mark.parametrize(("d", "heads", "m", "l"), [(64, 8, 8, 8), (48, 3, 10, 20)])
def test_parameters_of_multi_head_attention_follow_the_notes(d, heads, m, l):
    formula = d * (2 * m + l) * heads + heads * l * d
    for kind in (MultiHead, SelfAttention):
        layer = kind(d, HeadShape(heads, m, l))
        assert sum(weight.numel() for name, weight in layer.named_parameters() if name.endswith("weight")) == formula
        assert regard.count(layer).total == formula + heads * (2 * m + l) + d


def test_count_by_part_adds_up_and_counts_shared_weights_once():
    config = regard.LanguageModel(regard.Transformer(width=16, layers=3, heads=2), tied=True)
    model = regard.build(config, vocabulary=20)
    count = regard.count(model)
    assert count.total == sum(p.numel() for p in model.parameters())
    assert count["embedding"] + count["layer"] == count.total  # the head has no weights of its own
    attention = 16 * (2 * 8 + 8) * 2 + 2 * 8 * 16 + 2 * 24 + 16
    assert count["layer.blocks.1.self_attention"] == attention
    assert "self_attention" in str(count)
    assert str(count).endswith(f"{count.total:,}")


def test_more_weights_than_one_head_can_have_do_not_mix_heads():
    """Switching off one head's values changes the output only through that head's rows of W_O."""
    layer = SelfAttention(8, HeadShape.of(8, 2)).double()
    x = torch.randn(1, 4, 8, dtype=torch.double)
    with regard.trace(layer, "mixed") as seen:
        whole, _ = layer(x, None, CAUSAL)
    with regard.patch(layer, {"mixed": lambda mixed: mixed * torch.tensor([0.0, 1.0]).view(1, 2, 1, 1)}):
        without, _ = layer(x, None, CAUSAL)
    share = seen["mixed"][:, 0] @ layer.output.weight[:, :4].T
    torch.testing.assert_close(whole - without, share)


def test_no_weights_matrix_on_the_fused_path():
    """16 times longer needs about 16 times the memory, not 256 times."""
    from torch.utils._python_dispatch import TorchDispatchMode

    largest = 0

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            nonlocal largest
            out = function(*args, **(kwargs or {}))
            for value in out if isinstance(out, tuple | list) else [out]:
                if isinstance(value, torch.Tensor):
                    largest = max(largest, value.untyped_storage().nbytes())
            return out

    layer, steps = SelfAttention(16, HeadShape.of(16, 2)), 2048
    with torch.no_grad(), Watch():
        layer(torch.randn(1, steps, 16), None, CAUSAL)
    assert largest < steps * steps, "something of T × T bytes or more was made"


def test_attention_with_keys_reads_other_widths():
    layer = KeyValueAttention(similarity("additive", 6, 6), 6)
    layer.key_value = nn.Linear(10, 6 + 4)
    assert layer.attend(torch.randn(2, 3, 6), layer.keys_values(torch.randn(2, 5, 10)), Mask()).shape == (2, 3, 4)
