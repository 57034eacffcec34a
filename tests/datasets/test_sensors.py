import numpy as np
import pytest

from quietcrowd.datasets import sensor_crowd
from quietcrowd.domains import Interval
from quietcrowd.exceptions import ParameterError


def errors_of(crowd):
    truths = crowd.truths["label"].to_numpy()
    return crowd.answers.values - truths[crowd.answers.task_codes]


def test_half_of_the_workers_are_good():
    crowd = sensor_crowd(tasks=2_000, workers=10, domain=Interval(low=-1e4, high=1e4), seed=1)
    for worker in range(10):
        deviation = errors_of(crowd)[crowd.answers.worker_codes == worker].std()
        assert deviation == pytest.approx(0.3 if worker < 5 else 3.0, rel=0.1)


def test_answers_stay_in_the_domain():
    crowd = sensor_crowd(sigmas=(1.0, 100.0), seed=2)
    assert crowd.answers.values.min() == 0
    assert crowd.answers.values.max() == 10


def test_the_share_is_answered():
    crowd = sensor_crowd(tasks=200, workers=500, share=0.2, seed=3)
    assert len(crowd.answers) == pytest.approx(0.2 * 200 * 500, rel=0.03)
    assert len(crowd.answers.tasks) == 200
    assert len(crowd.answers.workers) == 500


def test_the_seed_says_it_all():
    one, other = sensor_crowd(seed=4), sensor_crowd(seed=4)
    assert np.array_equal(one.answers.values, other.answers.values)
    assert not np.array_equal(one.answers.values, sensor_crowd(seed=5).answers.values)


@pytest.mark.parametrize(
    "parameters",
    [
        {"tasks": 0},
        {"workers": 2.5},
        {"share": 0.0},
        {"share": 1.1},
        {"share": float("nan")},
        {"sigmas": (-1.0, 2.0)},
        {"sigmas": (1, 2, 3)},
        {"sigmas": 1.0},
        {"sigmas": "12"},
        {"sigmas": ("a", 1.0)},
        {"seed": -1},
    ],
)
def test_bad_parameters(parameters):
    with pytest.raises(ParameterError, match=next(iter(parameters))):
        sensor_crowd(**parameters)
