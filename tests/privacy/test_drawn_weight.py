import math
from decimal import Decimal, localcontext

import pytest

from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.worker_laws import STEPS, UniformEpsilons
from quietcrowd.privacy.drawn_weight import drawn_cell_epsilon, drawn_row_epsilon


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
    law = UniformEpsilons(size=11, epsilon=1.0, null=True)
    losses = [law.cell_epsilon(tasks) for tasks in (1, 10, 1000, 10**6, 10**7)]
    assert losses == sorted(losses)
    assert losses[-1] == pytest.approx(2.0, abs=2e-3)
    with localcontext() as context:
        context.prec = 50
        least = min(law.table)
        limit = (Decimal(2**32 - 10 * least) / least).ln()
    assert losses[-1] <= float(limit) + 1e-12


@pytest.mark.parametrize("size", [2, 3, 11, 256, 1024, 4096])
@pytest.mark.parametrize("epsilon", [0.0, 1.9e-5, 3.05e-4, 0.0049, 0.01, 1.0, 8.0])
def test_the_table_of_weights(size, epsilon):
    law = UniformEpsilons(size=size, epsilon=epsilon, null=False)
    assert len(law.table) == STEPS
    assert sum(law.table) % STEPS == 0
    assert max(law.table) <= 2**32 // size
    assert min(law.table) > 0
    assert law.mean * STEPS == sum(law.table)


@pytest.mark.parametrize("answers", [0, 10**7 + 1, 1.5])
def test_answers_are_a_whole_number(answers):
    with pytest.raises(ParameterError, match="answers must be a whole number"):
        drawn_cell_epsilon(answers, weights=[1], others=1)
