"""`regard export`."""

from regard.cli.commands.export import ExportCommand
from regard.hub.out import TARGETS
from regard.hub.out import export as hand_out
from regard.runs import load_run


def export(asked: ExportCommand) -> int:
    target = TARGETS[asked.to]
    found = hand_out(load_run(asked.run), asked.to, asked.out)
    print(f"{asked.out} is for {target.title}")
    if found is None:
        print(f"not compared: {target.engine} is not installed; pip install 'regard[export]'")
    else:
        print(f"largest difference of scores over {found.rows}: {found.difference:.0e}")
    return 0
