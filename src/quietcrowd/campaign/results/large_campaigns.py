"""Which campaigns are inferred from partitions on disk, where these lie, and who passes over them.

A server reads this at its start, and its process for inferences goes by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from attrs import frozen

from quietcrowd.campaign.terms.mechanisms import parse_mechanism

if TYPE_CHECKING:
    from quietcrowd.scale.executor import Executor

__all__ = ["LargeCampaigns"]

_PROCESS, _PER_REPORT, _PER_WORKER = 300e6, 120, 1_300
"""Bytes that an inference in memory takes, as measured with four labels; more of more labels."""


@frozen(kw_only=True)
class LargeCampaigns:
    """What is done where an inference in memory would take too much of it.

    Attributes
    ----------
    memory : float
        Bytes that it may take.
    folder : str, optional
        Where reports lie meanwhile, and partitions, and what is kept for the next inference;
        default: where temporary files go.
    scheduler : str, optional
        Of a Dask cluster that passes over them, as of `quietcrowd.scale.connect`; default: this
        process.
    """

    memory: float = 1e9
    folder: str | None = None
    scheduler: str | None = None

    def include(self, campaign: Any) -> bool:
        """Return whether a campaign, a row of its table, is one.

        Sketches are about all tasks at once: they are inferred in memory.
        """
        if "task" not in parse_mechanism(campaign.mechanism).columns:
            return False
        reports, workers = campaign.shown_reports, campaign.shown_participants
        return bool(_PROCESS + _PER_REPORT * reports + _PER_WORKER * workers > self.memory)

    @contextmanager
    def executor(self) -> Iterator[Executor | None]:
        """Give who passes over partitions; None for this process.

        Raises
        ------
        ConnectionError
            Where no scheduler answers.
        """
        from quietcrowd.scale import connect

        cluster = nullcontext() if self.scheduler is None else connect(self.scheduler)
        with cluster as executor:
            yield executor
