"""`regard corpora` and `completion`: about the program itself."""

from dataclasses import dataclass
from typing import Literal

from regard.cli.command import Command, place


@dataclass(frozen=True, kw_only=True)
class CorporaCommand(Command):
    """The built-in corpora, which need no download."""

    examples = """
        regard corpora"""


@dataclass(frozen=True, kw_only=True)
class CompletionCommand(Command):
    """A script by which a shell completes commands, options, settings and files."""

    examples = """
        source <(regard completion bash)                             (in ~/.bashrc)
        source <(regard completion zsh)                              (in ~/.zshrc, behind compinit)
        regard completion fish > ~/.config/fish/completions/regard.fish"""

    shell: Literal["bash", "zsh", "fish"] = place("SHELL")
    """One of bash, zsh and fish."""
