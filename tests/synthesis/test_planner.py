import math

import numpy as np
import pandas as pd
import pytest
from tests.synthesis.crowds import normal_claims

from quietcrowd.answers import Answers
from quietcrowd.domains import Interval
from quietcrowd.exceptions import ParameterError
from quietcrowd.synthesis.attempt import Blur
from quietcrowd.synthesis.planner import (
    UnaffordableError,
    plan_for_claims,
    plan_releases,
    typical_counts,
)


@pytest.mark.nightly
def test_every_plan_keeps_within_the_budget():
    plans = plan_releases(8.0, bandwidth=0.4, users=100, claims=5, answers=2, delta=1e-5)
    assert len(plans) > 2
    assert len({plan.method.k for plan in plans}) == len(plans)
    assert [p.expected for p in plans] == sorted((p.expected for p in plans), reverse=True)
    for plan in plans:
        assert plan.guarantee.total_epsilon <= 8
        assert plan.guarantee == plan.method.guarantee(100, answers=2, delta=1e-5)


def test_what_is_given_is_not_searched_for():
    for plan in plan_releases(30.0, bandwidth=0.4, users=50, claims=3, gamma=4, k=14):
        assert (plan.method.gamma, plan.method.k) == (4, 14)
    [only] = plan_releases(40.0, bandwidth=0.4, users=50, claims=3, gamma=4, k=14, epsilon0=1.0)
    assert only.method.epsilon0 == 1


@pytest.mark.nightly
@pytest.mark.slow
def test_a_budget_that_affords_nothing_says_what_would():
    with pytest.raises(ParameterError, match="Use fewer claims") as info:
        plan_releases(3.0, bandwidth=0.4, users=20, claims=30)
    least = float(str(info.value).split("the least loss is ")[1].split(". Use")[0])
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
    distribution = typical_counts(blur, users, width)
    assert distribution.sum() == pytest.approx(1.0)
    assert distribution @ np.arange(users + 1) == pytest.approx(counts.mean(), rel=0.05)


@pytest.mark.nightly
def test_plans_expect_what_comes():
    plan = plan_releases(20.0, bandwidth=0.4, users=100, claims=10, spread=1.0)[0]
    released = plan.method.fit(normal_claims(tasks=200, users=100)).release(random_state=0)
    assert released.passed.mean() == pytest.approx(plan.expected, rel=0.1)
    assert math.isfinite(plan.guarantee.epsilon)


DOMAIN = Interval(low=0, high=10)


def claims_of(*users):
    """Return claims about tasks with so many users each."""
    rng = np.random.default_rng(0)
    rows = [
        (task, worker, rng.uniform(0, 10))
        for task, count in enumerate(users)
        for worker in range(count)
    ]
    return Answers.from_frame(pd.DataFrame(rows, columns=["task", "worker", "label"]), DOMAIN)


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("weights", ["uniform", "local"])
@pytest.mark.parametrize("per", ["claim", "user"])
def test_what_is_planned_is_what_the_release_loses(per, weights):
    answers = claims_of(5, 40, 60, 60)
    plans = plan_for_claims(
        *(answers, 100.0), bandwidth=0.4, claims=2, per=per, weights=weights, gamma=4.0
    )
    assert plans
    for plan in plans:
        guarantee = plan.method.fit(answers).guarantee(1e-6)
        assert guarantee == plan.guarantee
        assert (guarantee.epsilon if per == "claim" else guarantee.total_epsilon) <= 100


@pytest.mark.slow
def test_a_larger_k_refuses_tasks_and_counts_on_the_users_of_the_others():
    answers = claims_of(20, 60, 60)
    plans = {p.method.k: p for p in plan_for_claims(answers, 15, bandwidth=0.4, claims=2, gamma=4)}
    (alone,) = plan_releases(15, bandwidth=0.4, users=60, claims=2, gamma=4, k=28, tasks=2)
    assert plans[28].method == alone.method
    assert plans[28].guarantee.answers == 2
    assert plans[14].guarantee.answers == 3


@pytest.mark.nightly
@pytest.mark.slow
def test_the_best_bounds_all_claims_of_a_user_and_gives_most_over_all_tasks():
    answers = claims_of(*[60] * 6)
    plans = plan_for_claims(answers, 8, bandwidth=0.4, claims=3)
    finite = [np.isfinite(plan.guarantee.total_epsilon) for plan in plans]
    assert finite == sorted(finite, reverse=True)
    fruits = [plan.expected for plan, bounded in zip(plans, finite, strict=True) if bounded]
    assert fruits == sorted(fruits, reverse=True)


@pytest.mark.slow
def test_the_least_loss_of_all_k_is_told():
    answers = claims_of(20, 40)
    with pytest.raises(UnaffordableError, match="the least loss is") as raised:
        plan_for_claims(answers, 0.01, bandwidth=0.4, gamma=4)
    with pytest.raises(UnaffordableError) as other:
        plan_releases(0.01, bandwidth=0.4, users=40, gamma=4)
    assert raised.value.least <= other.value.least


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"k": 41}, "no task has k=41 users; the most is 40"),
        ({"k": 0}, "k must be a whole number, at least 1"),
        ({"per": "task"}, "per must be one of 'claim', 'user'"),
        ({"bandwidth": -1}, "bandwidth must be a number above 0"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ParameterError, match=message):
        plan_for_claims(claims_of(40), 1.0, **({"bandwidth": 0.4} | parameters))
