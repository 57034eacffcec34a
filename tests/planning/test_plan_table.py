import numpy as np
import pytest

import quietcrowd as qc
from quietcrowd.planning import CrowdSize, LabelAssumption
from quietcrowd.planning.plan_table import PlannedCell, rows_of
from quietcrowd.planning.simulation import SimulatedError
from quietcrowd.planning.theory import theory_error

DOMAIN = qc.Categorical(["no", "yes"])
ASSUMED = LabelAssumption(domain=DOMAIN)
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
