"""Parquet: tables by columns, as data frames are kept."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from regard.data.files import no_such_file
from regard.data.formats.line import Line, in_words
from regard.errors import UserError

AT_ONCE = 1000  # rows in memory


def parquet(path: Path, columns: Sequence[str], skipped: Counter[str] | None) -> Iterator[Line]:
    try:
        import pyarrow
        import pyarrow.parquet as tables
    except ImportError:
        raise UserError(f"{path} is a Parquet file, which wants a package; pip install 'regard[parquet]'") from None
    number = 0
    try:
        with tables.ParquetFile(path) as file:
            for batch in file.iter_batches(AT_ONCE):
                for row in batch.to_pylist():
                    number += 1
                    yield Line(number, {name: in_words(value) for name, value in row.items()}, 1)
    except FileNotFoundError:
        raise no_such_file(path) from None
    except (pyarrow.ArrowException, OSError) as error:
        said = str(error).splitlines()[0].rstrip(".")
        raise UserError(f"{path} is damaged or no Parquet file ({said}); fetch or save it again") from None
