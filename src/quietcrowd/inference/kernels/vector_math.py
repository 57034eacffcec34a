"""Special functions, rounding and sums for compiled loops that shall run on vector registers.

A call of the C library, or a table, keeps a compiler from doing several rounds of a loop at once.
These kernels are made of additions, multiplications, divisions, choices and shifts of bits alone,
and are inlined: a loop with them is compiled to instructions that work on four numbers (AVX2) or
two. They round alike wherever they run. A loop over a handful of labels a compiler does not turn
into such instructions on its own: `add_vector` hands it vectors of a constant length.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic

__all__ = [
    "LARGEST_UNIT",
    "add_vector",
    "exp_minus",
    "log",
    "to_integer",
    "to_whole",
]

LARGEST_UNIT = 2.0**50
"""Numbers up to 1 in units of this, rounded up or down, are no more than `to_integer` takes."""

_ROUNDER = 1.5 * 2.0**52
"""Added to a number, it leaves the nearest whole number in the lowest bits."""

_ROUNDER_BITS = np.int64(np.float64(_ROUNDER).view(np.int64))
_ONE_BITS = np.int64(np.float64(1.0).view(np.int64))
_ROOT_HALF_BITS = np.int64(np.float64(math.sqrt(0.5)).view(np.int64))
_WHOLE_BITS = np.int64(np.float64(2.0**52).view(np.int64))
_WHOLE = 2.0**52
_FRACTION_BITS = np.int64(52)
_BIAS = np.int64(1023)

_PER_LOG_2 = 1.0 / math.log(2.0)
_LOG_2 = 6.93147180369123816490e-01
"""The first 33 bits of ln 2, so that small multiples are exact, and the rest."""

_LOG_2_REST = 1.90821492927058770002e-10
_SMALLEST = 708.0
"""exp(-708) is about the smallest number that has all its digits."""


@numba.njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _bits(x: float) -> np.int64:
    """Return the bits of a number as an integer."""
    return np.float64(x).view(np.int64)


@numba.njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _number(bits: np.int64) -> float:
    """Return the number that has these bits."""
    return np.int64(bits).view(np.float64)


@numba.njit(nogil=True, cache=True, error_model="numpy", inline="always")
def to_integer(x: float) -> np.int64:
    """Return ``np.int64(np.rint(x))`` of a number within 2^51 of 0."""
    return _bits(x + _ROUNDER) - _ROUNDER_BITS


@numba.njit(nogil=True, cache=True, error_model="numpy", inline="always")
def to_whole(x: float) -> float:
    """Return ``np.rint(x)`` of a number within 2^51 of 0."""
    return x + _ROUNDER - _ROUNDER


@numba.njit(nogil=True, cache=True, error_model="numpy", inline="always")
def exp_minus(x: float) -> float:
    """Return ``exp(-x)`` to a relative error of 5e-16.

    Parameters
    ----------
    x : float
        At least 0; NaN gives NaN. Above 708 the result is 0.

    References
    ----------
    ``exp(-x) = 2^-k exp(-r)`` with k the whole number nearest to ``x / ln 2``; exp(-r) by its
    Taylor series.

    Examples
    --------
    >>> exp_minus(1.0) == math.exp(-1.0)
    True
    """
    most = _SMALLEST if x > _SMALLEST else x
    shifted = most * _PER_LOG_2 + _ROUNDER
    whole = shifted - _ROUNDER
    r = whole * _LOG_2 - most + whole * _LOG_2_REST
    r2 = r * r
    r4 = r2 * r2
    series = (
        (1.0 + r + r2 * (1 / 2 + r * (1 / 6)))
        + r4 * (1 / 24 + r * (1 / 120) + r2 * (1 / 720 + r * (1 / 5040)))
        + r4
        * r4
        * (
            1 / 40320
            + r * (1 / 362880)
            + r2 * (1 / 3628800 + r * (1 / 39916800))
            + r4 * (1 / 479001600)
        )
    )
    power = _number((_BIAS + _ROUNDER_BITS - _bits(shifted)) << _FRACTION_BITS)
    return 0.0 if x > _SMALLEST else series * power


@numba.njit(nogil=True, cache=True, error_model="numpy", inline="always")
def log(x: float) -> float:
    """Return the natural logarithm of a positive number that is no NaN, to 2e-16 or relatively.

    Parameters
    ----------
    x : float
        From 1e-300 to 1e300; other arguments give no sensible number.

    References
    ----------
    ``ln x = k ln 2 + 2 artanh((m - 1) / (m + 1))`` with ``x = 2^k m`` and m near 1.

    Examples
    --------
    >>> round(log(10.0), 12)
    2.302585092994
    """
    bits = _bits(x)
    biased = np.uint64(bits - _ROOT_HALF_BITS + _ONE_BITS) >> np.uint64(_FRACTION_BITS)
    raised = np.int64(biased)
    m = _number(bits - ((raised - _BIAS) << _FRACTION_BITS))
    k = _number(raised | _WHOLE_BITS) - (_WHOLE + 1023.0)
    f = (m - 1.0) / (m + 1.0)
    f2 = f * f
    f4 = f2 * f2
    series = (1 / 3 + f2 * (1 / 5)) + f4 * (
        (1 / 7 + f2 * (1 / 9))
        + f4 * ((1 / 11 + f2 * (1 / 13)) + f4 * ((1 / 15 + f2 * (1 / 17)) + f4 * (1 / 19)))
    )
    return k * _LOG_2 + (2.0 * f + (2.0 * f * f2 * series + k * _LOG_2_REST))


WIDEST = 8
"""So many numbers are one vector; longer runs are several."""


_intrinsic: Any = intrinsic(prefer_literal=True)


@_intrinsic  # type: ignore[untyped-decorator]
def add_vector(
    context: Any,  # noqa: ARG001
    target: Any,
    place: Any,  # noqa: ARG001
    source: Any,
    start: Any,  # noqa: ARG001
    length: Any,
) -> Any:
    """Add ``source[start:start + length]`` to ``target[place:place + length]``.

    Both are one-dimensional and contiguous, of integers, those of the source no wider; they must
    not overlap. Places are not checked. The length is a constant.
    """
    if not isinstance(length, types.IntegerLiteral):
        raise TypingError("add_vector: the length must be a constant")
    count = length.literal_value
    widest = min(count, WIDEST)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointers = [
            builder.gep(
                context.make_array(signature.args[i])(context, builder, arguments[i]).data,
                [arguments[i + 1]],
            )
            for i in (0, 2)
        ]

        def add(offset: Any, width: int) -> None:
            added, kept = (_vector(builder, pointer, offset, width) for pointer in pointers[::-1])
            number = builder.load(added, align=added.type.pointee.element.width // 8)
            total = builder.load(kept, align=kept.type.pointee.element.width // 8)
            if number.type != total.type:
                number = builder.sext(number, total.type)
            builder.store(builder.add(total, number), kept, align=total.type.element.width // 8)

        chunks, rest = divmod(count, widest)
        if chunks == 1:
            add(ir.Constant(ir.IntType(64), 0), widest)
        else:
            with cgutils.for_range(builder, ir.Constant(ir.IntType(64), chunks)) as loop:
                add(builder.mul(loop.index, ir.Constant(ir.IntType(64), widest)), widest)
        if rest:
            add(ir.Constant(ir.IntType(64), chunks * widest), rest)
        return context.get_dummy_value()

    return types.none(target, types.uint64, source, types.uint64, length), generate


def _vector(builder: Any, pointer: Any, offset: Any, width: int) -> Any:
    """Return the address of a vector that begins so many numbers behind an address."""
    kind = ir.VectorType(pointer.type.pointee, width)
    return builder.bitcast(builder.gep(pointer, [offset]), kind.as_pointer())
