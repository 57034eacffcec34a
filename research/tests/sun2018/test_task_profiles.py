"""Profiles of tasks: learnt ones and drawn ones."""

import numpy as np
import pytest

from quietcrowd.datasets import make_crowd
from quietcrowd_research.sun2018.task_profiles import learnt_profile, task_profiles


def test_a_learnt_profile_is_within_the_1_norm_and_spans_the_answers():
    cells = np.random.default_rng(0).normal(size=(30, 4)) @ np.eye(4, 12)
    profile = learnt_profile(cells, 4)
    assert np.abs(profile).sum(axis=1).max() == pytest.approx(1.0)
    left = cells - cells @ profile @ np.linalg.pinv(profile)
    assert np.abs(left).max() < 1e-9


@pytest.mark.nightly
def test_a_learnt_profile_knows_the_tasks_and_a_drawn_one_does_not():
    crowds = [
        make_crowd(kind="sparse", workers=120, tasks=40, sparsity=0.5, random_state=seed)
        for seed in (0, 1)
    ]
    frame = task_profiles(crowds, epsilons=(10.0,), ranks=(5,), seed=0).set_index("profile")
    assert frame["correlation"]["learnt"] > 0.5 > frame["correlation"]["drawn"]
    assert (frame["constant"] == frame["constant"].iloc[0]).all()
