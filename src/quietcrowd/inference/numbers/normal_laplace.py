"""The distribution of a worker's own normal error and the Laplace noise added to it.

``e = G + L`` with ``G ~ N(0, sigma^2)``, and ``L`` of density ``exp(-|l|/b) / 2b``, ``b`` being its
scale.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from quietcrowd._core import evaluate_information, evaluate_normal_laplace
from quietcrowd.exceptions import ParameterError

__all__ = ["NormalLaplace"]


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
    """The distribution of errors that have a normal and a Laplace part.

    What its methods return has the shape that error, sigma and scale broadcast to; it is a NumPy
    number where that is none. They raise ParameterError where an error is no number, or the shapes
    do not fit.

    Parameters
    ----------
    sigma : array_like of float
        Standard deviation of the normal part, in the unit of the errors, at least 0. With 0 the
        distribution is Laplace's.
    scale : array_like of float
        Scale ``b`` of the Laplace part, in the same unit, at least 0. With 0 the errors are normal.

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
        """Return a row of `evaluate_normal_laplace`, in the shape that its arguments share."""
        errors, sigmas, scales = _together(_numbers("error", error), self.sigma, self.scale)
        rows = np.empty((5, errors.size))
        evaluate_normal_laplace(errors.ravel(), sigmas.ravel(), scales.ravel(), rows)
        values: npt.NDArray[np.float64] = rows[row].reshape(errors.shape)[()]
        return values

    @property
    def fisher_information(self) -> npt.NDArray[np.float64]:
        """How much a report tells about the truth: the mean square of the score.

        Per squared unit of the errors: between ``1 / (sigma^2 + 2 scale^2)``, which a weighted mean
        uses, and ``1 / max(sigma, scale)^2``.
        """
        sigmas, scales = _together(self.sigma, self.scale)
        information = np.empty(sigmas.size)
        evaluate_information(sigmas.ravel(), scales.ravel(), information)
        values: npt.NDArray[np.float64] = information.reshape(sigmas.shape)[()]
        return values
