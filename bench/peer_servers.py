"""Other programs' servers of models that were exported from here, to be measured beside `regard serve`.

llama.cpp has one of its own. CTranslate2 has none: here it stands behind the same front as ours (starlette, uvicorn),
which hands it whatever waits as one batch.

    python -m bench.peer_servers llama.cpp out/gguf/model.gguf --port 8001 --rows 200
    python -m bench.peer_servers ctranslate2 out/ct2 --port 8002 --run runs/fr
"""

import argparse
import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

THREADS = 1


def llama_cpp(model: Path, port: int, rows: int) -> None:
    """Its own server, until it is killed."""
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path, settings.n_parallel, settings.n_ctx = str(model), rows, 256 * rows
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = THREADS
    settings.port, settings.hostnames = port, ["127.0.0.1"]
    settings.verbosity, settings.offline = -1, True
    server = xllamacpp.Server(settings)
    print(server.listening_address, flush=True)
    while True:
        time.sleep(3600)


def ctranslate2(folder: Path, port: int, rows: int, run: Path) -> None:
    """`/translate` as ours has it, by CTranslate2 and the run's tokenizers."""
    import uvicorn
    from ctranslate2 import Translator
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    import regard
    from regard.hub.out.vocabulary import names

    opened = regard.load(run)
    engine = Translator(str(folder), inter_threads=1, intra_threads=THREADS)
    read, written = names(opened.source_tokenizer), names(opened.tokenizer)
    ids = {name: token for token, name in enumerate(written)}
    waiting: asyncio.Queue[tuple[list[str], asyncio.Future[list[str]]]] = asyncio.Queue()

    async def batches() -> None:
        while True:
            some = [await waiting.get()]
            while not waiting.empty() and len(some) < rows:
                some.append(waiting.get_nowait())
            sources = [source for source, _ in some]
            most = 2 * max(map(len, sources)) + 20  # as ours
            how = {"beam_size": 5, "max_batch_size": rows, "max_decoding_length": most}
            found = await asyncio.to_thread(engine.translate_batch, sources, **how)
            for (_, answer), one in zip(some, found, strict=True):
                answer.set_result(one.hypotheses[0])

    async def translate(request: Request) -> JSONResponse:
        text = (await request.json())["q"]
        answer: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()
        waiting.put_nowait(([read[token] for token in opened.source_tokenizer.encode(text)], answer))
        return JSONResponse({"translatedText": opened.tokenizer.decode([ids[name] for name in await answer])})

    @asynccontextmanager
    async def running(_: Any) -> AsyncGenerator[None]:
        task = asyncio.ensure_future(batches())
        yield
        task.cancel()

    app = Starlette(routes=[Route("/translate", translate, methods=["POST"])], lifespan=running)
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error", http="h11")


def main() -> None:
    wants = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    wants.add_argument("engine", choices=["llama.cpp", "ctranslate2"])
    wants.add_argument("model", type=Path)
    wants.add_argument("--port", type=int, required=True)
    wants.add_argument("--rows", type=int, default=32, help="texts computed together")
    wants.add_argument("--run", type=Path, help="the run that was exported, for its tokenizers")
    given = wants.parse_args()
    if given.engine == "llama.cpp":
        llama_cpp(given.model, given.port, given.rows)
    else:
        ctranslate2(given.model, given.port, given.rows, given.run)


if __name__ == "__main__":
    main()
