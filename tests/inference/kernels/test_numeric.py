import numpy as np
import pytest
from scipy.stats import median_abs_deviation

from quietcrowd.inference.kernels.numeric import FEW, deviation_of, median_of, rank_values


def ranked(values):
    """Return the values in ascending order, and their places."""
    room, places = np.zeros(len(values)), np.zeros(len(values), np.int64)
    rank_values(np.array(values, float), room, places)
    return room, places


@pytest.mark.parametrize("count", [1, 2, 3, 10, FEW, FEW + 1, 100])
@pytest.mark.parametrize("levels", [3, 1000])
def test_values_are_ranked_and_their_medians_are_those_of_numpy(count, levels):
    values = np.random.default_rng(count).integers(0, levels, count) / 8
    room, places = ranked(values)
    assert room.tolist() == sorted(values)
    assert values[places].tolist() == room.tolist()
    assert median_of(room) == np.median(values)
    assert deviation_of(room) == median_abs_deviation(values)


def test_no_value_at_all():
    room, _ = ranked([])
    assert (median_of(room), deviation_of(room)) == (0, 0)
