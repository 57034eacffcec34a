"""Filters over rounds: what an estimate knows of truths that follow time."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen

from quietcrowd.inference.rounds.changes import LEAST, Change, likelihoods, mean_of
from quietcrowd.inference.rounds.transitions import Transitions
from quietcrowd.inference.task_estimates import Estimates

Floats = npt.NDArray[np.float64]

KEPT_ROUNDS = 32
"""Number of rounds that an estimate stores."""

_LEAST_PRIOR = 1e-27


def log_priors(truths: Floats) -> Floats:
    """Return the log-priors of truths with these distributions, shape (tasks, states)."""
    logs: Floats = np.log(np.maximum(truths, _LEAST_PRIOR))
    return logs


@frozen(kw_only=True, eq=False)
class FilterBank:
    """Posteriors of the apparent truths under each candidate of their change.

    `now` is at [candidate, task, state], and `evidence` has the log probability of each
    candidate and all reports.
    """

    now: Floats
    evidence: Floats

    @classmethod
    def first(cls, transitions: Transitions, tasks: int) -> Self:
        """Return the bank before the first round."""
        candidates = len(transitions.anew)
        now = np.tile(transitions.rest, (candidates, tasks, 1))
        return cls(now=now, evidence=np.log(transitions.prior))

    @property
    def weights(self) -> Floats:
        """Posterior probability of each candidate."""
        shares = np.exp(self.evidence - self.evidence.max())
        weights: Floats = shares / shares.sum()
        return weights

    @property
    def mean(self) -> Floats:
        """Distributions of the apparent truths, shape (tasks, states)."""
        return mean_of(self.weights, self.now)

    def predicted(self, transitions: Transitions, tasks: int) -> Self:
        """Return the bank of a later round; tasks without an earlier one come last."""
        candidates, known, states = self.now.shape
        now = np.empty((candidates, tasks, states))
        now[:, :known] = transitions.forward(self.now)
        now[:, known:] = transitions.rest
        return evolve(self, now=now)

    def change(self, messages: Floats, transitions: Transitions, rounds: int) -> Change:
        """Infer a sudden change from reports with these log-likelihoods."""
        return Change.of(self.now, self.weights, messages, transitions, rounds)

    def updated(self, messages: Floats, change: Change) -> Self:
        """Return the bank after a change and reports with these log-likelihoods."""
        now = change.forward(self.now) * likelihoods(messages)
        now /= np.maximum(now.sum(axis=2, keepdims=True), LEAST)
        return type(self)(now=now, evidence=self.evidence + change.evidence)


@frozen(kw_only=True, eq=False)
class Round:
    """One round: its `number`, and arrays with one entry per task.

    `estimates` are those that the reports up to this round give, and `apparent` the posteriors of
    the apparent truths after a `change`. `met` tells which tasks have had a report.
    """

    number: int
    answers: npt.NDArray[np.int64]
    known: npt.NDArray[Any]
    met: npt.NDArray[np.bool_]
    estimates: Estimates
    apparent: npt.NDArray[np.float32]
    change: Change


@frozen(kw_only=True, eq=False)
class RoundHistory:
    """Filters after the last round, and the last `KEPT_ROUNDS` rounds."""

    bank: FilterBank
    transitions: Transitions
    rounds: tuple[Round, ...]

    @property
    def last(self) -> Round:
        """The last round."""
        return self.rounds[-1]

    def smoothed(self) -> list[Floats]:
        """Return posteriors of the apparent truths in each stored round, given all rounds."""
        mean = self.transitions.mean(self.bank.weights)
        found: list[Floats] = [self.last.apparent.astype(np.float64)]
        for before, after in zip(self.rounds[-2::-1], self.rounds[:0:-1], strict=True):
            step = mean.repeated(after.number - before.number)
            apparent = before.apparent.astype(np.float64)
            change = after.change.of_first(len(apparent))
            predicted = change.forward(step.forward(apparent[np.newaxis]))
            ratio = found[-1][: len(apparent)] / np.maximum(predicted, LEAST)
            earlier = apparent * step.backward(change.backward(ratio))[0]
            found.append(earlier / earlier.sum(axis=1, keepdims=True))
        return found[::-1]
