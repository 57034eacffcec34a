"""Which task and which rows of matrix factorisation an audit attacks."""

from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from quietcrowd import Interval
from quietcrowd.auditing.audits import plan_audit
from quietcrowd.auditing.channels.sketch import _opposed
from quietcrowd.mechanisms import MatrixFactorization
from quietcrowd.mechanisms.channels.sketch import UNIT, TaskProfile

NUMBERS = Interval(low=0, high=10)


def largest(profile):
    return max(
        int(np.abs(np.array(signs) @ profile).sum())
        for signs in product((1, -1), repeat=len(profile))
    )


@pytest.mark.parametrize("kind", ["gaussian", "rademacher", "buckets"])
@pytest.mark.parametrize(("rank", "tasks"), [(1, 5), (3, 8), (12, 9)])
def test_opposed_rows_are_nearly_the_worst(kind, rank, tasks):
    profile = TaskProfile(rank=rank, kind=kind, seed=3).matrix(pa.array(range(tasks)))
    signs = _opposed(profile)
    assert set(signs.tolist()) <= {1, -1}
    found = int(np.abs(signs @ profile).sum())
    assert 0.95 * largest(profile) <= found <= largest(profile)


@pytest.mark.parametrize("variant", ["fill", "ridge", "statistics"])
def test_the_loss_about_all_is_that_of_a_pair_of_rows(variant):
    mechanism = MatrixFactorization(domain=NUMBERS, epsilon=1.0, rank=4, variant=variant)
    one, many = (plan_audit(mechanism, n).exact for n in (1, 12))
    assert (one.every_row, one.total_epsilon) == (True, one.epsilon)
    assert not many.every_row
    assert 2 < many.total_epsilon <= 12 * many.epsilon * (1 + 1e-12)


@pytest.mark.nightly
@pytest.mark.slow
def test_the_most_pointed_task_is_attacked():
    mechanism = MatrixFactorization(domain=NUMBERS, epsilon=1.0)
    attack = plan_audit(mechanism, 20).attacks[0]
    assert attack.tasks[0] == 88_622
    assert len(set(attack.tasks)) == len(attack.tasks) == 20
    parts = np.abs(TaskProfile(rank=20, kind="gaussian", seed=0).matrix(pa.array([88_622]))) / UNIT
    assert np.sort(parts[0])[::-1][:3].round(2).tolist() == [0.31, 0.24, 0.15]


@pytest.mark.parametrize("n", [1, 3])
def test_tasks_are_as_many_as_are_asked_for(n):
    for profile in ("gaussian", "buckets"):
        mechanism = MatrixFactorization(domain=NUMBERS, epsilon=1.0, rank=2, profile=profile)
        assert all(len(attack.tasks) == n for attack in plan_audit(mechanism, n).attacks)
