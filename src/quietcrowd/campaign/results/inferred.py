"""Result of an inference method, whether from memory or from disk."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any
from weakref import finalize

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import frozen

from quietcrowd.domains import Domain
from quietcrowd.frames import positions_by_text
from quietcrowd.inference.model import State

if TYPE_CHECKING:
    from quietcrowd.scale import StoreEstimate

__all__ = ["Inferred", "KeptEstimate"]


@frozen(kw_only=True, eq=False)
class Inferred:
    """Result of an inference method, with the tables of `TruthEstimate` sorted by task and worker.

    A later inference can start from `start`. `suggest` distributes n further answers over the
    tasks, in the order of `truths`. It works while the reports exist and if the method
    `suggests_tasks`.
    """

    method: Any
    iterations: int
    converged: bool
    truths: pa.Table
    workers: pa.Table
    start: Any
    suggest: Callable[[int], npt.NDArray[np.int64]]


@frozen(kw_only=True, eq=False)
class KeptEstimate:
    """Estimate to start from, in an unnamed file, because the state of many workers is large."""

    method: Any
    domain: Domain
    file: Any

    @classmethod
    def of(cls, found: StoreEstimate, folder: str | None) -> KeptEstimate:
        """Store an estimate in a file that exists as long as the returned object.

        The file is in `folder`, or in the system's default directory for temporary files.
        """
        file: Any = TemporaryFile(dir=folder)  # noqa: SIM115
        kept = cls(method=found.method, domain=found.domain, file=file)
        finalize(kept, file.close)
        pickle.dump((found.store.workers, found.state), file, pickle.HIGHEST_PROTOCOL)
        return kept

    def state_of(self, workers: pa.Array) -> State | None:
        """Return the state of workers with these ids, matched as text."""
        self.file.seek(0)
        known, state = pickle.load(self.file)
        if state is None:
            return None
        taken: State = state.take(positions_by_text(workers, known))
        return taken
