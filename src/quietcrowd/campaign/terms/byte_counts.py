"""Byte counts as people write them: 800MB, 1.5 GB, 2GiB."""

from __future__ import annotations

import re

from quietcrowd.exceptions import ParameterError

__all__ = ["byte_count"]

_UNITS: dict[str, int] = {
    "": 1,
    "B": 1,
    **{f"{letter}B": int(1000**power) for power, letter in enumerate("KMGT", 1)},
    **{f"{letter}IB": int(1024**power) for power, letter in enumerate("KMGT", 1)},
}
_COUNT = re.compile(r"\s*(\d{1,15}(?:\.\d{1,6})?)\s*([a-zA-Z]{0,3})\s*")


def byte_count(written: str | int) -> int:
    """Parse a number of bytes; raise `ParameterError` if it is invalid."""
    found = _COUNT.fullmatch(str(written))
    if found is None or found[2].upper() not in _UNITS:
        raise ParameterError(f"bytes must be a number as 800MB, 1.5GB or 2GiB; got {written!r}")
    return round(float(found[1]) * _UNITS[found[2].upper()])
