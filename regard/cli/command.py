"""What a group of commands is given to add itself to the command line."""

import argparse
from collections.abc import Callable
from typing import Any, TypeAlias

from regard.errors import UserError

Run: TypeAlias = Callable[[argparse.Namespace, dict[str, Any]], int]  # its words and settings → an exit code
Command: TypeAlias = Callable[[str, Run, str, str], argparse.ArgumentParser]  # name, run, what it does, examples


def no_settings(settings: dict[str, Any]) -> None:
    """For a command that reads no recipe."""
    if settings:
        raise UserError(f"--{next(iter(settings))} is a setting of a recipe and means nothing here; see --help")
