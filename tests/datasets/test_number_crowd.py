import numpy as np
import pytest

from quietcrowd.datasets import make_crowd
from quietcrowd.domains import Interval
from quietcrowd.exceptions import ParameterError

WIDE = Interval(low=-1000, high=1000)


def errors_of(crowd):
    """Return the errors of answers, shape (tasks, answers of a task)."""
    truths = crowd.truths["label"].to_numpy()
    return crowd.answers.values.reshape(len(truths), -1) - truths[:, np.newaxis]


def test_a_seed_gives_the_same_crowd():
    one, same, other = (
        make_crowd(kind="numbers", tasks=20, random_state=seed) for seed in (1, 1, 2)
    )
    assert np.array_equal(one.answers.values, same.answers.values)
    assert one.truths.equals(same.truths)
    assert not np.array_equal(one.answers.values, other.answers.values)


def test_truths_and_answers_lie_in_the_domain():
    crowd = make_crowd(kind="numbers", spread=20.0, sigmas=(5.0, 9.0))
    for numbers in (crowd.answers.values, crowd.truths["label"].to_numpy()):
        assert numbers.min() >= 0
        assert numbers.max() <= 10


def test_errors_are_as_large_as_drawn():
    crowd = make_crowd(kind="numbers", tasks=4_000, workers=10, domain=WIDE, sigmas=(2.0, 2.0))
    assert np.std(errors_of(crowd)) == pytest.approx(2.0, rel=0.02)  # 40,000: 1e-6 beyond 1.8 %


def test_a_shared_bias_is_in_all_answers_to_a_task():
    crowd = make_crowd(
        kind="numbers", tasks=2_000, workers=10, domain=WIDE, sigmas=(0.1, 0.1), bias=3.0
    )
    assert np.std(errors_of(crowd).mean(axis=1)) == pytest.approx(3.0, rel=0.1)
    assert np.std(errors_of(crowd), axis=1).max() < 0.6


def test_scales_are_about_the_middle():
    crowd = make_crowd(
        kind="numbers", domain=WIDE, spread=100.0, sigmas=(0.01, 0.01), scales=(0.5, 0.5)
    )
    truths = crowd.truths["label"].to_numpy()
    assert crowd.answers.values.reshape(len(truths), -1)[:, 0] == pytest.approx(truths / 2, abs=0.1)


def test_outliers_are_as_many_as_drawn():
    crowd = make_crowd(
        kind="numbers",
        tasks=2_000,
        domain=WIDE,
        sigmas=(0.1, 0.1),
        outliers=0.25,
        outlier_factor=500.0,
    )
    assert np.mean(np.abs(errors_of(crowd)) > 0.6) == pytest.approx(0.25 * 0.99, abs=0.02)


def test_the_distribution_is_that_of_the_answers():
    crowd = make_crowd(
        kind="numbers",
        tasks=20_000,
        workers=4,
        answers_per_task=1,
        sigmas=(1.0, 4.0),
        outliers=0.3,
        scales=(0.5, 1),
    )
    truths, distribution = crowd.truths["label"].to_numpy(), crowd.distribution
    for worker in range(4):
        mine = np.flatnonzero(crowd.answers.worker_codes == worker)
        for number in (0.0, 3.0, 9.5):
            below = distribution.answer_below(worker, truths[mine], number).mean()
            found = np.mean(crowd.answers.values[mine] <= number)
            assert found == pytest.approx(below, abs=0.036)  # 5,000 answers: five deviations
    assert distribution.answer_below(0, 5.0, [-1.0, 10.0]).tolist() == [0.0, 1.0]
    shares = [np.mean(truths <= number) for number in (-1, 4, 5, 11)]
    assert shares == pytest.approx(distribution.truth_below([-1, 4, 5, 11]), abs=0.02)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tasks": 0}, "tasks"),
        ({"workers": 5, "answers_per_task": 6}, "answers_per_task=6"),
        ({"tasks": 5, "answers_per_worker": 6}, "answers_per_worker=6"),
        ({"middle": 11}, "middle must lie in the domain"),
        ({"middle": -1}, "middle"),
        ({"worker_sigmas": [0.0] * 40}, "worker_sigmas"),
        ({"worker_scales": [1.0]}, "worker_scales must be 40 numbers"),
        ({"spread": 0}, "spread"),
        ({"bias": -1}, "bias"),
        ({"sigmas": (0, 1)}, "sigmas"),
        ({"sigmas": (1,)}, "sigmas"),
        ({"scales": (2, 1)}, "scales"),
        ({"outliers": 1.5}, "outliers"),
        ({"outlier_factor": 0.5}, "outlier_factor"),
    ],
)
def test_bad_parameters(options, words):
    with pytest.raises(ParameterError, match=words):
        make_crowd(kind="numbers", **options)


def test_errors_and_answers_of_every_worker_can_be_given():
    crowd = make_crowd(
        kind="numbers",
        tasks=50,
        workers=4,
        answers_per_worker=30,
        middle=3.0,
        worker_sigmas=[1e-6, 1e-6, 1e-6, 2.0],
        worker_scales=[1.0, 1.0, 0.0, 1.0],
    )
    answers, truths = crowd.answers, crowd.truths["label"].to_numpy()
    assert set(answers.answers_per_worker) == {30}
    apart = answers.values - truths[answers.task_codes]
    assert np.abs(apart[answers.worker_codes < 2]).max() < 1e-4
    assert np.abs(answers.values[answers.worker_codes == 2] - 3.0).max() < 1e-4
    assert apart[answers.worker_codes == 3].std() > 0.5
