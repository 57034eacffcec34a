"""Errors that most workers share: ``research/docs/theory/shared-errors.md``."""

from typing import Any

from attrs import frozen

from quietcrowd.exceptions import ParameterError
from quietcrowd.validation import check_real, plain

LEARN = "learn"


@frozen(kw_only=True)
class SharedErrors:
    """Estimated size of the errors that most workers share.

    Attributes
    ----------
    size : float
        For labels, the probability that a truth differs from what the workers agree on; for
        numbers, the standard deviation of that difference, in the unit of the answers.
    low, high : float
        Ends of a central 90 % interval.
    known_truths : int
        Number of known truths it was learned from; without any, the size is that in other crowds.
    """

    size: float
    low: float
    high: float
    known_truths: int


def as_choice(value: Any) -> Any:
    """Return a parameter `shared_errors` as it is stored: False as 0."""
    return 0.0 if value is False else plain(value)


def check_choice(_: object, __: object, value: Any) -> None:
    """Raise ParameterError unless `value` is "learn" or a finite number of at least 0."""
    if isinstance(value, str) and value != LEARN:
        raise ParameterError("inference.shared-errors-unknown", value=value)
    if value != LEARN:
        check_real("shared_errors", value, 0)
