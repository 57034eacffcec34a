"""The randomised test that a candidate passes where enough claims could have given it."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from quietcrowd.exceptions import ParameterError
from quietcrowd.validation import check_whole, number

__all__ = ["TOTAL", "PrivacyTest"]

TOTAL = 2**63
"""A candidate passes where a 63-bit word is below the weight of its count."""

_SURE = 2.0**-60
"""A probability this near to its limit counts as there."""

_MOST_COUNTS = 10**7


def _check_k(_: object, __: object, k: int) -> None:
    check_whole("k", k, 1, 10**6)


def _check_epsilon0(_: object, __: object, epsilon0: float) -> None:
    if not (math.isfinite(epsilon0) and epsilon0 > 0):
        raise ParameterError(f"epsilon0 must be a finite number above 0; got {epsilon0!r}")


def _check_drop(_: object, __: object, drop: float) -> None:
    if not 0 <= drop < 1:
        raise ParameterError(f"drop must be at least 0 and below 1; got {drop!r}")


@frozen(kw_only=True, slots=False)
class PrivacyTest:
    """Pass where the number of claims in the candidate's bucket is at least k plus noise.

    Parameters
    ----------
    k : int
        The number of claims that is asked for, the one that was blurred included; at least 1.
    epsilon0 : float
        The noise is Laplace of scale ``1 / epsilon0``; above 0.
    drop : float
        Probability that a candidate is dropped before the test, whatever it is; at least 0,
        below 1. Without it, failing tells more than any epsilon bounds.

    Raises
    ------
    ParameterError
        Where a parameter is out of its range.

    References
    ----------
    Huai et al., IJCAI 2019, Algorithm 1; the drop: ``docs/theory/pris-crowd.md``.

    Examples
    --------
    >>> test = PrivacyTest(k=5, epsilon0=1.0, drop=0.5)
    >>> test.probabilities[[1, 5, 9]].round(4).tolist()
    [0.0046, 0.25, 0.4954]
    """

    k: int = field(validator=_check_k)
    epsilon0: float = field(converter=number, validator=_check_epsilon0)
    drop: float = field(default=0.5, converter=number, validator=_check_drop)

    @cached_property
    def weights(self) -> npt.NDArray[np.uint64]:
        """The weight, out of 2^63, of passing with 0, 1, 2, ... claims; the last for any more.

        Rounded down from the noise's law: the loss is counted of the weights themselves.
        """
        counts = self.k + math.ceil(-math.log(2 * _SURE) / self.epsilon0) + 1
        if counts > _MOST_COUNTS:
            raise ParameterError(
                f"epsilon0={self.epsilon0!r} is too small for k={self.k}: the test would have to "
                f"tell {counts:,} counts apart; at most {_MOST_COUNTS:,} are possible"
            )
        beyond = self.epsilon0 * (np.arange(counts) - self.k)
        half = 0.5 * np.exp(-np.abs(beyond))
        most = math.floor((1 - self.drop) * TOTAL)
        weights = np.floor(np.where(beyond <= 0, half, 1 - half) * most)
        return np.append(np.minimum(weights, most).astype(np.uint64), np.uint64(most))

    @property
    def probabilities(self) -> npt.NDArray[np.float64]:
        """The weights as probabilities."""
        return self.weights.astype(np.float64) / TOTAL
