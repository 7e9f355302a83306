"""`regard card`."""

from regard.cli.commands.card import CardCommand
from regard.disk import write_text
from regard.hub.out import own_card
from regard.runs import load_run


def card(asked: CardCommand) -> int:
    text = own_card(load_run(asked.run))
    if asked.save is None:
        print(text, end="")
    else:
        write_text(asked.save, text)
        print(f"the card is in {asked.save}")
    return 0
