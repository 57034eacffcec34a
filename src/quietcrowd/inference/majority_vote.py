"""Majority voting: every answer counts the same."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.inference.categorical import CategoricalMethod
from quietcrowd.inference.method import LabelEstimates, State
from quietcrowd.inference.partition import Partition, Summary
from quietcrowd.inference.voting import AgreementTally, share_of_agreements, sweep_votes

__all__ = ["MajorityVote"]


@frozen(kw_only=True, slots=False)
class MajorityVote(CategoricalMethod[State, AgreementTally]):
    """The truth is the label that most workers gave; all workers count the same.

    Confidence is the share of the task's answers that gave the label. There is one pass and
    nothing to iterate, so `max_iterations` and `tolerance` change nothing.

    References
    ----------
    Y. Li et al., KDD 2018, equation 1.

    Examples
    --------
    >>> import pandas as pd
    >>> votes = pd.DataFrame({"task": ["a", "a", "a"], "worker": [1, 2, 3], "label": [0, 1, 1]})
    >>> MajorityVote().fit_predict(votes)
    task
    a    1
    Name: agg_label, dtype: int64
    """

    name: ClassVar[str] = "majority"

    def sweep(
        self,
        partition: Partition,
        summary: Summary,
        state: State | None,  # noqa: ARG002
        estimates: LabelEstimates | None,
    ) -> AgreementTally:
        """Count the votes; see `TruthInference.sweep`."""
        return sweep_votes(
            partition,
            summary,
            weights=np.ones(summary.workers, np.int64),
            nats=0.0,
            seed=self.seed,
            estimates=estimates,
        )

    def agreement(self, summary: Summary, tally: AgreementTally) -> npt.NDArray[np.float64]:
        """Return the share of agreeing answers; see `CategoricalMethod.agreement`."""
        return share_of_agreements(summary, tally.agreed)
