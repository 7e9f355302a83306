"""`regard doctor`: what this machine can do."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from regard.cli.command import Command, place
from regard.folder import Folder


@dataclass(frozen=True, kw_only=True)
class DoctorCommand(Command):
    """What answers here, this machine's native engine or torch, and why; for a run, by which of them it is answered."""

    examples = """
        regard doctor
        regard doctor runs/fr --precision int8"""

    run: Path | None = place("RUN", None)
    """The folder of a run."""
    precision: Literal["float32", "int8"] = "float32"
    """What its weights are kept in."""

    def ready(self) -> None:
        if self.run is not None:
            Folder(self.run).read_config()
