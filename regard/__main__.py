"""What `regard` and `python -m regard` run."""

import sys

from regard import process

process.begin()

from regard.cli import main  # noqa: E402 (what can be interrupted must have begun)

if __name__ == "__main__":
    sys.exit(main())
