"""Doors: models of other programs come in, ours go out. Nothing that is read is executed."""
