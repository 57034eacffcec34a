import math

import pytest

from quietcrowd.privacy.composition import compose_curve, composed_delta, composed_epsilon


@pytest.mark.parametrize(("epsilon", "count"), [(0.1, 4), (0.5, 7), (1.0, 10), (0.01, 60)])
def test_delta_is_that_of_the_worst_mechanism(epsilon, count):
    """Randomised response: the loss of heads and tails is their difference times epsilon."""
    for steps in range(count // 2 + 1):
        total = (count - 2 * steps) * epsilon
        exact = 0.0
        for tails in range(count + 1):
            ways = math.comb(count, tails) / (1 + math.exp(epsilon)) ** count
            here, there = math.exp((count - tails) * epsilon), math.exp(tails * epsilon)
            exact += ways * max(0.0, here - math.exp(total) * there)
        assert exact <= composed_delta(epsilon, count, steps) <= exact * (1 + 2e-6) + 1e-14


def test_pure_losses_add_without_a_delta():
    assert composed_epsilon(0.3, 0.0, 5, 0.0) == pytest.approx(1.5)
    assert composed_epsilon(0.0, 0.0, 5, 0.0) == 0


def test_a_delta_buys_a_smaller_sum():
    sums = [composed_epsilon(0.05, 0.0, 100, delta) for delta in (0.0, 1e-9, 1e-6, 1e-3)]
    assert sums == sorted(sums, reverse=True)
    assert sums[0] == pytest.approx(5.0)
    assert sums[-1] < 2


def test_deltas_beyond_the_total_leave_no_bound():
    assert composed_epsilon(0.1, 1e-3, 10, 1e-3) == math.inf
    assert composed_epsilon(0.1, 1.0, 1, 0.5) == math.inf
    assert composed_epsilon(math.inf, 0.0, 1, 0.5) == math.inf
    assert composed_epsilon(0.1, 1e-4, 10, 1e-3) == pytest.approx(1.0)


def test_a_curve_is_composed_at_its_best_share():
    def steep(delta):
        return 1.0 if delta >= 1e-7 else math.inf

    assert compose_curve(steep, 10, 1e-6) == pytest.approx(10.0)

    def flat(_):
        return 0.01

    assert compose_curve(flat, 1000, 1e-6) < 2
