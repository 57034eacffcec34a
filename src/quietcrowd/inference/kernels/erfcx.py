"""The scaled complementary error function ``exp(x^2) erfc(x)`` for compiled kernels.

It is read off its continued fraction, ``erfcx(x) = pi^(-1/2) / (x + (1/2) / (x + g(x)))`` with
``g(x) = 1 / (x + (3/2) / (x + 2 / (x + ...)))``, and ``g`` is taken for a ratio of polynomials. All
terms are positive: nothing cancels in what is put together from ``g``. No table and no choice: the
loops that this is inlined into run on vector registers.
"""

from __future__ import annotations

import math

import numba

__all__ = ["erfcx", "fraction_tails"]

_FOLD = 3.0
"""c, below."""

_TOP = (
    0.5842821746889257,
    0.5578826169031943,
    0.9415385813524615,
    0.5897725816308902,
    0.48069665552661295,
    0.19619686424695426,
    0.0909655801736513,
    0.0221120778425384,
    0.005387324957278211,
    0.0005920820292921461,
    4.438896485991884e-05,
)
_BOTTOM = (
    1.0,
    0.38446669790733073,
    1.3043389899250617,
    0.3501632022199596,
    0.620048698945577,
    0.10643628016906671,
    0.12709002394770114,
    0.011525066535361197,
    0.010278437014635313,
    0.00031038682992426907,
    0.00022093286142876284,
)
"""Polynomials in ``w = 2y - 1``, ``y = c / (c + x)``, lowest power first. At 21 Chebyshev points of
``0 <= y <= 1`` their ratio is ``g(x) / y``, and within 5e-16 of it elsewhere.
``docs/theory/normal-laplace.md`` works them out."""

_ROOT_PI = math.sqrt(math.pi)


@numba.njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _ratio(y: float) -> tuple[float, float]:
    """Return ``g(x)`` at ``y = c / (c + x)`` as numerator and denominator; both are positive."""
    w = 2.0 * y - 1.0
    w2 = w * w
    w4 = w2 * w2
    top = (
        (_TOP[0] + _TOP[1] * w)
        + w2 * (_TOP[2] + _TOP[3] * w)
        + w4
        * (
            (_TOP[4] + _TOP[5] * w)
            + w2 * (_TOP[6] + _TOP[7] * w)
            + w4 * (_TOP[8] + _TOP[9] * w + w2 * _TOP[10])
        )
    )
    bottom = (
        (1.0 + _BOTTOM[1] * w)
        + w2 * (_BOTTOM[2] + _BOTTOM[3] * w)
        + w4
        * (
            (_BOTTOM[4] + _BOTTOM[5] * w)
            + w2 * (_BOTTOM[6] + _BOTTOM[7] * w)
            + w4 * (_BOTTOM[8] + _BOTTOM[9] * w + w2 * _BOTTOM[10])
        )
    )
    return y * top, bottom


@numba.njit(nogil=True, cache=True, error_model="numpy", inline="always")
def fraction_tails(x: float, other: float) -> tuple[float, float]:
    """Return ``g(x) = 1 / (x + (3/2) / (x + 2 / (x + ...)))`` at two points, for two divisions.

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
    top, bottom = _ratio(share * second)
    other_top, other_bottom = _ratio(share * first)
    inverse = 1.0 / (bottom * other_bottom)
    return top * other_bottom * inverse, other_top * bottom * inverse


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
    top, bottom = _ratio(_FOLD / (_FOLD + x))
    return 1.0 / (_ROOT_PI * (x + 0.5 / (x + top / bottom)))
