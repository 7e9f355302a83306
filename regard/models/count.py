"""How many numbers a model learns, by part."""

from collections.abc import Iterator, Mapping

from torch import nn


class Count(Mapping[str, int]):
    """Parameters below every path: `count["decoder.layer"]`; `count.total` is all of them. Shared ones count once."""

    def __init__(self, module: nn.Module) -> None:
        self._parts: dict[str, int] = {}
        self.total = 0
        for path, parameter in module.named_parameters():  # names a shared parameter once
            self.total += parameter.numel()
            names = path.split(".")[:-1]
            for depth in range(1, len(names) + 1):
                part = ".".join(names[:depth])
                self._parts[part] = self._parts.get(part, 0) + parameter.numel()

    def __getitem__(self, path: str) -> int:
        return self._parts[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __str__(self) -> str:
        rows = [("  " * path.count(".") + path.rsplit(".", 1)[-1], number) for path, number in self.items()]
        rows.append(("total", self.total))
        wide = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{wide}}  {number:>12,}" for name, number in rows)


def count(module: nn.Module) -> Count:
    """Parameters by part; printing it gives a table."""
    return Count(module)
