import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache, partial

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from tests.nightly import by_day, nightly

import quietcrowd as qc
from quietcrowd.accounting.spending import counted_loss, filter_used
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms import (
    DuchiMechanism,
    HybridMechanism,
    MatrixFactorization,
    Mechanism,
    OptimalMechanism,
    TwoLayerRandomizedResponse,
)
from quietcrowd.mechanisms.channels.noise import DiscreteLaplace
from quietcrowd.privacy.loss import pure_distribution
from quietcrowd.privacy.loss_grid import compose_losses
from quietcrowd.privacy.rounding import as_entered

YES_NO = qc.Categorical(["no", "yes"])
NUMBERS = qc.Interval(low=0, high=7.3)
ENTERED = {
    "one-layer": partial(qc.RandomizedResponse, domain=YES_NO),
    "null": partial(qc.RandomizedResponse, domain=YES_NO, missing="category"),
    "sets": partial(qc.SubsetSelection, domain=qc.Ordinal(range(9))),
    "optimal": partial(OptimalMechanism, domain=YES_NO, prior={"no": 0.9}),
    "laplace": partial(qc.LaplaceMechanism, domain=NUMBERS, fill=None),
    "released": partial(qc.LaplaceMechanism, domain=NUMBERS, participation="released"),
    "duchi": partial(DuchiMechanism, domain=NUMBERS),
    "piecewise": partial(qc.PiecewiseMechanism, domain=NUMBERS),
    "hybrid": partial(HybridMechanism, domain=NUMBERS),
    "factors": partial(MatrixFactorization, domain=NUMBERS, rank=2),
}
"""Mechanisms that are made for an epsilon."""


def worst_delta(budget, step, kinds, used):
    """Return the delta at the budget of the device that chooses worst, among coins, as it goes.

    Its coins lose some multiple of `step` each; it may make one more as long as `used` allows.
    """
    distributions = [pure_distribution(kind * step) for kind in kinds]
    right = [1 / (1 + math.exp(-distribution.epsilon)) for distribution in distributions]

    @cache
    def fits(counts):
        return (
            used(
                [
                    (distribution, n)
                    for distribution, n in zip(distributions, counts, strict=True)
                    if n
                ]
            )
            <= budget
        )

    @cache
    def worst(counts, loss):
        most = max(0.0, 1 - math.exp(budget - loss * step))
        for place, kind in enumerate(kinds):
            after = tuple(n + (place == own) for own, n in enumerate(counts))
            if fits(after):
                p = right[place]
                most = max(
                    most, p * worst(after, loss + kind) + (1 - p) * worst(after, loss - kind)
                )
        return most

    return worst((0,) * len(kinds), 0)


CASES = [(3.0, 0.01, 0.25, (1, 4)), (2.5, 0.01, 0.1, (1, 10)), (1.5, 0.1, 0.1, (1, 3))]


@pytest.mark.parametrize(("budget", "delta", "step", "kinds"), CASES)
def test_no_device_that_chooses_as_it_goes_exceeds_the_filter(budget, delta, step, kinds):
    found = worst_delta(budget, step, kinds, lambda parts: filter_used(parts, budget, delta))
    assert 0 < found <= delta


@pytest.mark.slow
@pytest.mark.parametrize(("budget", "delta", "step", "kinds"), [CASES[0], nightly(*CASES[1])])
def test_exact_composition_is_no_filter(budget, delta, step, kinds):
    found = worst_delta(budget, step, kinds, lambda parts: compose_losses(parts, delta))
    assert found > 1.4 * delta


@pytest.mark.grid
@pytest.mark.parametrize("epsilon", [0.5, 0.01, 0.1, 1.0, 3.0])
@pytest.mark.parametrize("count", [10, 1, 100, 1000])
@pytest.mark.parametrize("delta", [1e-2, 1e-6])
def test_what_is_used_is_between_the_composition_and_the_sum(epsilon, count, delta):
    parts = [(pure_distribution(epsilon), count)]
    for budget in (0.5, 2.0, 10.0, 60.0):
        used = filter_used(parts, budget, delta)
        assert compose_losses(parts, delta) <= used * (1 + 1e-9)
        assert used <= count * epsilon * (1 + 1e-12)
    assert filter_used(parts, 5.0, 0.0) == pytest.approx(count * epsilon)


def test_releases_with_a_delta_must_fit_into_half_of_it():
    part = pure_distribution(0.5, 0.004)
    assert filter_used([(part, 2)], 3.0, 0.016) == pytest.approx(1.0)
    assert filter_used([(part, 2)], 3.0, 0.0159) == math.inf
    assert filter_used([(part, 2)], 3.0, 0.0) == math.inf
    assert filter_used([(pure_distribution(math.inf), 1)], 3.0, 0.1) == math.inf


def test_nothing_is_used_by_nothing():
    assert filter_used([], 1.0, 1e-6) == 0.0
    assert filter_used([(pure_distribution(0.0), 5)], 1.0, 1e-6) == 0.0
    assert filter_used([(pure_distribution(0.1), 1)], 0.0, 1e-6) == pytest.approx(0.1, rel=1e-4)


def test_a_ledger_allows_what_its_filter_allows():
    mechanism = qc.RandomizedResponse(domain=YES_NO, epsilon=0.1)
    delta = 1e-5
    ledger = qc.PrivacyLedger()
    hundred = ledger.charge("ann", mechanism, answers=100)
    assert hundred.spent("ann", delta).total_epsilon == pytest.approx(4.3068, abs=1e-4)
    # Fixed beforehand 100 answers fit into 4.4; a device that decides as it goes may not.
    assert ledger.would_exceed("ann", mechanism, 4.4, answers=100, delta=delta)
    assert not ledger.would_exceed("ann", mechanism, 4.8, answers=100, delta=delta)
    assert hundred.used("ann", 4.8, delta) <= 4.8
    assert hundred.used("ann", 4.8) == pytest.approx(10.0)
    assert not ledger.would_exceed("ann", mechanism, 10.0, answers=100)


@pytest.mark.parametrize("name", ["two-layer", "matrix-factorization"])
def test_no_draw_is_extended_under_a_delta(name):
    """Who sees that a draw tells much, and goes on only then, is beyond what the filter counts."""
    kind = Mechanism.registry()[name]
    mechanism = kind.from_claimed_epsilon(domain=qc.Ordinal(range(3)), epsilon=1.0)
    begun = qc.PrivacyLedger().charge("ann", mechanism, answers=3, tasks=3)
    with pytest.raises(ParameterError, match="needs one charge for all of them"):
        begun.would_exceed("ann", mechanism, 1e6, answers=1, tasks=1, delta=0.5)
    begun.would_exceed("ann", mechanism, 1e6, answers=1, tasks=1)
    begun.would_exceed("ann", mechanism, 1e6, answers=1, tasks=1, campaign="2", delta=0.5)


def test_what_is_used_does_not_depend_on_the_order_of_charges():
    one = qc.RandomizedResponse(domain=YES_NO, epsilon=0.2)
    other = qc.LaplaceMechanism(domain=qc.Ordinal(range(5)), epsilon=0.3, fill=None)
    empty = qc.PrivacyLedger()
    first = empty.charge("ann", one, answers=40).charge("ann", other, answers=20, campaign="2")
    second = empty.charge("ann", other, answers=20, campaign="2").charge("ann", one, answers=40)
    assert first.used("ann", 8.0, 1e-6) == pytest.approx(second.used("ann", 8.0, 1e-6), rel=1e-12)
    assert empty.used("ann", 8.0, 1e-6) == 0.0


@pytest.mark.parametrize("budget", [-1, math.nan, math.inf, "3", None])
def test_budgets_are_checked(budget):
    with pytest.raises(ParameterError, match="budget"):
        qc.PrivacyLedger().used("ann", budget)


def decimals(least, most):
    """Return decimals that somebody may enter, of up to 17 digits; bounds are in thousandths."""
    short = st.integers(least, most).map(lambda number: Decimal(number) / 1000)
    return short | st.floats(least / 1000, most / 1000).map(repr).map(Decimal)


@pytest.mark.parametrize("name", by_day(["one-layer", "laplace"], ENTERED))
@given(
    epsilon=decimals(20, 8_000),
    campaigns=st.integers(1, 12),
    budget=decimals(0, 40_000),
    data=st.data(),
)
def test_campaigns_fit_a_budget_exactly_where_the_decimals_do(
    name, epsilon, campaigns, budget, data
):
    """Three campaigns of 0.1 fit into 0.3, and not into the float below; none is counted short.

    With a delta many campaigns may fit beyond their sum.
    """
    mechanism = ENTERED[name](epsilon=float(epsilon))
    ledger = qc.PrivacyLedger()
    for place in range(campaigns - 1):
        ledger = ledger.charge("ann", mechanism, tasks=1, campaign=f"{place}")
    at = float(campaigns * Fraction(epsilon))
    near = [math.nextafter(at, 0), at, math.nextafter(at, math.inf)]
    most = data.draw(st.sampled_from([*near, float(budget)]))
    delta = data.draw(st.sampled_from([0.0, 1e-9]))
    last = {"tasks": 1, "campaign": "last"}
    fits = not ledger.would_exceed("ann", mechanism, most, **last, delta=delta)
    total = campaigns * as_entered(float(epsilon))
    assert fits >= (total <= as_entered(most))
    assert (delta and campaigns > 3) or fits == (total <= as_entered(most))
    charged = ledger.charge("ann", mechanism, **last)
    assert as_entered(charged.used("ann", most)) >= total
    lost = mechanism.channel.exact_epsilon
    assert lost <= Fraction(mechanism.channel.epsilon)
    assert total >= campaigns * lost


@pytest.mark.parametrize("epsilon", [0.07, 0.1, 0.9, 1.1])
def test_laplace_noise_loses_no_more_than_the_decimal_that_was_entered(epsilon):
    """These floats are above their decimals, and noise for the float may lose more than these."""
    assert Fraction(epsilon) > as_entered(epsilon)
    for steps in range(1000, 1100):
        noise = DiscreteLaplace.for_loss(steps, epsilon)
        assert Fraction(steps) / Fraction(noise.scale) <= as_entered(epsilon)
        assert Fraction(steps) / Fraction(math.nextafter(noise.scale, 0)) > as_entered(epsilon)


def test_what_loses_more_than_was_entered_is_counted_as_it_loses():
    two_layer = TwoLayerRandomizedResponse.from_claimed_epsilon(domain=YES_NO, epsilon=1.0)
    stated = two_layer.guarantee(answers=20)
    assert stated.total_epsilon > 10
    assert counted_loss(two_layer, 20) == Fraction(stated.total_epsilon)
    wide = qc.LaplaceMechanism(domain=qc.Ordinal([0, 100]), epsilon=1.0, scale="paper", fill=None)
    assert counted_loss(wide, 1) == 50
    printed = qc.LaplaceMechanism(
        domain=qc.Ordinal(range(11)), epsilon=1.0, scale="paper", fill=None
    )
    assert counted_loss(printed, 11) == 11 * printed.channel.exact_epsilon < Fraction(10.01)


def test_what_named_tasks_spare_is_taken_off_but_for_one_answer():
    factors = ENTERED["factors"](epsilon=0.5)
    assert counted_loss(factors, 4, spared=0.25) == Fraction(7, 4)
    assert counted_loss(factors, 4, spared=1.75) == Fraction(1, 2)


def test_nothing_bounds_what_has_a_delta():
    class WithDelta(qc.RandomizedResponse):
        def guarantee(self, *counts, **more):
            return evolve(super().guarantee(*counts, **more), delta=0.05)

    mechanism = WithDelta(domain=YES_NO, epsilon=1.0)
    assert counted_loss(mechanism, 1) is None
    charged = qc.PrivacyLedger().charge("ann", mechanism)
    assert charged.used("ann", 5.0) == charged.spent("ann").total_epsilon == math.inf


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "count", "budget", "delta"), [(0.1, 100, 5.0, 1e-5)])
def test_a_filter_is_its_formula_rounded_up_a_little(epsilon, count, budget, delta):
    """In 50 digits; of the delta one half is for what is told in full."""
    with localcontext(prec=50):
        half = Decimal(delta) / 2

        def price(order):
            least = -order.ln() + (order - 1) * (1 - 1 / order).ln()
            return (least - half.ln()) / (order - 1)

        orders = [Decimal(float(order)) for order in 1 + np.geomspace(1e-3, 1e6, 2000)]
        order = max(orders, key=lambda one: (Decimal(budget) - price(one)) / one)
        loss = Decimal(epsilon)
        right = 1 / (1 + (-loss).exp())
        mean = right * ((order - 1) * loss).exp() + (1 - right) * (-(order - 1) * loss).exp()
        exact = count * mean.ln() / (order - 1) + price(order)
    used = filter_used([(pure_distribution(epsilon), count)], budget, delta)
    assert used < count * epsilon
    assert Decimal("5e-10") < Decimal(used) / exact - 1 < Decimal("2e-9")
