"""Bandwidths against NumPy and SciPy, task by task."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import median_abs_deviation

from quietcrowd.exceptions import ParameterError
from quietcrowd.synthesis.bandwidths import mad, silverman

SIZES = (7, 0, 1, 20, 2, 8)
OFFSETS = np.concatenate([[0], np.cumsum(SIZES)])
VALUES = np.random.default_rng(0).normal(5, 2, OFFSETS[-1])
TASKS = [VALUES[start:end] for start, end in pairwise(OFFSETS)]


def test_silverman():
    expected = []
    for claims in TASKS:
        spread = 0.0
        if len(claims) > 1:
            low, high = np.quantile(claims, [0.25, 0.75])
            spread = min(claims.std(ddof=1), (high - low) / 1.34)
        expected.append(max(1.06 * spread * max(len(claims), 1) ** -0.2, 0.01))
    assert silverman(OFFSETS, VALUES, value_range=10.0) == pytest.approx(expected, rel=1e-12)


def test_mad():
    expected = [
        max(median_abs_deviation(claims), 0.01) if len(claims) else 0.01 for claims in TASKS
    ]
    assert mad(OFFSETS, VALUES, value_range=10.0) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("rule", [silverman, mad])
def test_edges(rule):
    assert rule([0], [], value_range=2.0).tolist() == []
    assert rule([0, 0, 0], [], value_range=2.0).tolist() == [0.002, 0.002]
    assert rule([0, 3], [4.0, 4.0, 4.0], value_range=2.0).tolist() == [0.002]
    for wrong in (0, -1.0, np.inf, np.nan):
        with pytest.raises(ParameterError, match="value_range"):
            rule(OFFSETS, VALUES, value_range=wrong)
    with pytest.raises(ParameterError, match="row 1, of task 0, is nan"):
        rule([0, 2], [0.0, np.nan], value_range=1.0)


@pytest.mark.parametrize("rule", [silverman, mad])
def test_docstrings_say_that_they_leak(rule):
    assert "leak claims and void the guarantee" in " ".join(rule.__doc__.split())
