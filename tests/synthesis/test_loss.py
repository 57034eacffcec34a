import math

import pytest

from quietcrowd.exceptions import ParameterError
from quietcrowd.privacy.rounding import log_ratio_up
from quietcrowd.synthesis.attempt import TOTAL, floored_bounds
from quietcrowd.synthesis.attempt_loss import Attempt, compose_curve
from quietcrowd.synthesis.pris_crowd import PrisCrowd

METHOD = PrisCrowd(epsilon0=2.5, bandwidth=0.5, claims=5, k=8)


def loss(method=METHOD, users=40, **given):
    return method.guarantee(users, **{"delta": 1e-4, **given})


def test_a_user_of_several_tasks_loses_more():
    one, three = loss(), loss(answers=3)
    assert one.epsilon == one.total_epsilon
    assert one.total_epsilon < three.total_epsilon
    assert three.epsilon == pytest.approx(one.epsilon)


def test_tasks_do_not_matter_unless_weights_couple_them():
    assert loss(tasks=500) == loss()
    local = PrisCrowd(epsilon0=2.5, bandwidth=0.5, claims=5, k=8, weights="local")
    assert loss(local, tasks=500) == loss(local)
    coupled = PrisCrowd(epsilon0=2.5, bandwidth=0.5, claims=5, k=8, weights="global")
    few, many = loss(coupled, tasks=1), loss(coupled, tasks=1124)
    moved = log_ratio_up(floored_bounds(40, 40, 0.5).ratio)
    assert few.epsilon == pytest.approx(loss(local).epsilon)
    assert many.epsilon - few.epsilon == pytest.approx(1123 * 10 * moved)
    assert many.epsilon > 4e4


def test_learnt_weights_cost_the_ratio_of_their_floor():
    local = PrisCrowd(epsilon0=2.5, bandwidth=0.5, claims=5, k=8, weights="local")
    bounds = floored_bounds(40, 40, 0.5)
    assert float(bounds.ratio) == pytest.approx(41)
    attempt = Attempt(
        passes=local.test.weights.tolist(),
        total=TOTAL,
        gamma=local.blur.exact_gamma,
        most=bounds.most,
        least=bounds.most / bounds.ratio,
        claims=40,
    )
    own = compose_curve(attempt.epsilon, 10, 1e-4)
    moved = 10 * log_ratio_up(bounds.ratio)
    assert loss(local).epsilon == pytest.approx(own + moved, rel=1e-12)
    tiny = PrisCrowd(epsilon0=2.5, bandwidth=0.5, weights="local", floor=1e-9)
    assert loss(tiny).epsilon == math.inf


def test_no_size_within_the_public_numbers_loses_more():
    """The bound for tasks of 10 to 100 claims covers every size between."""
    for weights in ("uniform", "local"):
        method = PrisCrowd(epsilon0=2.5, bandwidth=0.5, claims=3, k=8, weights=weights)
        together = loss(method, users=10, most_users=100, delta=1e-3).epsilon
        for users in (10, 17, 55, 100):
            assert loss(method, users=users, delta=1e-3).epsilon <= together


@pytest.mark.parametrize(("fewest", "between", "most"), [(65536, 70_000, 131_072)])
def test_rounding_of_weights_is_covered(fewest, between, most):
    method = PrisCrowd(epsilon0=10.0, bandwidth=0.5, claims=1, k=4)
    together = loss(method, users=fewest, most_users=most, delta=1e-9).epsilon
    for users in (fewest, between, most):
        assert loss(method, users=users, delta=1e-9).epsilon <= together
    local = PrisCrowd(epsilon0=1.0, bandwidth=0.5, claims=1, k=60, weights="local")
    together = loss(local, users=10**6, most_users=1_048_576).epsilon
    for users in (10**6, 1_048_069, 1_048_576):
        assert loss(local, users=users).epsilon <= together


def test_more_delta_never_costs_more():
    losses = [loss(delta=delta).epsilon for delta in (1e-12, 1e-9, 1e-6, 1e-3, 0.1)]
    assert losses == sorted(losses, reverse=True)
    assert losses[0] == math.inf


def test_what_the_paper_prints_is_claimed():
    printed = loss(PrisCrowd(epsilon0=1.0, bandwidth=0.5, release="paper"))
    assert printed.claimed_epsilon == pytest.approx(1 + math.log(5))
    assert printed.claimed_delta == pytest.approx(math.exp(-4))
    assert printed.epsilon == math.inf
    assert "does not hold" in str(printed)
    assert "Theorem 2" in printed.source
    without_t = loss(PrisCrowd(epsilon0=1.0, bandwidth=0.5, release="paper", k=1))
    assert without_t.claimed_epsilon == math.inf


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"delta": 1}, "delta must be at least 0"),
        ({"delta": -0.1}, "delta must be at least 0"),
        ({"users": 0}, "users must be a whole number"),
        ({"users": 9, "most_users": 8}, "most_users must be a whole number, at least 9"),
        ({"answers": 0}, "answers must be a whole number"),
        ({"tasks": 0}, "tasks must be a whole number"),
    ],
)
def test_numbers_out_of_range_are_refused(given, message):
    with pytest.raises(ParameterError, match=message):
        loss(**given)
