"""The one place where `privacy` looks up to `mechanisms`.

Losses are computed here from numbers alone. But a ledger holds mechanisms: it refuses what is none,
and makes them again from a file. They are imported when that is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quietcrowd.exceptions import ParameterError

if TYPE_CHECKING:
    from quietcrowd.mechanisms.mechanism import Mechanism

__all__ = ["check_mechanism", "check_reports", "read_mechanism"]


def check_mechanism(value: Any) -> None:
    """Raise ParameterError unless `value` is a mechanism."""
    from quietcrowd.mechanisms import Mechanism

    if not isinstance(value, Mechanism):
        raise ParameterError(
            "mechanism must be a Mechanism, as RandomizedResponse(domain=..., epsilon=1.0); "
            f"got {value!r}"
        )


def check_reports(value: Any) -> None:
    """Raise ParameterError unless `value` is what a mechanism sent."""
    from quietcrowd.mechanisms import Reports

    if not isinstance(value, Reports):
        raise ParameterError(
            "reports must be Reports, as mechanism.randomize or read_reports gives them; "
            f"got {type(value).__name__}"
        )


def read_mechanism(description: Any) -> Mechanism:
    """Return the mechanism of a description; see `Mechanism.from_dict`."""
    from quietcrowd.mechanisms import Mechanism

    return Mechanism.from_dict(description)
