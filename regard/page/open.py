"""Opening the page: from the command line in a browser, in a notebook as a frame."""

import os
import sys
import threading
import webbrowser
from pathlib import Path
from typing import Any
from urllib.parse import quote

from regard.config.looking import Choice
from regard.look.pictures.views import view_of
from regard.notebook import in_notebook
from regard.page.answers import Answers
from regard.page.server import Server
from regard.page.story import story_named
from regard.runs import Run

FRAME = 900  # pixels in height


def serve(answers: Answers, text: str = "", *, story: str = "", port: int = 0, browser: bool = True) -> None:
    """Serves the page until it is interrupted, and opens it where there is a browser."""
    server = Server(answers, port)
    address = address_of(server, text, story)
    print(f"the page is at {address}\npress Ctrl+C to close it", flush=True)
    if browser:
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print()
    finally:
        server.server_close()


def show(run: Run, *others: Run | str, text: str = "", story: str = "") -> Any:
    """The page about one run or several: a frame in a notebook, otherwise in the browser; this program goes on.

    With a text behind the run a notebook shows a picture instead, which stays when the kernel is gone.

    A story, ours by its name or anybody's by its file, is told from its first step on.

    It is called `show` and not `look` since `regard.look` is the room that it opens into.
    """
    runs = [run, *(other for other in others if isinstance(other, Run))]
    asked = next((other for other in others if isinstance(other, str)), "")
    if asked and in_notebook():
        return view_of(run.record(asked), Choice(), run.model)
    told = [story_named(story)] if story else []
    server = Server(Answers(runs, told))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = address_of(server, text or asked, told[0].name if told else "")
    if in_notebook():
        from IPython.display import IFrame

        return IFrame(address, width="100%", height=FRAME)
    webbrowser.open(address)
    return address


def open_file(path: Path) -> None:
    """In a browser, where there is a screen for one; a text browser would take the terminal."""
    screen = sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if screen:
        webbrowser.open(path.resolve().as_uri())


def address_of(server: Server, text: str, story: str = "") -> str:
    """Where the page shows a text, or tells a story."""
    wanted = {"text": text, "story": story}
    named = "&".join(f"{key}={quote(value)}" for key, value in wanted.items() if value)
    return server.address + (f"#{named}" if named else "")
