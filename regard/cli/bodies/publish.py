"""`regard publish`."""

from rich.console import Console

from regard.cli.commands.publish import PublishCommand
from regard.look.find.properties import properties_named
from regard.page.publish import publish as made
from regard.page.story import story_named
from regard.runs import load_run


def publish(asked: PublishCommand) -> int:
    assert asked.to is not None
    runs = [load_run(path) for path in asked.runs]
    properties_named(asked.find)
    told = [story_named(name) for name in asked.story]
    bits = 0 if asked.bits == "auto" else int(asked.bits)
    with Console(stderr=True).status("publishing") as status:
        found = made(runs, asked.to, bits=bits, stories=told, find=asked.find, watch=status.update)
    for one in found:
        print(f"{one.file}: {one.parameters:,} parameters in {one.bits} bits, {one.bytes / 1e6:.2f} MB")
    print(f"open {asked.to / 'index.html'} by a double click, or put {asked.to} on any web server")
    return 0
