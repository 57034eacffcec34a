"""How far confidences are from the shares of labels that are right."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from quietcrowd.exceptions import ParameterError
from quietcrowd.validation import check_whole

Floats = npt.NDArray[np.float64]


def expected_calibration_error(confidence: Any, right: Any, *, bins: int = 10) -> float:
    """Return the mean distance of confidence and share of right labels, over bins.

    Tasks are put into bins of equal width by their confidence, from 0 to 1; a bin counts as many
    times as it has tasks. Where tasks are few that distance is above 0 although every confidence
    is right: see `excess_calibration_error`.

    Parameters
    ----------
    confidence : array of float, shape (tasks,)
        How sure each label is, 0 to 1.
    right : array of bool, shape (tasks,)
        Whether it is right.
    bins : int
        How many.

    Raises
    ------
    ParameterError
        Where there is no task, the shapes differ, or a confidence is outside of 0 to 1.

    References
    ----------
    M. P. Naeini et al., "Obtaining Well Calibrated Probabilities Using Bayesian Binning",
    AAAI 2015.

    Examples
    --------
    >>> expected_calibration_error([0.75, 0.75, 0.75, 0.75], [True, True, True, False])
    0.0
    """
    sure, hits, place = _binned(confidence, right, bins)
    apart = np.bincount(place, hits - sure, bins)
    return float(np.abs(apart).sum() / len(sure))


def excess_calibration_error(confidence: Any, right: Any, *, bins: int = 10) -> float:
    """Return the expected calibration error less what it would be were every confidence right.

    What it would be is exact: labels right independently of each other, each with its confidence.
    It can be negative. Parameters and errors are those of `expected_calibration_error`.

    Examples
    --------
    >>> round(excess_calibration_error([0.5, 0.5], [True, True]), 3)
    0.25
    """
    sure, _, place = _binned(confidence, right, bins)
    chance = sum(_mean_deviation(sure[place == number]) for number in range(bins))
    return expected_calibration_error(confidence, right, bins=bins) - chance / len(sure)


def _binned(confidence: Any, right: Any, bins: int) -> tuple[Floats, Floats, npt.NDArray[np.int64]]:
    """Return confidences, what is right as 0 and 1, and the bin of each."""
    check_whole("bins", bins, 1)
    sure, hits = np.asarray(confidence, np.float64), np.asarray(right, np.float64)
    if sure.ndim != 1 or sure.shape != hits.shape or not len(sure):
        raise ParameterError(
            "confidence and right must be as long as each other, and not empty; "
            f"got shapes {sure.shape} and {hits.shape}"
        )
    if not ((sure >= 0) & (sure <= 1)).all():
        raise ParameterError("every confidence must be from 0 to 1")
    return sure, hits, np.minimum((sure * bins).astype(np.int64), bins - 1)


def _mean_deviation(chances: Floats) -> float:
    """Return E |S - E S| for a sum S of independent zeros and ones of such chances.

    Counted is what is rarer; counts beyond ten standard deviations and twenty more are left out.
    """
    if not len(chances):
        return 0.0
    rare = 1.0 - chances if chances.mean() > 0.5 else chances
    mean, deviation = float(rare.sum()), float(np.sqrt((rare * (1 - rare)).sum()))
    distribution = np.zeros(min(len(rare), int(mean + 10 * deviation + 20)) + 1)
    distribution[0] = 1.0
    for chance in rare:
        distribution[1:] += chance * (distribution[:-1] - distribution[1:])
        distribution[0] *= 1.0 - chance
    return float(np.abs(np.arange(len(distribution)) - mean) @ distribution)
