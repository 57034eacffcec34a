"""Whole-numbered Laplace noise, drawn exactly.

``P(Z = z)`` is proportional to ``exp(-|z| / scale)``. Answers that are at most d steps apart, each
with this noise, cannot be told apart by more than a factor ``exp(d / scale)``: for every z, and
not up to the rounding of floats, which tells answers apart (Mironov, CCS 2012).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.exceptions import ParameterError
from quietcrowd.privacy.rounding import ratio_up

__all__ = ["DiscreteLaplace", "require_positive_epsilon"]

BLOCK = 2**16
LARGEST_POWER = 46


def require_positive_epsilon(epsilon: float) -> None:
    """Raise ParameterError unless noise can be finite at this privacy loss."""
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise ParameterError(
            "epsilon must be a finite number above 0: at 0 the noise would be infinite; "
            f"got {epsilon!r}"
        )


@frozen(kw_only=True)
class DiscreteLaplace:
    """Noise on the whole numbers.

    Parameters
    ----------
    scale : float
        In steps; taken as the exact rational number that the float is.

    References
    ----------
    C. Canonne, G. Kamath, T. Steinke, "The Discrete Gaussian for Differential Privacy", NeurIPS
    2020, algorithm 2, as OpenDP implements it.

    Examples
    --------
    >>> noise = DiscreteLaplace.for_loss(1152, epsilon=0.5)
    >>> noise.scale, noise.loss(1152)
    (2304.0, 0.5)
    """

    scale: float

    @classmethod
    def for_loss(cls, distance: Fraction | int, epsilon: float) -> DiscreteLaplace:
        """Return the least noise that hides `distance` steps at a loss of at most `epsilon`.

        Raises
        ------
        ParameterError
            Where `epsilon` is not above 0, or is so large or so small that the noise would be
            finer than a step or overflow.
        """
        require_positive_epsilon(epsilon)
        wanted = Fraction(distance) / Fraction(epsilon)
        if not 1 <= wanted <= 2**LARGEST_POWER:
            power = wanted.numerator.bit_length() - wanted.denominator.bit_length()
            size = "large" if wanted < 1 else "small"
            raise ParameterError(
                f"epsilon={epsilon!r} is too {size}: it needs noise of about 2^{power} steps of "
                f"the grid; from 1 to 2^{LARGEST_POWER} are possible. Take "
                "another epsilon, or another step."
            )
        return cls(scale=ratio_up(wanted))

    def loss(self, distance: Fraction | int) -> float:
        """Return the privacy loss between two numbers that are `distance` steps apart."""
        return ratio_up(Fraction(distance) / Fraction(self.scale))

    @property
    def variance(self) -> float:
        """In squared steps: ``2 q / (1 - q)^2`` with ``q = exp(-1 / scale)``."""
        half = math.sinh(0.5 / self.scale)
        return 0.5 / (half * half)

    def sample(self, count: int, rng: np.random.Generator | None) -> npt.NDArray[np.int64]:
        """Draw `count` independent values.

        Parameters
        ----------
        count : int
            How many. The sampler sees no answer: noise is drawn first and added by the caller.
        rng : numpy.random.Generator or None
            For a fast simulation in floats; None draws exactly, from the operating system.
        """
        if rng is None:
            return self._sample_exactly(count)
        noise = np.empty(count, np.int64)
        for start in range(0, count, BLOCK):
            block = noise[start : start + BLOCK]
            up, down = (rng.standard_exponential(len(block)) for _ in range(2))
            block[:] = np.floor(up * self.scale) - np.floor(down * self.scale)
        return noise

    def _sample_exactly(self, count: int) -> npt.NDArray[np.int64]:
        from opendp.domains import atom_domain, vector_domain
        from opendp.measurements import make_laplace
        from opendp.metrics import l1_distance
        from opendp.mod import enable_features

        enable_features("contrib")
        measurement = make_laplace(
            vector_domain(atom_domain(T="i64")), l1_distance(T="i64"), scale=self.scale
        )
        parts = [
            np.array(measurement([0] * min(BLOCK, count - start)), np.int64)
            for start in range(0, count, BLOCK)
        ]
        return np.concatenate([np.zeros(0, np.int64), *parts])
