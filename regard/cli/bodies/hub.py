"""`regard import`."""

from regard.cli.commands.hub import ImportCommand
from regard.hub.importing import import_run
from regard.tasks import task_of


def import_(asked: ImportCommand) -> int:
    recipe = import_run(asked.source, asked.kept_in)
    task, origin = task_of(recipe), recipe.origin
    assert origin is not None
    print(f"{asked.kept_in} is a {task.title} now ({origin.family}, {origin.format})")
    print(f"try: regard {task.commands[0]} {asked.kept_in}")
    return 0
