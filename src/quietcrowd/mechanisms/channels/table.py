"""Tables of integers: the distribution of a report given the answer, on finite domains.

The weights of each answer sum to 2^32 and one uniform 32-bit word draws a report, so the
probability is exactly ``weight / 2**32``. The privacy loss is ln of the largest ratio of two
weights in a column. Derivation and checks: ``research/docs/theory/finite-channels.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from attrs import field, frozen
from typing_extensions import override

from quietcrowd.domains import Domain, FiniteDomain
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.channels.base import MAX_EPSILON, TOTAL, Channel
from quietcrowd.mechanisms.channels.noise import Floats
from quietcrowd.mechanisms.channels.per_worker import WorkerDistribution, read_worker_distribution
from quietcrowd.mechanisms.channels.reading import MAX_LABELS, check_members, invalid_member, wholes
from quietcrowd.mechanisms.randomness import WordSource
from quietcrowd.mechanisms.report_meanings import ReportMeanings, in_order
from quietcrowd.privacy.rounding import log_ratio_up

MAX_SIZE = 4096
BLOCK = 2**16


def _weights(weights: Any) -> npt.NDArray[np.uint64]:
    try:
        table = np.array(weights, dtype=np.uint64)
        exact = np.array_equal(table, np.asarray(weights))
    except (OverflowError, TypeError, ValueError):
        exact = False
    if not exact or table.ndim != 2:
        raise ParameterError("mechanisms.weights-not-integers")
    table.flags.writeable = False
    return table


def _check_weights(_: object, __: object, weights: npt.NDArray[np.uint64]) -> None:
    if not 1 <= max(weights.shape) <= MAX_SIZE or min(weights.shape) < 1:
        raise ParameterError(
            "mechanisms.weights-of-wrong-size", max_size=MAX_SIZE, shape=weights.shape
        )
    too_large = (weights > TOTAL).any(axis=1)
    sums = weights.sum(axis=1)
    wrong = np.flatnonzero(too_large | (sums != TOTAL))
    if len(wrong):
        raise ParameterError("mechanisms.weights-row-sum", value=wrong[0], sum=sums[wrong[0]])


@frozen(kw_only=True, eq=False, slots=False)
class TableChannel(Channel):
    """Distribution of a report given the answer on finite domains: a table of integers.

    Parameters
    ----------
    weights : ndarray of int, shape (answers, reports)
        ``weights[a, r] / 2**32`` is the probability of report r given answer a; rows sum to 2^32.
    numbered : bool
        Whether reports are numbers of columns instead of labels.
    per_worker : WorkerDistribution, optional
        If each worker draws a secret table once: the distribution of its weights. The table is
        then their mean.

    Raises
    ------
    ParameterError
        If the weights are invalid, there are more than 4,096 rows or columns, or the privacy loss
        exceeds 16.

    Examples
    --------
    >>> TableChannel(weights=[[3 * 2**30, 2**30], [2**30, 3 * 2**30]]).epsilon
    1.0986122886681098
    """

    kind: ClassVar[str] = "table"
    weights: npt.NDArray[np.uint64] = field(converter=_weights, validator=_check_weights)
    numbered: bool = False
    per_worker: WorkerDistribution | None = None

    def __attrs_post_init__(self) -> None:
        if self.epsilon > MAX_EPSILON:
            raise ParameterError(
                "mechanisms.loss-too-large", max_epsilon=MAX_EPSILON, epsilon=self.epsilon
            )

    @classmethod
    def randomized_response(cls, size: int, other_weight: int) -> TableChannel:
        """Return the channel that keeps an answer or replaces it uniformly by another one.

        Parameters
        ----------
        size : int
            Number of labels k.
        other_weight : int
            Weight of each of the ``k - 1`` other labels; the rest keeps the answer.
        """
        weights = np.full((size, size), other_weight, dtype=np.uint64)
        np.fill_diagonal(weights, TOTAL - (size - 1) * other_weight)
        return cls(weights=weights)

    @classmethod
    def of_workers(cls, distribution: WorkerDistribution) -> TableChannel:
        """Return the channel of workers who each draw the weight of the other labels."""
        mean = cls.randomized_response(distribution.size, distribution.mean)
        return cls(weights=mean.weights, per_worker=distribution)

    @classmethod
    def read(cls, document: Mapping[str, Any], domain: Domain) -> TableChannel:
        """Return the channel of a document; raise ParameterError if it is invalid.

        There is a row for each label of the domain, and perhaps one for NULL. Columns are the same
        labels, unless they are numbered.
        """
        check_members(document, "kind weights", "numbered per_worker")
        rows, numbered = document["weights"], document.get("numbered", False)
        labels = domain.size if isinstance(domain, FiniteDomain) else 0
        size = len(rows) if isinstance(rows, list | tuple) else 0
        if not 2 <= labels <= size <= min(labels + (not numbered), MAX_LABELS):
            raise invalid_member("weights", "a row for each label of the domain")
        if not isinstance(numbered, bool) or numbered != ("numbered" in document):
            raise invalid_member("numbered", "true, or absent")
        columns = len(rows[0]) if numbered and isinstance(rows[0], list | tuple) else size
        if not 1 <= columns <= MAX_LABELS:
            raise invalid_member("weights", f"a table with at most {MAX_LABELS} columns")
        table = [wholes("weights", row, columns, TOTAL) for row in rows]
        if "per_worker" not in document:
            return cls(weights=table, numbered=numbered)
        distribution = read_worker_distribution(document["per_worker"], size, null=size > labels)
        channel = cls.of_workers(distribution)
        if numbered or channel.weights.tolist() != table:
            raise invalid_member("weights", "the mean of those that workers draw")
        return channel

    @classmethod
    def rounded(cls, probabilities: npt.ArrayLike) -> TableChannel:
        """Return the channel of a table of probabilities, rounded to weights.

        All are rounded down, and the remainder goes to the largest of the row. The loss is that of
        the weights, which may slightly exceed that of the probabilities.

        Parameters
        ----------
        probabilities : array-like, shape (answers, reports)
            At least 0; rows sum to 1.

        Examples
        --------
        >>> TableChannel.rounded([[2 / 3, 1 / 3], [1 / 3, 2 / 3]]).weights[0].tolist()
        [2863311531, 1431655765]
        """
        table = np.asarray(probabilities, np.float64)
        if table.ndim != 2 or not (table >= 0).all() or not np.allclose(table.sum(axis=1), 1.0):
            raise ParameterError("mechanisms.probabilities-invalid")
        weights = np.floor(table * TOTAL).astype(np.int64)
        largest = (np.arange(len(table)), table.argmax(axis=1))
        weights[largest] += TOTAL - weights.sum(axis=1)
        return cls(weights=weights)

    @classmethod
    def uninformative(cls, size: int) -> TableChannel:
        """Return a channel with reports independent of the answer: a loss of exactly 0."""
        row = np.full(size, TOTAL // size, dtype=np.uint64)
        row[: TOTAL % size] += np.uint64(1)
        return cls(weights=np.tile(row, (size, 1)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TableChannel) and np.array_equal(self.weights, other.weights)

    def __hash__(self) -> int:
        return hash(self.weights.tobytes())

    @property
    def answers(self) -> int:
        """Number of possible answers."""
        return int(self.weights.shape[0])

    @property
    def reports(self) -> int:
        """Number of possible reports."""
        return int(self.weights.shape[1])

    @property
    def probabilities(self) -> Floats:
        """Exact probability of each report given each answer, shape (answers, reports)."""
        return self.weights / TOTAL

    @override
    def describe(self) -> Mapping[str, Any]:
        return {
            "kind": self.kind,
            "weights": self.weights.tolist(),
            **({"numbered": True} if self.numbered else {}),
            **({} if self.per_worker is None else {"per_worker": self.per_worker.describe()}),
        }

    @override
    def identity(self, answers: Any, reports: ReportMeanings) -> Mapping[str, Any]:
        if isinstance(answers, Mapping):  # each row covers a part of the range
            return super().identity(answers, reports)
        given = [*answers, None][: self.answers]
        rows = sorted(range(len(given)), key=lambda row: in_order(given[row]))
        listed = [reports.meaning(code) for code in range(self.reports)]
        meanings = sorted(set(listed), key=in_order)
        weights = np.zeros((len(rows), len(meanings)), np.uint64)
        for code, meaning in enumerate(listed):
            weights[:, meanings.index(meaning)] += self.weights[rows, code]
        return {
            "kind": "table",
            "answers": [given[row] for row in rows],
            "reports": meanings,
            "weights": weights.tolist(),
        }

    @cached_property
    def epsilon(self) -> float:
        """Privacy loss of one report: ln of the largest ratio in a column, rounded up.

        Infinite if one answer permits a report that another one excludes.
        """
        worst = Fraction(1)
        for column in self.weights.T:
            high, low = int(column.max()), int(column.min())
            if high and not low:
                return float("inf")
            if high:
                worst = max(worst, Fraction(high, low))
        return log_ratio_up(worst)

    @cached_property
    def keep_and_other(self) -> tuple[float, float] | None:
        """Probabilities of the answer and of each other label; None unless randomized response."""
        if self.answers != self.reports or self.answers < 2:
            return None
        if not np.ptp(self.weights, axis=0).any():  # reports do not depend on answers
            return 1 / self.answers, 1 / self.answers
        keep = np.diagonal(self.weights)
        others = self.weights[~np.eye(self.answers, dtype=bool)]
        if np.ptp(keep) or np.ptp(others):
            return None
        return float(keep[0]) / TOTAL, float(others[0]) / TOTAL

    @cached_property
    def _edges(self) -> list[tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_] | None]]:
        """For each report except the last, its upper edge by answer, and whether that is 2^32.

        Words at or above an edge lie beyond the report. 2^32 does not fit into 32 bits; None if no
        edge is.
        """
        columns = np.cumsum(self.weights, axis=1)[:, :-1].T
        return [
            (
                np.minimum(column, TOTAL - 1).astype(np.uint32),
                column >= TOTAL if column.max() >= TOTAL else None,
            )
            for column in columns
        ]

    def sample(self, answers: npt.NDArray[Any], words: WordSource) -> npt.NDArray[Any]:
        """Draw one report per answer, with one word each.

        Parameters
        ----------
        answers : ndarray of int, shape (n,)
            Codes of the answers.
        words : WordSource
            Source of random words.

        Returns
        -------
        reports : ndarray of the smallest unsigned integer dtype, shape (n,)
            Report r for a word between the sums of the row's first r and ``r + 1`` weights.
        """
        reports = np.zeros(len(answers), np.min_scalar_type(self.reports))
        for start in range(0, len(answers), BLOCK):
            block = slice(start, start + BLOCK)
            codes = answers[block].astype(np.intp)
            drawn = words(len(codes))
            for edge, saturated in self._edges:
                beyond = drawn >= edge.take(codes)
                if saturated is not None:
                    beyond &= ~saturated.take(codes)
                reports[block] += beyond
        return reports


def keep_or_replace(
    answers: npt.NDArray[Any],
    size: int,
    other_weights: npt.NDArray[np.uint64],
    words: npt.NDArray[np.uint32],
) -> npt.NDArray[Any]:
    """Apply randomized response with an individual weight for every answer.

    The reports equal those of ``TableChannel.randomized_response(size, other_weight)`` for the
    same words. `answers` are codes below `size`, `other_weights` at most ``2**32 // (size - 1)``;
    all arrays have the shape (n,).
    """
    codes = answers.astype(np.uint64)
    drawn = words.astype(np.uint64)
    keep_from = codes * other_weights
    keep_to = np.uint64(TOTAL) - (np.uint64(size - 1) - codes) * other_weights
    step = np.maximum(other_weights, np.uint64(1))
    below = drawn // step
    above = codes + np.uint64(1) + (np.maximum(drawn, keep_to) - keep_to) // step
    reports = np.where(drawn < keep_from, below, np.where(drawn < keep_to, codes, above))
    return reports.astype(np.min_scalar_type(size))
