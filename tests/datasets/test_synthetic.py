import numpy as np
import pytest

import quietcrowd as qc
from quietcrowd.exceptions import ParameterError


def test_a_seed_gives_the_same_crowd():
    one, same, other = (qc.synthetic_crowd(tasks=20, workers=30, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.answers.values, same.answers.values)
    assert one.truths.equals(same.truths)
    assert not np.array_equal(one.answers.values, other.answers.values)


@pytest.mark.parametrize(("workers", "per_task"), [(10, 10), (10, 3), (1000, 5), (1, 1)])
def test_every_task_has_that_many_different_workers(workers, per_task):
    answers = qc.synthetic_crowd(tasks=300, workers=workers, answers_per_task=per_task).answers
    assert (answers.answers_per_task == per_task).all()
    pairs = answers.task_codes.astype(np.int64) * workers + answers.worker_codes
    assert len(np.unique(pairs)) == len(answers)
    assert (np.diff(pairs) > 0).all()


def test_workers_are_as_accurate_as_drawn():
    crowd = qc.synthetic_crowd(
        tasks=4_000, workers=5, answers_per_task=5, labels=range(3), accuracy=(0.7, 0.7), seed=9
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
        {"seed": -1},
        {"workers": 5, "answers_per_task": 6},
        {"labels": ["one"]},
        {"accuracy": (0.9, 0.5)},
        {"accuracy": (0.5, 1.5)},
    ],
)
def test_bad_sizes(options):
    with pytest.raises(ParameterError):
        qc.synthetic_crowd(**options)
