"""Who answers: regard, Hugging Face, CTranslate2, llama.cpp, a bare nn.LSTM. Each is a function of tokens."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import torch
from torch import Tensor

import regard
from bench import peers
from bench.peers import START, STOP
from regard import config
from regard.decode.beam import BeamSearch, beam
from regard.decode.choose import argmax
from regard.decode.rules import Bounds
from regard.decode.stream import stream
from regard.engine.choose import prepare
from regard.models.model import Model, Source
from regard.models.precision import with_precision

# sources or prompts (B, S), beams, how many tokens → what was written
Answer: TypeAlias = Callable[[Tensor, int, int], list[list[int]]]

REGARD, REGARD_INT8, EAGER, EAGER_INT8 = "regard", "regard int8", "regard by torch", "regard int8 by torch"
HUGGING_FACE, CTRANSLATE2, CTRANSLATE2_INT8, BARE = "Hugging Face", "CTranslate2", "CTranslate2 int8", "bare nn.LSTM"
LLAMA_CPP = "llama.cpp q8_0"
OURS = (REGARD, REGARD_INT8)
PEERS = (HUGGING_FACE, CTRANSLATE2, CTRANSLATE2_INT8, LLAMA_CPP, BARE)
TRANSFORMERS = (*OURS, EAGER, EAGER_INT8, HUGGING_FACE, CTRANSLATE2, CTRANSLATE2_INT8)
RECURRENT = (*OURS, EAGER, EAGER_INT8, BARE)
THREADS = int(os.environ.get("OMP_NUM_THREADS", "2"))


@dataclass(frozen=True)
class Shape:
    """A model, how much it reads and how much it writes."""

    name: str
    settings: config.ModelConfig
    vocabulary: int
    reads: int
    writes: int
    engines: tuple[str, ...]

    def model(self) -> Any:
        """With random weights, the same in every process.

        The stop token never comes, so that everybody writes the same number of tokens and no rule is needed for it.
        """
        torch.manual_seed(0)
        model = regard.build(self.settings, self.vocabulary).eval()
        with torch.no_grad():
            getattr(model, "decoder", model).head.W.bias[STOP] = -1e4
        return model

    def fed(self, batch: int) -> Tensor:
        """Sources or prompts, all of one length."""
        generator = torch.Generator().manual_seed(batch)
        return torch.randint(STOP + 1, self.vocabulary, (batch, self.reads), generator=generator)


def translator(layers: int, width: int, heads: int) -> config.Seq2Seq:
    """As Marian has it: sinusoid positions, norms after each part, ReLU."""
    side = regard.Transformer(
        width=width,
        layers=layers,
        heads=heads,
        inner=4 * width,
        positions="sinusoid",
        norm_place="after",
        activation="relu",
    )
    return regard.Seq2Seq(side, side)


GPT2 = regard.Transformer(width=768, layers=12, heads=12, inner=3072, positions="learned", longest=1024)
LSTM = regard.LanguageModel(regard.Recurrent("lstm", width=512, layers=2))
CELLS = regard.Recurrent("gru", width=512, layers=2)
GRU = regard.Seq2Seq(regard.Recurrent("gru", width=512, layers=2, bidirectional=True), CELLS)
SHAPES = {
    "marian": Shape("Marian-shaped 6+6×512, V 32,000", translator(6, 512, 8), 32_000, 20, 30, TRANSFORMERS),
    "small": Shape("small 3+3×256, V 8,000", translator(3, 256, 4), 8_000, 20, 30, TRANSFORMERS),
    "gpt2": Shape(
        "GPT-2 124M-shaped, 64 + 128 tokens",
        regard.LanguageModel(GPT2),
        50_257,
        64,
        128,
        (*TRANSFORMERS, LLAMA_CPP),
    ),
    "lstm": Shape("LSTM 2×512, V 100, 64 + 128 tokens", LSTM, 100, 64, 128, RECURRENT),
    "lstm-words": Shape("LSTM 2×512, V 10,000, 64 + 128 tokens", LSTM, 10_000, 64, 128, RECURRENT),
    "gru-attention": Shape("GRU 2×512 with attention, V 10,000", GRU, 10_000, 20, 30, RECURRENT[:4]),
}


def ours(shape: Shape, folder: Path, precision: str = "float32", engine: str = "auto") -> Answer:
    model: Model = prepare(with_precision(shape.model(), precision), engine)
    translates = isinstance(shape.settings, config.Seq2Seq)

    def answer(fed: Tensor, beams: int, writes: int) -> list[list[int]]:
        with torch.inference_mode():
            state = model.start(Source(fed)) if translates else model.start(batch=len(fed))
            prompt = fed.new_full((len(fed), 1), START) if translates else fed
            if beams > 1:
                found = beam(model, prompt, state, BeamSearch(beam=beams, limit=writes, stop=STOP))
                return [row[0].tokens for row in found]
            made = stream(model, prompt, state, argmax, Bounds(limit=writes, stop=STOP))
            return torch.stack(list(made), 1).tolist()

    return answer


def ours_in_8_bits(shape: Shape, folder: Path) -> Answer:
    return ours(shape, folder, "int8")


def ours_by_torch(shape: Shape, folder: Path) -> Answer:
    return ours(shape, folder, engine="torch")


def ours_in_8_bits_by_torch(shape: Shape, folder: Path) -> Answer:
    return ours(shape, folder, "int8", "torch")


def hugging_face_model(shape: Shape) -> Any:
    if isinstance(shape.settings, config.Seq2Seq):
        return peers.marian(shape.model(), shape.settings.decoder)
    return peers.gpt2(shape.model(), shape.settings.layer)


def hugging_face(shape: Shape, folder: Path) -> Answer:
    model = hugging_face_model(shape)

    def answer(fed: Tensor, beams: int, writes: int) -> list[list[int]]:
        with torch.inference_mode():
            everything = torch.ones_like(fed)
            made = model.generate(
                fed, attention_mask=everything, num_beams=beams, do_sample=False, max_new_tokens=writes
            )
        return made[:, -writes:].tolist()

    return answer


def export(shape: Shape, folder: Path) -> None:
    """What CTranslate2 loads."""
    peers.save_for_ctranslate2(hugging_face_model(shape), folder)


def ctranslate2(shape: Shape, folder: Path, precision: str = "float32") -> Answer:
    from ctranslate2 import Generator, Translator

    if isinstance(shape.settings, config.Seq2Seq):
        translator = Translator(str(folder), compute_type=precision, inter_threads=1, intra_threads=THREADS)

        def translate(fed: Tensor, beams: int, writes: int) -> list[list[int]]:
            found = translator.translate_batch(peers.as_words(fed), beam_size=beams, max_decoding_length=writes)
            return [peers.as_tokens(one.hypotheses[0]) for one in found]

        return translate
    generator = Generator(str(folder), compute_type=precision, inter_threads=1, intra_threads=THREADS)

    def write(fed: Tensor, beams: int, writes: int) -> list[list[int]]:
        found = generator.generate_batch(
            peers.as_words(fed), beam_size=beams, max_length=writes, include_prompt_in_result=False
        )
        return [peers.as_tokens(one.sequences[0]) for one in found]

    return write


def ctranslate2_in_8_bits(shape: Shape, folder: Path) -> Answer:
    return ctranslate2(shape, folder, "int8")


def llama_cpp(shape: Shape, folder: Path) -> Answer:
    """One text at a time, by its server's own handler, without a network."""
    import xllamacpp

    file = folder.parent / "weights.gguf"
    peers.save_for_llama_cpp(shape.model(), shape.settings, file)
    settings = xllamacpp.CommonParams()
    settings.model.path, settings.n_ctx, settings.n_parallel = str(file), shape.reads + shape.writes + 64, 1
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = THREADS
    settings.verbosity, settings.offline = -1, True
    server = xllamacpp.Server(settings)

    def answer(fed: Tensor, beams: int, writes: int) -> list[list[int]]:
        assert beams == 1
        wishes = {"max_tokens": writes, "temperature": 0, "ignore_eos": True, "cache_prompt": False}
        found = [server.handle_completions({"prompt": row, **wishes})["choices"][0]["text"] for row in fed.tolist()]
        return [[int(token) for token in text.split("t")[1:]] for text in found]  # its tokens are called t0, t1, …

    return answer


def bare(shape: Shape, folder: Path) -> Answer:
    """What anybody would write first."""
    embedding, lstm, head = peers.bare_lstm(shape.model())

    def answer(fed: Tensor, beams: int, writes: int) -> list[list[int]]:
        assert beams == 1
        made: list[Tensor] = []
        with torch.inference_mode():
            y, state = lstm(embedding(fed))
            for _ in range(writes):
                made.append(head(y[:, -1]).argmax(-1))
                y, state = lstm(embedding(made[-1][:, None]), state)
        return torch.stack(made, 1).tolist()

    return answer


ENGINES: dict[str, Callable[[Shape, Path], Answer]] = {
    REGARD: ours,
    REGARD_INT8: ours_in_8_bits,
    EAGER: ours_by_torch,
    EAGER_INT8: ours_in_8_bits_by_torch,
    LLAMA_CPP: llama_cpp,
    HUGGING_FACE: hugging_face,
    CTRANSLATE2: ctranslate2,
    CTRANSLATE2_INT8: ctranslate2_in_8_bits,
    BARE: bare,
}
