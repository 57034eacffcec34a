"""What an earlier pass told of the workers, put into the terms of more answers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.inference.partition import Summary

__all__ = ["Move"]


@frozen(kw_only=True, eq=False)
class Move:
    """From the summary that a tally was made with to one of more answers and more workers.

    Attributes
    ----------
    positions : ndarray of intp, shape (workers,)
        Where each worker of the new summary stands in the old one; -1 for a new worker.
    old, new : Summary
        Of the answers that were tallied, and of all.
    """

    positions: npt.NDArray[np.intp]
    old: Summary
    new: Summary

    @property
    def stretch(self) -> float:
        """By what a scaled distance is multiplied: the range of all numbers may have grown."""
        return self.old.extent / self.new.extent

    def sums(
        self,
        sums: npt.NDArray[np.int64],
        unit: Callable[[Summary], float] | None = None,
        power: int = 0,
    ) -> npt.NDArray[np.int64]:
        """Return the sums of the new summary's workers, 0 for a new one.

        Parameters
        ----------
        sums : ndarray of int64, shape (old workers, ...)
            To be moved.
        unit : callable, optional
            What 1.0 is stored as, by summary; by default in both as the same.
        power : int
            To which power of the range of all numbers what was added is scaled.
        """
        moved = sums[np.maximum(self.positions, 0)]
        moved[self.positions < 0] = 0
        return self.total(moved, unit, power)

    def total(
        self,
        sums: npt.NDArray[np.int64],
        unit: Callable[[Summary], float] | None = None,
        power: int = 0,
    ) -> npt.NDArray[np.int64]:
        """Return sums that are not about workers; parameters as of `sums`."""
        factor = self.stretch**power
        if unit is not None:
            factor *= unit(self.new) / unit(self.old)
        return sums if factor == 1.0 else np.rint(sums * factor).astype(np.int64)
