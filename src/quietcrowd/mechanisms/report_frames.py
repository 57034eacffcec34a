"""Reports in dataframes: each row names its mechanism by the hash of its description."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve

from quietcrowd.exceptions import AnswerError, FormatError
from quietcrowd.frames import (
    MECHANISM,
    as_frame,
    column_of,
    holds_reports,
    mark_of,
    with_usual_names,
)
from quietcrowd.mechanisms.joining import join_reports
from quietcrowd.mechanisms.mechanism import Mechanism, Reports, check_mechanism
from quietcrowd.mechanisms.mixture import Mixture
from quietcrowd.mechanisms.sent_again import MARKS, Marks

if TYPE_CHECKING:
    import narwhals as nw

_SIMULATED = "-simulated"

ROUND = "round"
"""Column of exports of campaigns in rounds: the same tasks may have other truths in each round."""


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
        If a column is missing, a mechanism is not described, a report is invalid, or a column
        ``round`` has several rounds.

    Examples
    --------
    >>> import quietcrowd as qc
    >>> crowd = qc.make_crowd(tasks=5, workers=10, random_state=1)
    >>> device = qc.RandomizedResponse(domain=crowd.answers.domain, epsilon=1.0)
    >>> frame = device.randomize(crowd.answers).to_frame("polars")
    >>> len(reports_from_frame(frame, [device])) == len(crowd.answers)
    True
    """
    import narwhals as nw

    if not holds_reports(frame):
        raise AnswerError("mechanisms.hashes-missing")
    described, native = [*mechanisms, *_noted(frame)], with_usual_names(as_frame(frame))
    known = mechanisms_by_hash(described)
    found = known_hashes(native, known)
    if ROUND in native.columns:
        check_one_round(column_of(native, ROUND))
    tables = []
    for mechanism, texts in found.items():
        if "task" not in mechanism.columns:
            raise AnswerError("mechanisms.sketches-in-frame", type_name=type(mechanism).__name__)
        rows = native
        if len(found) > 1:  # labels of one mechanism have one type
            rows = native.filter(nw.col(MECHANISM).cast(nw.String).is_in(texts))
        marks = [name for name in MARKS if name in native.columns]
        columns = {name: column_of(rows, name) for name in (*mechanism.columns, *marks)}
        tables.append((mechanism, pa.table(columns)))
    simulated = any(text.endswith(_SIMULATED) for texts in found.values() for text in texts)
    parts = [(*pair, _ids(pair[1]["task"]), _ids(pair[1]["worker"])) for pair in tables]
    return read_parts(parts, described, simulated=simulated)


Part: TypeAlias = tuple[Mechanism, pa.Table, pa.Array, pa.Array]
"""A mechanism, its rows, and all their tasks and workers; see `Mechanism.read_reports`."""


def read_parts(
    parts: Sequence[Part], described: Iterable[Mechanism] = (), *, simulated: bool
) -> Reports:
    """Read rows of each mechanism and join them; mixtures among `described` keep their parts."""
    marks = Marks.of_all([table for _, table, *_ in parts]) if len(parts) > 1 else None
    if marks is not None and marks.campaign is None:
        marks.warn(3)
        parts = _counted(parts, marks.counted)
    reports = [
        mechanism.read_reports(*columns, simulated=simulated) for mechanism, *columns in parts
    ]
    if marks is not None and marks.campaign is not None:
        reports = [_marked(one, marks.campaign) for one in reports]
    further = [part for one in described if isinstance(one, Mixture) for part in one.parts]
    return join_reports(*reports, mechanisms=further)


def _counted(parts: Sequence[Part], counted: npt.NDArray[np.bool_]) -> list[Part]:
    """Return the rows that count, and the workers who sent them or nothing."""
    found, first = [], 0
    for mechanism, table, tasks, workers in parts:
        mine = pa.array(counted[first : first + len(table)])
        first += len(table)
        kept = table.filter(mine)
        kept = kept.select([name for name in kept.column_names if name != "again"])
        silent = pc.invert(pc.is_in(workers, pc.unique(table["worker"])))
        heard = pc.or_(silent, pc.is_in(workers, pc.unique(kept["worker"])))
        if len(kept):
            found.append((mechanism, kept, tasks, workers.filter(heard)))
    return found


def _marked(reports: Reports, campaign: str) -> Reports:
    """Return reports of a campaign with marks, also if none of them was sent again."""
    again = np.zeros(len(reports), np.bool_) if reports.again is None else reports.again
    return evolve(reports, again=again, campaign=campaign)


def check_one_round(rounds: pa.ChunkedArray) -> None:
    """Raise AnswerError if reports are of several rounds."""
    found = distinct_rounds(rounds)
    if len(found) > 1:
        raise AnswerError("mechanisms.several-rounds", first=found[0], last=found[-1])


def distinct_rounds(rounds: pa.ChunkedArray) -> list[str]:
    """Return the rounds in a column, in order, as text."""
    texts = pc.unique(rounds.cast(pa.string())).drop_null().to_pylist()
    return sorted(texts, key=lambda text: (len(text), text))


def mechanisms_by_hash(mechanisms: Iterable[Mechanism]) -> dict[str, Mechanism]:
    """Return mechanisms, and the parts of mixtures, by their `Mechanism.short_hash`."""
    known: dict[str, Mechanism] = {}
    for one in mechanisms:
        check_mechanism(one)
        parts = one.parts if isinstance(one, Mixture) else [one]
        known |= {part.short_hash: part for part in parts}
    return known


def known_hashes(
    frame: nw.DataFrame[Any], known: Mapping[str, Mechanism]
) -> dict[Mechanism, list[str]]:
    """Return the cells of a frame that name each mechanism; raise AnswerError if one is unknown."""
    hashes = column_of(frame, MECHANISM)
    if hashes.null_count:
        row = pc.index(hashes.is_null(), value=True).as_py()
        raise AnswerError("mechanisms.hash-missing", row=row, count=hashes.null_count)
    found: dict[Mechanism, list[str]] = {}
    for text in hashes.unique().to_pylist():
        mechanism = known.get(text.removesuffix(_SIMULATED))
        if mechanism is None:
            raise AnswerError(
                "mechanisms.hash-unknown",
                row=pc.index(hashes, text).as_py(),
                value=text,
                known=", ".join(known) or "none",
            )
        found.setdefault(mechanism, []).append(text)
    return found


def _noted(frame: Any) -> list[Mechanism]:
    with suppress(FormatError):  # of an unregistered class, or a later version
        return [Mechanism.from_dict((mark_of(frame) or {}).get("mechanism", {}))]
    return []


def _ids(column: pa.ChunkedArray) -> pa.Array:
    ids = pc.unique(column).drop_null()
    return ids.take(pc.sort_indices(ids))
