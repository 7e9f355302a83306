"""A JSON file of another program: one table, or said in a line what it is instead."""

import json
from pathlib import Path
from typing import Any

from regard.errors import UserError

LARGEST = 1 << 28  # bytes: no settings and no tokenizer are longer


def read_json(path: Path) -> Any:
    """What a file holds."""
    try:
        if path.stat().st_size > LARGEST:
            raise UserError(f"{path} has more than {LARGEST:,} bytes, which no JSON beside a model has")
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}; check the path and its permissions") from None
    except (ValueError, RecursionError):
        raise UserError(f"{path} is broken or is not JSON; fetch it again") from None


def read_table(path: Path) -> dict[str, Any]:
    """The table in a file."""
    found = read_json(path)
    if not isinstance(found, dict):
        raise UserError(f"{path} holds no table of settings but {type(found).__name__}; fetch it again")
    return found


def table_if_there(path: Path) -> dict[str, Any]:
    return read_table(path) if path.exists() else {}
