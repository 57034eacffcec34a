"""What nobody has: posteriors of those who know the law of every worker.

No method without that knowledge does better on average, so they say how much is left to win.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from quietcrowd.answers import Answers
from quietcrowd.datasets.number_crowd import NumberLaw
from quietcrowd.domains import FiniteDomain, check_numeric
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.known_truths import MatchedTruths
from quietcrowd.mechanisms.channel import Shift

__all__ = ["counted_confusions", "label_posterior", "number_posterior", "quantiles"]

Floats = npt.NDArray[np.float64]

TINY = 1e-300
"""Below every probability that matters; its logarithm is finite."""


def label_posterior(
    reports: Answers,
    *,
    confusions: Any,
    prior: Any,
    channel: Any = None,
    misled: float = 0.0,
    pull: float = 0.0,
) -> Floats:
    """Return how probable each label is for each task, to one who knows how every worker answers.

    Workers answer independently of each other, given the truth and, where a task misleads, its
    lure; see `label_crowd`.

    Parameters
    ----------
    reports : Answers
        Plain answers, or `Reports.table`.
    confusions : ndarray of float, shape (workers, labels, answers)
        Probability of each answer of a worker, given the truth. Where NULL is an answer it is the
        last, and its probability is that the worker does not answer.
    prior : ndarray of float, shape (labels,)
        Shares of the truths.
    channel : ndarray of float, shape (answers, reports) or (workers, answers, reports), optional
        Probability of each report given the answer, of all workers or of each. None: the answers
        are plain.
    misled, pull : float
        Probability that a task has a lure, a wrong label, and that an answer to such a task is it.

    Returns
    -------
    ndarray of float64, shape (tasks, labels)
        Rows sum to 1; that of a task without reports is the prior.

    Raises
    ------
    ParameterError
        Where the shapes do not fit each other, or the reports of a task cannot be.

    Examples
    --------
    >>> import quietcrowd as qc
    >>> crowd = qc.label_crowd(tasks=4, workers=3, answers_per_task=3)
    >>> law = crowd.law
    >>> label_posterior(crowd.answers, confusions=law.confusions, prior=law.prior).sum(axis=1)
    array([1., 1., 1., 1.])
    """
    laws, shares = np.asarray(confusions, np.float64), np.asarray(prior, np.float64)
    if laws.ndim != 3 or laws.shape[:2] != (len(reports.workers), len(shares)):
        raise ParameterError(
            f"confusions must have shape ({len(reports.workers)} workers, {len(shares)} labels, "
            f"answers), with a label for each share of the prior; got {laws.shape}"
        )
    answers, labels = laws.shape[2], len(shares)
    table = np.eye(answers) if channel is None else np.asarray(channel, np.float64)
    if table.shape[-2:-1] != (answers,):
        raise ParameterError(
            f"channel must have a row for each of {answers} answers; got shape {table.shape}"
        )
    with np.errstate(divide="ignore"):
        logs = _log_chances(reports, laws @ table)
        if misled:
            parts = [np.log1p(-misled) + logs]
            for lure in range(labels):
                pulled = (1 - pull) * laws + pull * np.eye(answers)[lure]
                part = np.log(misled / (labels - 1)) + _log_chances(reports, pulled @ table)
                part[:, lure] = -np.inf
                parts.append(part)
            logs = np.logaddexp.reduce(parts)
        return _normalised(logs + np.log(shares))


def _log_chances(reports: Answers, laws: Floats) -> Floats:
    """Return ln P(reports of a task | its truth), shape (tasks, labels).

    `laws` are those of reports given the truth, shape (workers, labels, reports).
    """
    votes = np.log(laws)[reports.worker_codes, :, reports.values]
    tasks = len(reports.tasks)
    columns = [np.bincount(reports.task_codes, column, tasks) for column in votes.T]
    return np.stack(columns, axis=1)


def _normalised(logs: Floats) -> Floats:
    """Return probabilities from their logarithms, by row."""
    most = logs.max(axis=1, keepdims=True)
    if np.isneginf(most).any():
        raise ParameterError(
            f"the reports of task {int(np.argmin(most[:, 0]))}, counted from 0, cannot be by these "
            "confusions; give every answer a probability above 0"
        )
    shares: Floats = np.exp(logs - most)
    total: Floats = shares.sum(axis=1, keepdims=True)
    return np.divide(shares, total)


def counted_confusions(
    answers: Answers, truths: Any, *, strength: float = 4.0
) -> tuple[Floats, Floats]:
    """Count how each worker answers tasks whose truths are known.

    A worker's row of a label is its counts plus `strength` answers shared out as the whole crowd
    answers tasks of that label; the crowd's own row is its counts plus one of each label. A
    worker's answers to the tasks that are then estimated are among the counts: an oracle with
    these confusions knows more than anybody could learn.

    Parameters
    ----------
    answers : Answers
        Plain, in a finite domain.
    truths : dataframe or pandas Series
        Columns ``task`` and ``label``, or labels indexed by task.
    strength : float
        In answers.

    Returns
    -------
    confusions : ndarray of float64, shape (workers, labels, labels)
        Probability of each answer given the truth.
    prior : ndarray of float64, shape (labels,)
        Shares of the known truths, each label counted once more.

    Raises
    ------
    AnswerError
        Where the answers are no labels, or as of `MatchedTruths`.
    """
    domain = answers.domain
    if not isinstance(domain, FiniteDomain):
        raise AnswerError(f"confusions need labels; got {domain.example()}")
    matched = MatchedTruths(answers.tasks, truths)
    known = np.full(len(answers.tasks), -1)
    known[matched.tasks] = matched.codes(domain)
    truth = known[answers.task_codes]
    rows = truth >= 0
    counts = np.zeros((len(answers.workers), domain.size, domain.size))
    np.add.at(counts, (answers.worker_codes[rows], truth[rows], answers.values[rows]), 1.0)
    crowd = counts.sum(axis=0) + 1.0
    crowd /= crowd.sum(axis=1, keepdims=True)
    counts += strength * crowd
    prior = np.bincount(known[known >= 0], minlength=domain.size) + 1.0
    return counts / counts.sum(axis=2, keepdims=True), prior / prior.sum()


def number_posterior(
    reports: Answers, law: NumberLaw, shift: Shift | None = None, *, points: int = 256
) -> tuple[Floats, Floats]:
    """Return how probable each number is for each task, to one who knows how the crowd was drawn.

    Everything is summed on two grids: truths in steps of the domain's width over `points`, answers
    in steps half as wide, those that are cut off at an end a mass of their own.

    Parameters
    ----------
    reports : Answers
        Plain answers, or `Reports.table`.
    law : NumberLaw
        Of the workers and the truths.
    shift : Shift, optional
        Of the mechanism's channel; None: the answers are plain.
    points : int
        Fineness of the grids.

    Returns
    -------
    truths : ndarray of float64, shape (points,)
        Middles of the steps of the grid.
    posterior : ndarray of float64, shape (tasks, points)
        Rows sum to 1.

    Examples
    --------
    >>> import quietcrowd as qc
    >>> crowd = qc.number_crowd(tasks=4)
    >>> truths, posterior = number_posterior(crowd.answers, crowd.law, points=100)
    >>> posterior.shape
    (4, 100)
    """
    low, high = law.domain.low, law.domain.high
    edges = np.linspace(low, high, points + 1)
    step = edges[1] - edges[0]
    beyond = int(np.ceil(4 * law.bias / step))
    seen = low + step * (np.arange(-beyond, points + beyond) + 0.5)
    logs = np.zeros((len(reports.tasks), len(seen)))
    numbers = check_numeric(reports.domain, "an oracle of numbers").numbers(reports.values)
    order = np.argsort(reports.worker_codes, kind="stable")
    starts = np.concatenate([[0], np.cumsum(reports.answers_per_worker)])
    for worker in range(len(reports.workers)):
        rows = order[starts[worker] : starts[worker + 1]]
        chances = _report_chances(law, worker, seen, numbers[rows], shift)
        np.add.at(logs, reports.task_codes[rows], np.log(chances).T)
    truths = seen[beyond : beyond + points]
    if law.bias:
        apart = (seen[:, np.newaxis] - truths) / law.bias
        likely = np.exp(logs - logs.max(axis=1, keepdims=True)) @ np.exp(-(apart**2) / 2)
        logs = np.log(np.maximum(likely, TINY))
    prior = np.diff(law.truth_below(edges))
    return truths, _normalised(logs + np.log(np.maximum(prior, TINY)))


def _report_chances(
    law: NumberLaw, worker: int, seen: Floats, numbers: Floats, shift: Shift | None
) -> Floats:
    """Return the density of each report at each truth, shape (truths, reports), to a factor."""
    low, high = law.domain.low, law.domain.high
    edges = np.linspace(low, high, 2 * len(seen) + 1)
    below = law.answer_below(worker, seen[:, np.newaxis], edges[:-1])
    inside = np.diff(below, axis=1, append=1.0 - _at_the_top(law, worker, seen)[:, np.newaxis])
    laws = np.column_stack([below[:, 0], inside, _at_the_top(law, worker, seen)])
    places = np.concatenate([[low], (edges[1:] + edges[:-1]) / 2, [high]])
    if shift is None:
        at = np.clip(np.searchsorted(edges, numbers, side="right"), 1, len(edges) - 1)
        at = np.where(numbers <= low, 0, np.where(numbers >= high, len(places) - 1, at))
        return np.maximum(laws[:, at], TINY)
    steps = np.rint((numbers - places[:, np.newaxis]) / shift.grid.step).astype(np.int64)
    return np.maximum(laws @ np.exp(shift.noise.log_mass(steps)), TINY)


def _at_the_top(law: NumberLaw, worker: int, seen: Floats) -> Floats:
    """Return the probability that an answer is cut off at the upper end."""
    edge = np.nextafter(law.domain.high, law.domain.low)
    return 1.0 - law.answer_below(worker, seen, edge)


def quantiles(truths: Floats, posterior: Floats, shares: Any) -> Floats:
    """Return quantiles of posteriors on a grid, each step of it filled evenly.

    Parameters
    ----------
    truths, posterior : ndarray of float64
        As `number_posterior` gives them.
    shares : sequence of float
        Such as 0.5, for the median.

    Returns
    -------
    ndarray of float64, shape (tasks, shares)

    Examples
    --------
    >>> quantiles(np.array([0.5, 1.5]), np.array([[0.5, 0.5]]), [0.25, 0.5])
    array([[0.5, 1. ]])
    """
    step = truths[1] - truths[0]
    edges = np.concatenate([truths - step / 2, truths[-1:] + step / 2])
    sums = np.column_stack([np.zeros(len(posterior)), posterior.cumsum(axis=1)])
    return np.stack([np.interp(shares, row, edges) for row in sums])
