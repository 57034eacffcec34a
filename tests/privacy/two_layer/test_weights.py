"""Rows that share a weight: enumerated, against brute force and against the closed forms."""

import math
from decimal import Decimal, localcontext
from itertools import product

import numpy as np
import pytest
from tests.nightly import nightly

from quietcrowd import Categorical, Ordinal
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms import TwoLayerRandomizedResponse
from quietcrowd.mechanisms.channels.per_worker import STEPS, UniformEpsilons
from quietcrowd.privacy.two_layer.flips import cell_epsilon, row_epsilon
from quietcrowd.privacy.two_layer.weights import (
    MAX_ROW,
    SharedWeight,
    drawn_cell_epsilon,
    drawn_row_epsilon,
)


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("others", [4, 1])
@pytest.mark.parametrize("cells", [26, 1, 2, nightly(5), 277, nightly(2134)])
@pytest.mark.parametrize(("low", "high"), [(0.1, 0.4), (0, 0.538), (0.3, 1.0), (0.2, 0.2)])
def test_uniform_weights_agree_with_the_closed_form(low, high, cells, others):
    low, high = (math.ceil(flip * 2**32 / others) for flip in (low, high))
    high = min(high, 2**32 // others)
    if others == 1 and high == 2**32:
        high -= 2**20
    distribution = SharedWeight.even(low=low, high=high, others=others)
    exact = cell_epsilon(cells, labels=others + 1, low=low, high=high)
    assert distribution.cell_epsilon(cells) == pytest.approx(exact, rel=1e-9, abs=1e-9)
    row = row_epsilon(cells, labels=others + 1, low=low, high=high)
    assert distribution.row_epsilon(cells) == pytest.approx(row, rel=1e-6, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("cells", [1, 2, 3, 20, 40, 300])
@pytest.mark.parametrize("null", [None, "category"])
def test_listed_weights_agree_with_the_closed_form(cells, null):
    mechanism = TwoLayerRandomizedResponse(
        domain=Ordinal(range(3)), epsilon=1.0, distribution="epsilon", missing=null
    )
    distribution = SharedWeight.listed(
        np.array(mechanism.worker_distribution.table, float),
        others=mechanism.size - 1,
        null=null is not None,
    )
    assert distribution.cell_epsilon(cells) == pytest.approx(
        mechanism.worker_distribution.cell_epsilon(cells), rel=1e-9
    )
    assert distribution.row_epsilon(cells) == pytest.approx(
        mechanism.worker_distribution.row_epsilon(cells), rel=1e-9
    )


@pytest.mark.parametrize("cells", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("null", [False, True])
def test_delta_is_that_of_brute_force(cells, epsilon, null):
    weights = np.array([0.05, 0.2, 0.3]) * 2**32
    distribution = SharedWeight.listed(weights, others=2, null=null)
    keep, other = 1 - 2 * weights / 2**32, weights / 2**32

    def chance(given, sent):
        total = 1.0
        for kind in (True, False):
            cell = [s == g for g, s in zip(given, sent, strict=True) if (null and g == 2) != kind]
            agree = sum(cell)
            total *= (keep**agree * other ** (len(cell) - agree)).mean()
        return total

    def delta(one, two):
        return sum(
            max(0.0, chance(one, sent) - math.exp(epsilon) * chance(two, sent))
            for sent in product(range(3), repeat=cells)
        )

    rest = (0,) * (cells - 1)
    pairs = [((0, *rest), (1, *rest))]
    if null:
        pairs += [((0, *rest), (2, *rest)), ((2, *rest), (0, *rest))]
    worst = max(delta(*pair) for pair in pairs)
    assert distribution.delta(cells, epsilon) == pytest.approx(worst, abs=1e-12)


def test_the_curve_of_the_printed_mechanism():
    """A quarter of the probability lies outside of the claim, with many answers."""
    mechanism = TwoLayerRandomizedResponse.from_claimed_epsilon(
        domain=Categorical(["no", "yes"]), epsilon=1.0
    )
    distribution = SharedWeight.even(low=0, high=mechanism.worker_distribution.bounds[1], others=1)
    found = [distribution.delta(cells, 1.0) for cells in (2, 5, 26, 277)]
    assert found == pytest.approx([0.090, 0.152, 0.225, 0.248], abs=1e-3)


@pytest.mark.slow
def test_what_is_too_long_is_refused():
    distribution = SharedWeight.even(low=0, high=2**31, others=1)
    with pytest.raises(ParameterError, match="at most 10,000 reports"):
        distribution.cell_epsilon(MAX_ROW + 1)
    with pytest.raises(ParameterError, match="weights must be a list"):
        SharedWeight(weights=np.zeros((2, 2)), chances=np.zeros(2), others=1)


def test_one_weight_for_all_is_randomised_response():
    for answers in (1, 5, 300):
        loss = drawn_cell_epsilon(answers, weights=[10], others=3, total=100)
        assert loss == pytest.approx(1.9459101490553132)  # ln 70/10
        row = drawn_row_epsilon(answers, weights=[10], others=3, null=True, total=100)
        assert row == pytest.approx(answers * 1.9459101490553132)


@pytest.mark.parametrize("answers", [1, 2, 7, 40])
def test_the_sums_are_those_of_the_formula(answers):
    weights, others, total = [5, 9, 20], 3, 100
    keep = [(total - others * w) / total for w in weights]
    share = [w / total for w in weights]
    cell = math.log(
        sum(k**answers for k in keep)
        / sum(k ** (answers - 1) * w for k, w in zip(keep, share, strict=True))
    )
    assert drawn_cell_epsilon(
        answers, weights=weights, others=others, total=total
    ) == pytest.approx(cell, abs=1e-12)
    half = answers // 2
    mean = [sum(w**part for w in share) / 3 for part in (half, answers - half)]
    row = math.log(sum(k**answers for k in keep) / 3 / (mean[0] * mean[1]))
    assert drawn_row_epsilon(
        answers, weights=weights, others=others, null=True, total=total
    ) == pytest.approx(row, abs=1e-12)


def test_it_grows_to_the_largest_epsilon_that_may_be_drawn():
    distribution = UniformEpsilons(size=11, epsilon=1.0, null=True)
    losses = [distribution.cell_epsilon(tasks) for tasks in (1, 10, 1000, 10**6, 10**7)]
    assert losses == sorted(losses)
    assert losses[-1] == pytest.approx(2.0, abs=2e-3)
    with localcontext() as context:
        context.prec = 50
        least = min(distribution.table)
        limit = (Decimal(2**32 - 10 * least) / least).ln()
    assert losses[-1] <= float(limit) + 1e-12


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("size", [11, 2, 3, 256, 1024, 4096])
@pytest.mark.parametrize("epsilon", [1.0, 0.0, 1.9e-5, 3.05e-4, 0.0049, 0.01, 8.0])
def test_the_table_of_weights(size, epsilon):
    distribution = UniformEpsilons(size=size, epsilon=epsilon, null=False)
    assert len(distribution.table) == STEPS
    assert sum(distribution.table) % STEPS == 0
    assert max(distribution.table) <= 2**32 // size
    assert min(distribution.table) > 0
    assert distribution.mean * STEPS == sum(distribution.table)


@pytest.mark.parametrize("answers", [0, 10**7 + 1, 1.5])
def test_answers_are_a_whole_number(answers):
    with pytest.raises(ParameterError, match="answers must be a whole number"):
        drawn_cell_epsilon(answers, weights=[1], others=1)
