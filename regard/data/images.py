"""Pictures: read from files, made square, and kept as bytes on the disk."""

import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from regard.data.files import no_such_file
from regard.disk import write_with
from regard.errors import UserError

Pixels = NDArray[np.uint8]
Found = NDArray[np.float16]
Picture = Pixels | Found
"""A picture as a model reads it: its pixels (3, side, side), or what frozen eyes have found in it (C, y, x)."""


class Unreadable(UserError):
    """A picture that cannot be read: an error where one is asked for, left out and counted in training."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


class Missing(Unreadable):
    """There is no such file. A folder may lack thousands: near names are looked for when this is shown."""

    def __init__(self, path: Path) -> None:
        super().__init__("not there", "")
        self._path = path

    def __str__(self) -> str:
        return str(no_such_file(self._path))


def read_picture(path: Path, side: int) -> Pixels:
    """A file's pixels (3, side, side), red, green and blue. The shorter side is made to fit, the middle kept.

    A camera's note on which way is up is obeyed; what is transparent becomes white.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path) as image:
                image.draft("RGB", (side, side))  # a JPEG can be unpacked small, which is many times faster
                return as_pixels(image, side)
    except UnidentifiedImageError:
        raise Unreadable(
            "not a picture",
            f"{path} is not a picture, whatever its name says; give a JPEG, PNG, WebP, GIF, BMP or TIFF",
        ) from None
    except FileNotFoundError:
        raise Missing(path) from None
    except IsADirectoryError:
        raise Unreadable("a folder", f"{path} is a folder where a picture is wanted; name a file in it") from None
    except PermissionError:
        raise Unreadable("not readable", f"cannot read {path}: permission denied; check its permissions") from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise Unreadable(
            "too large", f"{path} has more than {Image.MAX_IMAGE_PIXELS:,} pixels; make it smaller"
        ) from None
    except (OSError, SyntaxError, ValueError, EOFError):  # what Pillow's many decoders say of a broken file
        raise Unreadable("damaged or cut short", f"{path} is damaged or cut short; fetch or save it again") from None


def as_pixels(image: Image.Image, side: int) -> Pixels:
    """A picture of any size and mode as bytes (3, side, side)."""
    upright = ImageOps.exif_transpose(image)
    if upright.has_transparency_data:
        upright = upright.convert("RGBA")
        upright = Image.alpha_composite(Image.new("RGBA", upright.size, "white"), upright)
    square = ImageOps.fit(upright.convert("RGB"), (side, side), Image.Resampling.BICUBIC)
    return np.ascontiguousarray(np.asarray(square).transpose(2, 0, 1))


def write_pictures(path: Path, pictures: Iterable[Picture]) -> None:
    """Pictures in a row in one file, written as they come: they need not fit in memory together."""

    def pour(partial: Path) -> None:
        with partial.open("wb") as file:
            for picture in pictures:
                file.write(picture.tobytes())

    write_with(path, pour)


def read_pictures(path: Path, side: int, found: Sequence[int] = ()) -> Picture:
    """What `write_pictures` wrote, as (N, 3, side, side) or (N, *found), without reading it into memory."""
    kind: Any = np.float16 if found else np.uint8
    there: Picture = np.memmap(path, kind, "r") if path.stat().st_size else np.zeros(0, kind)
    return there.reshape(-1, *(found or (3, side, side)))
