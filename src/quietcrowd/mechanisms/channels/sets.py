"""Sets of labels that contain the answer more often than others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import frozen
from typing_extensions import override

from quietcrowd.mechanisms.channels.base import Channel
from quietcrowd.mechanisms.channels.set_law import SetLaw
from quietcrowd.mechanisms.report_meanings import ReportMeanings, in_order

__all__ = ["SetChannel"]


@frozen(kw_only=True, slots=False)
class SetChannel(Channel):
    """Distribution of a set of labels given the answer, with the weights `law`."""

    law: SetLaw

    @property
    @override
    def epsilon(self) -> float:
        return self.law.epsilon

    @property
    @override
    def sets(self) -> SetLaw:
        return self.law

    def sample(self, answers: npt.NDArray[Any], words: Any) -> npt.NDArray[np.int64]:
        """Draw one report per answer; see `SetLaw.sample`."""
        return self.law.sample(answers, words)

    @override
    def describe(self) -> Mapping[str, Any]:
        law = self.law
        return {
            "kind": "sets",
            "labels": law.labels,
            "members": law.members,
            "inside": law.inside,
            "outside": law.outside,
        }

    @override
    def identity(self, answers: Any, reports: ReportMeanings) -> Mapping[str, Any]:
        return super().identity(sorted(answers, key=in_order), reports)
