import hashlib

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.channels.sketch import UNIT, TaskProfile

TASKS = pa.array([f"task {place}" for place in range(400)])
KINDS = ("gaussian", "rademacher", "buckets")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rank", [1, 2, 5, 17, 100])
def test_rows_have_a_1_norm_of_at_most_1(kind, rank):
    matrix = TaskProfile(rank=rank, kind=kind, seed=3).matrix(TASKS)
    norms = np.abs(matrix).sum(axis=1)
    assert matrix.shape == (400, rank)
    assert matrix.dtype == np.int64
    assert norms.max() <= UNIT
    assert norms.min() > UNIT - 2 * rank


@pytest.mark.parametrize("kind", KINDS)
def test_a_task_has_the_same_profile_in_any_company(kind):
    profile = TaskProfile(rank=4, kind=kind, seed=3)
    whole = profile.matrix(TASKS)
    assert np.array_equal(profile.matrix(TASKS[7:9]), whole[7:9])
    assert np.array_equal(profile.matrix(TASKS.take(pa.array([5, 2]))), whole[[5, 2]])
    numbers = profile.matrix(pa.array([1, 20]))
    assert np.array_equal(numbers, profile.matrix(pa.array(["1", "20"])))
    other = TaskProfile(rank=4, kind=kind, seed=4).matrix(TASKS)
    assert not np.array_equal(other, whole)


def test_profiles_stay_what_they_are():
    """A new version that changes them would break reports that were sent: fixed by a digest."""
    digest = hashlib.sha256()
    for kind in KINDS:
        digest.update(TaskProfile(rank=7, kind=kind, seed=11).matrix(TASKS).astype("<i8").tobytes())
    assert digest.hexdigest()[:16] == "b25eaea59d5b1d1d"


def test_gaussian_entries_are_nearly_normal_and_signs_and_buckets_even():
    rank = 50
    gaussian = TaskProfile(rank=rank, kind="gaussian", seed=0).matrix(TASKS) / UNIT
    scaled = (gaussian / np.sqrt((gaussian**2).mean(axis=1, keepdims=True))).reshape(-1)
    assert stats.kstest(scaled, "norm").pvalue > 1e-6
    signs = TaskProfile(rank=rank, kind="rademacher", seed=0).matrix(TASKS)
    assert set(np.unique(signs)) == {-(UNIT // rank), UNIT // rank}
    assert stats.binomtest(int((signs > 0).sum()), signs.size).pvalue > 1e-6
    buckets = TaskProfile(rank=8, kind="buckets", seed=0).matrix(TASKS).argmax(axis=1)
    assert stats.chisquare(np.bincount(buckets, minlength=8)).pvalue > 1e-6


@pytest.mark.parametrize(
    "options", [{"rank": 0}, {"rank": 5000}, {"rank": 2.5}, {"seed": -1}, {"seed": 2**64}]
)
def test_bad_profiles(options):
    with pytest.raises(ParameterError):
        TaskProfile(**{"rank": 3, "kind": "gaussian", "seed": 0, **options})
    with pytest.raises(ParameterError, match="kind"):
        TaskProfile(rank=3, kind="cauchy", seed=0)
