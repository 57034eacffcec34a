"""Bounded reports of numbers, drawn from integer weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from attrs import frozen
from typing_extensions import override

from quietcrowd.domains import Domain
from quietcrowd.mechanisms.channels.base import Channel
from quietcrowd.mechanisms.channels.bounded_law import TOTAL, BoundedLaw
from quietcrowd.mechanisms.channels.grid import Grid
from quietcrowd.mechanisms.channels.reading import check_members, whole, wholes

_WEIGHTS = ("base", "window", "lift", "least", "slope")


@frozen(kw_only=True, slots=False)
class BoundedChannel(Channel):
    """Distribution of a bounded report of a number, with the integer weights `law`."""

    kind: ClassVar[str] = "weights"
    law: BoundedLaw

    @classmethod
    def read(cls, document: Mapping[str, Any], domain: Domain) -> BoundedChannel:
        """Return the channel of a document; raise ParameterError if it is invalid."""
        check_members(document, "kind grid ends " + " ".join(_WEIGHTS))
        grid = Grid.read(document["grid"], domain)
        weights = {name: whole(name, document[name], 0, TOTAL) for name in _WEIGHTS}
        first, last = wholes("ends", document["ends"], 2, TOTAL)
        law = BoundedLaw(grid=grid, ends=(first, last), **weights)
        law.check()
        return cls(law=law)

    @property
    @override
    def bounded_law(self) -> BoundedLaw:
        return self.law

    @property
    def variance(self) -> float:
        """Largest variance of a report over all answers, in squared units of the answers."""
        return self.law.most_variance

    @property
    @override
    def epsilon(self) -> float:
        return self.law.epsilon

    @override
    def describe(self) -> Mapping[str, Any]:
        return {"kind": self.kind, "grid": self.law.grid.describe(), **self.law.describe()}
