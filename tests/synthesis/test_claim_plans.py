"""Plans for claims at hand."""

import numpy as np
import pandas as pd
import pytest

from quietcrowd.answers import Answers
from quietcrowd.domains import Interval
from quietcrowd.exceptions import ParameterError
from quietcrowd.synthesis.claim_plans import plan_for_claims
from quietcrowd.synthesis.planner import UnaffordableError, plan_releases

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
        assert (guarantee.epsilon if per == "claim" else guarantee.worker_epsilon) <= 100


def test_a_larger_k_refuses_tasks_and_counts_on_the_users_of_the_others():
    answers = claims_of(20, 60, 60)
    plans = {p.method.k: p for p in plan_for_claims(answers, 15, bandwidth=0.4, claims=2, gamma=4)}
    (alone,) = plan_releases(15, bandwidth=0.4, users=60, claims=2, gamma=4, k=28, tasks=2)
    assert plans[28].method == alone.method
    assert plans[28].guarantee.answers == 2
    assert plans[14].guarantee.answers == 3


@pytest.mark.slow
def test_the_best_bounds_all_claims_of_a_user_and_gives_most_over_all_tasks():
    answers = claims_of(*[60] * 6)
    plans = plan_for_claims(answers, 8, bandwidth=0.4, claims=3)
    finite = [np.isfinite(plan.guarantee.worker_epsilon) for plan in plans]
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
        ({"k": 41}, "no task has k=41 users, the most is 40"),
        ({"k": 0}, "k must be a whole number, at least 1"),
        ({"per": "task"}, "per must be one of 'claim', 'user'"),
        ({"bandwidth": -1}, "bandwidth must be a number above 0"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ParameterError, match=message):
        plan_for_claims(claims_of(40), 1.0, **({"bandwidth": 0.4} | parameters))
