"""Hugging Face: a folder that `transformers` opens without any code of ours, and vLLM and others behind it."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from regard.config import Transformer
from regard.disk import write_tensors, write_text
from regard.hub.out.hf_classes import TRANSLATING, WRITING, HomeOf
from regard.hub.out.home import nearest, stacks_of
from regard.hub.out.target import ComparedRow, Target
from regard.hub.out.vocabulary import write_library
from regard.runs import Run
from regard.special import NAMES, PADDING, START, STOP, UNKNOWN
from regard.text.tokenizer import Tokenizer


class HuggingFace(Target):
    """Weights and settings by the names of a class there, and the tokenizer."""

    name, title, engine = "hf", "Hugging Face", "transformers"

    def refusal(self, run: Run) -> str:
        stacks = stacks_of(run.model_config)
        if not stacks:
            return "no class there is made as it is"
        return _home(stacks).home.refusal(*stacks) or _shapes(stacks)

    def write(self, run: Run, place: Path) -> None:
        stacks = stacks_of(run.model_config)
        context = run.recipe.train.length
        written = _home(stacks).write(run.trained_model(), *stacks, context)
        write_tensors(place / "model.safetensors", written.tensors, {"format": "pt"})
        _write_json(place / "config.json", written.settings)
        ends = {"pad_token_id": PADDING, "bos_token_id": START, "eos_token_id": STOP}
        started = {"decoder_start_token_id": START} if len(stacks) == 2 else {}
        _write_json(
            place / "generation_config.json", {**ends, **started, "max_new_tokens": context, "do_sample": False}
        )
        longest = written.settings.get("max_position_embeddings") or written.settings["n_positions"]
        if len(stacks) == 1:
            _write_tokenizer(run.tokenizer, place, f"{NAMES[START]} $A", longest)
            return
        _write_tokenizer(run.source_tokenizer, place, f"$A {NAMES[STOP]}", longest)
        if run.source_tokenizer is not run.tokenizer:
            _write_tokenizer(run.tokenizer, place / "target", "$A", longest)

    @torch.no_grad()
    def log_probabilities(self, run: Run, place: Path, rows: Sequence[ComparedRow]) -> Iterator[list[float]]:
        import transformers

        transformers.utils.logging.disable_progress_bar()
        kind = transformers.AutoModelForSeq2SeqLM if run.task.has_source else transformers.AutoModelForCausalLM
        model = kind.from_pretrained(place).eval()
        for row in rows:
            if row.source is None:
                scores = model(row.fed[None]).logits[0]
            else:
                scores = model(row.source[None], decoder_input_ids=row.fed[None]).logits[0]
            yield scores.log_softmax(-1).gather(1, row.wanted[:, None])[:, 0].tolist()

    def example(self, run: Run, place: str) -> str:
        if not run.task.has_source:
            return f"""\
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("{place}")
model = AutoModelForCausalLM.from_pretrained("{place}")
read = tokenizer("Once ", return_tensors="pt", return_token_type_ids=False)
print(tokenizer.decode(model.generate(**read)[0], skip_special_tokens=True))"""
        target = "" if run.source_tokenizer is run.tokenizer else "/target"
        return f"""\
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

reader, writer = AutoTokenizer.from_pretrained("{place}"), AutoTokenizer.from_pretrained("{place}{target}")
model = AutoModelForSeq2SeqLM.from_pretrained("{place}")
read = reader(["A line."], return_tensors="pt", return_token_type_ids=False)
print(writer.batch_decode(model.generate(**read, num_beams=5), skip_special_tokens=True))"""


def _home(stacks: tuple[Transformer, ...]) -> HomeOf:
    homes = {1: WRITING, 2: TRANSLATING}[len(stacks)]
    home = nearest([one.home for one in homes], *stacks)
    return next(one for one in homes if one.home is home)


def _shapes(stacks: Sequence[Transformer]) -> str:
    """What classes there have once for both sides."""
    first, last = stacks[0], stacks[-1]
    for name in ("width", "positions", "activation"):
        if getattr(first, name) != getattr(last, name):
            found = f"{getattr(first, name)} and {getattr(last, name)}"
            return f"its classes have one {name} for encoder and decoder, found {found}"
    return ""


def _write_tokenizer(tokenizer: Tokenizer, place: Path, around: str, longest: int) -> None:
    if not write_library(tokenizer, place / "tokenizer.json", around):
        return
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": longest,
        "pad_token": NAMES[PADDING],
        "bos_token": NAMES[START],
        "eos_token": NAMES[STOP],
        "unk_token": NAMES[UNKNOWN],
        "clean_up_tokenization_spaces": False,
        "split_special_tokens": True,  # "<stop>" in a text is six characters
    }
    _write_json(place / "tokenizer_config.json", settings)


def _write_json(path: Path, value: dict[str, Any]) -> None:
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")
