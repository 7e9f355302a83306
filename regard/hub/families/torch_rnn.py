"""A language model of torch's own parts: nn.Embedding, nn.LSTM, nn.GRU or nn.RNN, and nn.Linear behind it."""

from typing import Literal

from regard.config import LanguageModel, Recurrent
from regard.errors import UserError
from regard.hub.opened import Opened, Ways
from regard.hub.package import Package
from regard.hub.tokens import for_writing
from regard.hub.ways import Named, NeverSaid, Ordered, Way, Widened, Zeros
from regard.special import NAMES, START, STOP

KINDS: dict[int, Literal["rnn", "gru", "lstm"]] = {1: "rnn", 3: "gru", 4: "lstm"}
"""By how many gates the rows of a matrix belong to."""


def opened(package: Package) -> Opened:
    """The parts are told by their shapes, whatever they are called; a narrower embedding ends in zeros here."""
    shapes = {name: tuple(package.tensors.read(name).shape) for name in package.tensors.names()}
    cells = next(name for name in shapes if name.endswith("weight_ih_l0")).removesuffix("weight_ih_l0")
    table, head = _outside(shapes, cells)
    rows, reads = (*shapes[f"{cells}weight_ih_l0"], 0)[:2]
    width = (*shapes.get(f"{cells}weight_hh_l0", ()), 0, 0)[1]
    layers = sum(name.startswith(f"{cells}weight_ih_l") for name in shapes)
    if not width or rows % width or rows // width not in KINDS:
        raise UserError(f"{cells}weight_ih_l0 and {cells}weight_hh_l0 are those of no nn.RNN, nn.GRU or nn.LSTM")
    if any("_reverse" in name for name in shapes):
        raise UserError("it reads in both directions, and a language model only forwards; take one that does")
    if reads > width:
        raise UserError(
            f"its embedding is {reads} wide and its cells are {width}: wider ones cannot be had; take a model without"
        )
    tokenizer = for_writing(package, shapes[table][0])
    end = tokenizer.special[STOP]
    line = next((ours for ours in range(len(NAMES), tokenizer.vocabulary) if tokenizer.pieces([ours]) == [b"\n"]), None)
    start = end if end is not None else None if line is None else tokenizer.order[line]
    order = tuple(start if ours == START else theirs for ours, theirs in enumerate(tokenizer.order))
    never = tuple(ours for ours in range(len(NAMES)) if ours == START or order[ours] is None)
    bias: Way = Named(f"{head}.bias") if f"{head}.bias" in shapes else Zeros((shapes[table][0],))
    ways: Ways = {
        "embedding.lookup.weight": Widened(Ordered(Named(table), order), width),
        "head.W.weight": Ordered(Named(f"{head}.weight"), order),
        "head.W.bias": NeverSaid(Ordered(bias, order), never),
    }
    for layer in range(layers):
        for ours, theirs in (("W_hx", "ih"), ("W_hh", "hh")):
            matrix: Way = Named(f"{cells}weight_{theirs}_l{layer}")
            name = f"{cells}bias_{theirs}_l{layer}"
            ways[f"layer.layers.{layer}.{ours}.weight"] = Widened(matrix, width) if layer == 0 else matrix
            ways[f"layer.layers.{layer}.{ours}.bias"] = Named(name) if name in shapes else Zeros((rows,))
    begins = "the end of a text" if end is not None else "the end of a line" if line is not None else "zeros"
    kind = KINDS[rows // width]
    assumed = ("its cells are taken for nn.RNN's with tanh",) if kind == "rnn" else ()
    return Opened(
        LanguageModel(Recurrent(kind, width=width, layers=layers, embedding="plain", dropout=0.0)),
        ways,
        tokenizer,
        changed=(f"a text begins with {begins}", *assumed),
    )


def _outside(shapes: dict[str, tuple[int, ...]], cells: str) -> tuple[str, str]:
    """The table that is read, and the name of what answers, which has as many rows."""
    reads = (*shapes[f"{cells}weight_ih_l0"], 0)[1]
    width = (*shapes.get(f"{cells}weight_hh_l0", ()), 0, 0)[1]
    others = {
        name: shape for name, shape in shapes.items() if not name.startswith(f"{cells}weight_") and len(shape) == 2
    }
    answering = [name for name, shape in others.items() if shape[1] == width and name.endswith(".weight")]
    heads = [name.removesuffix(".weight") for name in answering]
    heads = [name for name in heads if f"{name}.bias" in shapes] or heads[-1:]
    tables = [
        name for name, shape in others.items() if shape[1] == reads and name != f"{heads[0] if heads else ''}.weight"
    ]
    if len(heads) != 1 or len(tables) != 1 or others[tables[0]][0] != others[f"{heads[0]}.weight"][0]:
        raise UserError(
            f"beside {cells or 'its '}cells one nn.Embedding and one nn.Linear of as many rows are wanted, found "
            f"{', '.join(others) or 'none'}"
        )
    return tables[0], heads[0]
