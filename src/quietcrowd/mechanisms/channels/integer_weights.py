"""Reports that are drawn from integer weights: bounded numbers, and sets of labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from attrs import frozen
from typing_extensions import override

from quietcrowd.domains import Domain, FiniteDomain
from quietcrowd.mechanisms.channels.base import Channel
from quietcrowd.mechanisms.channels.bounded_distribution import TOTAL, BoundedDistribution
from quietcrowd.mechanisms.channels.grid import Grid
from quietcrowd.mechanisms.channels.reading import (
    MAX_LABELS,
    check_members,
    invalid_member,
    whole,
    wholes,
)
from quietcrowd.mechanisms.channels.set_distribution import SetDistribution
from quietcrowd.mechanisms.report_meanings import ReportMeanings, in_order

_WEIGHTS = ("base", "window", "lift", "least", "slope")


@frozen(kw_only=True, slots=False)
class BoundedChannel(Channel):
    """Distribution of a bounded report of a number, with the integer weights `distribution`."""

    kind: ClassVar[str] = "weights"
    distribution: BoundedDistribution

    @classmethod
    def read(cls, document: Mapping[str, Any], domain: Domain) -> BoundedChannel:
        """Return the channel of a document; raise ParameterError if it is invalid."""
        check_members(document, "kind grid ends " + " ".join(_WEIGHTS))
        grid = Grid.read(document["grid"], domain)
        weights = {name: whole(name, document[name], 0, TOTAL) for name in _WEIGHTS}
        first, last = wholes("ends", document["ends"], 2, TOTAL)
        distribution = BoundedDistribution(grid=grid, ends=(first, last), **weights)
        distribution.check()
        return cls(distribution=distribution)

    @property
    @override
    def bounded_distribution(self) -> BoundedDistribution:
        return self.distribution

    @property
    def variance(self) -> float:
        """Largest variance of a report over all answers, in squared units of the answers."""
        return self.distribution.most_variance

    @property
    @override
    def epsilon(self) -> float:
        return self.distribution.epsilon

    @override
    def describe(self) -> Mapping[str, Any]:
        return {
            "kind": self.kind,
            "grid": self.distribution.grid.describe(),
            **self.distribution.describe(),
        }


_MEMBERS = ("labels", "members", "inside", "outside")


@frozen(kw_only=True, slots=False)
class SetChannel(Channel):
    """Distribution of a set of labels given the answer, with the weights `distribution`."""

    kind: ClassVar[str] = "sets"
    distribution: SetDistribution

    @classmethod
    def read(cls, document: Mapping[str, Any], domain: Domain) -> SetChannel:
        """Return the channel of a document; raise ParameterError if it is invalid."""
        check_members(document, "kind " + " ".join(_MEMBERS))
        distribution = SetDistribution(
            **{name: whole(name, document[name], 1, TOTAL) for name in _MEMBERS}
        )
        if not isinstance(domain, FiniteDomain) or distribution.labels != domain.size:
            raise invalid_member("labels", "the number of labels of the domain")
        if distribution.labels > MAX_LABELS:
            raise invalid_member("labels", f"at most {MAX_LABELS}")
        return cls(distribution=distribution)

    @property
    @override
    def epsilon(self) -> float:
        return self.distribution.epsilon

    @property
    @override
    def sets(self) -> SetDistribution:
        return self.distribution

    def sample(self, answers: npt.NDArray[Any], words: Any) -> npt.NDArray[np.int64]:
        """Draw one report per answer; see `SetDistribution.sample`."""
        return self.distribution.sample(answers, words)

    @override
    def describe(self) -> Mapping[str, Any]:
        return {"kind": self.kind, **{name: getattr(self.distribution, name) for name in _MEMBERS}}

    @override
    def identity(self, answers: Any, reports: ReportMeanings) -> Mapping[str, Any]:
        return super().identity(sorted(answers, key=in_order), reports)
