"""What weights stand for in `huai2019_weights`."""

import numpy as np
import pytest

from quietcrowd_research.huai2019.weights import attempt_delta


def test_more_seeds_and_a_smaller_gamma_lower_the_delta():
    deltas = [[attempt_delta(k, gamma, 20) for k in (2, 5, 12)] for gamma in (1.5, 8.0)]
    assert (np.diff(deltas, axis=1) < 0).all()
    assert (np.diff(deltas, axis=0) > 0).all()
    assert attempt_delta(2, 1.5, 20) == pytest.approx(np.exp(-1) / 4 / 20)
