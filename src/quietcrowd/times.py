"""Times of answers, as platforms write them, and the order of repeated answers."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from quietcrowd.exceptions import QuietcrowdWarning
from quietcrowd.frames import column_of

if TYPE_CHECKING:
    import narwhals as nw

TIME_NAMES = ("updated_at", "created_at", "submitted_at")
"""Columns of a table of answers that order repeated answers, if only one of them exists."""

_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_ZONES = {"UTC": 0, "GMT": 0, "PST": -8, "PDT": -7}
"""Hours east of Greenwich; MTurk writes Pacific time."""

_UNIX = re.compile(
    rf"[A-Z][a-z]{{2}} ({'|'.join(_MONTHS)}) +(\d+) (\d+):(\d+):(\d+) "
    rf"({'|'.join(_ZONES)}) (\d{{4}})"
)
"""Matches times as in "Tue Jan 02 15:04:05 PST 2024"."""

_MILLISECONDS = 10**11
"""Numbers from here on are milliseconds; as seconds they are after the year 5000."""

_SLASHES = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4}) (\d{1,2}):(\d{2})(?::(\d{2}))?")
"""Matches times as in "1/31/2024 15:04:05"."""


def seconds(values: Sequence[Any]) -> pa.Array | None:
    """Return times in seconds, or None if one is ambiguous, unknown, or has another zone.

    Times are datetimes or texts in ISO 8601, with or without a zone in all of them, or seconds
    or milliseconds since 1970. Of dates with slashes, one must show which number is the month.

    Examples
    --------
    >>> seconds(["2024-01-02T23:04:05Z", None, "Tue Jan 02 15:04:06 PST 2024"]).to_pylist()
    [1704236645.0, None, 1704236646.0]
    >>> seconds(["2/1/2024 10:00"]) is None
    True
    """
    held = [value for value in values if value not in (None, "")]
    month_first = _is_month_first(held)
    try:
        times = [None if value in (None, "") else _time(value, month_first) for value in values]
        zones = {one.tzinfo is None for one in times if one is not None}
        return pa.array(map(_number, times), pa.float64()) if len(zones) == 1 else None
    except (ValueError, OverflowError, OSError):
        return None


def times_to_compare(
    values: Sequence[Any], name: str | None = None
) -> npt.NDArray[np.float64] | None:
    """Return the times of repeated answers, -inf if missing; None if they cannot be compared.

    A warning says so, or names the column `name` that orders the answers.
    """
    held = [value for value in values if value not in (None, "")]
    if not held:
        return None
    times = seconds(values)
    if times is None:
        warnings.warn(QuietcrowdWarning("answers.times-unreadable", value=held[0]), stacklevel=3)
        return None
    if name is not None:
        warnings.warn(
            QuietcrowdWarning("answers.ordered-by-time", name=name, count=len(values)), stacklevel=3
        )
    return times.fill_null(-math.inf).to_numpy()  # type: ignore[no-any-return]


def named_times(names: Sequence[str]) -> str | None:
    """Return the only column of `TIME_NAMES`, or None; warn if there are several."""
    found = [name for name in TIME_NAMES if name in names]
    if len(found) > 1:
        known = " and ".join(map(repr, found))
        warnings.warn(QuietcrowdWarning("answers.times-ambiguous", names=known), stacklevel=3)
    return found[0] if len(found) == 1 else None


def order_by_time(
    frame: nw.DataFrame[Any], rows: npt.NDArray[np.intp], first: npt.NDArray[np.bool_]
) -> npt.NDArray[np.intp]:
    """Return `rows` with repeated answers in the order of a column of `TIME_NAMES`.

    `first` is a mask of the rows that begin the answers of a worker to a task.
    """
    name = named_times(frame.columns)
    if name is None:
        return rows
    groups = np.cumsum(first)
    repeated = np.bincount(groups)[groups] > 1
    column = column_of(frame, name).take(pa.array(rows[repeated]))
    times = times_to_compare(column.to_pylist(), name)
    if times is None:
        return rows
    sent = np.zeros(len(rows))
    sent[repeated] = times
    return rows[np.lexsort((sent, groups))]


def _is_month_first(values: Sequence[Any]) -> bool:
    found = [_SLASHES.fullmatch(value) for value in values if isinstance(value, str)]
    days = [(int(one[1]), int(one[2])) for one in found if one]
    return all(first <= 12 for first, _ in days) and any(second > 12 for _, second in days)


def _time(value: Any, month_first: bool) -> datetime:
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime.combine(value, time())
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return datetime.fromtimestamp(value if abs(value) < _MILLISECONDS else value / 1000, UTC)
    if not isinstance(value, str):
        raise ValueError
    if (found := _UNIX.fullmatch(value)) is not None:
        month, zone = _MONTHS.index(found[1]) + 1, timezone(timedelta(hours=_ZONES[found[6]]))
        day, hour, minute, second, year = map(int, found.group(2, 3, 4, 5, 7))
        return datetime(year, month, day, hour, minute, second, tzinfo=zone)
    if month_first and (found := _SLASHES.fullmatch(value)) is not None:
        month, day, year, hour, minute = map(int, found.group(1, 2, 3, 4, 5))
        return datetime(year, month, day, hour, minute, int(found[6] or 0))
    return datetime.fromisoformat(re.sub(" UTC$", "Z", value))


def _number(sent: datetime | None) -> float | None:
    if sent is None:
        return None
    return (sent if sent.tzinfo is not None else sent.replace(tzinfo=UTC)).timestamp()
