"""Result files: Parquet tables with all that is needed to run the simulation again, and values for JSON."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.core.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 2


def read_table(path: Path) -> tuple[dict[str, Any], pd.DataFrame]:
    """A table that `Results.save` wrote, with its information."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    # What a damaged file makes the reader raise; the page checksums detect what would be read as other numbers.
    damage = (pa.ArrowException, OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, MemoryError)
    try:
        table = pq.read_table(path, page_checksum_verification=True)
        stamp = (table.schema.metadata or {}).get(b"evenhand")
        information = None if stamp is None else json.loads(stamp)
        frame = table.to_pandas()
    except FileNotFoundError:
        raise DataError(f"there is no file {path}") from None
    except damage as error:
        raise DataError(f"{path} is damaged or not a Parquet file: {error}") from None
    if not isinstance(information, dict):
        raise DataError(f"{path} is a Parquet file, but not one that Evenhand wrote")
    if information.get("format") != FORMAT:
        raise DataError(
            f"{path} has format {information.get('format')!r}, but this version reads format {FORMAT}; "
            "read it with the version that wrote it"
        )
    return information, frame


def without_infinities(value: Any) -> Any:
    """A value of dictionaries and lists as JSON can hold it: null for every number that is not finite."""
    if isinstance(value, dict):
        return {key: without_infinities(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_infinities(item) for item in value]
    if isinstance(value, np.generic):
        return without_infinities(value.item())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_table(table: pd.DataFrame, information: dict[str, Any], path: Path) -> None:
    """Write a table with its information as Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrow = pa.Table.from_pandas(table, preserve_index=False)
    stamp = {**(arrow.schema.metadata or {}), b"evenhand": json.dumps(information, allow_nan=False).encode()}
    pq.write_table(arrow.replace_schema_metadata(stamp), path, write_page_checksum=True)
