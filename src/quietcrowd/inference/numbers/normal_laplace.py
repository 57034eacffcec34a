"""Distribution of a worker's normal error plus Laplace noise.

``e = G + L`` with ``G ~ N(0, sigma^2)``, and ``L`` with density ``exp(-|l|/b) / 2b``.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from quietcrowd._core import evaluate_information, evaluate_normal_laplace
from quietcrowd.exceptions import ParameterError


def _numbers(name: str, values: Any) -> npt.NDArray[np.float64]:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError("inference.not-numbers", name=name, values=values) from None


def _parameter(name: str, values: Any) -> npt.NDArray[np.float64]:
    numbers = _numbers(name, values)
    _check(
        ~(np.isfinite(numbers) & (numbers >= 0)),
        f"{name} must be a finite number, at least 0; got",
        numbers,
        "Drop rows without one.",
    )
    return numbers


def _sigma(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    return _parameter("sigma", values)


def _scale(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    return _parameter("scale", values)


def _check(
    wrong: npt.NDArray[np.bool_], rule: str, values: npt.NDArray[np.float64], way_out: str
) -> None:
    if wrong.any():
        place = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
        at = f" at {', '.join(map(str, place))}" if place else ""
        raise ParameterError(
            "inference.value-breaks-rule",
            rule=rule,
            value=float(values[place]),
            place_suffix=at,
            remedy=way_out,
        )


def _together(*arrays: npt.NDArray[np.float64]) -> list[npt.NDArray[np.float64]]:
    try:
        return list(np.broadcast_arrays(*arrays))
    except ValueError:
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise ParameterError("inference.shapes-differ", shapes=shapes) from None


@frozen(eq=False)
class NormalLaplace:
    """Distribution of the sum of a normal and a Laplace variable.

    `sigma`, the standard deviation, and `scale` are in the unit of the errors. Results have the
    broadcast shape of error, sigma and scale; without dimensions, they are NumPy scalars. Raises
    ParameterError if sigma or scale is negative, infinite or NaN, or if both are 0. It is also
    raised if an error is not a number, or the shapes do not fit. Derivation:
    ``research/docs/theory/normal-laplace.md``.

    Examples
    --------
    >>> distribution = NormalLaplace(sigma=1.0, scale=1.0)
    >>> distribution.log_density([0.0, 1.0, -50.0]).round(6).tolist()
    [-1.341022, -1.596462, -50.193147]
    >>> distribution.score([-50.0, 0.0, 1.0]).round(6).tolist()
    [1.0, -0.0, -0.496777]
    >>> distribution.curvature([0.0, 1.0]).round(6).tolist()
    [0.525135, 0.441043]
    >>> NormalLaplace([0.0, 1.0, 100.0], scale=1.0).fisher_information.round(6).tolist()
    [1.0, 0.368474, 0.0001]
    """

    sigma: npt.NDArray[np.float64] = field(converter=_sigma)
    scale: npt.NDArray[np.float64] = field(converter=_scale)

    def __attrs_post_init__(self) -> None:
        sigmas, scales = _together(self.sigma, self.scale)
        _check(
            (sigmas == 0) & (scales == 0),
            "sigma and scale must not both be 0; both are",
            scales,
            "Without any noise an error has no density; give one of them.",
        )

    def log_density(self, error: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return the log density of errors; all methods return NaN for NaN."""
        return self._filled(0, error)

    def score(self, error: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return d log density / d error, in [-1/scale, 1/scale]; 0 at a jump."""
        return self._filled(1, error)

    def posterior_mean(self, error: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return the mean of the normal part given the error, in the unit of the errors."""
        return self._filled(2, error)

    def posterior_square(self, error: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return the mean square of the normal part given the error, in the squared unit."""
        return self._filled(3, error)

    def curvature(self, error: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return minus the second derivative; at a jump infinite, and 0 elsewhere."""
        return self._filled(4, error)

    def _filled(self, row: int, error: Any) -> npt.NDArray[np.float64]:
        """Return a row of `evaluate_normal_laplace` in broadcast shape."""
        errors, sigmas, scales = _together(_numbers("error", error), self.sigma, self.scale)
        rows = np.empty((5, errors.size))
        evaluate_normal_laplace(errors.ravel(), sigmas.ravel(), scales.ravel(), rows)
        values: npt.NDArray[np.float64] = rows[row].reshape(errors.shape)[()]
        return values

    @property
    def fisher_information(self) -> npt.NDArray[np.float64]:
        """Fisher information of a report about the truth, at most ``1 / max(sigma, scale)^2``."""
        sigmas, scales = _together(self.sigma, self.scale)
        information = np.empty(sigmas.size)
        evaluate_information(sigmas.ravel(), scales.ravel(), information)
        values: npt.NDArray[np.float64] = information.reshape(sigmas.shape)[()]
        return values
