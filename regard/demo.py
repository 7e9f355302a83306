"""The first thing a newcomer sees: an RNN with attention learns French in about a minute, and shows where it looks."""

import time
from pathlib import Path

import torch
from rich.console import Console
from rich.panel import Panel

from regard.config import Data, Recipe, Recurrent, Seq2Seq, Text, Train
from regard.data.corpora.phrases import notes_sentences
from regard.decode.translate import Alignment
from regard.evaluate.judge import judge
from regard.look.align.weights import attention_to_source
from regard.look.pictures.render import HONEST, draw_alignments, shaded_text
from regard.runs import Run, load_run
from regard.text import START, STOP, Tokenizer
from regard.train.loop import train

RECIPE = Recipe(
    data=Data(train="phrases-short:french"),
    text=Text(kind="words", shared=False),
    model=Seq2Seq(
        encoder=Recurrent("gru", width=128, layers=1, dropout=0.0, bidirectional=True),
        decoder=Recurrent("gru", width=128, layers=1, dropout=0.0),
        similarity="additive",
        tied=True,
    ),
    train=Train(
        steps=1000, batch=2000, rate=0.006, warmup=50, evaluate=250, precision="float32"
    ),  # the same on every machine
)


def demo(path: Path) -> None:
    """Trains, judges on sentences never seen, translates the notes' sentences, draws what it looked at."""
    began = time.monotonic()
    console = Console(highlight=False)
    console.print(
        Panel(
            "An RNN with attention learns to translate English into French, on this computer, from nothing.\n"
            "Nobody tells it which word belongs to which. Watch where it looks.",
            title="[bold]regard[/bold]",
            expand=False,
        )
    )
    train(RECIPE, path)
    run = load_run(path)
    figures = judge(path)
    console.print(
        f"\nOn [bold]500 sentences it has never seen[/bold]: BLEU [bold]{figures['bleu']:.1f}[/bold], "
        f"{figures['exact']:.0f} % right to the letter\n[dim]{figures['bleu_signature']}[/dim]"
    )
    alignments = []
    for phrase in notes_sentences("french"):
        (output,) = run.translate([phrase.source], beam=1)
        verdict = "[green]as it should be[/green]" if output == phrase.target else f"should be: {phrase.target}"
        console.print(f"\n[bold]{phrase.source}[/bold]\n→ [bold blue]{output}[/bold blue]   {verdict}\n")
        alignments.append(alignment(run, phrase.source, output))
        console.print(shaded_text(alignments[-1]), soft_wrap=True)
    picture = path / "alignment.png"
    draw_alignments(picture, alignments)
    console.print(f"\n[dim]Darker: looked at more. It shows {HONEST}.[/dim]")
    console.print(f"\n{time.monotonic() - began:.0f} seconds. The run is in {path}, the picture in {picture}.")


def alignment(run: Run, source: str, target: str) -> Alignment:
    """Where the run looked while it wrote this target."""
    read = [*run.source_tokenizer.encode(source), STOP]
    written = run.tokenizer.encode(target)
    weights = attention_to_source(run.model, torch.tensor(read), torch.tensor([START, *written]))
    return Alignment(words(run.source_tokenizer, read), words(run.tokenizer, [*written, STOP]), weights)


def words(tokenizer: Tokenizer, tokens: list[int]) -> list[str]:
    """Tokens as one reads them."""
    shown = [piece.decode(errors="replace").strip() for piece in tokenizer.pieces(tokens)]
    return [word or tokenizer.label(token) for word, token in zip(shown, tokens, strict=True)]
