"""Polls with shuffling: estimated frequencies of answers, and the guarantee of each report.

A poll has one question and one report per worker. A shuffler publishes the reports without senders
and in random order, which contains no more than their counts. See
``research/docs/theory/shuffling.md``.
"""

import math
import textwrap
import warnings
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from quietcrowd.exceptions import AnswerError, DroppedRowsWarning, ParameterError
from quietcrowd.frames import Backend, to_native
from quietcrowd.mechanisms.mechanism import Mechanism, Reports, check_mechanism, check_reports
from quietcrowd.privacy.guarantee import MOST_REPORTS, PrivacyGuarantee
from quietcrowd.privacy.rounding import show_loss
from quietcrowd.privacy.shuffling import KeepOrReplace, ShuffledLoss, fewest_others, shuffled_loss
from quietcrowd.privacy.tails import tail_at
from quietcrowd.report_domains import OrNull, sets_with
from quietcrowd.survey.shares import Decoder
from quietcrowd.validation import check_proportion, check_whole

_WIDTH = NormalDist().inv_cdf(0.975)
"""Standard errors on each side of an interval of 95 %."""

Floats = npt.NDArray[np.float64]


@frozen(kw_only=True, eq=False, slots=False)
class PollResult:
    """Counts of the reports on one question, and the estimated frequencies of answers.

    Attributes
    ----------
    counts : ndarray of int64, shape (reports,) or (labels,)
        Count of each report or, if reports are sets, of each label.
    mechanism : Mechanism
        Mechanism of the reports.
    simulated : bool
        Whether the noise is simulated.
    """

    counts: npt.NDArray[np.int64] = field(repr=False)
    mechanism: Mechanism
    simulated: bool = False

    @property
    def workers(self) -> int:
        """Number of reports, one per worker."""
        sets = self.mechanism.channel.sets
        return int(self.counts.sum()) // (1 if sets is None else sets.members)

    @cached_property
    def _decoder(self) -> Decoder:
        found = Decoder.of(self.mechanism.channel)
        assert found is not None  # `poll` refuses others
        return found

    @cached_property
    def shares(self) -> Floats:
        """Unbiased frequencies of answers, shape (answers,); some may be below 0 or above 1."""
        return self._decoder.shares(self.counts)

    @cached_property
    def standard_errors(self) -> Floats:
        """Standard errors of `shares` due to the noise, shape (answers,).

        If the workers are a sample of a population, add the variance of sampling.
        """
        inside = np.clip(self.shares, 0.0, 1.0)
        inside /= inside.sum()
        variances = inside @ self._decoder.second_moments - inside
        errors: Floats = np.sqrt(np.maximum(variances, 0.0) / self.workers)
        return errors

    @cached_property
    def _reach(self) -> Floats:
        """Maximum influence of one report on each share, shape (answers,)."""
        sets = self.mechanism.channel.sets
        if sets is not None:
            apart = 1 / float(sets.held - sets.held_other)
            return np.full(len(self.shares), apart / self.workers)
        reach: Floats = np.ptp(self._decoder.inverse, axis=0) / self.workers
        return reach

    def guarantee(self, *, honest: int, delta: float) -> "ShuffledGuarantee":
        """Return the guarantee of one report; see `shuffled_guarantee`."""
        return shuffled_guarantee(self.mechanism, honest=honest, delta=delta)

    def to_frame(self, backend: Backend = "pandas") -> Any:
        """Return a dataframe with a row per answer.

        The columns are ``label``, ``share``, ``standard_error``, and ``low`` and ``high``, the ends
        of a 95 % interval within 0 and 1. It extends 1.96 standard errors to both sides, plus half
        of the maximum influence of one report, because reports are counted in whole numbers.
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


def poll(reports: Reports) -> PollResult:
    """Shuffle the reports of one question and discard their senders.

    Run it only as an honest shuffler, who sees the senders. `PollResult.guarantee` has the
    privacy loss, which is valid only if each report enters one published output: publish neither a
    second poll with some of the same reports, nor one of a subset. The counts depend only on the
    reports. Reports that were sent again are dropped, because a poll of an earlier campaign may
    have counted them.

    Parameters
    ----------
    reports : Reports
        Labels by a mechanism with a finite channel, or sets of labels; one task, and one report
        per worker.

    Returns
    -------
    PollResult
        Counts without workers.

    Raises
    ------
    AnswerError
        If there is no report or more than one task, all reports were sent again, the channel is
        not finite, or reports do not depend on answers.
    ParameterError
        If `reports` is not `Reports`.

    Warns
    -----
    DroppedRowsWarning
        If reports that were sent again are dropped.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import quietcrowd as qc
    >>> from quietcrowd.exceptions import SimulatedNoiseWarning
    >>> warnings.simplefilter("ignore", SimulatedNoiseWarning)  # simulated on purpose
    >>> frame = {"task": ["smokes"] * 4000, "worker": range(4000), "label": ["no", "yes"] * 2000}
    >>> import pandas as pd
    >>> domain = qc.Categorical(["no", "yes"])
    >>> answers = qc.Answers.from_frame(pd.DataFrame(frame), domain=domain)
    >>> mechanism = qc.RandomizedResponse(domain=domain, epsilon=1.0)
    >>> found = poll(mechanism.simulate(answers, random_state=1))
    >>> bool(abs(found.shares[1] - 0.5) < 4 * found.standard_errors[1])
    True
    """
    check_reports(reports)
    table, mechanism = reports.table, reports.mechanism
    distribution, sets = mechanism.channel.probabilities, mechanism.channel.sets
    hidden = reports.participation_codes is not None or reports.sketches is not None
    if (distribution is None and sets is None) or hidden:
        raise AnswerError("polls.poll-reports-unsupported", name=mechanism.name)
    if len(table.tasks) > 1:
        raise AnswerError(
            "polls.poll-several-questions",
            count=len(table.tasks),
            value=table.tasks[0].as_py(),
            other_value=table.tasks[1].as_py(),
        )
    if not len(table):
        raise AnswerError("polls.poll-empty")
    values = _first_sent(reports)
    decoder = Decoder.of(mechanism.channel)
    assert decoder is not None
    size = decoder.chances.shape[1]
    if sets is not None:
        counts = sets_with(values, size, sets.members).sum(axis=0, dtype=np.int64)
    else:
        counts = np.bincount(values, minlength=size).astype(np.int64)
    if not decoder.has_signal:
        raise AnswerError("polls.poll-without-signal", name=mechanism.name)
    return PollResult(counts=counts, mechanism=mechanism, simulated=reports.simulated)


def _first_sent(reports: Reports) -> npt.NDArray[Any]:
    values = reports.table.values
    if reports.again is None:
        return values
    left_out = int(reports.again.sum())
    if left_out == len(values):
        raise AnswerError("polls.poll-sent-again", count=left_out)
    if left_out:
        warnings.warn(
            DroppedRowsWarning("polls.poll-left-out", left_out=left_out, count=len(values)),
            stacklevel=3,
        )
    return values[~reports.again]


_FINER = 100
"""The tail follows from the pair at a delta smaller by this factor."""

_SOURCES = {
    "exact": "docs/theory/shuffling.md, numerically, over all answers of other workers",
    "blanket": "Balle et al., CRYPTO 2019; docs/theory/shuffling.md",
    "clones": "Feldman, McMillan and Talwar, FOCS 2021; docs/theory/shuffling.md",
    "local": "the guarantee of each report, without a proven benefit of shuffling",
}


@frozen(kw_only=True)
class ShuffledGuarantee:
    """Privacy loss of one report, locally and, under an assumption, after shuffling.

    Neighboring inputs differ in one worker's answer. The attacker on the shuffled output sees
    reports without senders, and knows all other answers and which reports are dishonest.

    Attributes
    ----------
    local : PrivacyGuarantee
        Guarantee of the report itself, without a shuffler.
    honest : int
        Least number of honest reports, including the worker's own.
    epsilon, delta : float
        Pair of differential privacy of the shuffler's output.
    tail : float
        Loss exceeded with probability at most `delta`, against one other answer fixed beforehand.
    source : str
        Source of the proof of the pair.
    """

    local: PrivacyGuarantee
    honest: int
    epsilon: float
    delta: float
    tail: float
    source: str

    @property
    def assumption(self) -> str:
        """Assumption under which the pair and the tail are valid."""
        return shuffled_assumption(self.honest)

    def __str__(self) -> str:
        second = (
            "Anyone who sees only this output learns at most (epsilon, delta) = "
            f"({show_loss(self.epsilon)}, {show_loss(self.delta, 3)}) about the answer. This "
            f"assumes that {self.assumption}. Source: {self.source}."
        )
        return f"{self.local}\n{textwrap.fill(second, width=80, break_on_hyphens=False)}"


def shuffled_assumption(honest: int) -> str:
    """Return the assumption under which a guarantee after shuffling is valid.

    Examples
    --------
    >>> print(shuffled_assumption(500).partition(",")[0])
    the shuffler is honest and hides the sender of every report
    """
    return (
        "the shuffler is honest and hides the sender of every report, nothing else reveals it, "
        f"each report enters only one published output, and at least {honest:,} of the reports, "
        "including the worker's, were randomized correctly by workers who keep them secret"
    )


def shuffled_guarantee(mechanism: Mechanism, *, honest: int, delta: float) -> ShuffledGuarantee:
    """Return the guarantee of one report in a poll with shuffling.

    It protects against attackers that see one published output. A report may enter only one, since
    the difference of two shows the counts of a smaller group, down to a single late report.

    Parameters
    ----------
    mechanism : Mechanism
        Mechanism with a finite guarantee without a delta.
    honest : int
        Least number of honest reports, including one's own. If in doubt, give a smaller number.
    delta : float
        Above 0 and below 1; it should be below one divided by the number of workers.

    Raises
    ------
    ParameterError
        If an argument is invalid, or the mechanism's guarantee has a delta or is infinite.

    Examples
    --------
    >>> from quietcrowd import Categorical, RandomizedResponse
    >>> mechanism = RandomizedResponse(domain=Categorical(["no", "yes"]), epsilon=1.0)
    >>> found = shuffled_guarantee(mechanism, honest=1_000, delta=1e-6)
    >>> found.local.epsilon <= 1.0, round(found.epsilon, 2)
    (True, 0.13)
    """
    check_mechanism(mechanism)
    check_whole("honest", honest, 1, MOST_REPORTS)
    check_proportion("delta", delta)
    local = _pure_guarantee(mechanism)
    pair, finer = (_loss_at(mechanism, local, honest, one) for one in (delta, delta / _FINER))
    return ShuffledGuarantee(
        local=local,
        honest=int(honest),
        epsilon=pair.epsilon,
        delta=float(delta),
        tail=min(local.total_epsilon, tail_at(finer.epsilon, finer.delta, float(delta))),
        source=_SOURCES[pair.bound],
    )


def fewest_honest(mechanism: Mechanism, *, delta: float) -> int | None:
    """Return the fewest honest reports with which shuffling provably improves the guarantee.

    None if 10,000,000 of them do not suffice. Parameters and exceptions are those of
    `shuffled_guarantee`.

    Examples
    --------
    >>> from quietcrowd import Ordinal, SubsetSelection
    >>> mechanism = SubsetSelection(domain=Ordinal(range(20)), epsilon=2.5)
    >>> number = fewest_honest(mechanism, delta=1e-6)
    >>> shuffled_guarantee(mechanism, honest=number, delta=1e-6).epsilon < mechanism.epsilon
    True
    """
    check_mechanism(mechanism)
    check_proportion("delta", delta)
    local = _pure_guarantee(mechanism)
    others = fewest_others(local.total_epsilon, float(delta), _response_of(mechanism))
    return None if others is None else others + 1


def _pure_guarantee(mechanism: Mechanism) -> PrivacyGuarantee:
    local = mechanism.guarantee(answers=1, tasks=1)
    if local.delta or math.isinf(local.total_epsilon):
        raise ParameterError(
            "polls.poll-loss-unbounded",
            name=mechanism.name,
            loss=show_loss(local.total_epsilon),
            other_loss=show_loss(local.delta, 3),
        )
    return local


def _loss_at(
    mechanism: Mechanism, local: PrivacyGuarantee, honest: int, delta: float
) -> ShuffledLoss:
    return shuffled_loss(
        local.total_epsilon, int(honest) - 1, float(delta), _response_of(mechanism)
    )


def _response_of(mechanism: Mechanism) -> KeepOrReplace | None:
    channel: Any = mechanism.worker_channel
    if channel is None:
        return None
    sets = channel.sets
    if sets is not None and sets.members == 1:
        size, keep, other = sets.labels, float(sets.held), float(sets.held_other)
    elif channel.keep_and_other is not None:
        keep, other = channel.keep_and_other
        size = len(channel.probabilities)
    else:
        return None
    if size == 2 and keep < other:  # the same after swapping the labels
        keep, other = other, keep
    return KeepOrReplace(size=size, keep=keep, other=other) if keep > other > 0 else None
