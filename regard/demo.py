"""The first thing a newcomer sees: an RNN with attention learns French in about a minute, and shows where it looks."""

import time
from pathlib import Path

from rich.console import Console
from rich.panel import Panel

from regard.config import Data, Recipe, Recurrent, Seq2Seq, Text, Train
from regard.config.decoding import Search
from regard.data.corpora.phrases import notes_sentences
from regard.look.pictures.maps import alignment_map, save_beside
from regard.look.pictures.style import HONEST
from regard.runs import load_run
from regard.training.loop import train

RECIPE = Recipe(
    data=Data(train="news:french"),
    text=Text(kind="words", shared=False),
    model=Seq2Seq(
        encoder=Recurrent("gru", width=128, layers=1, dropout=0.0, bidirectional=True),
        decoder=Recurrent("gru", width=128, layers=1, dropout=0.0),
        similarity="additive",
        tied=True,
    ),
    train=Train(
        steps=1000, batch=2000, rate=0.006, warmup=50, evaluate=250, mixed_precision="float32"
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
    figures = run.evaluate()
    console.print(
        f"\nOn [bold]500 sentences it has never seen[/bold]: BLEU [bold]{figures['bleu']:.1f}[/bold], "
        f"{figures['exact']:.0f} % right to the letter\n[dim]{figures['bleu_signature']}[/dim]"
    )
    maps = []
    for phrase in notes_sentences("french"):
        ((made, *_),) = run.translations([phrase.source], Search(beam=1), alignments=True)
        output = made.text
        verdict = "[green]as it should be[/green]" if output == phrase.target else f"should be: {phrase.target}"
        console.print(f"\n[bold]{phrase.source}[/bold]\n→ [bold blue]{output}[/bold blue]   {verdict}\n")
        assert made.alignment is not None
        maps.append(alignment_map(made.alignment))
        console.print(maps[-1].terminal(console.width), soft_wrap=True)
    picture = path / "alignment.png"
    save_beside(maps, picture)
    console.print(f"\n[dim]Darker: looked at more. It shows {HONEST}.[/dim]")
    console.print(f"\n{time.monotonic() - began:.0f} seconds. The run is in {path}, the picture in {picture}.")
