"""How much workers agree: as their reports do, and as their answers must have."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from quietcrowd.answers import Answers
from quietcrowd.domains import FiniteDomain, NumericDomain
from quietcrowd.mechanisms import FiniteChannel, LaplaceChannel, Reports, SampledVarianceChannel

__all__ = ["agreement"]


def agreement(reports: Reports) -> tuple[float | None, float | None]:
    """Return how much reports agree, and the answers behind them.

    Of labels it is the share of pairs of reports on one task that are equal; of numbers
    ``1 - W / T``, with the mean variance W of the reports on a task and the variance T of all.
    Noise makes reports agree less than answers do: its law says by how much.

    Parameters
    ----------
    reports : Reports
        Of many workers.

    Returns
    -------
    of_reports : float or None
        None where no task has two reports.
    of_answers : float or None
        From 0 to 1; None where the noise, or what stands for no answer, leaves it open.

    Notes
    -----
    Two randomised labels are equal with probability ``s = q^2 + (k - 1) r^2`` where the answers
    are, and ``d = 2 q r + (k - 2) r^2`` where they are not, with the probability q to keep a label
    and r to give one certain other one. So answers agree in ``(a - d) / (s - d)`` of all pairs
    where reports do in a.
    """
    table, channel = reports.table, reports.mechanism.channel
    if isinstance(table.domain, NumericDomain) and not isinstance(table.domain, FiniteDomain):
        within, total = _variances(table)
        if within is None or not total:
            return None, None
        noise = (
            channel.variance
            if isinstance(channel, LaplaceChannel | SampledVarianceChannel)
            and not reports.mechanism.every_task
            else None
        )
        return 1 - within / total, _without_noise(within, total, noise)
    observed = _equal_pairs(table)
    if observed is None or reports.mechanism.every_task or not isinstance(channel, FiniteChannel):
        return observed, None
    return observed, _of_answers(observed, channel)


def _equal_pairs(table: Answers) -> float | None:
    counts = table.answers_per_task
    pairs = float((counts * (counts - 1)).sum())
    if not pairs:
        return None
    cells = table.task_codes.astype(np.int64) * (int(table.values.max()) + 1) + table.values
    _, same = np.unique(cells, return_counts=True)
    return float((same * (same - 1)).sum()) / pairs


def _of_answers(observed: float, channel: FiniteChannel) -> float | None:
    known = channel.keep_and_other
    if known is None:
        return None
    keep, other = known
    size = channel.answers
    same = keep**2 + (size - 1) * other**2
    different = 2 * keep * other + (size - 2) * other**2
    if same <= different:
        return None
    return float(np.clip((observed - different) / (same - different), 0.0, 1.0))


def _variances(table: Answers) -> tuple[float | None, float]:
    """Return the mean variance of the numbers of a task, and that of all numbers."""
    assert isinstance(table.domain, NumericDomain)
    numbers: npt.NDArray[np.float64] = table.domain.numbers(table.values)
    counts, tasks = table.answers_per_task, table.task_codes
    means = np.bincount(tasks, numbers, len(counts)) / np.maximum(counts, 1)
    free = int((counts - 1)[counts > 1].sum())
    if not free:
        return None, 0.0
    within = float(((numbers - means[tasks]) ** 2).sum()) / free
    return within, float(numbers.var(ddof=1))


def _without_noise(within: float, total: float, noise: float | None) -> float | None:
    if noise is None or total <= noise:
        return None
    return float(np.clip(1 - max(0.0, within - noise) / (total - noise), 0.0, 1.0))
