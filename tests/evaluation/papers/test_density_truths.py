import numpy as np
import pytest
from scipy.integrate import quad

from quietcrowd.datasets import opinion_crowd
from quietcrowd.domains import Interval
from quietcrowd.evaluation.papers.density_experiment import fitted
from quietcrowd.evaluation.papers.density_truths import (
    errors_from,
    even_errors,
    near_claims_density,
    normal_density,
)
from quietcrowd.exceptions import ParameterError
from quietcrowd.synthesis.kde import EPANECHNIKOV, KernelDensities

CROWD = opinion_crowd(tasks=12, workers=6, seed=3)
CLAIMS = fitted(CROWD, 1.0)


def densities(*points, kernel=None, width=1.0):
    counts = [len(some) for some in points]
    return KernelDensities(
        offsets=np.concatenate([[0], np.cumsum(counts)]),
        points=np.array([place for some in points for place in some], float),
        weights=np.array([1 / len(some) for some in points for _ in some]),
        bandwidths=np.full(len(points), width),
        **({"kernel": kernel} if kernel else {}),
    )


def test_the_error_of_an_even_density_is_the_integral():
    truth = densities([0.2, 1.0, 9.0], [4.0], [], width=0.7)
    public = Interval(low=0, high=5)
    errors = even_errors(truth, public)
    assert np.isnan(errors[2])
    for task in (0, 1):
        parts = [
            quad(lambda x, even=even, task=task: (truth.pdf(task, x) - even) ** 2, low, high)[0]
            for low, high, even in ((-9, 0, 0.0), (0, 5, 0.2), (5, 20, 0.0))
        ]
        assert errors[task] == pytest.approx(sum(parts), rel=1e-6)


def test_only_gaussian_kernels_have_it():
    with pytest.raises(ParameterError, match="Gaussian; got 'epanechnikov'"):
        even_errors(densities([0.0], kernel=EPANECHNIKOV), Interval(low=0, high=1))


def test_what_is_not_released_counts_as_even():
    truth, found = densities([1.0], [2.0], [], [3.0]), densities([1.0], [], [9.0], [3.5])
    even = np.array([0.5, 0.25, np.nan, 0.125])
    errors = errors_from(truth, found, even)
    assert errors[:2].tolist() == pytest.approx([0.0, 0.25], abs=1e-12)
    assert len(errors) == 3
    assert 0 < errors[2] < 0.1


def test_normal_densities_stand_at_the_known_truths():
    known = CROWD.truths.slice(0, 9).to_pandas().iloc[::-1]
    truth = normal_density(CLAIMS, known, 0.5)
    assert (np.diff(truth.offsets) > 0).sum() == 9
    for task, label in zip(known["task"], known["label"], strict=True):
        place = CLAIMS.position(task)
        assert truth.pdf(place, label) == pytest.approx(1 / np.sqrt(2 * np.pi) / 0.5)


def test_claims_near_the_truth():
    truths = CROWD.truths.slice(0, 9)
    near = near_claims_density(CLAIMS, truths, 1.5)
    for task, label in zip(*(truths[name].to_pylist() for name in ("task", "label")), strict=True):
        place = CLAIMS.position(task)
        rows = slice(*near.offsets[place : place + 2])
        mine = CLAIMS.values[CLAIMS.claims.task_codes == place]
        assert near.points[rows].tolist() == mine[np.abs(mine - label) <= 1.5].tolist()
        assert near.weights[rows].sum() == pytest.approx(1.0) or rows.start == rows.stop
    assert len(near.points) > 9
    unknown = CLAIMS.position(11)
    assert near.offsets[unknown] == near.offsets[unknown + 1]
