"""Canonical JSON after RFC 8785, so that equal values have equal hashes in Python and browsers."""

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

from quietcrowd.exceptions import FormatError

LARGEST_WHOLE = 2**53 - 1  # largest whole number that every JSON reader stores exactly


def canonical_json(value: Any) -> bytes:
    """Encode a JSON value canonically, in UTF-8.

    Raises `FormatError` for values that JSON and floats cannot represent exactly.

    Examples
    --------
    >>> canonical_json({"b": [1.0, 1e21, 2.5e-7], "a": "é"}).decode()
    '{"a":"é","b":[1,1e+21,2.5e-7]}'
    """
    try:
        return _spell(value).encode()
    except UnicodeEncodeError:
        raise FormatError("campaign.json-half-surrogate") from None


def canonical_hash(value: Any) -> bytes:
    """Return the SHA-256 of `canonical_json`."""
    return hashlib.sha256(canonical_json(value)).digest()


def json_in_order(members: Mapping[str, Any]) -> str:
    """Encode an object like `canonical_json`, but with its members in their order.

    Examples
    --------
    >>> json_in_order({"question": "Is it a robin?", "answer": {"b": 1.0, "a": 2}})
    '{"question":"Is it a robin?","answer":{"a":2,"b":1}}'
    """
    canonical_json(members)
    return "{" + ",".join(f"{_spell(name)}:{_spell(members[name])}" for name in members) + "}"


def _spell(value: Any) -> str:
    if value is None or isinstance(value, bool | str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int):
        return _spell_whole(value)
    if isinstance(value, float):
        return _spell_float(value)
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise FormatError("campaign.json-key-not-text")
        keys = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(f"{_spell(key)}:{_spell(value[key])}" for key in keys) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_spell, value)) + "]"
    raise FormatError("campaign.json-type", type_name=type(value).__name__)


def _spell_whole(value: int) -> str:
    """Print a whole number; beyond 2^53 only one that equals the digits of its float."""
    spelled = str(value) if abs(value) < 10**21 else ""
    if abs(value) > LARGEST_WHOLE and (not spelled or _spell_float(float(value)) != spelled):
        raise FormatError("campaign.json-integer-too-large")
    return spelled


def _spell_float(value: float) -> str:
    """Print a float as ECMAScript does: fixed between 1e-7 and 1e21, without trailing zeros."""
    if not math.isfinite(value):
        raise FormatError("campaign.json-not-finite")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = repr(abs(float(value))).partition("e")
    whole, _, broken = mantissa.partition(".")
    digits = (whole + broken).lstrip("0")
    leading = len(whole + broken) - len(digits)
    point = len(whole) + int(exponent or 0) - leading
    digits = digits.rstrip("0")
    if 0 < point <= 21:
        if len(digits) <= point:
            return sign + digits.ljust(point, "0")
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    power = f"e{point - 1:+d}"
    return sign + (digits if len(digits) == 1 else f"{digits[0]}.{digits[1:]}") + power
