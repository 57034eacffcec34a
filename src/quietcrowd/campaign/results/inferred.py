"""What a method found from the reports of a campaign, wherever these were."""

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
from quietcrowd.inference.passes import State

if TYPE_CHECKING:
    from quietcrowd.scale import StoreEstimate

__all__ = ["Inferred", "KeptEstimate"]


@frozen(kw_only=True, eq=False)
class Inferred:
    """What a method found.

    Attributes
    ----------
    method : FittingMethod
        What found it.
    iterations : int
        How many times the workers were weighed.
    converged : bool
        Whether the method has converged.
    truths, workers : pyarrow.Table
        As of `TruthEstimate`; tasks and workers are sorted.
    start : TruthEstimate or KeptEstimate
        What a later inference of the campaign can start from.
    suggest : callable
        Takes a number of answers and returns how many of them each task is to get, by the order of
        `truths`; while the reports are there, and where the method `tells_further`.
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
    """What an inference can start from, kept in a file: of many workers it is large.

    Attributes
    ----------
    method : FittingMethod
        What found it.
    domain : Domain
        What a truth can be.
    file : file
        Ids of the workers, and what is believed of them; it has no name.
    """

    method: Any
    domain: Domain
    file: Any

    @classmethod
    def of(cls, found: StoreEstimate, folder: str | None) -> KeptEstimate:
        """Keep what a run found until the record is let go.

        Parameters
        ----------
        found : StoreEstimate
            What it found.
        folder : str, optional
            Where the file lies; default: where temporary files go.
        """
        file: Any = TemporaryFile(dir=folder)  # noqa: SIM115
        kept = cls(method=found.method, domain=found.domain, file=file)
        finalize(kept, file.close)
        pickle.dump((found.store.workers, found.state), file, pickle.HIGHEST_PROTOCOL)
        return kept

    def state_of(self, workers: pa.Array) -> State | None:
        """Return what is believed of workers with these ids, matched by what they print as."""
        self.file.seek(0)
        known, state = pickle.load(self.file)
        if state is None:
            return None
        taken: State = state.take(positions_by_text(workers, known))
        return taken
