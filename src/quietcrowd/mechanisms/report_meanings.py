"""Meanings of reports, independent of the order in which a mechanism lists labels and reports.

A code is a position in a mechanism's list. A meaning is a label, NULL, a set of labels, a place on
the public grid, or the likelihood of every answer given the report.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import frozen
from typing_extensions import override

from quietcrowd.domains import Domain, FiniteDomain, Label
from quietcrowd.report_domains import LabelSets, OrNull, ranks_of

Meaning: TypeAlias = Label | tuple[Label, ...] | tuple[tuple[Label, int], ...] | None
"""JSON-ready; see `ReportMeanings`."""


class ReportMeanings(ABC):
    """Mapping between report codes and their meanings."""

    @abstractmethod
    def meaning(self, code: int) -> Meaning:
        """Return the meaning of a report; raise IndexError for an unknown code."""

    @abstractmethod
    def code(self, meaning: Any) -> int:
        """Return the report of a meaning, in which JSON may have changed tuples to lists."""


@frozen(kw_only=True, slots=False)
class ListedMeanings(ReportMeanings):
    """Meanings of reports that are few enough to list, in `listed`, by code."""

    listed: tuple[Meaning, ...]

    @override
    def meaning(self, code: int) -> Meaning:
        return self.listed[_within(code, len(self.listed))]

    @override
    def code(self, meaning: Any) -> int:
        code = self._codes.get(_as_tuples(meaning))
        if code is None or isinstance(meaning, bool) is not isinstance(self.listed[code], bool):
            raise ValueError("no report has this meaning")
        return code

    @cached_property
    def _codes(self) -> dict[Meaning, int]:
        return {meaning: code for code, meaning in reversed([*enumerate(self.listed)])}


@frozen(kw_only=True, slots=False)
class Likelihoods(ListedMeanings):
    """Meanings of unnamed reports: how likely each answer makes them.

    Each meaning pairs every label, in order, with a whole number. Only ratios of these numbers
    matter, so they have no common divisor: two reports with proportional likelihoods mean the same.
    """

    @classmethod
    def of(cls, weights: npt.NDArray[np.uint64], labels: Sequence[Label]) -> Likelihoods:
        """Return the meanings of the columns of a table.

        `weights`, shape (labels, reports), are proportional to the probability of each report given
        each of the `labels`.
        """
        names = sorted(labels, key=in_order)
        rows = [labels.index(name) for name in names]
        reduced = weights // np.maximum(np.gcd.reduce(weights, axis=0), np.uint64(1))
        columns = reduced[rows].T.tolist()
        return cls(listed=tuple(tuple(zip(names, column, strict=True)) for column in columns))

    def favoured(self, code: int) -> tuple[Label, ...]:
        """Return the labels that a report supports; none if the report is uninformative."""
        pairs: Any = self.listed[code]
        weights = [weight for _, weight in pairs]
        middle = min(weights) + max(weights)
        return tuple(label for label, weight in pairs if 2 * weight > middle)


@frozen(kw_only=True)
class SetMeanings(ReportMeanings):
    """Meanings of sets: their labels, in order."""

    domain: LabelSets

    @override
    def meaning(self, code: int) -> tuple[Label, ...]:
        [members] = self.domain.members_of(np.array([_within(code, self.domain.size)]))
        return tuple(sorted(members, key=in_order))

    @override
    def code(self, meaning: Any) -> int:
        labels = self.domain.domain.labels
        listed = meaning if isinstance(meaning, list | tuple) else ()
        codes = sorted({labels.index(label) for label in listed})
        if not len(codes) == len(listed) == self.domain.members:
            raise ValueError("no report has this meaning")
        return int(ranks_of(np.array([codes]), len(labels))[0])


@frozen(kw_only=True)
class Places(ReportMeanings):
    """Meanings of numbers: places on a public grid, which the identity of the channel contains."""

    @override
    def meaning(self, code: int) -> int:
        return code

    @override
    def code(self, meaning: Any) -> int:
        if type(meaning) is not int:
            raise ValueError("no report has this meaning")
        return meaning


def meanings_in(domain: Domain) -> ReportMeanings:
    """Return the meanings of reports in a domain: its labels, NULL, sets of labels, or places."""
    if isinstance(domain, LabelSets):
        return SetMeanings(domain=domain)
    if isinstance(domain, OrNull):
        return ListedMeanings(listed=(*domain.domain.labels, None))
    return ListedMeanings(listed=domain.labels) if isinstance(domain, FiniteDomain) else Places()


def in_order(meaning: Meaning) -> Any:
    """Return a sort key for labels or likelihoods of one kind, NULL last.

    Texts sort by code point, which every language supports.
    """
    return meaning is None, meaning


def _within(code: int, size: int) -> int:
    if not 0 <= code < size:
        raise IndexError(f"there are {size} reports; got code {code}")
    return code


def _as_tuples(value: Any) -> Any:
    return tuple(map(_as_tuples, value)) if isinstance(value, list | tuple) else value
