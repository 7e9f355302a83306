"""A command whose processes die. It stands alone, for a process that dies should not have imported torch for it."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path

from regard.cli.commands.shared import InBatches
from regard.cli.lines import read_lines
from regard.errors import UserError


@dataclass(frozen=True, kw_only=True)
class OnceCommand(InBatches):
    """Writes its lines. The first process to try a piece dies, or all do; a line may be wrong."""

    always: bool = False

    def relies_on(self) -> tuple[Path, ...]:
        return ()

    def body(self) -> tuple[str, str]:
        return super().body() if self.in_shards else (__name__, "once")


def once(asked: OnceCommand) -> None:
    tried = asked.run / f"tried-{asked.first}"
    with tried.open("a") as file:
        file.write("x")
    if asked.always or len(tried.read_text()) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    lines = list(read_lines(asked.file))
    if "wrong" in lines:
        raise UserError("line 1: is wrong")
    assert asked.out is not None
    asked.out.write_text("".join(f"{line}\n" for line in lines))
