"""Rows of a plan from simulated errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from attrs import frozen

from quietcrowd.domains import FiniteDomain
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.planning.crowd_assumption import CrowdAssumption, CrowdSize
from quietcrowd.planning.equal_loss import exact_loss
from quietcrowd.planning.error_interval import ExpectedError, expected_errors, on_scale, transformed
from quietcrowd.planning.plan_row import PlanRow
from quietcrowd.planning.simulation import SimulatedError, simulated_size
from quietcrowd.planning.smoothing import SmoothedCell, smooth
from quietcrowd.planning.theory import theory_error

__all__ = ["PlannedCell", "rows_of"]


@frozen(kw_only=True, eq=False)
class PlannedCell:
    """Mechanism for one size of the crowd; for non-private answers None, with the name "none"."""

    name: str
    mechanism: Mechanism | None
    size: CrowdSize


def rows_of(
    found: Mapping[PlannedCell, Sequence[SimulatedError]], assumption: CrowdAssumption
) -> list[PlanRow]:
    """Return the rows of a plan, size by size, with non-private answers last in each.

    `found` contains simulations of the same draws in each cell, in the order of the rows. Theory
    smooths the cells of one mechanism if they have several sizes. Cells of one size are not
    smoothed, as their errors come from the same crowds and vary together.
    """
    errors: dict[PlannedCell, ExpectedError] = {}
    for name in dict.fromkeys(cell.name for cell in found):
        named = [cell for cell in found if cell.name == name]
        smoothed = _smoothed(named, found, assumption)
        for size in dict.fromkeys(cell.size for cell in named):
            errors.update(_of_one_size(size, smoothed, found, assumption))
    plain = {cell.size: found[cell] for cell in found if cell.mechanism is None}
    constants = {
        size: sum(one.constant for one in draws) / len(draws) for size, draws in plain.items()
    }
    return [_row(cell, errors[cell], constants[cell.size]) for cell in found]


def _smoothed(
    cells: Sequence[PlannedCell],
    found: Mapping[PlannedCell, Sequence[SimulatedError]],
    assumption: CrowdAssumption,
) -> dict[PlannedCell, SmoothedCell]:
    labels, tasks = isinstance(assumption.domain, FiniteDomain), cells[0].size.tasks
    draws = [on_scale(found[cell], labels=labels) for cell in cells]
    if len({cell.size for cell in cells}) == 1:
        return {cell: SmoothedCell(draws=row) for cell, row in zip(cells, draws, strict=True)}
    expected = [theory_error(assumption, cell.size, cell.mechanism) for cell in cells]
    theory = [
        None if error is None else float(transformed(np.array(error), tasks, labels=labels))
        for error in expected
    ]
    return dict(zip(cells, smooth(np.array(draws), theory), strict=True))


def _of_one_size(
    size: CrowdSize,
    smoothed: Mapping[PlannedCell, SmoothedCell],
    found: Mapping[PlannedCell, Sequence[SimulatedError]],
    assumption: CrowdAssumption,
) -> dict[PlannedCell, ExpectedError]:
    cells = [cell for cell in smoothed if cell.size == size]
    errors = expected_errors(
        [found[cell] for cell in cells],
        tasks=size.tasks,
        labels=isinstance(assumption.domain, FiniteDomain),
        uncertain=assumption.uncertain or simulated_size(assumption, size).answers != size.answers,
        smoothed=[smoothed[cell] for cell in cells],
        widening=assumption.widening,
    )
    return dict(zip(cells, errors, strict=True))


def _row(cell: PlannedCell, error: ExpectedError, constant: float) -> PlanRow:
    losses = [
        float("inf") if cell.mechanism is None else exact_loss(cell.mechanism, cell.size, per)
        for per in ("answer", "worker")
    ]
    return PlanRow(
        mechanism=cell.name,
        epsilon=losses[0],
        worker_epsilon=losses[1],
        workers=cell.size.workers,
        answers=cell.size.answers,
        error=error.error,
        standard_error=error.standard_error,
        low=error.low,
        high=error.high,
        constant=constant,
    )
