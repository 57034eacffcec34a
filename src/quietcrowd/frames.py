"""Conversion of dataframes from and to PyArrow, and the order of rows of answers.

A frame of reports has a column `MECHANISM`, and a mark under the key `MARK`, in pandas' ``attrs``
or in the metadata of an Arrow schema; Polars has no place for it. The mark is a JSON object, as
text because pandas often copies and compares ``attrs``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from quietcrowd.exceptions import AnswerError, MissingExtraError, ParameterError

if TYPE_CHECKING:
    import narwhals as nw

Backend: TypeAlias = Literal["pandas", "polars", "pyarrow"]
Duplicates: TypeAlias = Literal["error", "first", "last"]

MARK = "quietcrowd"
"""Key of the description of the reports in a frame."""

MECHANISM = "mechanism"
"""Column of reports with the hash of the mechanism of each row: see `Mechanism.short_hash`."""

HASH = re.compile(r"qc-[0-9a-f]{16}(-simulated)?")
"""A cell of the column `MECHANISM`; letters first, so that no program reads it as a number."""

ALIASES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"task": ("taskId",), "worker": ("performer", "workerId"), "label": ("answer",)}
)
"""Other names of the columns of answers, as in crowd-kit."""

TRUTH_ALIASES = ("truth", "true_label", "agg_label")
"""Other names of the label in frames without workers, as in estimates and crowd-kit."""


def as_frame(data: Any) -> nw.DataFrame[Any]:
    """Return any dataframe as a Narwhals dataframe; collect a lazy one."""
    import narwhals as nw

    frame = _read(data)
    if isinstance(frame, nw.LazyFrame):
        frame = _collect(frame)
    if not isinstance(frame, nw.DataFrame):
        raise AnswerError("answers.not-a-frame", type_name=type(data).__name__)
    return frame


def collected(data: Any, columns: Sequence[str]) -> Any:
    """Collect the wanted columns of a lazy frame; return anything else unchanged.

    Polars' streaming engine keeps only these and a part of the rest in memory. Missing ones are
    ignored, and columns that may contain hashes of mechanisms are wanted, too.
    """
    import narwhals as nw

    frame = _read(data)
    if not isinstance(frame, nw.LazyFrame):
        return data
    there = frame.collect_schema().names()
    wanted = [name for name in columns if name in there]
    wanted += [name for name in there if MECHANISM in name.lower() and name not in wanted]
    return _collect(frame.select(wanted) if wanted else frame).to_native()


def _read(data: Any) -> Any:
    import narwhals as nw

    try:
        return nw.from_native(data, pass_through=True)
    except nw.exceptions.NarwhalsError as error:
        raise AnswerError("answers.frame-unreadable", reason=" ".join(str(error).split())) from None


def _collect(frame: nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
    import narwhals as nw

    streaming: dict[str, Any] = {"engine": "streaming"} if frame.implementation.is_polars() else {}
    try:
        return frame.collect(**streaming)
    except (pa.ArrowException, nw.exceptions.NarwhalsError) as error:
        raise AnswerError("answers.frame-unreadable", reason=" ".join(str(error).split())) from None


def with_usual_names(frame: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """Rename unambiguous `ALIASES`, and names in spaces, to the default names that are missing."""
    renamed = {}
    for name, others in ALIASES.items():
        meant = [one for one in frame.columns if one in others or one.strip() == name]
        if name not in frame.columns and len(meant) == 1:
            renamed[meant[0]] = name
    return frame.rename(renamed) if renamed else frame


def column_of(frame: nw.DataFrame[Any], name: str, way_out: str = "") -> pa.ChunkedArray:
    """Return a column as Arrow chunks, with NaN as missing; `way_out` is the remedy in errors."""
    import narwhals as nw
    import pyarrow.compute as pc

    if name not in frame.columns:
        raise AnswerError(
            "answers.column-missing",
            name=name,
            columns=", ".join(map(repr, frame.columns)),
            advice=_with_names(way_out, frame.columns),
        )
    try:
        column = frame[name]
        if frame.implementation.is_pandas():
            array = pa.array(column.to_native(), from_pandas=True)
        elif frame.implementation.is_pyarrow():
            array = column.to_native()
        else:
            array = column.to_arrow()
    except (pa.ArrowException, OverflowError, UnicodeError, nw.exceptions.NarwhalsError) as error:
        raise AnswerError(
            "answers.column-unreadable", name=name, reason=" ".join(str(error).split())
        ) from None
    chunks = array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])
    if pa.types.is_dictionary(chunks.type):  # it may have unused or repeated entries
        chunks = chunks.cast(chunks.type.value_type)
    if pa.types.is_floating(chunks.type):
        chunks = pc.if_else(chunks.is_nan(), None, chunks)
    return chunks


def _with_names(way_out: str, columns: Sequence[str]) -> str:
    """Insert the frame's names into a remedy, if they differ from the default only by case."""
    there = {column.lower(): column for column in columns}
    if not all(name in there for name in ALIASES):
        return way_out
    task, worker, label = (there[name] for name in ALIASES)
    named = f"task={task!r}, worker={worker!r}, label={label!r}"
    return (
        way_out.replace("TASK,WORKER,LABEL", f"{task},{worker},{label}")
        .replace("task=, worker= and label=", named)
        .replace("task=..., worker=..., label=...", named)
    )


def dictionary_codes(column: pa.ChunkedArray) -> tuple[npt.NDArray[np.int32], pa.Array]:
    """Return positions among the distinct values, and these; -1 if missing."""
    encoded = column.dictionary_encode()  # its chunks share one dictionary
    if not encoded.num_chunks:
        return np.zeros(0, np.int32), pa.array([], column.type)
    indices = [chunk.indices.cast(pa.int32()).fill_null(-1).to_numpy() for chunk in encoded.chunks]
    codes = indices[0] if len(indices) == 1 else np.concatenate(indices)
    return codes, encoded.chunk(encoded.num_chunks - 1).dictionary


def positions_by_text(values: pa.Array, among: pa.Array) -> npt.NDArray[np.intp]:
    """Return the position of each value in `among`, compared as text, or -1."""
    import pyarrow.compute as pc

    ids, others = _comparable(values, among)
    return pc.index_in(ids, others).fill_null(-1).to_numpy().astype(np.intp)  # type: ignore[no-any-return]


def _comparable(ids: pa.Array, others: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Convert ids of any two types so that ids with equal text are equal."""
    alike = ids.type == others.type and (
        pa.types.is_integer(ids.type) or pa.types.is_string(ids.type)
    )
    if alike:
        return ids, others
    return ids.cast(pa.large_string()), others.cast(pa.large_string())


def together(first: pa.Array, *others: pa.Array) -> pa.Array:
    """Concatenate ids in the type of the first, or as strings if that cannot hold all."""
    import pyarrow.compute as pc

    whole = all(pa.types.is_integer(ids.type) for ids in (first, *others))
    if whole or all(not len(ids) or ids.type == first.type for ids in others):
        with suppress(pa.ArrowInvalid):  # too large for that type
            return pa.concat_arrays([first, *(pc.cast(ids, first.type) for ids in others)])
    return pa.concat_arrays([pc.cast(ids, pa.string()) for ids in (first, *others)])


def backend_of(frame: Any) -> Backend:
    """Return the library of a dataframe; pandas for libraries that are not a `Backend`."""
    name = as_frame(frame).implementation.name.lower()
    return name if name in get_args(Backend) else "pandas"


def mark_of(data: Any) -> dict[str, Any] | None:
    """Return a dataframe's mark, with the keys of the note in a file of reports, or None."""
    frame = as_frame(data)
    if frame.implementation.is_pandas():
        return _read_mark(frame.to_native().attrs.get(MARK))
    if frame.implementation.is_pyarrow():
        return mark_in(frame.to_native().schema)
    return None


def holds_reports(data: Any) -> bool:
    """Return whether a dataframe has a column of hashes of mechanisms.

    Raises AnswerError if that column has another name, as after a merge, or the frame has a mark
    and no such column.
    """
    frame = as_frame(data)
    named = [name for name in frame.columns if MECHANISM in name.lower() and _has_hash(frame[name])]
    if MECHANISM in named:
        return True
    if named:
        raise AnswerError("answers.mechanism-column-renamed", name=named[0])
    if mark_of(frame) is not None:
        raise AnswerError("answers.mechanism-column-dropped")
    return False


def _has_hash(column: nw.Series[Any]) -> bool:
    return any(isinstance(one, str) and HASH.fullmatch(one) for one in column)


def check_answers(data: Any) -> None:
    """Raise AnswerError if a dataframe contains reports, which are no answers."""
    if holds_reports(data):
        raise AnswerError("answers.reports-not-answers")


def mark_in(schema: pa.Schema) -> dict[str, Any] | None:
    """Return the mark in an Arrow schema, or of the pandas frame from which it was made."""
    metadata = schema.metadata or {}
    if MARK.encode() in metadata:
        return _read_mark(metadata[MARK.encode()])
    try:
        return _read_mark(json.loads(metadata[b"pandas"])["attributes"][MARK])
    except (KeyError, TypeError, ValueError, RecursionError):
        return None


def _read_mark(text: Any) -> dict[str, Any] | None:
    try:
        mark = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None
    return mark if isinstance(mark, dict) and "mechanism" in mark else None


def unmarked(data: Any) -> Any:
    """Return a dataframe without its mark, which shares its columns."""
    if mark_of(data) is None:
        return data
    native = as_frame(data).to_native()
    if isinstance(native, pa.Table):
        return native.replace_schema_metadata()
    bare = native.copy(deep=False)
    bare.attrs = {}
    return bare


def to_native(columns: Mapping[str, pa.Array], backend: Backend, mark: str | None = None) -> Any:
    """Return a dataframe of the given library, with a mark unless that is Polars."""
    table = pa.table(dict(columns))
    match backend:
        case "pyarrow":
            return table if mark is None else table.replace_schema_metadata({MARK: mark})
        case "pandas":
            frame = table.to_pandas()
            for name, column in zip(table.column_names, table.columns, strict=True):
                if pa.types.is_integer(column.type) and column.null_count:  # else made floats
                    frame[name] = column.to_pandas(integer_object_nulls=True)
            if mark is not None:
                frame.attrs[MARK] = mark
            return frame
        case "polars":
            try:
                import polars as pl
            except ImportError:
                raise MissingExtraError("answers.polars-missing") from None
            return pl.from_arrow(table)
    raise ParameterError(
        "answers.backend-unknown", other_backend=", ".join(get_args(Backend)), backend=backend
    )


def offsets_of(sorted_tasks: npt.NDArray[np.int32], tasks: int) -> npt.NDArray[np.int64]:
    """Return the offsets of each task's rows, shape (tasks + 1,)."""
    return np.concatenate([[0], np.cumsum(np.bincount(sorted_tasks, minlength=tasks))])


def sort_rows(
    task_codes: npt.NDArray[np.int32], worker_codes: npt.NDArray[np.int32], tasks: int, workers: int
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the order of rows by task, worker and original position, and both sorted codes.

    They are packed into a 64-bit integer if they fit: an in-place sort is twice as fast.
    """
    row_bits, worker_bits, task_bits = (
        (size - 1).bit_length() for size in (len(task_codes), workers, tasks)
    )
    if row_bits + worker_bits + task_bits > 64:
        order = np.lexsort((worker_codes, task_codes))
        return order, task_codes[order], worker_codes[order]
    keys = task_codes.astype(np.uint64)
    keys <<= np.uint64(worker_bits)
    keys |= worker_codes.astype(np.uint64)
    keys <<= np.uint64(row_bits)
    keys |= np.arange(len(keys), dtype=np.uint64)
    keys.sort()
    order = (keys & np.uint64((1 << row_bits) - 1)).astype(np.intp)
    keys >>= np.uint64(row_bits)
    sorted_workers = (keys & np.uint64((1 << worker_bits) - 1)).astype(np.int32)
    keys >>= np.uint64(worker_bits)
    return order, keys.astype(np.int32), sorted_workers


def first_or_last(
    task_codes: npt.NDArray[np.int32], worker_codes: npt.NDArray[np.int32], duplicates: Duplicates
) -> npt.NDArray[np.bool_]:
    """Return a mask of sorted rows without repeated (task, worker) pairs."""
    again = (task_codes[1:] == task_codes[:-1]) & (worker_codes[1:] == worker_codes[:-1])
    edge = np.array([True])
    return np.concatenate([~again, edge] if duplicates == "last" else [edge, ~again])
