"""What a saved picture is made for, from what was typed."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from regard.cli.words import TYPED
from regard.config.looking import PaperWishes
from regard.folder import Folder
from regard.look.pictures.paper import Paper, style_in


def paper(wishes: PaperWishes, runs: Iterable[Path]) -> Paper:
    """As it was wished for, with the command, the runs and the checksums of their weights."""
    style = style_in(wishes.style) if wishes.style is not None else {}
    return Paper(wishes.inches, style, "; ".join([TYPED.get(), *map(_told, runs)]))


def _told(run: Path) -> str:
    weights = Folder(run).weights
    if not weights.is_file():  # a record that was saved
        return str(run)
    with weights.open("rb") as file:
        return f"{run}: {weights.name} sha256 {hashlib.file_digest(file, 'sha256').hexdigest()}"
