"""`regard serve`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from regard.cli.command import Command, option, place
from regard.config.settings import above_zero, at_least
from regard.errors import UserError
from regard.folder import Folder

LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, kw_only=True)
class ServeCommand(Command):
    """Answers over HTTP, for clients of OpenAI and of LibreTranslate, many at once."""

    examples = """
        regard serve runs/mine
        regard serve fr=runs/fr --languages en:fr --port 5000
        regard serve runs/en-fr runs/fr-en --languages en:fr --languages fr:en
        regard serve smol=runs/smol fr=runs/fr --languages en:fr --host 0.0.0.0 --api-key-file key.txt"""

    runs: tuple[str, ...] = place("[NAME=]RUN …")
    """Folders of runs, and what clients call them; without a name as the folder."""
    host: str = "127.0.0.1"
    """The address to listen at; any but this machine's own wants a key."""
    port: int = at_least(0, 8000)
    """0: any free one."""
    languages: tuple[str, ...] = option((), "FROM:TO")
    """What each translator reads and writes, in the order of the translators, such as en:fr."""
    api_key_file: Path | None = None
    """The key that clients must send is the first line of this file."""
    allow_origin: tuple[str, ...] = option((), "ORIGIN")
    """A page of others that may ask, such as https://example.org."""
    rows: int = at_least(1, 32)
    """Rows computed together: a text that is written is one, a translation as many as its beam (by torch 8 or 16)."""
    queue: int = at_least(1, 256)
    """Requests that may wait; more are told to come again."""
    longest: int = at_least(2, 4096)
    """Tokens of a prompt, and of an answer, at most."""
    seconds: float = above_zero(300.0, "a request must be given some time")
    """How long one request may take."""
    workers: int = at_least(1, 1)
    """Processes that answer at the same port, each with all runs; one that dies is begun anew."""
    drain: float = above_zero(30.0, "what runs must be given some time")
    """How many seconds what runs is given to end when the server is asked to."""
    precision: Literal["float32", "int8"] = "float32"
    """What weights are kept in; with int8 torch computes each request by itself."""
    engine: Literal["auto", "native", "torch"] = "auto"
    """What computes the answers; auto: native where it knows the model (regard doctor RUN says whether)."""

    @property
    def named(self) -> list[tuple[str, Path]]:
        """Names and folders."""
        found = []
        for word in self.runs:
            name, found_one, path = word.partition("=")
            found.append((name, Path(path)) if found_one and "/" not in name else (Path(word).name, Path(word)))
        return found

    def check(self) -> None:
        names = [name for name, _ in self.named]
        twice = next((name for name in names if names.count(name) > 1 or not name), None)
        if twice is not None:
            raise UserError(f"every run must have a name of its own, found '{twice}' twice; write NAME=RUN")
        if self.host not in LOOPBACK and self.api_key_file is None:
            raise UserError(
                f"--host {self.host} lets others ask, and there is no key; add --api-key-file FILE, or leave --host out"
            )
        if self.port > 65535:
            raise UserError(f"a port is at most 65535, found {self.port}")
        for pair in self.languages:
            source, _, target = pair.partition(":")
            if not source or not target:
                raise UserError(f"--languages wants two codes, such as en:fr, found '{pair}'")

    def ready(self) -> None:
        for _, path in self.named:
            Folder(path).read_config()
        if self.api_key_file is not None and not self.api_key_file.is_file():
            raise UserError(f"{self.api_key_file} is not there; write the key into it, or name another file")
