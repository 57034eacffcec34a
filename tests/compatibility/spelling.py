"""What was computed, as JSON; and whether two such documents say the same."""

import math
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

CLOSE = 1e-12


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it, to the last bit."""
    if isinstance(value, pa.Array | pa.ChunkedArray):
        return value.to_pylist()
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if attrs.has(type(value)):
        names = [name for name in attrs.fields_dict(type(value)) if not name.startswith("_")]
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    assert value is None or isinstance(value, str | bool | int | float), type(value)
    return value


def in_hex(value: Any) -> Any:
    """Return a document with every float spelled bit by bit."""
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, dict):
        return {name: in_hex(one) for name, one in value.items()}
    return [in_hex(one) for one in value] if isinstance(value, list) else value


RENAMED = {
    "worker_epsilon": "total_epsilon",
    "exact_worker_epsilon": "exact_total_epsilon",
    "proven_worker_epsilon": "proven_total_epsilon",
    "quality_low": "accuracy_low",
    "quality_high": "accuracy_high",
    "sigma": "error_sd",
    "sigma_low": "error_sd_low",
    "sigma_high": "error_sd_high",
}


def named_as_now(then: dict[str, Any]) -> dict[str, Any]:
    """Return a document whose members have the names of today in Python."""
    quality = {"quality": "weight" if "error" in then else "accuracy"}
    return {(RENAMED | quality).get(name, name): one for name, one in then.items()}


def difference(then: Any, now: Any, *, exact: bool, place: str = "") -> str | None:
    """Return where two documents differ; None where they say the same.

    Floats are compared bit by bit where `exact`, and else to `CLOSE`; all else is equal.
    """
    if isinstance(then, float) and isinstance(now, float):
        same = then.hex() == now.hex()
        if not exact:
            same = same or math.isclose(then, now, rel_tol=CLOSE, abs_tol=CLOSE)
        return None if same else f"{place}: {then!r} then, {now!r} now"
    if type(then) is not type(now):
        return f"{place}: {then!r} then, {now!r} now"
    if isinstance(then, dict):
        then, now = named_as_now(then), named_as_now(now)
        if then.keys() != now.keys():
            return f"{place}: {sorted(then)} then, {sorted(now)} now"
        pairs = [(f"{place}/{name}", then[name], now[name]) for name in then]
    elif isinstance(then, list):
        if len(then) != len(now):
            return f"{place}: {len(then)} then, {len(now)} now"
        pairs = [(f"{place}/{at}", *pair) for at, pair in enumerate(zip(then, now, strict=True))]
    else:
        sentence = place.endswith("/refused") or "/law/" in place  # sentences may change
        return None if sentence or then == now else f"{place}: {then!r} then, {now!r} now"
    found = (difference(old, new, exact=exact, place=where) for where, old, new in pairs)
    return next((one for one in found if one is not None), None)
