import math
import threading

import numpy as np
import pytest

import quietcrowd as qc
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms import MatrixFactorization
from quietcrowd.planning import CrowdSize, LabelCrowd, plan
from quietcrowd.planning.planner import PlannedCell, rows_of
from quietcrowd.planning.simulation import SimulatedError
from quietcrowd.planning.theory import theory_error

LABELS = qc.Categorical(["no", "yes"])
NUMBERS = qc.Interval(low=0, high=10)
SMALL = {"tasks": 40, "workers": 12, "answers": 4, "domain": LABELS, "draws": 3}


@pytest.mark.nightly
@pytest.mark.slow
def test_rows_are_of_all_sizes_mechanisms_and_epsilons():
    found = plan(
        **{**SMALL, "workers": [12, 20]}, mechanisms=["one-layer", "two-layer"], epsilon=[3, 2]
    )
    assert [(row.workers, row.mechanism, round(row.epsilon, 1)) for row in found.private] == [
        (workers, name, epsilon)
        for workers in (12, 20)
        for name in ("one-layer", "two-layer")
        for epsilon in (2.0, 3.0)
    ]
    assert sum(not row.private for row in found.rows) == 2
    assert all(row.low <= row.error <= row.high for row in found.rows)


def test_epsilon_of_a_worker_is_shared_out():
    found = plan(**{**SMALL, "answers": [1, 5]}, total_epsilon=2.0)
    assert [(round(row.epsilon, 3), round(row.total_epsilon, 3)) for row in found.private] == [
        (2.0, 2.0),
        (0.4, 2.0),
    ]


@pytest.mark.slow
def test_a_budget_is_shared_out_among_workers():
    sizes = {"tasks": 40, "domain": LABELS, "draws": 3, "epsilon": 1.0}
    found = plan(**sizes, workers=[10, 30, 5], budget=300)
    assert [(row.workers, row.answers) for row in found.private] == [(10, 30), (30, 10), (5, 40)]
    every = plan(**sizes, workers=10)
    assert every.private[0].answers == 40


def test_a_plan_is_the_same_again_and_tells_how_far_it_is():
    told = []
    one = plan(**SMALL, epsilon=1.0, progress=lambda done, total: told.append((done, total)))
    assert one.frame.equals(plan(**SMALL, epsilon=1.0).frame)
    assert told == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.slow
def test_more_workers_and_more_epsilon_help_and_noise_costs():
    found = plan(
        tasks=300, workers=[30, 120], answers=50, domain=LABELS, epsilon=[0.5, 2.0], draws=4
    )
    error = {(row.workers, _rounded(row.epsilon)): row.error for row in found.rows}
    assert error[30, 0.5] > error[30, 2.0] > error[30, math.inf]
    assert error[120, 0.5] > error[120, 2.0] > error[120, math.inf]
    assert error[30, 2.0] > error[120, 2.0]


def _rounded(epsilon):
    return epsilon if math.isinf(epsilon) else round(epsilon, 3)


@pytest.mark.slow
def test_numbers_are_planned_with_too():
    found = plan(tasks=60, workers=20, answers=20, domain=NUMBERS, epsilon=[2, 20], draws=3)
    assert found.score == "mae"
    assert [row.mechanism for row in found.rows] == ["laplace:fill=none"] * 2 + ["none"]
    low, high, plain = (row.error for row in found.rows)
    assert low > high > plain


def test_what_cannot_be_planned_with_is_said():
    found = plan(**SMALL, mechanisms=["one-layer", "laplace"], epsilon=[1.0, 2.0])
    assert [row.mechanism for row in found.private] == ["one-layer"] * 2
    assert "laplace was dropped at epsilon 1" in found.skipped[0]
    with pytest.raises(ParameterError, match="laplace was dropped"):
        plan(**SMALL, mechanisms="laplace")
    sketch = {**SMALL, "domain": NUMBERS}
    with pytest.raises(ParameterError, match="cannot read it"):
        plan(**sketch, mechanisms=MatrixFactorization, epsilon=1.0)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"workers": []}, "must not be empty"),
        ({"answers": 41}, "answers a task once"),
        ({"budget": 100}, "not both"),
        ({"answers": None, "budget": 5}, "budget must be"),
        ({"total_epsilon": 3.0, "epsilon": 1.0}, "not both"),
        ({"epsilon": None, "total_epsilon": -1.0}, "epsilon must be a finite number above 0"),
        ({"epsilon": None, "total_epsilon": math.nan}, "epsilon must be a finite number above 0"),
        ({"draws": 2}, "draws must be"),
        ({"target": -1}, "target must be"),
        ({"epsilon": 0}, "epsilon must be a finite number above 0"),
        ({"mechanisms": "one-lair"}, "one-layer"),
        ({"domain": None}, "domain must be"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_wrong_is_named(changed, words):
    with pytest.raises(ParameterError, match=words):
        plan(**{**SMALL, **changed})


@pytest.mark.slow
def test_an_interruption_leaves_no_thread_behind():
    def stop(*_):
        raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        plan(**{**SMALL, "draws": 50}, progress=stop)
    assert threading.active_count() == before


DOMAIN = qc.Categorical(["no", "yes"])
ASSUMED = LabelCrowd(domain=DOMAIN)
EPSILONS = (0.5, 1.0, 2.0)
SIZES = [CrowdSize(tasks=200, workers=workers, answers=20) for workers in (20, 40, 80)]


def cells_of(sizes):
    """Return cells of several sizes, each with one of plain answers at last."""
    made = [qc.RandomizedResponse(domain=DOMAIN, epsilon=epsilon) for epsilon in EPSILONS]
    named = [("one-layer", mechanism) for mechanism in made] + [("none", None)]
    return [
        PlannedCell(name=name, mechanism=mechanism, size=size)
        for size in sizes
        for name, mechanism in named
    ]


def drawn_about_theory(cell, rng):
    """Return errors of crowds whose mean is what theory expects."""
    shares = theory_error(ASSUMED, cell.size, cell.mechanism) + 0.03 * rng.normal(size=8)
    return [
        SimulatedError(error=share, variance=0.2, tasks=200, constant=0.5)
        for share in np.clip(shares, 0, 1)
    ]


@pytest.mark.nightly
def test_cells_of_several_sizes_are_smoothed_by_theory_and_keep_their_order():
    rng, apart, simulated = np.random.default_rng(4), [], []
    for _ in range(20):
        found = {cell: drawn_about_theory(cell, rng) for cell in cells_of(SIZES)}
        rows = rows_of(found, ASSUMED)
        assert [(row.workers, row.private) for row in rows] == [
            (size.workers, private) for size in SIZES for private in (True, True, True, False)
        ]
        for row, (cell, draws) in zip(rows, found.items(), strict=True):
            if row.private:
                expected = theory_error(ASSUMED, cell.size, cell.mechanism)
                apart.append(row.error - expected)
                simulated.append(np.mean([one.error for one in draws]) - expected)
            assert row.low < row.error < row.high
            assert row.constant == 0.5
    assert np.std(apart) < 0.8 * np.std(simulated)


def test_cells_of_one_size_have_the_mean_of_their_draws():
    rng = np.random.default_rng(5)
    found = {cell: drawn_about_theory(cell, rng) for cell in cells_of(SIZES[:1])}
    for row, draws in zip(rows_of(found, ASSUMED), found.values(), strict=True):
        errors = [one.error for one in draws]
        assert row.error == pytest.approx(np.mean(errors))
        assert row.standard_error == pytest.approx(np.std(errors, ddof=1) / 8**0.5, rel=0.05)
