"""What is wrong with a row of answers, in one line: place, value, way out."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from quietcrowd.domains import Domain, NumericDomain, as_numbers
from quietcrowd.exceptions import AnswerError

__all__ = ["Advice", "answered_twice", "check_ids", "is_id_type", "outside_domain", "plain_type"]

Advice: TypeAlias = Literal["answers", "reports", "claims"]

_SKIP = 'drop the row with out_of_domain="skip" (of infer --plain: --skip-outside).'
_RULE = (
    " Decide by a rule that is fixed beforehand, as clipping is: to leave a claim out for its "
    "value would tell of it."
)
MISSING_ADVICE = {"answers": f" D{_SKIP[1:]}", "reports": "", "claims": _RULE}
OUTSIDE_ADVICE = {
    "answers": f" Pass a domain that holds it, or {_SKIP}",
    "reports": "",
    "claims": _RULE,
}
"""What to do about a missing value, and about one outside the domain."""


def is_id_type(kind: pa.DataType) -> bool:
    """Return whether ids may be of this type: texts, numbers that print, or dates."""
    if pa.types.is_float16(kind):  # Arrow cannot print these
        return False
    text = pa.types.is_string(plain_type(kind))
    return text or (pa.types.is_primitive(kind) and not pa.types.is_interval(kind))


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the one type that stands for all kinds of text, and any other type as it is."""
    text = pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return pa.string() if text else kind


def check_ids(column: pa.ChunkedArray, name: str, first: int = 0) -> None:
    """Raise AnswerError unless every id is there and of a type for ids; rows count from `first`."""
    if column.null_count:
        row = first + pc.index(column.is_null(), True).as_py()
        raise AnswerError(
            f"row {row}, column {name!r}: the id is missing. Drop the row or name it."
        )
    if not is_id_type(column.type):
        raise AnswerError(
            f"column {name!r} holds {column.type} values; ids must be strings, numbers or dates. "
            "Convert them to strings first."
        )


def answered_twice(
    names: tuple[str, str],
    ids: tuple[Any, Any],
    rows: tuple[int | str, int],
    more: int | None = None,
    *,
    advice: Advice,
) -> AnswerError:
    """Return what to raise where a worker answered a task twice.

    Parameters
    ----------
    names : tuple of str
        Of the columns of tasks and workers.
    ids : tuple
        Of the task and the worker.
    rows : tuple
        The first row and the one that says so again.
    more : int, optional
        How many rows say again what another one says.
    advice : {"answers", "reports", "claims"}
        What to tell of how to go on.
    """
    (task, worker), (task_id, worker_id), (other, row) = names, ids, rows
    way_out = (
        "Name every file once; a worker reports a task once."
        if advice == "reports"
        else 'Pass duplicates="last" or duplicates="first" (on the command line: --duplicates '
        "last), or drop them."
    )
    count = "" if more is None else f" ({more:,} such row{'s' * (more > 1)})"
    return AnswerError(
        f"row {row}, columns {task!r} and {worker!r}: worker {worker_id!r} "
        f"answered task {task_id!r} in row {other} already{count}. "
        f"{way_out}"
    )


def outside_domain(
    column: pa.ChunkedArray, name: str, row: int, domain: Domain, *, advice: Advice, first: int = 0
) -> AnswerError:
    """Return what to raise where `column` holds at `row` what is no answer.

    Rows of the message count from `first`.
    """
    value = column[row].as_py()
    if value is None:
        what, way_out = "the answer is missing", MISSING_ADVICE[advice]
    elif isinstance(domain, NumericDomain) and np.isnan(as_numbers(column.slice(row, 1))[0]):
        what, way_out = f"{value!r} is not a number", " Write decimals with a point, as in 2.5."
    else:
        what = f"{value!r} is outside the domain {domain.describe()}"
        way_out = OUTSIDE_ADVICE[advice]
    return AnswerError(f"row {first + row}, column {name!r}: {what}.{way_out}")
