"""`regard export`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from regard.cli.command import place
from regard.cli.commands.shared import AboutRun
from regard.errors import UserError


@dataclass(frozen=True, kw_only=True)
class ExportCommand(AboutRun):
    """Hands a run to another engine, with its tokenizer and a card that says what it is."""

    examples = """
        regard export runs/mine --to hf out/mine              (transformers, vLLM)
        regard export runs/fr --to ctranslate2 out/fr         (translates fast on a processor)
        regard export runs/smol --to gguf out/smol            (llama.cpp)
        regard export runs/lstm --to onnx out/lstm            (every model, wherever ONNX runs)"""

    out: Path = place("OUT")
    """The folder that is made."""
    to: Literal["", "hf", "ctranslate2", "gguf", "onnx"] = ""
    """Which format."""

    def check(self) -> None:
        if not self.to:
            raise UserError("export wants a target, found none; add --to hf, ctranslate2, gguf or onnx")

    def ready(self) -> None:
        super().ready()
        if self.out.exists():
            raise UserError(f"{self.out} is there already; name another place, or remove it first")
