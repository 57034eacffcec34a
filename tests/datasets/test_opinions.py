import numpy as np
import pytest

from quietcrowd.datasets import opinion_crowd
from quietcrowd.exceptions import ParameterError


def errors_of(crowd):
    truths = crowd.truths["label"].to_numpy()
    return crowd.answers.values - truths[crowd.answers.task_codes]


def test_claims_follow_the_two_densities():
    crowd = opinion_crowd(tasks=4_000, workers=10, unreliable=0.3, spread=2.0, reach=9.0, seed=1)
    errors, workers = errors_of(crowd), crowd.answers.worker_codes
    for worker in range(10):
        mine = errors[workers == worker]
        assert mine.mean() == pytest.approx(0.0, abs=0.4)
        assert mine.std() == pytest.approx(2.0 if worker < 7 else 9 / np.sqrt(3), rel=0.05)
    assert np.abs(errors[workers >= 7]).max() == pytest.approx(9.0, abs=0.01)


@pytest.mark.parametrize(("spread", "reach", "low"), [(1.0, 15.0, -15.0), (3.0, 1.0, -24.0)])
def test_the_public_range_holds_all_claims(spread, reach, low):
    crowd = opinion_crowd(spread=spread, reach=reach, seed=2)
    assert crowd.answers.domain.low == low
    assert crowd.answers.domain.high == 10 - low
    assert crowd.answers.values.min() > low
    assert crowd.answers.values.max() < 10 - low


def test_everybody_claims_something_about_everything():
    crowd = opinion_crowd(tasks=7, workers=3)
    assert (crowd.answers.answers_per_task == 3).all()
    assert (crowd.answers.answers_per_worker == 7).all()


def test_the_seed_says_it_all():
    one, other = opinion_crowd(seed=4), opinion_crowd(seed=4)
    assert np.array_equal(one.answers.values, other.answers.values)
    assert not np.array_equal(one.answers.values, opinion_crowd(seed=5).answers.values)


@pytest.mark.parametrize(
    "parameters",
    [
        {"tasks": 0},
        {"workers": 2.5},
        {"unreliable": 1.1},
        {"unreliable": -0.1},
        {"spread": 0.0},
        {"reach": 0},
        {"reach": float("inf")},
        {"seed": -1},
    ],
)
def test_bad_parameters(parameters):
    with pytest.raises(ParameterError, match=next(iter(parameters))):
        opinion_crowd(**parameters)
