"""`regard write`, `translate` and `score`."""

import json
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from regard.cli.bodies.answering import opened
from regard.cli.command import STANDARD
from regard.cli.commands.decoding import ScoreCommand, TranslateCommand, WriteCommand
from regard.cli.lines import at_terminal, count_lines, one_line, output_to, read_lines, read_text
from regard.decode.probability import Pair
from regard.decode.terms import TermMet, read_glossary
from regard.decode.translate import NO_TERMS, Translation
from regard.errors import UserError, counted
from regard.look.align.words import links_of, pharaoh
from regard.metrics.text import bits_per_byte
from regard.progress import watched


def write(asked: WriteCommand) -> int:
    writing, run = asked.writing, opened(asked)
    prompt = asked.prompt
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


def translate(asked: TranslateCommand) -> int:
    run = opened(asked, asked.ensemble)
    lines = read_lines(asked.file)
    terms = read_glossary(read_lines(asked.terms), asked.terms) if asked.terms else NO_TERMS
    found = run.translations(
        lines, asked.search, alignments=bool(asked.alignments), terms=terms, together=asked.at_once
    )
    if asked.out or not sys.stdout.isatty():
        found = watched(found, "translating", count_lines(asked.file) if sys.stderr.isatty() else None)
    with output_to(asked.out) as output, _report(asked.report) as report:
        for number, several in enumerate(found, asked.first or 0):
            for one in several:
                print(_shown(one, number, asked), file=output)
            report.add(number + 1, several[0].terms)
    if said := report.said():
        print(f"regard: {said}", file=sys.stderr)
    return 0


class TermReport:
    """What became of the terms of every line, in its best translation."""

    def __init__(self, output: TextIO | None) -> None:
        self.output, self.terms, self.missed = output, 0, list[str]()

    def add(self, line: int, terms: Sequence[TermMet]) -> None:
        for (source, targets), met in ((asdict(one.term).values(), one.met) for one in terms):
            if self.output:
                print(line, source, " | ".join(targets), "met" if met else "not met", sep="\t", file=self.output)
            self.terms += 1
            self.missed += [] if met else [f"'{source}' of line {line} is not '{targets[0]}'"]

    def said(self) -> str:
        """Nothing where all is well."""
        if not self.missed:
            return ""
        return f"{len(self.missed)} of {counted(self.terms, 'term')} not met: {self.missed[0]}; --report FILE lists all"


@contextmanager
def _report(path: Path | None) -> Iterator[TermReport]:
    if path is None:
        yield TermReport(None)
    else:
        with output_to(path) as output:
            yield TermReport(output)


def _shown(one: Translation, number: int, asked: TranslateCommand) -> str:
    text, several = one_line(one.text), asked.search.n_best > 1
    if asked.json or asked.alignments == "json":
        shown: dict[str, Any] = {"line": number, "text": text, "score": round(one.score, 4)}
        if one.alignment is not None:
            source, target, weights = one.alignment
            rounded = [[round(weight, 4) for weight in row] for row in weights.tolist()]
            shown |= {"source": source, "target": target, "weights": rounded}
        if asked.terms:
            shown["terms"] = [asdict(found.term) | {"met": found.met} for found in one.terms]
        return json.dumps(shown, ensure_ascii=False)
    parts = [str(number), text, f"logprob= {sum(one.logs):.4f}"] if several else [text]
    if several or asked.scores:
        parts.append(f"{one.score:.4f}")
    if one.alignment is not None:
        parts.append(pharaoh(links_of(one.alignment)))
    return " ||| ".join(parts)


def score(asked: ScoreCommand) -> int:
    run = opened(asked)
    lines: Iterable[str | Pair] = read_lines(asked.file)
    if run.task.has_source:
        lines = (_pair(number, line) for number, line in enumerate(read_lines(asked.file), 1 + (asked.first or 0)))
    with output_to(asked.out) as output:
        for one in run.scores(lines, together=asked.at_once):
            nats = one.log_probability
            bits = bits_per_byte(-nats, len(one.text.encode()))
            if asked.json or asked.tokens:
                tokens = [[token, round(log, 4)] for token, log in zip(one.tokens, one.logs, strict=True)]
                shown = {"text": one.text, "log_probability": round(nats, 4), "bits_per_byte": round(bits, 4)}
                more = {"tokens": tokens} if asked.tokens else {}
                print(json.dumps(shown | more, ensure_ascii=False), file=output)
            else:
                print(f"{nats:.4f}\t{bits:.4f}\t{one.text}", file=output)
    return 0


def _pair(number: int, line: str) -> Pair:
    source, tab, target = line.partition("\t")
    if line and not tab:
        raise UserError(f"line {number} has no tab, a translator scores source<TAB>target; join two files with paste")
    return source, target
