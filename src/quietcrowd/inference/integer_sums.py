"""Order-independent sums: 64-bit integers with a fixed binary point.

Weights and credits are rounded to multiples of 2^-32 once and then added as integers. So the result
does not depend on the number of threads, partitions or machines.
"""

import math

import numpy as np
import numpy.typing as npt

from quietcrowd.exceptions import ParameterError

ONE = 2**32
"""Fixed-point representation of 1.0."""

_SHARE_ONE = 2**30
_LARGEST = 2.0**63


def to_fixed(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Round numbers to multiples of 2^-32."""
    return np.rint(numbers * ONE).astype(np.int64)


def check_overflow(terms: int, largest: float) -> None:
    """Raise ParameterError if a sum of `terms` numbers up to `largest` would overflow."""
    if terms * largest * ONE >= _LARGEST:
        raise ParameterError(
            "inference.too-many-answers-of-a-task",
            largest=int(_LARGEST / (largest * ONE)),
            count=terms,
        )


def unit_for(largest: float) -> float:
    """Return the representation of 1.0 in sums up to `largest`: a power of 2, at most 2^44."""
    return float(2.0 ** min(44, 61 - math.ceil(math.log2(max(largest, 1.0)))))


def shares(labels: int) -> npt.NDArray[np.int64]:
    """Return ``1 / i`` in fixed point at index i, for i up to `labels`; 0 at index 0."""
    return np.array([0] + [_SHARE_ONE // i for i in range(1, labels + 1)], np.int64)


def from_shares(credited: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Convert sums of shares to numbers of answers."""
    return credited / _SHARE_ONE


def exact_sum(numbers: npt.NDArray[np.float64], terms: int) -> float:
    """Add numbers independently of their order, with error about 2^-53 of the largest sum.

    `terms` bounds how many there are in total; it is the same for every order and split.
    """
    largest = float(np.abs(numbers).max(initial=0.0))
    if largest == 0.0:
        return 0.0
    bits = 62 - int(np.frexp(largest)[1]) - max(terms, 1).bit_length()
    return float(np.ldexp(float(np.rint(_scaled(numbers, bits)).astype(np.int64).sum()), -bits))


def _scaled(numbers: npt.NDArray[np.float64], bits: int) -> npt.NDArray[np.float64]:
    """Return ``numbers * 2 ** bits``; a product is fastest if the power is representable."""
    return numbers * 2.0**bits if abs(bits) < 1_000 else np.ldexp(numbers, bits)
