"""Precision of a survey before the first answer: half-widths of intervals, without simulation."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from quietcrowd.domains import FiniteDomain, Ordinal
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.survey.means import UnbiasedNumbers
from quietcrowd.survey.shares import decoder_for

CONFIDENCE = 0.95


def estimates_shares(mechanism: Mechanism) -> bool:
    """Return whether a campaign estimates shares of labels, rather than means."""
    domain = mechanism.domain
    return isinstance(domain, FiniteDomain) and not isinstance(domain, Ordinal)


def half_width(mechanism: Mechanism, reports: float, confidence: float = CONFIDENCE) -> float:
    """Return half the width of the interval for a share, or for a mean, from some reports.

    It is that of the share or mean that is hardest to estimate, before the interval is clipped. It
    may exceed half of the range. AnswerError if reports are not counted, or have no mean.

    Examples
    --------
    >>> import quietcrowd as qc
    >>> yes_no = qc.RandomizedResponse(domain=qc.Categorical(["no", "yes"]), epsilon=2.5)
    >>> round(half_width(yes_no, 1215 * 2 / 10), 3)
    0.074
    """
    z = NormalDist().inv_cdf(0.5 + confidence / 2.0)
    return float(z * np.sqrt(largest_variance(mechanism) / (reports + z * z)))


def largest_variance(mechanism: Mechanism) -> float:
    """Return the largest variance, over all shares, of the part of an estimate due to a report."""
    has_more = mechanism.participation_domain is not None or mechanism.sketch_bounds(1) is not None
    if not estimates_shares(mechanism):
        numbers = UnbiasedNumbers.of(mechanism, has_more=has_more)
        low, high = numbers.domain.low, numbers.domain.high
        return _largest(*numbers.ends, low, high)
    squares = decoder_for(mechanism, has_more=has_more).second_moments
    size = len(squares)
    pairs = ((a, b) for a in range(size) for b in range(size) if a != b)
    return max(_largest(squares[b, a], squares[a, a], 0.0, 1.0) for a, b in pairs)


def _largest(first: float, last: float, low: float, high: float) -> float:
    """Return the largest variance if some people give one answer and the others another one.

    `first` and `last` are mean squares of the numbers from the answers `low` and `high`.
    """
    width = high - low
    share = min(max((last - first - 2.0 * low * width) / (2.0 * width**2), 0.0), 1.0)
    return float((1.0 - share) * first + share * last - (low + share * width) ** 2)
