"""Settings for campaigns whose inference does not fit into memory.

A server reads them at its start and passes them to its inference process.
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
"""Bytes of an inference in memory: base, per report and per worker.

They were measured with four labels; more labels need more.
"""


@frozen(kw_only=True)
class LargeCampaigns:
    """Settings for inference from disk.

    An inference that would need more than `memory` bytes uses files in `folder` (default: the
    system's temporary directory). `scheduler` is the address of a Dask cluster, see
    `quietcrowd.scale.connect`; by default this process does the work.
    """

    memory: float = 1e9
    folder: str | None = None
    scheduler: str | None = None

    def include(self, campaign: Any) -> bool:
        """Return whether a campaign, a row of its table, needs inference from disk.

        Sketches are about all tasks at once, so they are inferred in memory.
        """
        if "task" not in parse_mechanism(campaign.mechanism).columns:
            return False
        reports, workers = campaign.shown_reports, campaign.shown_participants
        return bool(_PROCESS + _PER_REPORT * reports + _PER_WORKER * workers > self.memory)

    @contextmanager
    def executor(self) -> Iterator[Executor | None]:
        """Provide the cluster's executor within a context, or None for this process.

        Raises ConnectionError if no scheduler answers.
        """
        from quietcrowd.scale import connect

        cluster = nullcontext() if self.scheduler is None else connect(self.scheduler)
        with cluster as executor:
            yield executor
