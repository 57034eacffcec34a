import math

import numpy as np
import pytest

from quietcrowd.exceptions import ParameterError
from quietcrowd.synthesis.plausible_deniability import TOTAL, PrivacyTest


@pytest.mark.parametrize(("k", "epsilon0", "drop"), [(1, 0.3, 0.0), (5, 1.0, 0.5), (30, 4.0, 0.9)])
def test_the_weights_are_the_law_of_laplace_noise(k, epsilon0, drop):
    test = PrivacyTest(k=k, epsilon0=epsilon0, drop=drop)
    counts = np.arange(len(test.weights) - 1)
    noise = counts - k
    law = np.where(
        noise < 0, 0.5 * np.exp(epsilon0 * noise), 1 - 0.5 * np.exp(-epsilon0 * noise)
    ) * (1 - drop)
    np.testing.assert_allclose(test.probabilities[:-1], law, rtol=1e-9, atol=2.0**-62)
    assert test.probabilities[-1] == pytest.approx(1 - drop, abs=1e-15)
    assert (np.diff(test.weights.astype(float)) >= 0).all()
    assert test.weights[-1] == math.floor((1 - drop) * TOTAL)


def test_it_is_sure_of_what_it_is_sure_of():
    test = PrivacyTest(k=3, epsilon0=50.0, drop=0.0)
    assert test.probabilities[[0, 1, 2]].max() < 1e-20
    assert test.probabilities[3] == 0.5
    assert test.probabilities[4] == pytest.approx(1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"k": 0}, "k must be a whole number, at least 1"),
        ({"epsilon0": 0}, "epsilon0 must be a finite number above 0"),
        ({"epsilon0": math.nan}, "epsilon0 must be a finite number above 0"),
        ({"epsilon0": "much"}, "must be a number"),
        ({"drop": 1}, "drop must be at least 0 and below 1"),
        ({"drop": -0.1}, "drop must be at least 0 and below 1"),
    ],
)
def test_wrong_parameters_are_refused(given, message):
    with pytest.raises(ParameterError, match=message):
        PrivacyTest(**{"k": 5, "epsilon0": 1.0, **given})


def test_noise_too_wide_for_a_table_is_refused():
    with pytest.raises(ParameterError, match="too small for k=5"):
        _ = PrivacyTest(k=5, epsilon0=1e-9).weights
