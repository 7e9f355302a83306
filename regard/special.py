"""The tokens that stand for no text. Their ids are the same in every tokenizer, so no other room has to ask."""

PADDING, START, STOP, UNKNOWN = range(4)

NAMES = ("<padding>", "<start>", "<stop>", "<unknown>")
"""How people see them, by id. No text is ever read as one of these: "<stop>" in a text is six characters."""
