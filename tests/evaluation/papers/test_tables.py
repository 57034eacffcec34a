"""Tables for what the papers say without a figure."""

import numpy as np
import pandas as pd
import pytest

from quietcrowd.datasets.synthetic import sparse_crowd
from quietcrowd.evaluation.papers.guiding_users import WEIGHTINGS, guiding_users
from quietcrowd.evaluation.papers.huai2019_weights import attempt_delta
from quietcrowd.evaluation.papers.means import tell_means
from quietcrowd.evaluation.papers.peer_grading import drawn_peer_grading
from quietcrowd.evaluation.papers.task_profiles import learnt_profile, task_profiles


def test_more_seeds_and_a_smaller_gamma_lower_the_delta():
    deltas = [[attempt_delta(k, gamma, 20) for k in (2, 5, 12)] for gamma in (1.5, 8.0)]
    assert (np.diff(deltas, axis=1) < 0).all()
    assert (np.diff(deltas, axis=0) > 0).all()
    assert attempt_delta(2, 1.5, 20) == pytest.approx(np.exp(-1) / 4 / 20)


def test_a_learnt_profile_is_within_the_1_norm_and_spans_the_answers():
    cells = np.random.default_rng(0).normal(size=(30, 4)) @ np.eye(4, 12)
    profile = learnt_profile(cells, 4)
    assert np.abs(profile).sum(axis=1).max() == pytest.approx(1.0)
    left = cells - cells @ profile @ np.linalg.pinv(profile)
    assert np.abs(left).max() < 1e-9


@pytest.mark.slow
def test_a_learnt_profile_knows_the_tasks_and_a_drawn_one_does_not():
    crowds = [sparse_crowd(workers=120, tasks=40, sparsity=0.5, seed=seed) for seed in (0, 1)]
    frame = task_profiles(crowds, epsilons=(10.0,), ranks=(5,), seed=0).set_index("profile")
    assert frame["correlation"]["learnt"] > 0.5 > frame["correlation"]["drawn"]
    assert (frame["constant"] == frame["constant"].iloc[0]).all()


@pytest.mark.slow
def test_weights_do_not_matter_where_reports_tell_nothing():
    """100 trials; each mean is off by 7 standard errors with less than 10^-6."""
    frame = guiding_users(drawn_peer_grading(1), epsilons=(8.0, 0.0), trials=100, seed=0)
    near, nothing = frame.to_dict("records")
    for name in WEIGHTINGS:
        assert near[name] < 0.4
        assert abs(nothing[name] - 0.5) < 7 * nothing[f"{name}_se"]
    assert near["small"] > nothing["small"]


def test_means_stand_beside_their_errors():
    frame = pd.DataFrame({"what": ["a"], "value": [0.5], "value_se": [0.01], "trials": [7]})
    table, sentence = tell_means(frame)
    assert table.to_dict("list") == {"what": ["a"], "value": ["0.500 ±0.010"]}
    assert "7 trials" in sentence
