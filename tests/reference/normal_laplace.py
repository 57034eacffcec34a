"""The law of ``e = G + L``: a worker's own normal error and the Laplace noise added to it.

``G ~ N(0, sigma^2)`` and ``L`` has density ``exp(-|l|/b) / 2b``, ``b`` being its scale. The kernels
`tilt`, `bend` and `moments` take one error, in units of ``b``, and are inlined into the kernels
that call them; `NormalLaplace` takes arrays in the user's units.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from quietcrowd.exceptions import ParameterError
from tests.reference.vector_math import exp_minus, fraction_tails, log

__all__ = ["NormalLaplace", "bend", "moments", "tilt"]

_FAR = 40.0
"""So many sigma beyond sigma^2/b, the half of the density with L < 0 is below 10^-340 of all."""

_LEAST = 1e-50
"""A sigma or a scale below this part of the other counts as 0."""

_STEP = 0.25
"""Distance of the points over which a normal mean is taken, in standard deviations."""

_POINTS = 37
"""Their number from 0 on: up to 9 standard deviations."""

_ROOT_2 = math.sqrt(2.0)
_ROOT_8 = math.sqrt(8.0)
_ROOT_HALF = math.sqrt(0.5)
_ROOT_4_PI = math.sqrt(4.0 * math.pi)
_ROOT_16_PI = math.sqrt(16.0 * math.pi)
_LOG_ROOT_2_PI = math.log(2.0 * math.pi) / 2.0


@numba.njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _halves(
    size: float, s: float, inverse_s: float
) -> tuple[float, float, float, float, float, float, float, float, float]:
    """Return the two halves of the density at an error ``size >= 0``.

    The near half is that with noise of the error's sign. With
    ``eta(v) = 1 / (sqrt(pi) erfcx(v))``, near and far half are to each other as ``1 / eta(near)``
    to ``1 / eta(far)``, where ``near, far = (s -+ size/s) / sqrt(2)``. Both are held as fractions,
    so that one division does for all.

    Returns
    -------
    near : float
        As above.
    q : float
        ``exp(-near^2)`` where near < 0, else 1.
    near_top, far_top : float
        Numerators of ``eta(near) / q`` and ``eta(far)``.
    near_tail, far_tail : float
        The tails of the continued fractions of erfcx, at ``abs(near)`` and ``far``.
    share : float
        The denominators' inverse product, over ``eta(near) + eta(far)``.
    t : float
        The posterior mean of the sign of the noise.
    excess : float
        ``1 - sqrt(2) s / (eta(near) + eta(far))``, without cancellation.
    """
    z = min(size * inverse_s, s + _FAR)
    near, far = (s - z) * _ROOT_HALF, (s + z) * _ROOT_HALF
    decay = exp_minus(near * near)
    beyond = abs(near)
    near_tail, far_tail = fraction_tails(beyond, far)
    near_bottom, far_bottom = beyond + near_tail, far + far_tail
    near_top, far_top = beyond * near_bottom + 0.5, far * far_bottom + 0.5
    q = decay if near < 0 else 1.0
    bottom = _ROOT_4_PI * near_top - q * near_bottom if near < 0 else near_bottom
    minor = q * near_top * far_bottom
    share = 1.0 / (minor + far_top * bottom)
    lead = _ROOT_2 * z * (near_bottom * far_bottom - 0.5) + 0.5 * (near_tail - far_tail)
    t = 1.0 - 2.0 * minor * share if near < 0 else lead * share
    outer = minor + (beyond * far_bottom + 0.5) * bottom
    excess = (outer if near < 0 else 0.5 * (near_bottom + far_bottom)) * share
    return near, q, near_top, far_top, near_tail, far_tail, share, t, excess


@numba.njit(nogil=True, cache=True, error_model="numpy", inline="always")
def tilt(x: float, s: float, inverse_s: float) -> tuple[float, float]:
    """Return how far an error tells the sign of its noise, and how normal it looks.

    Parameters
    ----------
    x, s, inverse_s : float
        The error and sigma, both in units of the scale, and ``1 / s``. ``s`` lies between 1e-50
        and 1e50; ``x`` is any number, and NaN gives NaN.

    Returns
    -------
    t : float
        Posterior mean of the sign of the noise, -1 to 1; ``-t`` is the score. Odd in ``x``.
    ratio : float
        The normal density of the error over its density: d log density / d s^2 is
        ``(1 - ratio) / 2``. Even in ``x``.

    References
    ----------
    ``docs/theory/normal-laplace.md``.

    Examples
    --------
    >>> t, ratio = tilt(1.0, 1.0, 1.0)
    >>> round(t, 6), round(ratio, 6)
    (0.496777, 1.194256)
    """
    _, q, near_top, far_top, _, _, share, t, _ = _halves(abs(x), s, inverse_s)
    return math.copysign(t, x), _ROOT_8 * inverse_s * q * near_top * far_top * share


@numba.njit(nogil=True, cache=True, error_model="numpy", inline="always")
def bend(x: float, s: float, inverse_s: float) -> tuple[float, float]:
    """Return what Newton's step needs: minus the first and second derivative of the log density.

    Parameters
    ----------
    x, s, inverse_s : float
        As for `tilt`.

    Returns
    -------
    t : float
        As for `tilt`.
    curvature : float
        At least 0: ``ratio - (1 - t^2)``, without its cancellation. Even in ``x``.

    References
    ----------
    ``docs/theory/normal-laplace.md``.

    Examples
    --------
    >>> t, curvature = bend(1.0, 1.0, 1.0)
    >>> round(t, 6), round(curvature, 6)
    (0.496777, 0.441043)
    """
    _, q, near_top, far_top, _, _, share, t, excess = _halves(abs(x), s, inverse_s)
    return math.copysign(t, x), _ROOT_8 * inverse_s * q * near_top * far_top * share * excess


@numba.njit(nogil=True, cache=True, error_model="numpy", inline="always")
def moments(x: float, s: float, inverse_s: float) -> tuple[float, float, float, float, float]:
    """Return what an error tells of the worker's own part in it.

    Parameters
    ----------
    x, s, inverse_s : float
        As for `tilt`.

    Returns
    -------
    t, ratio : float
        As for `tilt`.
    mean, second : float
        Posterior mean and mean square of ``G``, in units of the scale and its square.
    log_density : float
        Of ``x``.

    References
    ----------
    ``docs/theory/normal-laplace.md``.

    Examples
    --------
    >>> t, ratio, mean, second, log_density = moments(1.0, 1.0, 1.0)
    >>> round(mean, 6), round(second, 6), round(log_density, 6)
    (0.496777, 0.805744, -1.596462)
    """
    size = abs(x)
    near, q, near_top, far_top, near_tail, far_tail, share, t, _ = _halves(size, s, inverse_s)
    square = s * s
    plain = near_top * far_top * share
    ratio = _ROOT_8 * inverse_s * q * plain
    mean = square * t
    noise = _ROOT_HALF * (far_top - near_top) * share
    spread = (far_top * near_tail + near_top * far_tail) * share - noise * noise
    outer = square + square * square * (1.0 - ratio)
    second = outer if near < 0 else mean * mean + square * spread
    z = size * inverse_s
    exponent = 0.5 * square - size if near < 0 else -0.5 * z * z
    log_density = exponent - log(_ROOT_16_PI * plain)
    return math.copysign(t, x), ratio, math.copysign(mean, x), second, log_density


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _fill(
    errors: npt.NDArray[np.float64],
    sigmas: npt.NDArray[np.float64],
    scales: npt.NDArray[np.float64],
    law: npt.NDArray[np.float64],
) -> None:
    """Fill in log density, score, posterior mean and mean square, and curvature, a row each."""
    for i in range(len(errors)):
        e, sigma, b = errors[i], sigmas[i], scales[i]
        if math.isnan(e):
            law[:, i] = math.nan
        elif b < _LEAST * sigma:
            law[0, i] = -0.5 * (e / sigma) ** 2 - math.log(sigma) - _LOG_ROOT_2_PI
            law[1, i] = -e / sigma / sigma
            law[2, i] = e
            law[3, i] = e * e
            law[4, i] = 1.0 / sigma / sigma
        elif sigma < _LEAST * b:
            law[0, i] = -abs(e) / b - math.log(2.0) - math.log(b)
            law[1, i] = -np.sign(e) / b
            law[2, i] = 0.0
            law[3, i] = 0.0
            law[4, i] = math.inf if e == 0 else 0.0
        else:
            x, s, inverse_s = e / b, sigma / b, b / sigma
            t, _, mean, second, log_density = moments(x, s, inverse_s)
            law[0, i] = log_density - math.log(b)
            law[1, i] = -t / b
            law[2, i] = mean * b
            law[3, i] = second * b * b
            law[4, i] = bend(x, s, inverse_s)[1] / b / b


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _fill_information(
    sigmas: npt.NDArray[np.float64],
    scales: npt.NDArray[np.float64],
    information: npt.NDArray[np.float64],
) -> None:
    """Fill in the information: the normal mean of the excess of the hazards."""
    for i in range(len(sigmas)):
        sigma, b = sigmas[i], scales[i]
        if b < _LEAST * sigma:
            information[i] = 1.0 / sigma / sigma
        elif sigma < _LEAST * b:
            information[i] = 1.0 / b / b
        else:
            total = weights = 0.0
            for point in range(_POINTS):
                z = _STEP * point
                weight = math.exp(-0.5 * z * z) * (1.0 if point else 0.5)
                weights += weight
                total += weight * _halves(z * (sigma / b), sigma / b, b / sigma)[8]
            information[i] = total / weights / b / b


def _numbers(name: str, values: Any) -> npt.NDArray[np.float64]:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(
            f"{name} must be a number or an array of numbers; got {values!r}"
        ) from None


def _parameter(name: str, values: Any) -> npt.NDArray[np.float64]:
    """Return numbers as an array; raise ParameterError unless they are finite and not below 0."""
    numbers = _numbers(name, values)
    _refuse(
        ~(np.isfinite(numbers) & (numbers >= 0)),
        f"{name} must be a finite number, at least 0; got",
        numbers,
        "Leave out rows without one.",
    )
    return numbers


def _sigma(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    return _parameter("sigma", values)


def _scale(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    return _parameter("scale", values)


def _refuse(
    wrong: npt.NDArray[np.bool_], rule: str, values: npt.NDArray[np.float64], way_out: str
) -> None:
    """Raise ParameterError that names the first place that is wrong, if any is."""
    if wrong.any():
        place = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
        at = f" at {', '.join(map(str, place))}" if place else ""
        raise ParameterError(f"{rule} {float(values[place])!r}{at}. {way_out}")


def _together(*arrays: npt.NDArray[np.float64]) -> list[npt.NDArray[np.float64]]:
    """Return arrays in the shape that they broadcast to."""
    try:
        return list(np.broadcast_arrays(*arrays))
    except ValueError:
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise ParameterError(
            f"the shapes of error, sigma and scale must fit each other; got {shapes}. "
            "Give one number, or one for each error."
        ) from None


@frozen(eq=False)
class NormalLaplace:
    """The law of errors that are a normal and a Laplace part together.

    What its methods return has the shape that error, sigma and scale broadcast to; it is a NumPy
    number where that is none. They raise ParameterError where an error is no number, or the shapes
    do not fit.

    Parameters
    ----------
    sigma : array_like of float
        Standard deviation of the normal part, in the unit of the errors, at least 0. With 0 the
        law is Laplace's.
    scale : array_like of float
        Scale ``b`` of the Laplace part, in the same unit, at least 0. With 0 the law is normal.

    Raises
    ------
    ParameterError
        Where sigma or scale is negative, infinite or NaN, or both are 0, or the shapes do not fit.

    References
    ----------
    ``docs/theory/normal-laplace.md``.

    Examples
    --------
    >>> law = NormalLaplace(sigma=1.0, scale=1.0)
    >>> law.log_density([0.0, 1.0, -50.0]).round(6).tolist()
    [-1.341022, -1.596462, -50.193147]
    >>> law.score([-50.0, 0.0, 1.0]).round(6).tolist()
    [1.0, -0.0, -0.496777]
    >>> law.curvature([0.0, 1.0]).round(6).tolist()
    [0.525135, 0.441043]
    >>> NormalLaplace([0.0, 1.0, 100.0], scale=1.0).fisher_information.round(6).tolist()
    [1.0, 0.368474, 0.0001]
    """

    sigma: npt.NDArray[np.float64] = field(converter=_sigma)
    scale: npt.NDArray[np.float64] = field(converter=_scale)

    def __attrs_post_init__(self) -> None:
        sigmas, scales = _together(self.sigma, self.scale)
        _refuse(
            (sigmas == 0) & (scales == 0),
            "sigma and scale must not both be 0; both are",
            scales,
            "Without any noise an error has no density; give one of them.",
        )

    def log_density(self, error: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return the log density of errors: distances of reports from the truth.

        NaN gives NaN, here and below.
        """
        return self._filled(0, error)

    def score(self, error: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return d log density / d error, per unit of the errors: within 1/scale of 0.

        With sigma 0 it jumps at an error of 0, and is 0 there.
        """
        return self._filled(1, error)

    def posterior_mean(self, error: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return the mean of the normal part, given the error, in the unit of the errors.

        0 with sigma 0, and the error with scale 0.

        Examples
        --------
        >>> NormalLaplace(sigma=2.0, scale=1.0).posterior_mean([-50.0, 1.0]).round(6).tolist()
        [-4.0, 0.742692]
        """
        return self._filled(2, error)

    def posterior_square(self, error: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return the mean square of the normal part, given the error, in the squared unit.

        0 with sigma 0, and the squared error with scale 0.

        Examples
        --------
        >>> NormalLaplace(sigma=2.0, scale=1.0).posterior_square([-50.0, 1.0]).round(6).tolist()
        [20.0, 1.610902]
        """
        return self._filled(3, error)

    def curvature(self, error: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return minus the second derivative of the log density in the error: never below 0.

        Per squared unit. With sigma 0 it is infinite at an error of 0, and 0 elsewhere.
        """
        return self._filled(4, error)

    def _filled(self, row: int, error: Any) -> npt.NDArray[np.float64]:
        """Return a row of `_fill`, in the shape that errors and parameters broadcast to."""
        errors, sigmas, scales = _together(_numbers("error", error), self.sigma, self.scale)
        law = np.empty((5, errors.size))
        _fill(errors.ravel(), sigmas.ravel(), scales.ravel(), law)
        values: npt.NDArray[np.float64] = law[row].reshape(errors.shape)[()]
        return values

    @property
    def fisher_information(self) -> npt.NDArray[np.float64]:
        """How much a report tells about the truth: the mean square of the score.

        Per squared unit of the errors: between ``1 / (sigma^2 + 2 scale^2)``, which a weighted mean
        uses, and ``1 / max(sigma, scale)^2``.
        """
        sigmas, scales = _together(self.sigma, self.scale)
        information = np.empty(sigmas.size)
        _fill_information(sigmas.ravel(), scales.ravel(), information)
        values: npt.NDArray[np.float64] = information.reshape(sigmas.shape)[()]
        return values
