"""The range that claims lie in, which is public."""

from __future__ import annotations

import math

from quietcrowd.answers import Answers
from quietcrowd.domains import Interval, Ordinal
from quietcrowd.exceptions import AnswerError, ParameterError

__all__ = ["public_range"]


def public_range(claims: Answers) -> Ordinal | Interval:
    """Return the domain of claims, with its lower and upper end.

    Raises
    ------
    ParameterError
        Where `claims` are no Answers: a dataframe has no public range.
    AnswerError
        Where they are no numbers of a range.
    """
    if not isinstance(claims, Answers):
        raise ParameterError(
            "claims must be Answers, whose domain is their public range: "
            "Answers.from_frame(frame, Interval(low=0, high=10)); "
            f"got {type(claims).__name__}"
        )
    if not isinstance(claims.domain, Ordinal | Interval):
        raise AnswerError(
            f"claims must be numbers, of an Interval or Ordinal; got {claims.domain.example()}"
        )
    if not 0 < claims.domain.width < math.inf:
        raise AnswerError(
            f"claims must have a range of finite width above 0; got {claims.domain.example()}"
        )
    return claims.domain
