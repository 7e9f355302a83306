"""How many examples the built-in corpora have in each part, known without making them."""

from regard.data.examples import Split

PHRASES: dict[Split, int] = {"train": 100_000, "valid": 1_000, "test": 1_000}
SHORT_PHRASES: dict[Split, int] = {"train": 50_000, "valid": 500, "test": 500}
DIGITS: dict[Split, int] = {"train": 20_000, "valid": 500, "test": 500}
SCENES: dict[Split, int] = {"train": 12_000, "valid": 500, "test": 500}
