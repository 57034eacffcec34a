"""A poll with shuffling: how frequent each answer is, from reports that nobody is named beside.

One question, one report of each worker. What a shuffler gives out is the reports in an order that
tells nothing; how often each occurs says the same, and of sets how many hold each label is enough.
So these counts are all that is kept, no worker is weighed, and no quality is found.
"""

from __future__ import annotations

import warnings
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from quietcrowd.exceptions import AnswerError, LeftOutWarning
from quietcrowd.frames import Backend, to_native
from quietcrowd.mechanisms.mechanism import Mechanism, Reports, check_reports
from quietcrowd.report_domains import OrNull, sets_with

__all__ = ["ShuffledPoll", "shuffled_poll"]

_WIDTH = NormalDist().inv_cdf(0.975)
"""Standard errors on each side of an interval of 95 %."""

Floats = npt.NDArray[np.float64]


@frozen(kw_only=True, eq=False, slots=False)
class ShuffledPoll:
    """The shuffled reports of one question, and the estimated frequencies.

    Attributes
    ----------
    counts : ndarray of int64, shape (reports,) or (labels,)
        How often each report occurs, or, of sets, how many hold each label: all that is left of
        the reports.
    mechanism : Mechanism
        What was done to the answers; public.
    simulated : bool
        Whether the noise came from a simulation.
    """

    counts: npt.NDArray[np.int64] = field(repr=False)
    mechanism: Mechanism
    simulated: bool = False

    @property
    def workers(self) -> int:
        """How many reports there are: one of each worker."""
        sets = self.mechanism.channel.sets
        return int(self.counts.sum()) // (1 if sets is None else sets.members)

    @cached_property
    def _chances(self) -> Floats:
        """Probability that a report adds to each count, by answer, shape (answers, counts)."""
        channel = self.mechanism.channel
        if channel.sets is not None:
            held, other = float(channel.sets.held), float(channel.sets.held_other)
            same = np.eye(channel.sets.labels, dtype=bool)
            return np.where(same, held, other)
        assert channel.probabilities is not None  # `shuffled_poll` refuses others
        return channel.probabilities

    @cached_property
    def _inverse(self) -> Floats:
        """A matrix G, shape (counts, answers), with ``chances @ G = 1``."""
        found: Floats = np.linalg.pinv(self._chances).astype(np.float64)
        return found

    @cached_property
    def shares(self) -> Floats:
        """The share of each answer, shape (answers,): unbiased, so it may lie beyond 0 or 1."""
        found: Floats = (self.counts / self.workers) @ self._inverse
        return found

    @cached_property
    def standard_errors(self) -> Floats:
        """Standard error of each share, of the workers who reported, shape (answers,).

        It is that of the noise. Where they are a sample of others, the variance of drawing them
        comes to it. A set adds to several counts, which are each 0 or 1 of one report.
        """
        inside = np.clip(self.shares, 0.0, 1.0)
        inside /= inside.sum()
        sets = self.mechanism.channel.sets
        if sets is not None:
            own, other = float(sets.held), float(sets.held_other)
            noise = inside * own * (1 - own) + (1 - inside) * other * (1 - other)
            variances = noise / (own - other) ** 2
        else:
            reported = inside @ self._chances
            second = self._inverse.T @ (reported[:, np.newaxis] * self._inverse)
            variances = np.diag(second) - inside  # chances @ inverse is 1
        errors: Floats = np.sqrt(np.maximum(variances, 0.0) / self.workers)
        return errors

    @cached_property
    def _reach(self) -> Floats:
        """How far one report moves each share at most, shape (answers,)."""
        sets = self.mechanism.channel.sets
        if sets is not None:
            apart = 1 / float(sets.held - sets.held_other)
            return np.full(len(self.shares), apart / self.workers)
        reach: Floats = np.ptp(self._inverse, axis=0) / self.workers
        return reach

    def to_frame(self, backend: Backend = "pandas") -> Any:
        """Return a dataframe, a row for each answer.

        Its columns are ``label``, ``share``, ``standard_error``, and ``low`` and ``high``, the ends
        of an interval of 95 %, within 0 and 1: 1.96 standard errors on both sides, and half of what
        one report moves a share by, since reports are counted in whole numbers.
        """
        domain: Any = self.mechanism.domain
        answers = OrNull(domain=domain) if self.mechanism.every_task else domain
        half = _WIDTH * self.standard_errors + self._reach / 2
        return to_native(
            {
                "label": answers.decode(np.arange(len(self.shares)).astype(answers.dtype)),
                "share": self.shares,
                "standard_error": self.standard_errors,
                "low": np.clip(self.shares - half, 0.0, 1.0),
                "high": np.clip(self.shares + half, 0.0, 1.0),
            },
            backend,
        )


def shuffled_poll(reports: Reports) -> ShuffledPoll:
    """Shuffle the reports of one question, and forget who sent them.

    It is an honest shuffler's work, offline: who runs it sees the senders. `shuffled_guarantee`
    returns the loss. It holds if each report enters one published output only: publish neither a
    second poll with some of the same reports, nor one of a part of them. The counts depend on the
    reports only, so the same reports give the same output. Reports that are marked as sent again
    are left out: a poll of an earlier campaign may have counted them.

    Parameters
    ----------
    reports : Reports
        Labels, by a mechanism whose law is a table, or sets of labels; of one task, one of each
        worker.

    Returns
    -------
    ShuffledPoll
        Without workers.

    Raises
    ------
    AnswerError
        Where there is no report or more than one task, all reports were sent again, the reports are
        neither sets nor of a law that is a table, or they do not tell answers apart.
    ParameterError
        Where `reports` are none.

    Warns
    -----
    LeftOutWarning
        Where reports that were sent again are left out.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import quietcrowd as qc
    >>> warnings.simplefilter("ignore", qc.SimulatedNoiseWarning)  # simulated on purpose
    >>> frame = {"task": ["smokes"] * 4000, "worker": range(4000), "label": ["no", "yes"] * 2000}
    >>> import pandas as pd
    >>> domain = qc.Categorical(["no", "yes"])
    >>> answers = qc.Answers.from_frame(pd.DataFrame(frame), domain=domain)
    >>> mechanism = qc.RandomizedResponse(domain=domain, epsilon=1.0)
    >>> poll = shuffled_poll(mechanism.randomize(answers, rng=np.random.default_rng(1)))
    >>> bool(abs(poll.shares[1] - 0.5) < 4 * poll.standard_errors[1])
    True
    """
    check_reports(reports)
    table, mechanism = reports.table, reports.mechanism
    law, sets = mechanism.channel.probabilities, mechanism.channel.sets
    hidden = reports.participation_codes is not None or reports.sketches is not None
    if (law is None and sets is None) or hidden:
        raise AnswerError(
            "a poll needs reports that are sets of labels, or whose law is a table with a row for "
            f"each answer; those of {mechanism.name!r} are not. Take RandomizedResponse or "
            "SubsetSelection (on the command line: -m one-layer or -m subset-selection)."
        )
    if len(table.tasks) > 1:
        raise AnswerError(
            f"a poll with shuffling has one question; these reports are of {len(table.tasks):,} "
            f"({table.tasks[0].as_py()!r}, {table.tasks[1].as_py()!r}, ...). Ask each worker one, "
            "or infer from the reports as they are: quietcrowd infer."
        )
    if not len(table):
        raise AnswerError("there is no report: a poll needs one of each worker at least")
    values = _first_sent(reports)
    if sets is not None:
        tells = sets.held > sets.held_other
        counts = sets_with(values, sets.labels, sets.members).sum(axis=0, dtype=np.int64)
    else:
        assert law is not None
        tells = np.linalg.matrix_rank(law) == len(law)
        counts = np.bincount(values, minlength=law.shape[1]).astype(np.int64)
    if not tells:
        raise AnswerError(
            f"reports of {mechanism.name!r} do not tell answers apart: with an epsilon above 0 "
            "they do"
        )
    return ShuffledPoll(counts=counts, mechanism=mechanism, simulated=reports.simulated)


def _first_sent(reports: Reports) -> npt.NDArray[Any]:
    """Return the values of the reports that were not sent in an earlier campaign."""
    values = reports.table.values
    if reports.again is None:
        return values
    left_out = int(reports.again.sum())
    found = f"{left_out:,} of {len(values):,} reports were sent again"
    reason = "a poll of an earlier campaign may have counted them"
    if left_out == len(values):
        raise AnswerError(f"{found}, and {reason}: poll them from the export of that campaign")
    if left_out:
        warnings.warn(f"{found} and are left out: {reason}", LeftOutWarning, stacklevel=3)
    return values[~reports.again]
