"""Tensors in one or several .safetensors files. Nothing in them is executed; the library checks every length."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from torch import Tensor

from regard.errors import UserError


class SafeTensors:
    """Tensors by name, in whichever of the files they are."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._files: dict[str, tuple[Path, Any]] = {}
        for path in paths:
            try:
                file: Any = safe_open(path, "pt")
                names = list(file.keys())
            except (SafetensorError, OSError) as error:
                raise UserError(f"{path} is damaged ({error}); fetch it again") from None
            for name in names:
                if name in self._files:
                    raise UserError(f"{path} holds {name}, which another file holds too; fetch them again")
                self._files[name] = (path, file)

    def names(self) -> Iterable[str]:
        return self._files.keys()

    def read(self, name: str) -> Tensor:
        path, file = self._files[name]
        try:
            return file.get_tensor(name)
        except (SafetensorError, OSError, RuntimeError) as error:
            raise UserError(f"{path} is damaged at {name} ({error}); fetch it again") from None
