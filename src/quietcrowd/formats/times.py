"""Times of answers, as platforms write them."""

import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pyarrow as pa

from quietcrowd.formats.columns import TIME

_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_ZONES = {"UTC": 0, "GMT": 0, "PST": -8, "PDT": -7}
"""Hours east of Greenwich; MTurk writes Pacific time."""

_UNIX = re.compile(
    rf"[A-Z][a-z]{{2}} ({'|'.join(_MONTHS)}) +(\d+) (\d+):(\d+):(\d+) "
    rf"({'|'.join(_ZONES)}) (\d{{4}})"
)
"""Matches times as in "Tue Jan 02 15:04:05 PST 2024"."""

_SLASHES = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4}) (\d{1,2}):(\d{2})(?::(\d{2}))?")
"""Matches times as in "1/31/2024 15:04:05"."""


def seconds(values: Sequence[Any]) -> pa.Array | None:
    """Return times in seconds, or None if one is ambiguous, unknown, or has another zone.

    Times are texts in ISO 8601, with or without a zone in all of them, or seconds since 1970. Of
    dates with slashes, one must show which number is the month.

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
        zones = {time.tzinfo is None for time in times if time is not None}
        return pa.array(map(_number, times), pa.float64()) if len(zones) == 1 else None
    except (ValueError, OverflowError, OSError):
        return None


def with_times(columns: Mapping[str, pa.Array], values: Sequence[Any]) -> pa.Table:
    """Return a table of answers, with a column `TIME` unless `seconds` finds no times."""
    times = seconds(values)
    return pa.table({**columns, **({} if times is None else {TIME: times})})


def _is_month_first(values: Sequence[Any]) -> bool:
    found = [_SLASHES.fullmatch(value) for value in values if isinstance(value, str)]
    days = [(int(one[1]), int(one[2])) for one in found if one]
    return all(first <= 12 for first, _ in days) and any(second > 12 for _, second in days)


def _time(value: Any, month_first: bool) -> datetime:
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return datetime.fromtimestamp(value, UTC)
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


def _number(time: datetime | None) -> float | None:
    if time is None:
        return None
    return (time if time.tzinfo is not None else time.replace(tzinfo=UTC)).timestamp()
