import math

import numpy as np
import pytest
from tests.synthesis.crowds import normal_claims

from quietcrowd.exceptions import ParameterError
from quietcrowd.synthesis.blur import Blur
from quietcrowd.synthesis.planner import plan_releases, typical_counts


@pytest.mark.slow
def test_every_plan_keeps_within_the_budget():
    plans = plan_releases(8.0, bandwidth=0.4, users=100, claims=5, answers=2, delta=1e-5)
    assert len(plans) > 2
    assert len({plan.method.k for plan in plans}) == len(plans)
    assert [p.expected for p in plans] == sorted((p.expected for p in plans), reverse=True)
    for plan in plans:
        assert plan.guarantee.worker_epsilon <= 8
        assert plan.guarantee == plan.method.guarantee(100, answers=2, delta=1e-5)


def test_what_is_given_is_not_searched_for():
    for plan in plan_releases(30.0, bandwidth=0.4, users=50, claims=3, gamma=4, k=14):
        assert (plan.method.gamma, plan.method.k) == (4, 14)
    [only] = plan_releases(40.0, bandwidth=0.4, users=50, claims=3, gamma=4, k=14, epsilon0=1.0)
    assert only.method.epsilon0 == 1


@pytest.mark.slow
def test_a_budget_that_affords_nothing_says_what_would():
    with pytest.raises(ParameterError, match="Take fewer claims") as info:
        plan_releases(3.0, bandwidth=0.4, users=20, claims=30)
    least = float(str(info.value).split("the least loss is ")[1].split(". Take")[0])
    assert 40 < least < 100
    assert plan_releases(least * 1.001, bandwidth=0.4, users=20, claims=30)
    with pytest.raises(ParameterError, match="epsilon must be a finite number above 0"):
        plan_releases(0, bandwidth=0.4, users=20)
    with pytest.raises(ParameterError, match="users must be a whole number"):
        plan_releases(1.0, bandwidth=0.4, users=0)
    with pytest.raises(ParameterError, match="spread must be a finite number"):
        plan_releases(1.0, bandwidth=0.4, users=20, spread=-1)


@pytest.mark.parametrize("width", [0.3, 1.7])
@pytest.mark.parametrize("gamma", [1.5, 4.0])
def test_typical_counts_are_those_of_a_drawn_crowd(width, gamma):
    blur, users, draws = Blur(gamma=gamma, cells=16), 30, 4000
    rng = np.random.default_rng(0)
    claims = rng.normal(0, width, (draws, users))
    candidates = claims[:, :1] + rng.normal(size=(draws, 1))
    steps = np.minimum(np.rint(np.abs(claims - candidates) * 16).astype(int), blur.reach)
    buckets = np.floor(blur.falls[steps])
    counts = (buckets == buckets[:, :1]).sum(axis=1)
    law = typical_counts(blur, users, width)
    assert law.sum() == pytest.approx(1.0)
    assert law @ np.arange(users + 1) == pytest.approx(counts.mean(), rel=0.05)


@pytest.mark.slow
def test_plans_expect_what_comes():
    plan = plan_releases(20.0, bandwidth=0.4, users=100, claims=10, spread=1.0)[0]
    released = plan.method.fit(normal_claims(tasks=200, users=100)).release(
        np.random.default_rng(0)
    )
    assert released.passed.mean() == pytest.approx(plan.expected, rel=0.1)
    assert math.isfinite(plan.guarantee.epsilon)
