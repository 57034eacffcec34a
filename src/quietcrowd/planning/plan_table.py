"""From simulated errors to the rows of a plan."""

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
    """One mechanism for one size.

    Attributes
    ----------
    name : str
        Of the mechanism with its parameters; "none" where answers come in plain.
    mechanism : Mechanism or None
        Ready to be used; None: plain answers.
    size : CrowdSize
        What is planned.
    """

    name: str
    mechanism: Mechanism | None
    size: CrowdSize


def rows_of(
    found: Mapping[PlannedCell, Sequence[SimulatedError]], assumption: CrowdAssumption
) -> list[PlanRow]:
    """Return the rows of a plan, size by size, that of plain answers last in each.

    Parameters
    ----------
    found : mapping of PlannedCell to sequence of SimulatedError
        What was simulated, the same draws in each cell; by size, mechanism and epsilon, in the
        order of the rows, with a cell of plain answers for each size.
    assumption : CrowdAssumption
        Of the crowd.

    Notes
    -----
    The cells of one mechanism are smoothed by theory where they are of several sizes. Those of one
    size are not: its draws are the same crowds in each cell, and go up and down together.
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
    """Return the errors of one mechanism's cells on their scale, smoothed if of several sizes."""
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
    """Return what to expect of the cells of one mechanism for one size, neighbours in epsilon."""
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
