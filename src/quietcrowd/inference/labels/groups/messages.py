"""Likelihood of a group: its members follow one source, and the source answers each task.

``research/docs/theory/groups-of-workers.md`` derives the messages.
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from attrs import frozen
from scipy.special import digamma, gammaln

from quietcrowd.inference.labels.groups.finding import Group
from quietcrowd.inference.labels.groups.reports import Codes, Floats, Ints, Mask
from quietcrowd.inference.partition import Partition

PRIOR_ANSWERS, PRIOR_ACCURACY = 6.0, 0.6
"""Weight of the prior of a source, in answers per truth, and how often they are right in it."""

UNIT = 2.0**24
"""Representation of a log-probability of 1."""


@frozen(kw_only=True, eq=False)
class Sources:
    """Distributions of the members' reports, given the answer of their source.

    `slot` is a worker's position among all members, or -1; `group` is that of each slot. `logs`, at
    [slot, report, answer], are in units of 1 / `UNIT`.
    """

    slot: Codes
    group: Ints
    logs: npt.NDArray[np.int32]
    groups: int

    @classmethod
    def of(cls, groups: Sequence[Group], table: Floats, report_counts: Ints) -> Self:
        """Return the distributions; `report_counts` are at [worker, report].

        A member gives the source's answer, or otherwise any answer, so that its reports come as
        often as on all tasks.
        """
        members = np.concatenate([group.members for group in groups])
        sizes = [len(group.members) for group in groups]
        following = np.repeat([group.following for group in groups], sizes)[:, np.newaxis]
        slot = np.full(len(report_counts), -1, np.int32)
        slot[members] = np.arange(len(members))
        counts = report_counts[members] + 1.0
        otherwise = (1.0 - following) * counts / counts.sum(axis=1, keepdims=True)
        likely = following[:, :, np.newaxis] * table.T + otherwise[:, :, np.newaxis]
        return cls(
            slot=slot,
            group=np.repeat(np.arange(len(groups)), sizes),
            logs=np.rint(np.log(likely) * UNIT).astype(np.int32),
            groups=len(groups),
        )

    def evidence(self, partition: Partition) -> tuple[Floats, Mask]:
        """Return log-likelihoods at [group, task, answer], and which tasks have a report."""
        rows = slice(int(partition.offsets[0]), int(partition.offsets[-1]))
        slot = self.slot[partition.worker_codes[rows]]
        task = np.repeat(np.arange(partition.tasks), np.diff(partition.offsets))
        answered = slot >= 0
        slot, task, value = slot[answered], task[answered], partition.values[rows][answered]
        place = self.group[slot] * partition.tasks + task
        size, answers = self.groups * partition.tasks, self.logs.shape[2]
        sums = np.empty((size, answers))
        for answer in range(answers):  # sums of whole numbers are exact
            sums[:, answer] = np.bincount(place, self.logs[slot, value, answer], size)
        shape = self.groups, partition.tasks
        answered = np.bincount(place, minlength=size).reshape(shape) > 0
        return sums.reshape(*shape, answers) / UNIT, answered


def prior_counts(groups: int, labels: int) -> Floats:
    """Return the prior of the answers of each source, at [group, truth, answer]."""
    one = PRIOR_ACCURACY * np.eye(labels) + (1.0 - PRIOR_ACCURACY) / labels
    return np.repeat(PRIOR_ANSWERS * one[np.newaxis], groups, axis=0)


def divergence(counts: Floats) -> float:
    """Return the Kullback-Leibler divergence of all sources' distributions from their prior."""
    prior = prior_counts(len(counts), counts.shape[-1])
    found = gammaln(counts.sum(axis=-1)) - gammaln(prior.sum(axis=-1))
    found += (gammaln(prior) - gammaln(counts)).sum(axis=-1)
    found += ((counts - prior) * expected_logs(counts)).sum(axis=-1)
    return float(found.sum())


def expected_logs(counts: Floats) -> Floats:
    """Return expected log-probabilities of the answers, from Dirichlet counts."""
    logs: Floats = digamma(counts) - digamma(counts.sum(axis=-1, keepdims=True))
    return logs


def group_messages(evidence: Floats, answered: Mask, logs: Floats) -> Floats:
    """Return the messages of all groups to the truths, shape (tasks, labels).

    `logs`, at [group, truth, answer], are log-probabilities of the sources' answers.
    """
    groups, tasks, labels = evidence.shape
    messages = np.zeros((tasks, labels))
    for group in range(groups):
        for truth in range(labels):
            _, total = _softmax(evidence[group] + logs[group, truth])
            messages[:, truth] += np.where(answered[group], total, 0.0)
    return messages


def source_counts(
    posterior: Floats, evidence: Floats, answered: Mask, logs: Floats, unit: float
) -> Ints:
    """Return expected answers of the sources at [group, truth, answer], times `unit`."""
    groups, _, labels = evidence.shape
    counts = np.empty((groups, labels, labels), np.int64)
    for group in range(groups):
        for truth in range(labels):
            answers, _ = _softmax(evidence[group] + logs[group, truth])
            weights = posterior[:, truth] * answered[group] * unit
            counts[group, truth] = np.rint(answers * weights[:, np.newaxis]).astype(np.int64).sum(0)
    return counts


def _softmax(logs: Floats) -> tuple[Floats, Any]:
    """Return probabilities along the last axis, and the logarithms of their totals."""
    most = logs.max(axis=1, keepdims=True)
    parts = np.exp(logs - most)
    total = parts.sum(axis=1, keepdims=True)
    return parts / total, (most + np.log(total))[:, 0]
