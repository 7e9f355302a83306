"""`regard write`, `translate` and `score`."""

import argparse
import json
import sys
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

from regard.cli.command import Command, no_settings
from regard.cli.lines import STANDARD, at_terminal, count_lines, one_line, output_to, read_lines, read_text
from regard.cli.options import add_file, add_run, add_search, add_settings, batch_of, wishes
from regard.config.decoding import Search, Writing
from regard.decode.probability import Pair
from regard.decode.translate import Translation
from regard.errors import UserError
from regard.look.align.words import pharaoh
from regard.runs import load_run

WRITING = {
    "length": "tokens to write at most",
    "choose": "sample, argmax or beam",
    "temperature": "for sample: below 1 safer, above 1 more surprising",
    "top_k": "for sample: only the K most probable tokens; 0: all",
    "top_p": "for sample: only the most probable tokens that together have probability P",
    "min_p": "for sample: only tokens with at least P times the best one's probability",
    "repetition_penalty": "above 1: what stands in the text already becomes less probable",
    "no_repeat": "no N tokens in a row come twice; 0: they may",
    "stop": "end before this text",
    "seed": "the same seed gives the same text; sample k has seed + k - 1",
    "number": "how many texts; several are shown one after the other under their seeds",
    "beam": "for beam: how many hypotheses are followed at once",
}


def add(command: Command) -> None:
    """The commands that use a run."""
    write = command(
        "write",
        _write,
        "a language model goes on with a text, shown as it is made",
        '  regard write runs/mine --prompt "def "\n'
        '  regard write runs/mine --prompt "The " --temperature 0.7 --top-p 0.9 --number 3 --seed 1\n'
        "  head -5 story.txt | regard write runs/mine --stop 'The end'",
    )
    add_run(write)
    write.add_argument(
        "--prompt", metavar="TEXT", help="what to go on from; - or, in a pipe, none: standard input (less its last \\n)"
    )
    add_settings(write, Writing, WRITING)

    translate = command(
        "translate",
        _translate,
        "translate lines, one line of output for each line of input",
        "  regard translate runs/fr input.en > output.fr\n"
        "  echo 'we are eating bread' | regard translate runs/fr --alignments pharaoh\n"
        "  regard translate runs/fr input.en --n-best 5 --must 'le chat' --ensemble runs/fr2",
    )
    add_run(translate)
    add_file(translate, "lines to translate; -: standard input, where a terminal is answered line by line")
    add_search(translate, {})
    translate.add_argument("--scores", action="store_true", help="text ||| score")
    translate.add_argument(
        "--alignments", choices=("pharaoh", "json"),
        help="where it looked: text ||| source-target word pairs from 0, or a JSON object with all weights",
    )  # fmt: skip
    translate.add_argument("--output", type=Path, metavar="FILE", help="write there, line by line as they are made")

    score = command(
        "score",
        _score,
        "how probable each line is: log p, bits per byte, line, with tabs between them",
        "  regard score runs/mine lines.txt | sort -n\n"
        "  paste test.en test.fr | regard score runs/fr              (log p of the target, given the source)\n"
        "  regard score runs/mine lines.txt --tokens                 (JSON, token by token)",
    )
    add_run(score)
    add_file(score, "lines to score, for a translator source<TAB>target; -: standard input")
    score.add_argument("--tokens", action="store_true", help="a JSON object for each line, with log p of each token")


def _write(known: argparse.Namespace, settings: dict[str, Any]) -> int:
    no_settings(settings)
    writing, run = wishes(Writing, known), load_run(known.path, precision=known.precision)
    prompt = known.prompt
    if prompt == STANDARD or (prompt is None and not at_terminal()):
        prompt = read_text(STANDARD)
    prompt = prompt or ""
    with warnings.catch_warnings(record=True) as said, output_to(None) as output:
        warnings.simplefilter("always")
        if writing.number == 1:
            _show(output, prompt, run.stream(prompt, writing))
        else:
            for number, text in enumerate(run.samples(prompt, writing)):
                name = f"seed {writing.seed + number}" if writing.choose == "sample" else f"number {number + 1}"
                print(f"--- {name} ---", file=output)
                _show(output, prompt, iter([text]))
    for warning in said:
        print(f"regard: {warning.message}", file=sys.stderr)
    return 0


def _show(output: TextIO, prompt: str, pieces: Iterator[str]) -> None:
    """The prompt and what follows, ending with a line end."""
    last = next(pieces, "")  # by now the prompt has been read: what is wrong with it is said without showing it
    output.write(prompt + last)
    last = last or prompt
    try:
        for piece in pieces:
            output.flush()
            output.write(piece)
            last = piece or last
    finally:
        if not last.endswith("\n"):
            output.write("\n")


def _translate(known: argparse.Namespace, settings: dict[str, Any]) -> int:
    from regard.progress import watched

    no_settings(settings)
    search, batch = wishes(Search, known), batch_of(known)
    run = load_run(known.path, precision=known.precision, ensemble=known.ensemble)
    if known.output and known.output.exists() and Path(known.file).exists() and known.output.samefile(known.file):
        raise UserError(f"{known.output} is also what is to be translated; choose another file for --output")
    lines = read_lines(known.file)
    found = run.translations(lines, search, alignments=known.alignments is not None, batch=batch)
    if known.output or not sys.stdout.isatty():
        found = watched(found, "translating", count_lines(known.file) if sys.stderr.isatty() else None)
    with output_to(known.output) as output:
        for number, several in enumerate(found):
            for one in several:
                print(_shown(one, number, known), file=output)
    return 0


def _shown(one: Translation, number: int, known: argparse.Namespace) -> str:
    text, several = one_line(one.text), known.n_best > 1
    if known.alignments == "json":
        assert one.alignment is not None
        source, target, weights = one.alignment
        rounded = [[round(weight, 4) for weight in row] for row in weights.tolist()]
        shown = {"line": number, "text": text, "score": round(one.score, 4), "source": source, "target": target}
        return json.dumps({**shown, "weights": rounded}, ensure_ascii=False)
    parts = [str(number), text, f"logprob= {sum(one.logs):.4f}"] if several else [text]
    if several or known.scores:
        parts.append(f"{one.score:.4f}")
    if one.alignment is not None:
        parts.append(pharaoh(one.alignment))
    return " ||| ".join(parts)


def _score(known: argparse.Namespace, settings: dict[str, Any]) -> int:
    from regard.metrics.text import bits_per_byte

    no_settings(settings)
    run, batch = load_run(known.path, precision=known.precision), batch_of(known)
    lines: Iterable[str | Pair] = read_lines(known.file)
    if run.task.has_source:
        lines = (_pair(number, line) for number, line in enumerate(read_lines(known.file), 1))
    with output_to(None) as output:
        for one in run.scores(lines, batch=batch):
            nats = one.log_probability
            bits = bits_per_byte(-nats, len(one.text.encode()))
            if known.tokens:
                tokens = [[token, round(log, 4)] for token, log in zip(one.tokens, one.logs, strict=True)]
                shown = {"text": one.text, "log_probability": round(nats, 4), "bits_per_byte": round(bits, 4)}
                print(json.dumps({**shown, "tokens": tokens}, ensure_ascii=False), file=output)
            else:
                print(f"{nats:.4f}\t{bits:.4f}\t{one.text}", file=output)
    return 0


def _pair(number: int, line: str) -> Pair:
    source, tab, target = line.partition("\t")
    if line and not tab:
        raise UserError(f"line {number} has no tab, a translator scores source<TAB>target; join two files with paste")
    return source, target
