import itertools

import numpy as np
import pytest

from quietcrowd.exceptions import ParameterError
from quietcrowd_research.calibration_error import (
    excess_calibration_error,
    expected_calibration_error,
)


def test_by_hand():
    sure, right = [0.95, 0.95, 0.62, 0.68], [True, False, True, True]
    assert expected_calibration_error(sure, right) == pytest.approx((0.9 + 0.7) / 4)
    assert expected_calibration_error(sure, right, bins=1) == pytest.approx(abs(3 - 3.2) / 4)
    assert expected_calibration_error([1.0], [True]) == 0


@pytest.mark.parametrize("sure", [[0.9, 0.7, 0.75], [0.1, 0.15, 0.9, 0.95, 0.99], [0.5]])
def test_the_excess_is_0_in_the_mean_over_all_outcomes(sure):
    total = 0.0
    for right in itertools.product([False, True], repeat=len(sure)):
        chance = np.prod(np.where(right, sure, 1 - np.array(sure)))
        total += chance * excess_calibration_error(sure, right)
    assert total == pytest.approx(0, abs=1e-12)


def test_many_sure_labels():
    sure = np.random.default_rng(0).uniform(0.99, 1, 5_000)
    chance = expected_calibration_error(sure, np.ones(5_000)) - excess_calibration_error(
        sure, np.ones(5_000)
    )
    drawn = np.random.default_rng(1).random((400, 5_000)) < sure
    mean = np.mean([expected_calibration_error(sure, row) for row in drawn])
    assert chance == pytest.approx(mean, rel=0.25)  # its standard error is 4 %


@pytest.mark.parametrize(
    ("sure", "right", "bins"),
    [
        ([], [], 10),
        ([0.5], [True, False], 10),
        ([1.5], [True], 10),
        ([float("nan")], [True], 10),
        ([0.5], [True], 0),
    ],
)
def test_bad_input(sure, right, bins):
    with pytest.raises(ParameterError):
        excess_calibration_error(sure, right, bins=bins)
