"""`regard corpora`: answers without computing."""

from dataclasses import dataclass

from regard.cli.command import Command


@dataclass(frozen=True, kw_only=True)
class CorporaCommand(Command):
    """The built-in corpora, which need no download."""

    examples = """
        regard corpora"""
