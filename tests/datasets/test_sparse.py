import numpy as np
import pytest

from quietcrowd.datasets import sparse_crowd
from quietcrowd.exceptions import ParameterError


def test_sizes_and_sparsity():
    crowd = sparse_crowd(tasks=100, workers=500, sparsity=0.9, seed=1)
    share = len(crowd.answers) / (100 * 500)
    assert abs(share - 0.1) < 5 * np.sqrt(0.1 * 0.9 / 50_000)
    assert len(crowd.answers.tasks) == 100
    assert len(crowd.answers.workers) == 500
    full = sparse_crowd(tasks=5, workers=7, sparsity=0.0)
    assert len(full.answers) == 35
    empty = sparse_crowd(tasks=5, workers=7, sparsity=1.0)
    assert len(empty.answers) == 0


def test_answers_are_rounded_and_clipped_around_the_truth():
    crowd = sparse_crowd(
        tasks=50, workers=400, sparsity=0.5, truths="uniform", sigmas=(0.0, 0.0), seed=2
    )
    truths = crowd.truths["label"].to_numpy()[crowd.answers.task_codes]
    assert np.array_equal(crowd.answers.values, np.clip(np.rint(truths), 0, 9))


def test_half_of_the_workers_are_good():
    crowd = sparse_crowd(tasks=400, workers=100, sparsity=0.0, truths="uniform", seed=3)
    truths = crowd.truths["label"].to_numpy()[crowd.answers.task_codes]
    errors = np.bincount(crowd.answers.worker_codes, np.abs(crowd.answers.values - truths)) / 400
    assert (errors < 1.2).sum() == 50
    assert (errors > 1.8).sum() == 50


def test_truths_as_in_the_paper_and_spread_out():
    normal = sparse_crowd(tasks=4_000, workers=2, seed=4).truths["label"].to_numpy()
    assert abs(normal.mean()) < 0.1
    assert normal.std() == pytest.approx(1.0, abs=0.07)
    spread = sparse_crowd(tasks=4_000, workers=2, truths="uniform", seed=4).truths["label"]
    assert spread.to_numpy().mean() == pytest.approx(4.5, abs=0.25)
    clipped = sparse_crowd(tasks=4_000, workers=2, clip_truths=True, seed=4).truths["label"]
    assert np.array_equal(clipped.to_numpy(), np.clip(normal, 0, 9))


def test_a_seed_repeats():
    one, other, third = (sparse_crowd(tasks=20, workers=30, seed=seed) for seed in (1, 1, 2))
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
        {"seed": -1},
    ],
)
def test_bad_parameters(options):
    with pytest.raises(ParameterError):
        sparse_crowd(**{"tasks": 5, "workers": 5, **options})
