import math

import numpy as np
import pytest
from tests.synthesis.crowds import claims_of, normal_claims

from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd_research.huai2019.baselines import Basic, Histogram


def test_basic_is_laplace_noise_on_every_claim():
    claims = claims_of(np.zeros((200, 50)))
    released = Basic(epsilon=10.0).release(claims, np.random.default_rng(0))
    assert len(released) == len(claims)
    assert np.abs(released.values).mean() == pytest.approx(20.0, rel=0.05)  # width 200 / 10
    assert released.guarantee.epsilon == 10
    assert released.guarantee.total_epsilon == 2000
    assert not len(released.unreleased)


def test_a_histogram_with_little_noise_is_the_claims():
    claims = claims_of([[0.0] * 30 + [50.0] * 10, [-100.0] * 5 + [100.0] * 5])
    released = Histogram(epsilon=50.0, bin_width=1.0, claims=4000).release(
        claims, np.random.default_rng(0)
    )
    first, second = np.split(released.values, 2)
    assert (np.floor(first) == 0).mean() == pytest.approx(0.75, abs=0.03)
    assert (np.floor(first) == 50).mean() == pytest.approx(0.25, abs=0.03)
    assert ((second < -99) | (second >= 99)).all()
    assert released.values.max() <= 100


def test_a_histogram_of_noise_alone_is_still_within_the_range():
    released = Histogram(epsilon=0.01, bin_width=40.0).release(normal_claims())
    assert released.passed.tolist() == [30] * 10
    assert np.abs(released.values).max() <= 100
    assert released.guarantee.epsilon == pytest.approx(0.01)
    assert not released.simulated


def test_the_noise_of_counts_is_laplace_of_scale_two_over_epsilon():
    """A bin of many claims against an empty one: the spread of the share is that of the noise."""
    claims = claims_of([[0.5] * 50 + [1.5] * 50] * 400, low=0, high=2)
    released = Histogram(epsilon=1.0, bin_width=1.0, claims=3000).release(
        claims, np.random.default_rng(0)
    )
    shares = (released.values.reshape(400, 3000) < 1).mean(axis=1)
    noise = math.sqrt(2 * 2 * 2**2) / 2 / 100  # of (a - b) / 2 out of 100, a and b Laplace
    drawn = 0.5 / math.sqrt(3000)
    assert shares.std() == pytest.approx(math.hypot(noise, drawn), rel=0.1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"epsilon": 0}, "epsilon must be a finite number above 0"),
        ({"bin_width": 0}, "bin_width must be above 0"),
        ({"bin_width": math.inf}, "bin_width must be above 0"),
        ({"claims": 0}, "claims must be a whole number"),
    ],
)
def test_wrong_parameters_are_refused(given, message):
    with pytest.raises(ParameterError, match=message):
        Histogram(**{"epsilon": 1.0, "bin_width": 1.0, **given})


def test_too_many_bins_are_refused():
    with pytest.raises(ParameterError, match="Take a larger bin_width"):
        Histogram(epsilon=1.0, bin_width=1e-6).release(normal_claims())


def test_labels_are_no_claims():
    from quietcrowd.datasets import make_crowd

    with pytest.raises(AnswerError, match="claims must be numbers"):
        Basic(epsilon=1.0).release(make_crowd().answers)
