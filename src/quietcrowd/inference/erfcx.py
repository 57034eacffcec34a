"""The scaled complementary error function ``exp(x^2) erfc(x)`` for compiled kernels.

It is read off its continued fraction, ``erfcx(x) = pi^(-1/2) / (x + (1/2) / (x + g(x)))`` with
``g(x) = 1 / (x + (3/2) / (x + 2 / (x + ...)))``, of which ``g`` is tabulated. All terms are
positive: nothing cancels in what is put together from ``g``.
"""

from __future__ import annotations

import math

import numba
import numpy as np
import numpy.typing as npt

__all__ = ["erfcx", "fraction_tails"]

_DEGREE = 5
_CELLS = 128
_SPAN = 128 * (1 - 2.0**-40)
"""Place of ``x = 0``, just inside the last cell."""

_FOLD = 3.0
_ROOT_PI = math.sqrt(math.pi)
_TERMS = 400


def _exact_tail(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return ``g`` at points of at least 0, from `math.erfc` or from the fraction itself."""
    tail = np.empty_like(x)
    near = x < 0.5
    close, far = x[near], x[~near]
    scaled = np.exp(close**2) * np.array([math.erfc(point) for point in close])
    tail[near] = 0.5 / (1.0 / (_ROOT_PI * scaled) - close) - close
    rest = (np.sqrt(far**2 + 2.0 * _TERMS) - far) / 2.0
    for term in range(_TERMS, 1, -1):
        rest = term / 2.0 / (far + rest)
    tail[~near] = rest
    return tail


def _tabulate() -> npt.NDArray[np.float64]:
    """Return polynomials for ``g(x) / y``, one for each of the equal cells of ``y = c / (c + x)``.

    Row by row, lowest power first; the variable goes from -1/2 to 1/2 in each cell.
    """
    nodes = np.cos((np.arange(_DEGREE + 1) + 0.5) * math.pi / (_DEGREE + 1)) / 2.0
    y = (np.arange(_CELLS)[:, np.newaxis] + 0.5 + nodes) / _SPAN
    tail = _exact_tail(np.maximum(_FOLD / y - _FOLD, 0.0).ravel()).reshape(y.shape)
    coefficients = np.linalg.solve(np.vander(nodes, increasing=True), (tail / y).T)
    return np.ascontiguousarray(coefficients.T)


_TABLE = _tabulate()


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _read(y: float) -> float:
    """Return ``g`` at ``y = c / (c + x)``. Whatever ``y`` is, the cell is one of the table's."""
    place = y * _SPAN
    whole = np.int32(place)
    cell = np.uint32(whole) & np.uint32(_CELLS - 1)
    w = place - whole - 0.5
    w2 = w * w
    ratio: float = (
        (_TABLE[cell, 0] + _TABLE[cell, 1] * w)
        + w2 * (_TABLE[cell, 2] + _TABLE[cell, 3] * w)
        + w2 * w2 * (_TABLE[cell, 4] + _TABLE[cell, 5] * w)
    )
    return y * ratio


@numba.njit(nogil=True, cache=True, error_model="numpy")
def fraction_tails(x: float, other: float) -> tuple[float, float]:
    """Return ``g(x) = 1 / (x + (3/2) / (x + 2 / (x + ...)))`` at two points, for one division.

    Parameters
    ----------
    x, other : float
        From 0 to 1e150. NaN gives NaN; what is below 0 gives no sensible number.

    Returns
    -------
    tail, other_tail : float
        To a relative error of 1e-14.

    References
    ----------
    ``docs/theory/normal-laplace.md``.

    Examples
    --------
    >>> at_0, at_5 = fraction_tails(0.0, 5.0)
    >>> round(at_0 / math.sqrt(math.pi), 12), round(at_5, 12)
    (0.5, 0.189412118784)
    """
    first, second = _FOLD + x, _FOLD + other
    share = _FOLD / (first * second)
    return _read(share * second), _read(share * first)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def erfcx(x: float) -> float:
    """Return ``exp(x^2) erfc(x)`` to a relative error of 1e-14.

    Parameters
    ----------
    x : float
        At least 0; infinity gives 0, NaN gives NaN, and what is below 0 gives no sensible number:
        there, ``erfcx(x) = 2 exp(x^2) - erfcx(-x)``, which the caller arranges not to overflow.

    References
    ----------
    ``docs/theory/normal-laplace.md``.

    Examples
    --------
    >>> round(erfcx(3.0), 12)
    0.179001151181
    """
    return 1.0 / (_ROOT_PI * (x + 0.5 / (x + _read(_FOLD / (_FOLD + x)))))
