"""Bounded reports of numbers, drawn from integer weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen
from typing_extensions import override

from quietcrowd.mechanisms.channels.base import Channel
from quietcrowd.mechanisms.channels.bounded_law import BoundedLaw

__all__ = ["BoundedChannel"]


@frozen(kw_only=True, slots=False)
class BoundedChannel(Channel):
    """Distribution of a bounded report of a number, with the integer weights `law`."""

    law: BoundedLaw

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
        return {"kind": "bounded", "grid": self.law.grid.describe(), **self.law.describe()}
