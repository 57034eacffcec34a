"""Upper bounds on the 1-norm of a signed sum of integer rows, exact for small tables.

A worker's answers move a vector of sums by ``sum_j s_j v_j``, with a public row ``v_j`` per task
and ``s_j`` between -1 and 1. The 1-norm of this sum is largest if every ``s_j`` is 1 or -1; see
``research/docs/theory/sparse-answers.md``.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from quietcrowd.exceptions import ParameterError

_MOST_TERMS = 2**29
"""Largest number of terms for which all signs are tried."""

_MOST_NUMBERS = 2**24
_WIDEST = 1024
"""The spectral bound is for at most `_MOST_NUMBERS` numbers in this many rows or columns."""

_BLOCK = 2**22
_SQUARINGS = 14
_EXACT = 2**53
_UNIT = 2.0**-52


def largest_signed_norm(rows: npt.NDArray[np.int64]) -> int:
    """Return the largest 1-norm of ``sum_j s_j v_j`` over all signs s, or an upper bound of it.

    `rows` are the vectors ``v_j``, shape (n, d). The result is exact if ``2**(d - 1) * n`` or
    ``2**(n - 1) * d`` is at most 2^29, which takes less than a second. Otherwise it is the least of
    several bounds: the sum of all 1-norms and, for tables that are not too large,
    `spectral_norm_bound` of all columns or of those with both signs.

    Examples
    --------
    >>> largest_signed_norm(np.array([[3, 1], [1, -3], [2, 2]]))  # v_1 + v_2 + v_3, or with -v_2
    10
    """
    whole = int(np.abs(rows).sum())
    if whole >= _EXACT:
        raise ParameterError("privacy.norms-too-large", whole=whole)
    few, many = sorted(rows.shape)
    if not rows.size or (rows >= 0).all():
        return whole
    if few <= _MOST_TERMS.bit_length() and 2 ** (few - 1) * many <= _MOST_TERMS:
        return _largest(rows if rows.shape[1] == few else rows.T)
    if few > _WIDEST or few * many > _MOST_NUMBERS:
        return whole
    one_signed = (rows >= 0).all(axis=0)
    apart = int(rows[:, one_signed].sum()) + spectral_norm_bound(rows[:, ~one_signed])
    return min(whole, spectral_norm_bound(rows), apart)


def _largest(rows: npt.NDArray[np.int64]) -> int:
    """Return ``max_t sum_j |t . v_j|`` over all signs t, only one of t and -t."""
    columns = rows.T.astype(np.float64)  # integers below 2^53: all sums are exact
    room = max(1, min(_BLOCK // len(rows), 2**12))
    inner = min(len(columns), room.bit_length())
    near = _signs(inner)[: 2 ** (inner - 1)] @ columns[:inner]
    best, sums = 0.0, np.empty_like(near)
    for signs in _signs(len(columns) - inner):
        np.add(near, signs @ columns[inner:], out=sums)
        np.abs(sums, out=sums)
        best = max(best, float(sums.sum(axis=1).max()))
    return int(best)


def _signs(count: int) -> npt.NDArray[np.float64]:
    """Return all rows of `count` signs; in the first half of them the last sign is 1."""
    places = np.arange(2**count)[:, np.newaxis]
    return np.where((places >> np.arange(count)) & 1, -1.0, 1.0)


def spectral_norm_bound(rows: npt.NDArray[np.int64]) -> int:
    """Return an upper bound of the largest 1-norm of ``sum_j s_j v_j``, from a singular value.

    `rows` are the vectors ``v_j``, shape (n, d). With positive weights ``x_j`` and ``y_k``, the
    Cauchy-Schwarz inequality gives

        sum_jk s_j v_jk t_k <= sqrt(sum 1 / x_j^2) sqrt(sum 1 / y_k^2) sigma,

    where sigma is the largest singular value of ``x_j v_jk y_k``. The weights are one over the root
    of the 2-norm of each row and column. Sigma is bounded by norms of powers of a Gram matrix.
    """
    table = rows[np.abs(rows).any(axis=1)][:, np.abs(rows).any(axis=0)].astype(np.float64)
    if not table.size:
        return 0
    of_rows, of_columns = (1 / np.sqrt(np.sqrt((table * table).sum(axis=axis))) for axis in (1, 0))
    scaled = table * of_rows[:, np.newaxis] * of_columns
    gram = scaled.T @ scaled if len(scaled) >= len(scaled.T) else scaled @ scaled.T
    # More than the rounding of all sums of products below.
    slack: float = 8 * (max(scaled.shape) + 16) * _UNIT
    error = slack * float((scaled * scaled).sum())
    largest = _eigenvalue_bound(gram, slack, _SQUARINGS) + error
    lengths = float((of_rows**-2.0).sum()) * float((of_columns**-2.0).sum())
    return math.ceil(math.sqrt(largest * lengths) * (1 + slack))


def _eigenvalue_bound(matrix: npt.NDArray[Any], slack: float, squarings: int) -> float:
    """Bound the largest absolute eigenvalue of a symmetric matrix by the norms of its powers."""
    norm = math.sqrt(float((matrix * matrix).sum())) * (1 + slack)
    if not squarings or not norm:
        return norm
    unit = matrix / norm
    return norm * math.sqrt(_eigenvalue_bound(unit @ unit, slack, squarings - 1) + slack)
