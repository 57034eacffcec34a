"""Tasks as a guarantee is asked for them: their number, or their ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from quietcrowd.exceptions import ParameterError

__all__ = ["Tasks", "are_named", "task_names"]

Tasks: TypeAlias = "int | Sequence[Any] | pa.Array"
"""A whole number of tasks, or their ids; a guarantee for ids can be less than one for any tasks."""


def are_named(tasks: Any) -> bool:
    """Return whether tasks are ids, and not a number of them."""
    listed = isinstance(tasks, Sequence | np.ndarray | pa.Array | pa.ChunkedArray)
    return listed and not isinstance(tasks, str | bytes)


def task_names(tasks: Any) -> tuple[str, ...]:
    """Return the ids of tasks as the texts that they print as.

    Raises
    ------
    ParameterError
        Where one is missing or no id, or stands there twice.

    Examples
    --------
    >>> task_names([7, 8])
    ('7', '8')
    """
    try:
        ids = tasks if isinstance(tasks, pa.Array | pa.ChunkedArray) else pa.array(tasks)
        texts = pc.cast(ids, pa.large_string()).to_pylist()
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        reason = " ".join(str(error).split())
        raise ParameterError(f"tasks must be a number of tasks or their ids: {reason}") from None
    seen: set[str] = set()
    for place, text in enumerate(texts):
        if text is None or text in seen:
            what = "is missing" if text is None else f"is {text!r} once more"
            raise ParameterError(f"tasks must be ids, each once: id {place} {what}")
        seen.add(text)
    return tuple(texts)
