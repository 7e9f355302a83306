"""What a wheel brings besides Python: the native engine, compiled for every level of this kind of processor.

Where there is no compiler the wheel is one of Python alone, and the engine is compiled where it is first used, if it
can be; so it is in a tree that is installed as it stands (`pip install -e`).
"""

import importlib.util
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ENGINE = Path("regard") / "engine"


class NativeEngine(BuildHookInterface):
    """Compiles `regard/engine/source` into `regard/engine/built`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or version == "editable":
            return
        building = self._building()
        made = []
        for level in building.levels():
            try:
                made.append(building.compiled(level, Path(self.root) / ENGINE / "built"))
            except building.NoLibrary as why:
                self.app.display_warning(f"without the native engine for {level.words}: {why}")
        if made:
            build_data["artifacts"] += [str(ENGINE / "built" / f"{path.stem}.*") for path in made]
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"

    def _building(self) -> Any:
        """The module that knows how, by its file: the package itself wants torch."""
        spec = importlib.util.spec_from_file_location("building", Path(self.root) / ENGINE / "building.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["building"] = module  # a dataclass looks its module up
        spec.loader.exec_module(module)
        return module
