"""The rows of a frame of answers: encoded columns, and their order without repetitions."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from quietcrowd.answer_errors import (
    ADVICE,
    AdviceName,
    answered_twice,
    is_id_type,
    outside_domain,
    plain_type,
)
from quietcrowd.domains import Domain, FiniteDomain
from quietcrowd.exceptions import AnswerError, QuietcrowdWarning
from quietcrowd.frames import (
    ALIASES,
    Duplicates,
    as_frame,
    check_answers,
    collected,
    column_of,
    dictionary_codes,
    first_or_last,
    positions_by_text,
    sort_rows,
    with_usual_names,
)
from quietcrowd.intake import Intake, check_ids
from quietcrowd.task_options import TaskOptions, outside_options
from quietcrowd.times import TIME_NAMES, order_by_time

if TYPE_CHECKING:
    import narwhals as nw


@frozen(kw_only=True, eq=False)
class EncodedRows:
    """The columns of a frame by name, and the codes of its rows; `inside` is a mask of answers."""

    frame: nw.DataFrame[Any]
    names: tuple[str, str, str]
    raw: dict[str, pa.ChunkedArray]
    labels: pa.ChunkedArray
    task_codes: npt.NDArray[np.int32]
    tasks: pa.Array
    worker_codes: npt.NDArray[np.int32]
    workers: pa.Array
    values: npt.NDArray[Any]
    inside: npt.NDArray[np.bool_]

    def outside(self, domain: Domain, options: TaskOptions | None, advice: AdviceName) -> Exception:
        """Return the error about the first answer that is missing or outside."""
        row, (task, _, label) = int(np.argmin(self.inside)), self.names
        if options is not None and self.labels[row].as_py() is not None:
            where = row, task, int(self.task_codes[row])
            return outside_options(self.labels, label, where, options, advice=advice)
        raw = self.raw[label]
        return outside_domain(self.labels, label, row, domain, advice=advice, raw=raw)

    def ordered(
        self, duplicates: Duplicates, advice: AdviceName
    ) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.int32], npt.NDArray[np.int32], int]:
        """Return the order of rows inside by task and worker, their codes, and repetitions."""
        task_codes, worker_codes, rows = self.task_codes, self.worker_codes, None
        if not self.inside.all():
            cells = task_codes.astype(np.int64) * len(self.workers) + worker_codes
            if count := int(np.isin(cells[~self.inside], cells[self.inside]).sum()):
                warnings.warn(QuietcrowdWarning("answers.older-kept", count=count), stacklevel=3)
            task_codes, worker_codes = task_codes[self.inside], worker_codes[self.inside]
            rows = np.flatnonzero(self.inside)
        order, tasks, workers = sort_rows(
            task_codes, worker_codes, len(self.tasks), len(self.workers)
        )
        keep = first_or_last(tasks, workers, duplicates)
        if rows is not None:
            order = rows[order]
        repeated = int(len(keep) - keep.sum())
        if repeated and duplicates == "error":
            second = int(np.argmin(keep))
            row, other = order[[second, second - 1]].tolist()
            ids = tuple(self.raw[name][row].as_py() for name in self.names[:2])
            raise answered_twice(self.names[:2], ids, (other, row), repeated, advice=advice)
        if repeated:
            order = order_by_time(self.frame, order, first_or_last(tasks, workers, "first"))[keep]
            tasks, workers = tasks[keep], workers[keep]
        return order, tasks, workers, repeated


def encoded_rows(
    frame: Any,
    names: tuple[str, str, str],
    lists: tuple[Iterable[Any] | None, Iterable[Any] | None],
    domain: Domain,
    intake: Intake | None,
    advice: AdviceName,
) -> EncodedRows:
    """Encode the columns of a frame; `lists` are all tasks and workers, if known."""
    others = (other for name in names for other in ALIASES.get(name, ()))
    native = as_frame(collected(frame, (*names, *others, *TIME_NAMES)))
    if names == tuple(ALIASES):
        native = with_usual_names(native)
    if advice != "reports":
        check_answers(native)
    raw = {name: column_of(native, name, ADVICE[advice].column) for name in names}
    if not len(native) and None in lists:
        raise AnswerError("answers.no-answer", advice=ADVICE[advice].empty)
    task, worker, label = names
    readers = (
        partial(_encode_ids, intake, raw[task], task, lists[0]),
        partial(_encode_ids, intake, raw[worker], worker, lists[1]),
        partial(_encode_labels, intake, raw[label], label, domain),
    )
    with ThreadPoolExecutor(len(readers)) as pool:  # Arrow and NumPy release the GIL
        reading: list[Any] = [one.result() for one in [pool.submit(one) for one in readers]]
    (task_codes, tasks), (worker_codes, workers), (labels, values, inside) = reading
    return EncodedRows(
        frame=native,
        names=names,
        raw=raw,
        labels=labels,
        task_codes=task_codes,
        tasks=tasks,
        worker_codes=worker_codes,
        workers=workers,
        values=values,
        inside=inside,
    )


def _encode_labels(
    intake: Intake | None, column: pa.ChunkedArray, name: str, domain: Domain
) -> tuple[pa.ChunkedArray, npt.NDArray[Any], npt.NDArray[np.bool_]]:
    if intake is not None:
        known = domain.labels if isinstance(domain, FiniteDomain) else ()
        texts_only = bool(known) and all(isinstance(one, str) for one in known)
        if pa.types.is_boolean(column.type) and texts_only:
            texts = column.cast(pa.string())  # "true" and "false"
            column = pc.utf8_capitalize(texts) if "True" in known else texts
        column = intake.labels(column, name, known)
    return column, *domain.encode(column)


def _encode_ids(
    intake: Intake | None, column: pa.ChunkedArray, name: str, known: Iterable[Any] | None
) -> tuple[npt.NDArray[np.int32], pa.Array]:
    listed = None if known is None else _listed_ids(known, name)
    if not len(column) and listed is not None:
        return np.zeros(0, np.int32), listed
    if intake is None:
        check_ids(column, name)
    else:
        column = intake.ids(column, name, listed)
    codes, ids = dictionary_codes(column)
    ids = ids.cast(plain_type(ids.type))
    if listed is None:
        return codes, ids
    positions = positions_by_text(ids, listed)
    if (positions < 0).any():
        stranger = int(np.argmin(positions))
        row = int(np.argmax(codes == stranger))
        raise AnswerError(
            "answers.id-not-in-list",
            row=row,
            name=name,
            value=ids[stranger].as_py(),
            count=len(listed),
        )
    return positions.astype(np.int32)[codes], listed


def _listed_ids(known: Iterable[Any], name: str) -> pa.Array:
    """Convert listed ids to an array with a type that is independent of private answers."""
    try:
        listed = pa.array(list(known))
    except (pa.ArrowException, OverflowError) as error:
        raise AnswerError("answers.ids-of-several-types", name=name, error=error) from None
    if len(listed) and not is_id_type(listed.type):
        raise AnswerError("answers.list-of-wrong-type", name=name, type=listed.type)
    listed = listed.cast(plain_type(listed.type))
    if len(listed.unique()) < len(listed) or listed.null_count:
        raise AnswerError("answers.list-not-unique", name=name)
    return listed
