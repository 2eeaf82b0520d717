"""The log of an allocation as a file that is sent while it is written."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from evenhand.online.store import Store

if TYPE_CHECKING:
    import pandas as pd

MEDIA = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}


def written(
    store: Store, name: str, format: str, since: int = 1, until: int | None = None, estimate: bool = False
) -> Iterator[bytes]:
    """The bytes of the file, piece by piece; what can be refused is refused before the first.

    Raises:
        UnknownAllocation: there is none of that name.
    """
    from evenhand.online.store.export import as_csv, log

    frames = log(store.database, name, since, until, estimate)
    pieces = as_parquet(frames) if format == "parquet" else map(str.encode, as_csv(frames))
    return chain([next(pieces)], pieces)


def as_parquet(frames: Iterable[pd.DataFrame]) -> Iterator[bytes]:
    """A Parquet file, piece by piece, with a row group for each frame.

    Example:
        >>> import io
        >>> import pandas as pd
        >>> file = b"".join(as_parquet([pd.DataFrame({"arm": ["tea"]}), pd.DataFrame({"arm": ["coffee"]})]))
        >>> pd.read_parquet(io.BytesIO(file))["arm"].tolist()
        ['tea', 'coffee']
    """
    import pyarrow as pa
    from pyarrow import parquet

    file, writer = _Growing(), None
    for frame in frames:
        table = pa.Table.from_pandas(frame, preserve_index=False)
        writer = writer or parquet.ParquetWriter(file, table.schema)
        writer.write_table(table)
        yield file.taken()
    if writer is not None:
        writer.close()
        yield file.taken()


class _Growing(io.RawIOBase):
    """A file of which what has been written can be taken away."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._length = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._length

    def write(self, part: object) -> int:
        self._parts.append(bytes(part))  # type: ignore[call-overload]
        self._length += len(self._parts[-1])
        return len(self._parts[-1])

    def taken(self) -> bytes:
        parts, self._parts = self._parts, []
        return b"".join(parts)
