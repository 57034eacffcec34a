"""The column with the times of a platform's answers."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from quietcrowd.formats.columns import TIME
from quietcrowd.times import seconds


def time_column(values: Sequence[Any]) -> pa.Array:
    """Return the column `TIME`: numbers, or texts if `seconds` cannot compare the times."""
    times = seconds(values)
    if times is not None:
        return times
    return pa.array([None if value in (None, "") else str(value) for value in values], pa.string())


def with_times(columns: Mapping[str, pa.Array], values: Sequence[Any]) -> pa.Table:
    """Return a table of answers with the column `TIME`."""
    return pa.table({**columns, TIME: time_column(values)})
