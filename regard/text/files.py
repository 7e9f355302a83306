"""A tokenizer as one readable JSON file. Loading it runs nothing."""

import json
from pathlib import Path
from typing import Any

from regard.disk import write_text
from regard.errors import UserError
from regard.text.foreign import Foreign
from regard.text.kinds import KINDS
from regard.text.labels import Labels
from regard.text.lower import Lower
from regard.text.numbered import Numbered
from regard.text.tokenizer import Tokenizer

FORMAT = 1
OTHERS: tuple[type[Tokenizer], ...] = (Labels, Lower, Foreign, Numbered)
CAN_BE: dict[str, type[Tokenizer]] = {**KINDS, **{one.kind: one for one in OTHERS}}


def save(tokenizer: Tokenizer, path: str | Path) -> None:
    """Write the file whole or not at all: an earlier one stays as it was until the new one is safely on the disk."""
    write_text(Path(path), json.dumps({"format": FORMAT, **tokenizer.to_json()}, ensure_ascii=False, indent=1) + "\n")


def load(path: str | Path) -> Tokenizer:
    """The tokenizer that `save` wrote."""
    path = Path(path)
    again = "train the tokenizer again or restore the file from a copy"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"tokenizer file {path} does not exist; check the folder, or train a tokenizer first") from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; check the path and its permissions") from error
    except (ValueError, RecursionError):
        raise UserError(f"{path} is broken or is not JSON; {again}") from None
    if not isinstance(data, dict) or "format" not in data:
        raise UserError(f"{path} is not a tokenizer that regard wrote (it has no format version); {again}")
    if data["format"] != FORMAT:
        raise UserError(f"{path} has format {data['format']}, this version reads {FORMAT}; update regard, or {again}")
    try:
        return _from_json(data)
    except (LookupError, AttributeError, TypeError, ValueError, UserError):
        raise UserError(f"{path} is damaged: it is JSON but not a whole tokenizer; {again}") from None


def _from_json(data: dict[str, Any]) -> Tokenizer:
    """A tokenizer may hold another one."""
    inner = {"inner": _from_json(data["inner"])} if "inner" in data else {}
    return CAN_BE[data["kind"]].from_json({**data, **inner})
