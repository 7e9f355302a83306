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
        regard lab ./my_claim.py permutation    (a claim of your own: the file is run)
        regard lab all --quick --seeds 3        (goes on where it was stopped)"""

    claims: tuple[str, ...] = place("CLAIM", (), known=(ALL, *claims.CLAIMS))
    """Names of claims, or all; a file with claims of your own, which is run; none: list them."""
    quick: bool = False
    """Minutes (the default)."""
    full: bool = False
    """Larger models, real text."""
    seeds: int = at_least(1, 1)
    """How often each is run."""
    folder: Path = option(Path("lab"), "FOLDER")
    """Where numbers and the report go."""
    no_open: bool = False
    """Do not open the report in a browser at the end."""

    def check(self) -> None:
        if self.quick and self.full:
            raise UserError("--quick and --full are two efforts; choose one of them")
        for name in self.claims:
            if not name.endswith(".py") and name not in (ALL, *claims.CLAIMS):
                raise unknown("claim", name, claims.CLAIMS)

    def ready(self) -> None:
        for file in self.own_files:
            if not file.is_file():
                raise UserError(f"claim '{file}' is no file; check its path")

    @property
    def own_files(self) -> tuple[Path, ...]:
        """Files with claims of the user's own."""
        return tuple(dict.fromkeys(Path(name) for name in self.claims if name.endswith(".py")))
