"""`regard serve`."""

import socket
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.commands.serve import ServeCommand
from regard.errors import UserError

if TYPE_CHECKING:
    from regard.serve.metrics import Metrics, Noticeboard
    from regard.serve.served import Limits, Served

EVERY = 1.0  # seconds between two notes of a worker's figures for the others


def serve(asked: ServeCommand) -> int:
    try:
        from regard.serve.start import listening
        from regard.serve.workers import Workers
    except ModuleNotFoundError as error:
        raise UserError(f"serve wants {error.name}, which is not here; pip install 'regard[serve]'") from None
    _key(asked)  # refused before anything is loaded
    with listening(asked.host, asked.port) as at:
        if asked.workers == 1:
            _answer(asked, at)
            return 0
        with tempfile.TemporaryDirectory(prefix="regard-") as folder:
            return Workers(_work, (asked, at, Path(folder)), asked.workers).run()


def _work(place: int, asked: ServeCommand, at: socket.socket, folder: Path) -> None:
    from regard.serve.metrics import Noticeboard

    _answer(asked, at, Noticeboard(folder, place))


def _answer(asked: ServeCommand, at: socket.socket, board: "Noticeboard | None" = None) -> None:
    """In this process, until it is asked to end."""
    from regard.serve.about import moment
    from regard.serve.app import application
    from regard.serve.metrics import Metrics
    from regard.serve.served import Limits
    from regard.serve.start import serve as answer
    from regard.serve.start import server_for

    limits = Limits(rows=asked.rows, queue=asked.queue, longest=asked.longest, seconds=asked.seconds)
    metrics = Metrics()
    served = _served(asked, limits, metrics)
    app = application(served, limits, metrics, _key(asked), asked.allow_origin)
    app.state.board = board
    server = server_for(app, served, asked.drain)  # all is loaded before anybody asks how it is

    def note(board: "Noticeboard") -> None:
        while True:
            board.write(metrics.figures(moment(served)))
            time.sleep(EVERY)

    if board is not None:
        threading.Thread(target=note, args=(board,), daemon=True).start()
    answer(server, at)


def _served(asked: ServeCommand, limits: "Limits", metrics: "Metrics") -> "list[Served]":
    from regard.runs import load_run
    from regard.serve.served import Served

    pairs = [(source, target) for source, _, target in (pair.partition(":") for pair in asked.languages)]
    served = []
    for name, path in asked.named:
        run = load_run(path, precision=asked.precision, engine=asked.engine)
        languages = None
        if "translate" in run.task.commands:
            if asked.languages and not pairs:
                raise UserError(
                    f"{name} is a translator and has no languages; give --languages once for each, in their order"
                )
            languages = pairs.pop(0) if pairs else (f"{name}-source", f"{name}-target")
        served.append(Served(name, run, limits, metrics, languages))
    if pairs:
        raise UserError(f"--languages {':'.join(pairs[0])} has no translator; give one for each, in their order")
    return served


def _key(asked: ServeCommand) -> bytes | None:
    if asked.api_key_file is None:
        return None
    key = asked.api_key_file.read_bytes().split(b"\n", 1)[0].strip()
    if not key:
        raise UserError(f"{asked.api_key_file} has no key in its first line; write one there")
    return key
