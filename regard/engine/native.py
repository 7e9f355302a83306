"""The native engine: a model whose every pass is one call, as long as nobody listens.

It has the same states as the model that it was made from, and hands over to it whatever it does not know: somebody who
listens, gradients, a state of another kind, a token that is not there. A state may go back and forth between the two.
"""

import ctypes
from array import array
from collections.abc import Iterable
from typing import cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.engine.binding import Binding, ForeignState, NativeCall
from regard.engine.blocks import NO_ROTATION, Blocks, folded
from regard.engine.cells import KNOWN, Cells, inputs_of
from regard.engine.library import Library
from regard.engine.ranking import rank
from regard.engine.tape import Activation, Heads, Tape, Unknown, weights
from regard.layers.attention import CrossAttention, CrossAttentionByPlace
from regard.layers.block import Block, Transformer, TransformerState
from regard.layers.embedding import BiasedTiedHead, Embedding, Head, PlainEmbedding, TiedHead
from regard.layers.history import History, positions
from regard.layers.layer import Encoded
from regard.layers.state import Lines, State
from regard.layers.tap import listening
from regard.models.decoder import Decoder
from regard.models.encoder import Encoder
from regard.models.encoder_decoder import EncoderDecoder
from regard.models.model import Model, Source
from regard.models.ranking import Ranked

MOST = 2048  # positions at once: each has a record, some tens of kilobytes


class Failed(Exception):
    """The library found something wrong before it wrote anything: the eager model will say what."""


class Runner:
    """A tape with its tail, ready to be called."""

    def __init__(self, tape: Tape, tail: int, width: int) -> None:
        self.tape, self.out_width = tape, width
        self.everywhere, self.at_the_end = tape.arrays(tail)
        self.addresses = ctypes.addressof(self.everywhere), ctypes.addressof(self.at_the_end)
        self.record = tape.record_width()
        self.like = torch.zeros(0)

    def run(self, tokens: Tensor, keep: Tensor | None, bound: Binding, out: Tensor, last: bool) -> None:
        rows, steps = tokens.shape
        tokens = tokens.contiguous()
        tables = [sin_cos.table(bound.length, self.like) for sin_cos in self.tape.tables]
        starts, lengths = (
            array("q", [table.data_ptr() for table in tables]),
            array("q", [table.shape[0] for table in tables]),
        )
        kept = None if keep is None else keep.contiguous()
        call = NativeCall(
            self.addresses[last],
            len(self.everywhere),
            self.record,
            rows,
            steps,
            tokens.data_ptr(),
            bound.seen,
            bound.where,
            0 if kept is None else kept.data_ptr(),
            bound.kept,
            bound.kept_lines,
            bound.group_size,
            bound.length,
            bound.filled,
            bound.source_keep,
            bound.source_length,
            bound.memories.buffer_info()[0],
            bound.states.buffer_info()[0],
            starts.buffer_info()[0],
            lengths.buffer_info()[0],
            out.data_ptr(),
            self.out_width,
            torch.get_num_threads(),
        )
        if self.tape.library.run(ctypes.byref(call)):
            raise Failed


def embedded(tape: Tape, embedding: Embedding, width: int) -> int:
    """The columns that a layer reads, with the tokens in them."""
    if type(embedding) not in (Embedding, PlainEmbedding):
        raise Unknown(f"the embedding {type(embedding).__name__}")
    x = tape.columns(max(width, embedding.lookup.weight.shape[1]))
    tape.embed(embedding.lookup.weight, embedding.scale, x)
    return x


class NativeDecoder:
    """A decoder's forward pass."""

    def __init__(self, decoder: Decoder, library: Library) -> None:
        self.decoder = decoder
        tape, token_width = Tape(library), decoder.embedding.lookup.weight.shape[1]
        layer = decoder.layer
        self.layer: Blocks | Cells
        if isinstance(layer, Transformer):
            x = embedded(tape, decoder.embedding, _width(layer))
            self.layer = Blocks(tape, layer, x, token_width)
            tail, y = len(tape.operations), x
            tape.norm(layer.last_norm, x, x)
        elif type(layer) in KNOWN:
            x = embedded(tape, decoder.embedding, inputs_of(layer))
            self.layer = KNOWN[type(layer)](tape, layer, x, token_width)
            tail, y = len(tape.operations), self.layer.y
        else:
            raise Unknown(f"the layer {type(layer).__name__}")
        self.vocabulary = self._head(tape, decoder.head, y)
        self.runner = Runner(tape, tail, self.vocabulary)

    def _head(self, tape: Tape, head: nn.Module, y: int) -> int:
        if type(head) is Head:
            weight, bias, whole = weights(head.W)
        elif type(head) in (TiedHead, BiasedTiedHead):
            weight, whole = self.decoder.embedding.lookup.weight, False
            bias = head.b if isinstance(head, BiasedTiedHead) else None
            if isinstance(head.W, nn.Linear):
                narrow = tape.columns(weight.shape[1])
                tape.product(head.W, y, narrow)
                y = narrow
        else:
            raise Unknown(f"the head {type(head).__name__}")
        tape.scores(weight, bias, whole, y)
        return weight.shape[0]

    def run(self, tokens: Tensor, state: State, keep: Tensor | None, last: bool) -> tuple[Tensor, State]:
        rows, steps = tokens.shape
        most = max(1, MOST // max(rows, 1))
        if steps > most:
            return self._in_pieces(tokens, state, keep, last, most)
        bound = self.layer.bind(state, rows, steps, keep)
        scores = torch.empty((rows, self.vocabulary) if last else (rows, steps, self.vocabulary))
        self.runner.run(tokens, keep, bound, scores, last)
        return scores, bound.after

    def _in_pieces(
        self, tokens: Tensor, state: State, keep: Tensor | None, last: bool, most: int
    ) -> tuple[Tensor, State]:
        found: list[Tensor] = []
        for begin in range(0, tokens.shape[1], most):
            piece = slice(begin, begin + most)
            scores, state = self.run(tokens[:, piece], state, None if keep is None else keep[:, piece], last)
            found = [scores] if last else [*found, scores]
        return (found[0] if last else torch.cat(found, 1)), state


class NativeEncoder:
    """A source read in one call, up to the keys and values that a Transformer decoder will look at."""

    def __init__(self, encoder: Encoder, decoder: Decoder, library: Library) -> None:
        layer = encoder.layer
        if not isinstance(layer, Transformer):
            raise Unknown("a recurrent encoder")
        self.encoder, self.decoder = encoder, decoder
        tape, self.width = Tape(library), _width(layer)
        x = embedded(tape, encoder.embedding, self.width)
        blocks = Blocks(tape, layer, x, encoder.embedding.lookup.weight.shape[1], transient=True)
        tape.norm(layer.last_norm, x, x)
        shapes = {(kept.what, kept.heads, kept.width) for block in blocks.kept for kept in block if kept.what}
        if len(shapes) != 1 or next(iter(shapes))[0] != "own":
            raise Unknown("an encoder whose blocks differ")
        _, *self.own = next(iter(shapes))
        self.memories: list[tuple[int, int]] = []  # heads and width of what each block of the decoder looks at
        if isinstance(decoder.layer, Transformer):
            for block in cast(Iterable[Block], decoder.layer.blocks):
                for part in block.sublayers():
                    if isinstance(part, CrossAttention):
                        self._keys_values(tape, part, x)
        else:
            tape.put_out(x, self.width)
        self.runner = Runner(tape, len(tape.operations), self.width)

    def _keys_values(self, tape: Tape, part: CrossAttention, x: int) -> None:
        weight, bias, whole = weights(part.key_value)
        width, rotation = weight.shape[0] // part.heads, NO_ROTATION
        if type(part) is CrossAttentionByPlace:
            rotation = tape.table(part.rotary.sin_cos)
        weight, bias = folded(part.similarity, weight, bias, part.heads, (slice(0, 0), slice(0, part.key_width)), False)
        if not self.memories:
            self.columns = tape.columns(weight.shape[0])
        tape.matrix(weight, bias, whole, (x, self.columns), [Activation.NONE])
        self.memories.append((part.heads, width))
        heads = Heads(part.heads, 1, width, part.key_width, width - part.key_width)
        tape.remember(len(self.memories), heads, self.columns, rotation)

    def start(self, source: Source) -> State:
        tokens, keep = source
        rows, steps = tokens.shape
        if not steps or tokens.dtype != torch.long:
            raise Failed
        bound = Binding(length=steps)
        nothing = torch.zeros(rows, dtype=torch.long)
        bound.seen = bound.hold(nothing)
        if keep is not None:
            where, _ = positions(nothing, steps, keep)
            bound.where, bound.kept = bound.hold(where), bound.hold(keep)
        heads, width = self.own
        shapes = [(heads, width), *self.memories]
        memories = [Lines(torch.empty(rows, heads, steps, width), 2) for heads, width in shapes]
        for memory, shape in zip(memories, shapes, strict=True):
            bound.memory(memory, shape, rows)
        layer = self.decoder.layer
        out = torch.empty(0 if isinstance(layer, Transformer) else (rows, steps, self.width))
        self.runner.run(tokens, keep, bound, out, False)
        if not isinstance(layer, Transformer):
            return self.decoder.start_from(Encoded(out, keep, self.encoder.layer.summary(out, keep, None), None))
        across = iter(memories[1:])
        blocks = tuple(
            tuple(
                next(across) if isinstance(part, CrossAttention) else part.start(rows, None)
                for part in block.sublayers()
            )
            for block in cast(Iterable[Block], layer.blocks)
        )
        return TransformerState(History(nothing), None if keep is None else Lines(keep), blocks)


def _width(layer: Transformer) -> int:
    """D, by a matrix that reads it."""
    for name, parameter in layer.named_parameters():
        if name.endswith(("norm.weight",)):
            return parameter.shape[0]
    raise Unknown("a Transformer without norms")


class Native(Model[State]):
    """The model that it was made from, with every pass as one call while nobody listens."""

    row_by_row = True

    def __init__(self, model: Model, library: Library) -> None:
        super().__init__()
        self.model = model
        self.longest, self.grows = model.longest, model.grows
        decoder = model.decoder if isinstance(model, EncoderDecoder) else model
        if not isinstance(decoder, Decoder):
            raise Unknown(f"a {type(model).__name__.lower()}")
        self._decoder = NativeDecoder(decoder, library)
        self._encoder: NativeEncoder | None = None
        at_once = isinstance(decoder.layer, Transformer)
        self.by_torch = "" if at_once else "reading a text at once, which a recurrent layer does token by token"
        if isinstance(model, EncoderDecoder):
            try:
                if not isinstance(model.encoder, Encoder):
                    raise Unknown("a picture's encoder")
                self._encoder = NativeEncoder(model.encoder, decoder, library)
            except Unknown as unknown:
                self.by_torch = str(unknown)

    @property
    def reads_everything(self) -> bool:
        """Whether torch computes nothing: neither a source, nor a text read at once."""
        return not self.by_torch

    @property
    def bytes(self) -> int:
        """What a step reads."""
        return self._decoder.runner.tape.bytes

    def start(self, source: Source | None = None, batch: int = 1) -> State:
        if self._encoder is not None and source is not None and self._alone():
            try:
                return self._encoder.start(source)
            except (Failed, ForeignState):
                pass
        return self.model.start(source, batch)

    def forward(
        self, tokens: Int[Tensor, "B T"], state: State, keep: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T V"], State]:
        return self._run(tokens, state, keep, False)

    def prefill(
        self, tokens: Int[Tensor, "B T"], state: State, keep: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B V"], State]:
        return self._run(tokens, state, keep, True)

    def ranked(self, scores: Float[Tensor, "R V"], count: int, every: bool = False) -> Ranked:
        return rank(self._decoder.runner.tape.library, scores, count, every) or super().ranked(scores, count, every)

    def _run(self, tokens: Tensor, state: State, keep: Tensor | None, last: bool) -> tuple[Tensor, State]:
        if tokens.numel() and tokens.dtype == torch.long and tokens.is_cpu and self._alone():
            try:
                return self._decoder.run(tokens, state, keep, last)
            except (Failed, ForeignState):
                pass  # whatever is wrong, the model says it better
        return self.model.prefill(tokens, state, keep) if last else self.model(tokens, state, keep)

    def _alone(self) -> bool:
        """Whether nobody looks in, and nothing is learnt."""
        return not (torch.is_grad_enabled() or self.training or listening(self.model))
