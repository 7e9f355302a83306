"""`regard serve`."""

from regard.cli.commands.serve import ServeCommand
from regard.errors import UserError
from regard.runs import load_run


def serve(asked: ServeCommand) -> int:
    try:
        from regard.serve.app import application
        from regard.serve.metrics import Metrics
        from regard.serve.served import Limits, Served
        from regard.serve.start import listening
        from regard.serve.start import serve as answer
    except ModuleNotFoundError as error:
        raise UserError(f"serve wants {error.name}, which is not here; pip install 'regard[serve]'") from None
    limits = Limits(rows=asked.rows, queue=asked.queue, longest=asked.longest, seconds=asked.seconds)
    metrics, pairs = Metrics(), [(source, target) for source, _, target in (p.partition(":") for p in asked.languages)]
    served = []
    for name, path in asked.named:
        run = load_run(path, precision=asked.precision)
        languages = None
        if "translate" in run.task.commands:
            languages = pairs.pop(0) if pairs else (f"{name}-source", f"{name}-target")
        served.append(Served(name, run, limits, metrics, languages))
    if pairs:
        raise UserError(f"--languages {':'.join(pairs[0])} has no translator; give one for each, in their order")
    key = _key(asked)
    at = listening(asked.host, asked.port)
    answer(application(served, limits, metrics, key, asked.allow_origin), served, at, asked.drain)
    return 0


def _key(asked: ServeCommand) -> bytes | None:
    if asked.api_key_file is None:
        return None
    key = asked.api_key_file.read_bytes().split(b"\n", 1)[0].strip()
    if not key:
        raise UserError(f"{asked.api_key_file} has no key in its first line; write one there")
    return key
