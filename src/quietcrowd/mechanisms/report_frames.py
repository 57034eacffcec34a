"""Reports in dataframes: each row names its mechanism by the hash of its description."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from quietcrowd.exceptions import AnswerError, FormatError
from quietcrowd.frames import (
    MECHANISM,
    as_frame,
    column_of,
    holds_reports,
    mark_of,
    with_usual_names,
)
from quietcrowd.mechanisms.mechanism import Mechanism, Reports, check_mechanism
from quietcrowd.mechanisms.sent_again import MARKS

if TYPE_CHECKING:
    import narwhals as nw

_SIMULATED = "-simulated"


def reports_from_frame(frame: Any, mechanisms: Iterable[Mechanism] = ()) -> Reports:
    """Read reports from a dataframe of `Reports.to_frame`, also if it was filtered or stored.

    Parameters
    ----------
    frame : pandas, Polars or PyArrow dataframe
        It has the column ``mechanism``. Columns that are not of `Reports.to_frame` are ignored.
    mechanisms : iterable of Mechanism
        The mechanisms of all rows, unless the frame still describes its mechanism.

    Raises
    ------
    AnswerError
        If a column is missing, a mechanism is not described, or a report is invalid.

    Examples
    --------
    >>> import quietcrowd as qc
    >>> crowd = qc.make_crowd(tasks=5, workers=10, random_state=1)
    >>> device = qc.RandomizedResponse(domain=crowd.answers.domain, epsilon=1.0)
    >>> frame = device.randomize(crowd.answers).to_frame("polars")
    >>> len(reports_from_frame(frame, [device])) == len(crowd.answers)
    True
    """
    if not holds_reports(frame):
        raise AnswerError("mechanisms.hashes-missing")
    known, frame = _known(frame, mechanisms), with_usual_names(as_frame(frame))
    texts = known_hashes(frame, known)
    parts = {text.removesuffix(_SIMULATED) for text in texts}
    if len(parts) > 1:
        raise AnswerError("mechanisms.several-in-frame", count=len(parts))
    mechanism = known[parts.pop()]
    if "task" not in mechanism.columns:
        raise AnswerError("mechanisms.sketches-in-frame", type_name=type(mechanism).__name__)
    marks = [name for name in MARKS if name in frame.columns]
    columns = pa.table({name: column_of(frame, name) for name in (*mechanism.columns, *marks)})
    tasks, workers = (_ids(columns[name]) for name in ("task", "worker"))
    simulated = any(text.endswith(_SIMULATED) for text in texts)
    return mechanism.read_reports(columns, tasks, workers, simulated=simulated)


def known_hashes(frame: nw.DataFrame[Any], known: Mapping[str, Mechanism]) -> list[str]:
    """Return the distinct hashes of a frame; raise AnswerError if one is not `known`."""
    hashes = column_of(frame, MECHANISM)
    if hashes.null_count:
        row = pc.index(hashes.is_null(), value=True).as_py()
        raise AnswerError("mechanisms.hash-missing", row=row, count=hashes.null_count)
    texts: list[str] = hashes.unique().to_pylist()
    unknown = [text for text in texts if text.removesuffix(_SIMULATED) not in known]
    if unknown:
        raise AnswerError(
            "mechanisms.hash-unknown",
            row=pc.index(hashes, unknown[0]).as_py(),
            value=unknown[0],
            known=", ".join(known) or "none",
        )
    return texts


def _known(data: Any, mechanisms: Iterable[Mechanism]) -> dict[str, Mechanism]:
    """Return the described mechanisms by hash."""
    found: list[Mechanism] = [*mechanisms]
    for one in found:
        check_mechanism(one)
    with suppress(FormatError):  # of an unregistered class, or a later version
        found.append(Mechanism.from_dict((mark_of(data) or {}).get("mechanism", {})))
    return {one.short_hash: one for one in found}


def _ids(column: pa.ChunkedArray) -> pa.Array:
    ids = pc.unique(column).drop_null()
    return ids.take(pc.sort_indices(ids))
