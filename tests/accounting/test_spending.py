import math
from functools import cache

import pytest
from tests.nightly import nightly

import quietcrowd as qc
from quietcrowd.accounting.spending import filter_used
from quietcrowd.privacy.loss_distribution import compose_losses
from quietcrowd.privacy.loss_law import pure_law

YES_NO = qc.Categorical(["no", "yes"])


def worst_delta(budget, step, kinds, used):
    """Return the delta at the budget of the device that chooses worst, among coins, as it goes.

    Its coins lose some multiple of `step` each; it may make one more as long as `used` allows.
    """
    laws = [pure_law(kind * step) for kind in kinds]
    right = [1 / (1 + math.exp(-law.epsilon)) for law in laws]

    @cache
    def fits(counts):
        return used([(law, n) for law, n in zip(laws, counts, strict=True) if n]) <= budget

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


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("count", [1, 10, 100, 1000])
@pytest.mark.parametrize("delta", [1e-2, 1e-6])
def test_what_is_used_is_between_the_composition_and_the_sum(epsilon, count, delta):
    parts = [(pure_law(epsilon), count)]
    for budget in (0.5, 2.0, 10.0, 60.0):
        used = filter_used(parts, budget, delta)
        assert compose_losses(parts, delta) <= used * (1 + 1e-9)
        assert used <= count * epsilon * (1 + 1e-12)
    assert filter_used(parts, 5.0, 0.0) == pytest.approx(count * epsilon)


def test_releases_with_a_delta_must_fit_into_half_of_it():
    part = pure_law(0.5, 0.004)
    assert filter_used([(part, 2)], 3.0, 0.016) == pytest.approx(1.0)
    assert filter_used([(part, 2)], 3.0, 0.0159) == math.inf
    assert filter_used([(part, 2)], 3.0, 0.0) == math.inf
    assert filter_used([(pure_law(math.inf), 1)], 3.0, 0.1) == math.inf


def test_nothing_is_used_by_nothing():
    assert filter_used([], 1.0, 1e-6) == 0.0
    assert filter_used([(pure_law(0.0), 5)], 1.0, 1e-6) == 0.0
    assert filter_used([(pure_law(0.1), 1)], 0.0, 1e-6) == pytest.approx(0.1, rel=1e-4)


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
    kind = qc.Mechanism.registry()[name]
    mechanism = kind.from_claimed_epsilon(domain=qc.Ordinal(range(3)), epsilon=1.0)
    begun = qc.PrivacyLedger().charge("ann", mechanism, answers=3, tasks=3)
    with pytest.raises(qc.ParameterError, match="takes all of them in one charge"):
        begun.would_exceed("ann", mechanism, 1e6, answers=1, tasks=1, delta=0.5)
    begun.would_exceed("ann", mechanism, 1e6, answers=1, tasks=1)
    begun.would_exceed("ann", mechanism, 1e6, answers=1, tasks=1, campaign="2", delta=0.5)


def test_what_is_used_does_not_depend_on_the_order_of_charges():
    one = qc.RandomizedResponse(domain=YES_NO, epsilon=0.2)
    other = qc.LaplacePerturbation(domain=qc.Ordinal(range(5)), epsilon=0.3, fill=None)
    empty = qc.PrivacyLedger()
    first = empty.charge("ann", one, answers=40).charge("ann", other, answers=20, campaign="2")
    second = empty.charge("ann", other, answers=20, campaign="2").charge("ann", one, answers=40)
    assert first.used("ann", 8.0, 1e-6) == pytest.approx(second.used("ann", 8.0, 1e-6), rel=1e-12)
    assert empty.used("ann", 8.0, 1e-6) == 0.0


@pytest.mark.parametrize("budget", [-1, math.nan, math.inf, "3", None])
def test_budgets_are_checked(budget):
    with pytest.raises(qc.ParameterError, match="budget"):
        qc.PrivacyLedger().used("ann", budget)
