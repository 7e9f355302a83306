"""How pictures are made ready."""

from dataclasses import dataclass

from regard.config.settings import Settings, at_least, fraction


@dataclass(frozen=True)
class Pictures(Settings):
    """What becomes of a picture before a model reads it. Only captions have pictures."""

    folder: str = ""
    """Where the pictures are that captions name; left out, the folder of the caption file."""
    side: int = at_least(8, 64)
    """Pixels on each side: the shorter side becomes so long, and the middle square is kept."""
    shift: float = fraction(0.05)
    """In training: how far, as a part of its side, a picture is moved at random."""
    colour: float = fraction(0.1)
    """In training: by which part its brightness and contrast change at random."""
    flip: bool = False
    """In training: mirror half of the pictures. Not where captions say left or right."""
