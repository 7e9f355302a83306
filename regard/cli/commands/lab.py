"""`regard lab`."""

from dataclasses import dataclass
from pathlib import Path

from regard.cli.command import Command, option, place
from regard.config.settings import at_least
from regard.errors import UserError, unknown
from regard.lab import claims

ALL = "all"


@dataclass(frozen=True, kw_only=True)
class LabCommand(Command):
    """Run a claim of the notes: train, measure, draw, and say whether it held."""

    examples = """
        regard lab                              (lists the claims)
        regard lab permutation
        regard lab all --quick --seeds 3        (goes on where it was stopped)"""

    claims: tuple[str, ...] = place("CLAIM", (), known=(ALL, *claims.CLAIMS))
    """Names of claims, or all; none: list them."""
    quick: bool = False
    """Minutes (the default)."""
    full: bool = False
    """Larger models, real text."""
    seeds: int = at_least(1, 1)
    """How often each is run."""
    folder: Path = option(Path("lab"), "FOLDER")
    """Where numbers and the report go."""

    def check(self) -> None:
        if self.quick and self.full:
            raise UserError("--quick and --full are two efforts; choose one of them")
        for name in self.claims:
            if name not in (ALL, *claims.CLAIMS):
                raise unknown("claim", name, claims.CLAIMS)
