"""Sketches as a table of one number per row, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from quietcrowd.exceptions import AnswerError

__all__ = ["pivot"]


def pivot(columns: pa.Table, workers: pa.Array, length: int, kind: pa.DataType) -> npt.NDArray[Any]:
    """Return the numbers of a long table, shape (workers, length)."""
    try:
        coordinates = pc.cast(columns["coordinate"], pa.int32()).to_numpy()
        numbers = pc.cast(columns["number"], kind)
    except pa.ArrowInvalid as error:
        raise AnswerError(f"a report is no number: {' '.join(str(error).split())}") from None
    who = pc.index_in(columns["worker"], workers)
    if numbers.null_count or who.null_count or columns["coordinate"].null_count:
        raise AnswerError("a report lacks its worker, its coordinate or its number")
    places = who.to_numpy().astype(np.int64) * length + coordinates
    inside = (coordinates >= 0) & (coordinates < length)
    counts = np.bincount(places[inside], minlength=len(workers) * length)
    if not inside.all() or (counts != 1).any():
        raise AnswerError(
            f"every worker sends {length:,} numbers, one for each coordinate from 0 to "
            f"{length - 1:,}; here some are missing, repeated, or beyond that"
        )
    sketches = np.empty(len(places), numbers.to_numpy().dtype)
    sketches[places] = numbers.to_numpy()
    if sketches.dtype == np.float64 and not np.isfinite(sketches).all():
        raise AnswerError("a report is not a finite number")
    return sketches.reshape(len(workers), length)
