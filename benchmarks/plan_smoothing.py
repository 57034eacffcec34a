"""What smoothing by theory does to the cells of a plan: how far off they are, and what they cover.

``python benchmarks/plan_smoothing.py 6``: so many settings of labels, then of numbers. Each is
simulated for three numbers of workers and four epsilons, by more crowds than a plan has. They are
split into plans; the crowds of the others tell what is true, and what campaigns come to.
"""

import sys
import warnings

import numpy as np

import quietcrowd as qc
from plan_coverage import DRAWS, drawn_setting, mechanism_for
from quietcrowd.planning import CrowdSize, LabelCrowd
from quietcrowd.planning.error_interval import (
    SmoothedCell,
    expected_errors,
    on_scale,
    smooth,
    transformed,
)
from quietcrowd.planning.simulation import simulate_size
from quietcrowd.planning.theory import theory_error

EPSILONS = (0.5, 1.0, 2.0, 4.0)
TIMES_WORKERS = (0.5, 1, 2)
PLANS = {True: 3, False: 4}
"""Plans of each setting, of labels and of numbers."""


def simulated(number):
    """Return the assumption of a setting, its cells' sizes and mechanisms, and their draws."""
    distribution, *_ = drawn_setting(number)
    rng = np.random.default_rng((number, 5))
    tasks, each = int(rng.integers(60, 150)), int(rng.integers(6, 25))
    workers = int(rng.integers(10, 25))
    labels = isinstance(distribution, LabelCrowd)
    mechanisms = [mechanism_for(distribution.domain, epsilon) for epsilon in EPSILONS]
    cells = []
    for times in TIMES_WORKERS:
        size = CrowdSize(tasks=tasks, workers=int(workers * times), answers=each)
        found = simulate_size(
            distribution, size, mechanisms, PLANS[labels] * DRAWS[labels], 7, plain=False
        )
        cells += [(size, *cell) for cell in zip(mechanisms, found, strict=True)]
    return distribution, cells


def plans_of(distribution, cells):
    """Return for each plan, raw and smoothed: squared errors, their variances, and coverage.

    Shape (plans, 2, 5): the means over cells of the squared error less the chance of what is held
    to be true, of the squared standard error, of the quotient of both, of the share of other
    campaigns in the interval, and of its width on its scale.
    """
    labels, tasks = isinstance(distribution, LabelCrowd), cells[0][0].tasks
    draws = np.array([on_scale(cell, labels=labels) for *_, cell in cells])
    theory = [
        float(
            transformed(np.array(theory_error(distribution, size, mechanism)), tasks, labels=labels)
        )
        for size, mechanism, _ in cells
    ]
    found = []
    for own in np.arange(draws.shape[1]).reshape(-1, DRAWS[labels]):
        others = np.setdiff1d(np.arange(draws.shape[1]), own)
        raw = [SmoothedCell(draws=row) for row in draws[:, own]]
        plan = [[cell[at] for at in own] for *_, cell in cells]
        found.append(
            [
                measured(plan, draws[:, others], kind, tasks, labels=labels)
                for kind in (raw, smooth(draws[:, own], theory))
            ]
        )
    return np.array(found)


def measured(plan, others, smoothed, tasks, *, labels):
    """Return one row of `plans_of`."""
    true, chance = others.mean(axis=1), others.var(axis=1, ddof=1) / others.shape[1]
    apart = (np.array([cell.draws.mean() for cell in smoothed]) - true) ** 2
    doubt = [cell.draws.var(ddof=1) / len(cell.draws) + cell.misfit for cell in smoothed]
    held, width = [], []
    for first in range(0, len(plan), len(EPSILONS)):
        part = slice(first, first + len(EPSILONS))
        intervals = expected_errors(
            plan[part], tasks, labels=labels, uncertain=False, smoothed=smoothed[part]
        )
        for one, outcomes in zip(intervals, others[part], strict=True):
            ends = transformed(np.array([one.low, one.high]), tasks, labels=labels)
            inside = (outcomes > ends[0] - 1e-9) & (outcomes < ends[1] + 1e-9)
            held.append(inside.mean())
            width.append(ends[1] - ends[0])
    return [
        (apart - chance).mean(),
        np.mean(doubt),
        (apart / (doubt + chance)).mean(),
        np.mean(held),
        np.mean(width),
    ]


def print_rows(settings):
    """Print what smoothing does, of labels and of numbers, and setting by setting."""
    for kind, first in (("labels", 100), ("numbers", 101)):
        found = [plans_of(*simulated(number)) for number in range(first, first + 2 * settings, 2)]
        each = np.array([plans.mean(axis=0) for plans in found])
        ratios = np.sqrt(np.maximum(each[:, 1, 0] / each[:, 0, 0], 0))
        mean = each.mean(axis=0)
        print(f"{kind}: times as far off {(mean[1, 0] / mean[0, 0]) ** 0.5:.2f}", ratios.round(2))
        for name, row in zip(("raw", "smoothed"), mean, strict=True):
            print(
                f"  {name:8s} error {row[0] ** 0.5:.4f}  standard error {row[1] ** 0.5:.4f}  "
                f"z^2 {row[2]:.2f}  held {row[3]:.3f}  width {row[4]:.3f}"
            )


if __name__ == "__main__":
    warnings.simplefilter("ignore", qc.exceptions.QuietcrowdWarning)
    print_rows(int(sys.argv[1]))
