import numpy as np
import pytest

import quietcrowd as qc
from quietcrowd.datasets import make_crowd
from quietcrowd.domains import Interval
from quietcrowd.exceptions import ParameterError


def test_a_seed_gives_the_same_crowd():
    one, same, other = (
        qc.make_crowd(tasks=20, workers=30, random_state=seed) for seed in (1, 1, 2)
    )
    assert np.array_equal(one.answers.values, same.answers.values)
    assert one.truths.equals(same.truths)
    assert not np.array_equal(one.answers.values, other.answers.values)


@pytest.mark.parametrize(("workers", "per_task"), [(10, 10), (10, 3), (1000, 5), (1, 1)])
def test_every_task_has_that_many_different_workers(workers, per_task):
    answers = qc.make_crowd(tasks=300, workers=workers, answers_per_task=per_task).answers
    assert (answers.answers_per_task == per_task).all()
    pairs = answers.task_codes.astype(np.int64) * workers + answers.worker_codes
    assert len(np.unique(pairs)) == len(answers)
    assert (np.diff(pairs) > 0).all()


def test_workers_are_as_accurate_as_drawn():
    crowd = qc.make_crowd(
        tasks=4_000,
        workers=5,
        answers_per_task=5,
        labels=range(3),
        accuracy=(0.7, 0.7),
        random_state=9,
    )
    known = np.repeat(np.array(crowd.truths["label"].to_pylist()), 5)
    right = crowd.answers.values == known
    assert right.mean() == pytest.approx(0.7, abs=0.02)
    wrong = (crowd.answers.values[~right].astype(int) - known[~right]) % 3
    assert np.bincount(wrong)[1:].min() > 0.48 * (~right).sum()


@pytest.mark.parametrize(
    "options",
    [
        {"tasks": 0},
        {"random_state": -1},
        {"workers": 5, "answers_per_task": 6},
        {"labels": ["one"]},
        {"accuracy": (0.9, 0.5)},
        {"accuracy": (0.5, 1.5)},
    ],
)
def test_bad_sizes(options):
    with pytest.raises(ParameterError):
        qc.make_crowd(**options)


def errors_of(crowd):
    truths = crowd.truths["label"].to_numpy()
    return crowd.answers.values - truths[crowd.answers.task_codes]


def test_claims_follow_the_two_densities():
    crowd = make_crowd(
        kind="opinions",
        tasks=4_000,
        workers=10,
        unreliable=0.3,
        spread=2.0,
        reach=9.0,
        random_state=1,
    )
    errors, workers = errors_of(crowd), crowd.answers.worker_codes
    for worker in range(10):
        mine = errors[workers == worker]
        assert mine.mean() == pytest.approx(0.0, abs=0.4)
        assert mine.std() == pytest.approx(2.0 if worker < 7 else 9 / np.sqrt(3), rel=0.05)
    assert np.abs(errors[workers >= 7]).max() == pytest.approx(9.0, abs=0.01)


@pytest.mark.parametrize(("spread", "reach", "low"), [(1.0, 15.0, -15.0), (3.0, 1.0, -24.0)])
def test_the_public_range_holds_all_claims(spread, reach, low):
    crowd = make_crowd(kind="opinions", spread=spread, reach=reach, random_state=2)
    assert crowd.answers.domain.low == low
    assert crowd.answers.domain.high == 10 - low
    assert crowd.answers.values.min() > low
    assert crowd.answers.values.max() < 10 - low


def test_everybody_claims_something_about_everything():
    crowd = make_crowd(kind="opinions", tasks=7, workers=3)
    assert (crowd.answers.answers_per_task == 3).all()
    assert (crowd.answers.answers_per_worker == 7).all()


def test_the_seed_of_opinions_says_it_all():
    one, other = (
        make_crowd(kind="opinions", random_state=4),
        make_crowd(kind="opinions", random_state=4),
    )
    assert np.array_equal(one.answers.values, other.answers.values)
    assert not np.array_equal(
        one.answers.values, make_crowd(kind="opinions", random_state=5).answers.values
    )


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
        {"random_state": -1},
    ],
)
def test_bad_opinions(parameters):
    with pytest.raises(ParameterError, match=next(iter(parameters))):
        make_crowd(kind="opinions", **parameters)


def test_half_of_the_sensors_are_good():
    crowd = make_crowd(
        kind="sensors", tasks=2_000, workers=10, domain=Interval(low=-1e4, high=1e4), random_state=1
    )
    for worker in range(10):
        deviation = errors_of(crowd)[crowd.answers.worker_codes == worker].std()
        assert deviation == pytest.approx(0.3 if worker < 5 else 3.0, rel=0.1)


def test_answers_stay_in_the_domain():
    crowd = make_crowd(kind="sensors", sigmas=(1.0, 100.0), random_state=2)
    assert crowd.answers.values.min() == 0
    assert crowd.answers.values.max() == 10


def test_the_share_is_answered():
    crowd = make_crowd(kind="sensors", tasks=200, workers=500, share=0.2, random_state=3)
    assert len(crowd.answers) == pytest.approx(0.2 * 200 * 500, rel=0.03)
    assert len(crowd.answers.tasks) == 200
    assert len(crowd.answers.workers) == 500


def test_the_seed_of_sensors_says_it_all():
    one, other = (
        make_crowd(kind="sensors", random_state=4),
        make_crowd(kind="sensors", random_state=4),
    )
    assert np.array_equal(one.answers.values, other.answers.values)
    assert not np.array_equal(
        one.answers.values, make_crowd(kind="sensors", random_state=5).answers.values
    )


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
        {"random_state": -1},
    ],
)
def test_bad_sensors(parameters):
    with pytest.raises(ParameterError, match=next(iter(parameters))):
        make_crowd(kind="sensors", **parameters)


def test_sizes_and_sparsity():
    crowd = make_crowd(kind="sparse", tasks=100, workers=500, sparsity=0.9, random_state=1)
    share = len(crowd.answers) / (100 * 500)
    assert abs(share - 0.1) < 5 * np.sqrt(0.1 * 0.9 / 50_000)
    assert len(crowd.answers.tasks) == 100
    assert len(crowd.answers.workers) == 500
    full = make_crowd(kind="sparse", tasks=5, workers=7, sparsity=0.0)
    assert len(full.answers) == 35
    empty = make_crowd(kind="sparse", tasks=5, workers=7, sparsity=1.0)
    assert len(empty.answers) == 0


def test_answers_are_rounded_and_clipped_around_the_truth():
    crowd = make_crowd(
        kind="sparse",
        tasks=50,
        workers=400,
        sparsity=0.5,
        truths="uniform",
        sigmas=(0.0, 0.0),
        random_state=2,
    )
    truths = crowd.truths["label"].to_numpy()[crowd.answers.task_codes]
    assert np.array_equal(crowd.answers.values, np.clip(np.rint(truths), 0, 9))


def test_half_of_the_sparse_workers_are_good():
    crowd = make_crowd(
        kind="sparse", tasks=400, workers=100, sparsity=0.0, truths="uniform", random_state=3
    )
    truths = crowd.truths["label"].to_numpy()[crowd.answers.task_codes]
    errors = np.bincount(crowd.answers.worker_codes, np.abs(crowd.answers.values - truths)) / 400
    assert (errors < 1.2).sum() == 50
    assert (errors > 1.8).sum() == 50


@pytest.mark.slow
def test_truths_as_in_the_paper_and_spread_out():
    normal = (
        make_crowd(kind="sparse", tasks=4_000, workers=2, random_state=4).truths["label"].to_numpy()
    )
    assert abs(normal.mean()) < 0.1
    assert normal.std() == pytest.approx(1.0, abs=0.07)
    spread = make_crowd(
        kind="sparse", tasks=4_000, workers=2, truths="uniform", random_state=4
    ).truths["label"]
    assert spread.to_numpy().mean() == pytest.approx(4.5, abs=0.25)
    clipped = make_crowd(
        kind="sparse", tasks=4_000, workers=2, clip_truths=True, random_state=4
    ).truths["label"]
    assert np.array_equal(clipped.to_numpy(), np.clip(normal, 0, 9))


def test_the_seed_of_a_sparse_crowd_repeats():
    one, other, third = (
        make_crowd(kind="sparse", tasks=20, workers=30, random_state=seed) for seed in (1, 1, 2)
    )
    assert np.array_equal(one.answers.values, other.answers.values)
    assert one.truths.equals(other.truths)
    assert not one.truths.equals(third.truths)


@pytest.mark.parametrize(
    "options",
    [
        {"tasks": 0},
        {"workers": 0},
        {"sparsity": 1.5},
        {"sparsity": -0.1},
        {"sparsity": float("nan")},
        {"truths": "cauchy"},
        {"levels": [1]},
        {"levels": [2, 1]},
        {"sigmas": (1.0, -1.0)},
        {"random_state": -1},
    ],
)
def test_bad_sparse_crowds(options):
    with pytest.raises(ParameterError):
        make_crowd(kind="sparse", **{"tasks": 5, "workers": 5, **options})
