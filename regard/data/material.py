"""What a model learns from and is judged by, as tokens in its run folder or in memory."""

from dataclasses import dataclass, field
from typing import Any

from regard.data.store import Store


@dataclass(frozen=True)
class Material:
    """Both parts, each as (text,) or (source, target): a Store, or an Album where the source is pictures."""

    train: tuple[Any, ...]
    valid: tuple[Any, ...]
    valid_bytes: int  # of what is to be predicted, in UTF-8
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def train_tokens(self) -> int:
        return sum(len(part.tokens) for part in self.train if isinstance(part, Store))
