"""What nobody has: posteriors of labels, of those who know the distribution of every worker.

No method without that knowledge does better on average, so they say how much is left to win.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from quietcrowd.answers import Answers
from quietcrowd.domains import FiniteDomain
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.gold import MatchedTruths

Floats = npt.NDArray[np.float64]


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
    lure; see `make_crowd(kind="guessing")`.

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
    >>> crowd = qc.make_crowd(kind="guessing", tasks=4, workers=3, answers_per_task=3)
    >>> known = {"confusions": crowd.distribution.confusions, "prior": crowd.distribution.prior}
    >>> label_posterior(crowd.answers, **known).sum(axis=1)
    array([1., 1., 1., 1.])
    """
    distributions, shares = np.asarray(confusions, np.float64), np.asarray(prior, np.float64)
    if distributions.ndim != 3 or distributions.shape[:2] != (len(reports.workers), len(shares)):
        raise ParameterError(
            f"confusions must have shape ({len(reports.workers)} workers, {len(shares)} labels, "
            f"answers), with a label for each share of the prior; got {distributions.shape}"
        )
    answers, labels = distributions.shape[2], len(shares)
    table = np.eye(answers) if channel is None else np.asarray(channel, np.float64)
    if table.shape[-2:-1] != (answers,):
        raise ParameterError(
            f"channel must have a row for each of {answers} answers; got shape {table.shape}"
        )
    with np.errstate(divide="ignore"):
        logs = _log_chances(reports, distributions @ table)
        if misled:
            parts = [np.log1p(-misled) + logs]
            for lure in range(labels):
                pulled = (1 - pull) * distributions + pull * np.eye(answers)[lure]
                part = np.log(misled / (labels - 1)) + _log_chances(reports, pulled @ table)
                part[:, lure] = -np.inf
                parts.append(part)
            logs = np.logaddexp.reduce(parts)
        return normalised(logs + np.log(shares))


def _log_chances(reports: Answers, distributions: Floats) -> Floats:
    """Return ln P(reports of a task | its truth), shape (tasks, labels).

    `distributions` are those of reports given the truth, shape (workers, labels, reports).
    """
    votes = np.log(distributions)[reports.worker_codes, :, reports.values]
    tasks = len(reports.tasks)
    columns = [np.bincount(reports.task_codes, column, tasks) for column in votes.T]
    return np.stack(columns, axis=1)


def normalised(logs: Floats) -> Floats:
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
