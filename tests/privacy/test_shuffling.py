import math
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product

import numpy as np
import pytest

from quietcrowd.privacy import shuffling
from quietcrowd.privacy.binomial import at_least
from quietcrowd.privacy.shuffling import (
    MOST_EXACT,
    KeepOrReplace,
    blanket_delta,
    clones_delta,
    exact_delta,
    shuffled_loss,
)


def response(size, epsilon):
    other = 1 / (math.exp(epsilon) + size - 1)
    return KeepOrReplace(size=size, keep=math.exp(epsilon) * other, other=other)


def divergence(table, others, epsilon, pair=(0, 1)):
    """Return the delta of two answers by enumeration, the largest over all others' answers."""
    most = 0.0
    for answers in combinations_with_replacement(range(len(table)), others):
        distributions = []
        for own in pair:
            distribution = {}
            for reports in product(range(table.shape[1]), repeat=others + 1):
                p = math.prod(table[x, y] for x, y in zip((own, *answers), reports, strict=True))
                seen = tuple(sorted(reports))
                distribution[seen] = distribution.get(seen, 0.0) + p
            distributions.append(distribution)
        one, other = distributions
        parts = (p - math.exp(epsilon) * other[seen] for seen, p in one.items())
        most = max(most, sum(part for part in parts if part > 0))
    return most


def table_of(mechanism):
    off = np.full((mechanism.size, mechanism.size), mechanism.other)
    np.fill_diagonal(off, mechanism.keep)
    return off


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 0.0, 0.7])
@pytest.mark.parametrize(
    ("size", "local", "others"), [(2, 2.0, 6), (2, 0.5, 5), (2, 4.0, 1), (3, 1.0, 3), (4, 2.0, 2)]
)
def test_bounds_are_no_less_than_enumeration(size, local, others, epsilon):
    mechanism = response(size, local)
    true = divergence(table_of(mechanism), others, epsilon)
    blanket = blanket_delta(mechanism, others, epsilon)
    clones = clones_delta(local, others, epsilon)
    if size == 2:
        assert true - 1e-14 <= exact_delta(mechanism.keep, others, epsilon) <= true + 1e-12
    assert true <= blanket * (1 + 1e-13)
    assert blanket <= clones


def test_clones_hold_for_a_mechanism_that_is_no_randomised_response():
    table = np.array([[0.5, 0.3, 0.2], [0.25, 0.3, 0.45], [0.3, 0.5, 0.2]])
    local = max(
        math.log(table[a, y] / table[b, y]) for a in range(3) for b in range(3) for y in range(3)
    )
    for others, epsilon in ((1, 0.0), (3, 0.2), (4, 0.4)):
        pairs = [(a, b) for a in range(3) for b in range(3) if a != b]
        true = max(divergence(table, others, epsilon, pair) for pair in pairs)
        assert 0 < true <= clones_delta(local, others, epsilon)


def half_tail(count, least):
    return Fraction(sum(math.comb(count, n) for n in range(max(least, 0), count + 1)), 2**count)


def test_tails_are_those_of_fractions():
    counts, least = zip(
        *[(c, t) for c in (1, 2, 7, 60, 400) for t in (-1, 0, 1, c // 2, c - 1, c, c + 1)],
        strict=True,
    )
    found = at_least(np.array(least, float), np.array(counts, float), 0.5)
    for value, count, edge in zip(found, counts, least, strict=True):
        true = half_tail(count, edge)
        assert value == pytest.approx(float(true), rel=shuffling._SLACK / 100, abs=0)


@pytest.mark.parametrize(("size", "group", "epsilon"), [(2, 40, 0.3), (3, 30, 0.2), (10, 50, 1.0)])
def test_the_delta_among_uniform_labels_is_that_of_fractions(size, group, epsilon):
    """Summed over all histograms of two labels and the rest, in fractions."""
    mechanism = response(size, 1.5)
    keep, other = Fraction(mechanism.keep), Fraction(mechanism.other)
    factor, total = Fraction(math.exp(epsilon)), Fraction(0)
    for one in range(group + 1):
        for two in range(group + 1 - one):
            rest = group - one - two
            ways = math.comb(group, one) * math.comb(group - one, two) * (size - 2) ** rest
            apart = (keep - other) * (one - factor * two) - other * group * (factor - 1)
            total += max(Fraction(0), apart) * Fraction(ways, size**group)
    true = float(total * size / group)
    assert shuffling._delta_among(mechanism, group, epsilon, 0.0) == pytest.approx(true, rel=1e-8)
    assert shuffling._delta_among(mechanism, group, epsilon, 0.0) >= true
    assert 0 <= shuffling._delta_among(mechanism, group, epsilon, 1e-9) - true <= size * 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("delta", [1e-3, 1e-7, 1e-12])
def test_all_others_alike_lose_no_more_than_is_stated(delta):
    """A lower bound, with the best tables there are: others who all think the same."""
    from scipy.stats import binom

    others, mechanism = 20_000, response(2, 1.0)
    loss = shuffled_loss(1.0, others, delta, mechanism)
    distribution = binom.pmf(np.arange(others + 1), others, mechanism.other)
    before, same = np.append(0, distribution), np.append(distribution, 0)
    yes = mechanism.keep * before + mechanism.other * same
    no = mechanism.other * before + mechanism.keep * same
    factor = math.exp(loss.epsilon)
    true = max(np.maximum(yes - factor * no, 0).sum(), np.maximum(no - factor * yes, 0).sum())
    assert loss.bound == "blanket"
    assert delta / 5000 < true <= delta


@pytest.mark.nightly
@pytest.mark.slow
def test_more_others_and_larger_deltas_lose_less():
    for mechanism in (None, response(2, 2.0), response(7, 2.0)):
        found = [
            shuffled_loss(2.0, others, 1e-6, mechanism).epsilon
            for others in (0, 1, 30, 300, MOST_EXACT, MOST_EXACT + 1, 3 * MOST_EXACT, 10**5)
        ]
        assert found[0] == found[1] == 2.0
        assert all(more <= fewer * 1.001 for fewer, more in pairwise(found))
        assert found[-1] < 0.1
        assert shuffled_loss(2.0, 300, 1e-3, mechanism).epsilon < found[3]


def test_the_pair_is_one():
    loss = shuffled_loss(1.0, 400, 1e-6, response(2, 1.0))
    keep = response(2, 1.0).keep
    assert loss.bound == "exact"
    assert (
        exact_delta(keep, 400, loss.epsilon) <= 1e-6 < exact_delta(keep, 400, loss.epsilon * 0.999)
    )


def test_nothing_is_gained_where_nothing_is_proved():
    assert shuffled_loss(1.0, 0, 0.01).bound == "local"
    assert shuffled_loss(0.0, 100, 0.01).epsilon == 0.0
    alone = shuffled_loss(12.0, 50, 1e-9)
    assert (alone.epsilon, alone.bound) == (12.0, "local")


def test_some_reports_count_as_if_more_others_were_none():
    many = shuffled_loss(1.0, 10**9, 1e-9)
    assert many == shuffled_loss(1.0, 10**7, 1e-9)
    assert 0 < many.epsilon < 0.01


@pytest.mark.grid
@pytest.mark.parametrize(("count", "chance"), [(40, 0.5), (1_000, 0.3), (3_000, 1e-3)])
def test_no_probability_of_a_window_is_below_the_exact_one(count, chance):
    numbers, chances, missed = shuffling._window(count, chance, 1e-9)
    exact_chance, total = Fraction(chance), Fraction(0)
    for number, found in zip(numbers.astype(int).tolist(), chances.tolist(), strict=True):
        rest = (1 - exact_chance) ** (count - number)
        exact = math.comb(count, number) * exact_chance**number * rest
        assert exact <= Fraction(found) <= exact * (1 + Fraction(1, 10**10))
        total += exact
    assert 1 - total <= Fraction(missed)
