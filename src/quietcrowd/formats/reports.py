"""Files of reports, which include their mechanism."""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from quietcrowd.exceptions import (
    AnswerError,
    DroppedRowsWarning,
    FormatError,
    MissingMechanismError,
    ParameterError,
)
from quietcrowd.formats.answers import holds_comparisons, names_mechanisms
from quietcrowd.formats.kinds import find_format
from quietcrowd.formats.registry import read_names, read_note, read_table, write_table
from quietcrowd.frames import MECHANISM, as_frame, dictionary_codes
from quietcrowd.mechanisms.mechanism import Mechanism, Reports
from quietcrowd.mechanisms.report_frames import (
    ROUND,
    Part,
    check_one_round,
    distinct_rounds,
    known_hashes,
    mechanisms_by_hash,
    read_parts,
)
from quietcrowd.mechanisms.sent_again import MARKS, Marks
from quietcrowd.validation import one_line

RANDOMISED = (
    "These labels are randomised: do not take them for answers, and do not majority-vote them "
    "without correction."
)
"""The warning in every file of reports."""


@frozen(kw_only=True, eq=False)
class ReportNote:
    """The note of a file of reports.

    `tasks` and `workers` are ids without a row. `copies` maps each copy of a question, for which a
    worker sends only one report, to the question's first task. In a campaign in rounds, losses are
    stated for `window` rounds in a row, and the rounds of a worker are `apart`; 0 if unknown.
    """

    path: Path
    mechanism: Mechanism
    simulated: bool
    tasks: tuple[Any, ...]
    workers: tuple[Any, ...]
    copies: Mapping[str, str]
    window: int = 0
    apart: int = 0

    @property
    def listed(self) -> Sequence[Any]:
        """The tasks, without copies of others."""
        return [task for task in self.tasks if self.copies.get(task, task) == task]


def read_reports(
    path: str | Path,
    *more: str | Path,
    file_format: str | None = None,
    round: int | None = None,  # noqa: A002
) -> Reports:
    """Read reports and their mechanism from one file or several, such as one per device.

    Each report counts once. Copies of a question in a campaign become one task. Reports that were
    sent again are dropped from files of several campaigns. `join_reports` joins reports of several
    mechanisms.

    Parameters
    ----------
    path, *more : str or Path
        Files by `write_reports`.
    file_format : str, optional
        Format of all files; see `read_answers`.
    round : int, optional
        Round of a campaign in rounds. Required if a file has several. Of rounds that were shown
        together, the last report of a worker on a task counts.

    Returns
    -------
    Reports
        Simulated if a file is.

    Raises
    ------
    MissingMechanismError
        If the mechanism is missing, because noise must not be mistaken for answers.
    FormatError
        If a file or its mechanism cannot be read, or has no report of the round.
    AnswerError
        If the mechanism cannot produce a report, a worker has two reports on a task, all reports
        were sent again and belong to several campaigns, or they are of several rounds.
    ParameterError
        If reports of several mechanisms cannot be joined.
    OSError
        If a file cannot be opened.

    Warns
    -----
    DroppedRowsWarning
        If reports are dropped, or tasks are merged.
    """
    return read_round([Path(place) for place in (path, *more)], round, file_format=file_format)


def read_round(
    paths: Sequence[Path], number: int | None, *, earlier: int = 0, file_format: str | None = None
) -> Reports:
    """Return reports as `read_reports`; with `earlier`, those with so many later ones in the round.

    Reports of a worker on one task have the same round if their rounds were shown together.
    """
    notes = [read_report_note(path, file_format) for path in paths]
    names = ", ".join(str(note.path) for note in notes)
    try:
        which = number, earlier
        rows = [part for note in notes for part in _rows_of(note, file_format, *which)]
        parts: list[Part] = []
        for mechanism in dict.fromkeys(one for one, _, _ in rows):
            own = [(note, table) for one, note, table in rows if one == mechanism]
            _check_tasks(mechanism, [note for note, _ in own])
            table = _joined([table for _, table in own])
            tasks = _all_ids(table, "task", [task for note, _ in own for task in note.listed])
            workers = _all_ids(table, "worker", [one for note, _ in own for one in note.workers])
            parts.append((mechanism, table, tasks, workers))
        simulated = any(note.simulated for note in notes)
        return read_parts(parts, [note.mechanism for note in notes], simulated=simulated)
    except AnswerError as error:
        raise AnswerError("formats.in-file", path=names, error=error) from None
    except pa.ArrowException as error:
        raise FormatError("formats.ids-incompatible", names=names, reason=one_line(error)) from None


def rounds_in(note: ReportNote) -> dict[int, int]:
    """Return the rounds of a file, and the most reports of a worker on a task in each.

    It is empty if the campaign has no rounds.
    """
    if ROUND not in (read_names(note.path) or ()):
        return {}
    table = read_table(note.path, (ROUND, "task", "worker"))
    if not note.window:
        return dict.fromkeys(map(int, distinct_rounds(table[ROUND])), 1)
    found = {}
    for text in distinct_rounds(table[ROUND]):
        later = _later_reports(table.filter(pc.equal(table[ROUND].cast(pa.string()), text)))
        found[int(text)] = 1 + int(later.max(initial=0))
    return found


def _rows_of(
    note: ReportNote, file_format: str | None, number: int | None, earlier: int
) -> Iterator[tuple[Mechanism, ReportNote, pa.Table]]:
    """Yield the rows of each mechanism of a file, which its column of mechanisms confirms."""
    known = mechanisms_by_hash([note.mechanism])
    table = _read_columns(note, file_format, number, earlier)
    if len(known) == 1 and not (MECHANISM in table.column_names and len(table)):
        yield note.mechanism, note, table.drop_columns([*{MECHANISM} & {*table.column_names}])
        return
    found = known_hashes(as_frame(table), known)
    for mechanism, texts in found.items():
        rows = table
        if len(found) > 1:
            rows = table.filter(pc.is_in(table[MECHANISM], pa.array(texts)))
        yield mechanism, note, rows.drop_columns([MECHANISM])


def _check_tasks(mechanism: Mechanism, notes: Sequence[ReportNote]) -> None:
    for note in notes:
        if "task" not in mechanism.columns and set(note.tasks) != set(notes[0].tasks):
            raise FormatError("formats.tasks-differ", path=note.path, other_path=notes[0].path)


def read_report_note(path: Path, file_format: str | None = None) -> ReportNote:
    """Return the note of a file of reports; errors as in `read_reports`."""
    note = read_note(path, file_format)
    if note is None or "mechanism" not in note:
        if names_mechanisms(path, file_format):
            raise MissingMechanismError("formats.mechanism-missing-of-rows", path=path)
        if holds_comparisons(path, file_format):
            raise MissingMechanismError("formats.mechanism-missing-of-comparisons", path=path)
        raise MissingMechanismError("formats.mechanism-missing", path=path)
    simulated = note.get("simulated", False)
    if not isinstance(simulated, bool):
        raise FormatError("formats.simulated-not-boolean", path=path, simulated=simulated)
    try:
        mechanism = Mechanism.from_dict(note["mechanism"])
    except FormatError as error:
        raise FormatError("formats.in-file", path=path, error=error) from None
    tasks = _noted_ids(path, note, "tasks")
    if "task" not in mechanism.columns and not tasks:
        raise FormatError("formats.task-list-missing", path=path)
    return ReportNote(
        path=path,
        mechanism=mechanism,
        simulated=simulated,
        tasks=tasks,
        workers=_noted_ids(path, note, "workers"),
        copies=_noted_copies(path, note),
        **_noted_rounds(path, note),
    )


def _read_columns(
    note: ReportNote, file_format: str | None, number: int | None, earlier: int
) -> pa.Table:
    wanted = note.mechanism.columns
    there = read_names(note.path, file_format) or ()
    marks = [name for name in MARKS if name in there and "task" in wanted]
    if number is not None and ROUND not in there:
        raise AnswerError("formats.column-missing", path=note.path, missing=ROUND)
    names = (*wanted, *marks, *(name for name in (ROUND, MECHANISM) if name in there))
    table = read_table(note.path, names, file_format=file_format)
    missing = [name for name in names if name not in table.column_names]
    if missing:
        raise AnswerError("formats.column-missing", path=note.path, missing=missing[0])
    table = table.select(names)
    if ROUND in names:
        table = _of_round(note, table, number, earlier)
    if note.copies and len(table):
        warnings.warn(
            DroppedRowsWarning(
                "formats.copies-merged",
                path=note.path,
                count=len(note.copies),
                total=len(set(note.copies.values())),
            ),
            stacklevel=4,
        )
        table = merge_copies(table, note.copies)
        table = table.set_column(0, "task", table["task"].cast(pa.string()))
    return table


def _of_round(note: ReportNote, table: pa.Table, number: int | None, earlier: int) -> pa.Table:
    """Return the rows of a round, of the only one by default, that have `earlier` later ones."""
    found = table
    if number is None:
        check_one_round(table[ROUND])
    else:
        found = table.filter(pc.equal(table[ROUND].cast(pa.string()), str(number)))
    if not len(found) and number is not None:
        known = ", ".join(distinct_rounds(table[ROUND]))
        raise FormatError("formats.round-missing", path=note.path, number=number, known=known)
    if note.window:
        found = found.filter(pa.array(_later_reports(found) == earlier))
    return found.drop_columns([ROUND])


def _later_reports(table: pa.Table) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return how many later rows each row's worker has on its task."""
    tasks, workers = (dictionary_codes(table[name])[0] for name in ("task", "worker"))
    cells = tasks.astype(np.int64) * (int(workers.max(initial=0)) + 1) + workers
    order = np.argsort(cells, kind="stable")
    _, first, counts = np.unique(cells[order], return_index=True, return_counts=True)
    later = np.empty(len(cells), np.int64)
    later[order] = np.repeat(first + counts, counts) - 1 - np.arange(len(cells))
    return later


def merge_copies(columns: pa.Table, copies: Mapping[str, str]) -> pa.Table:
    """Return reports in which copies of a question are one task, with one row per worker."""
    tasks, names = dictionary_codes(columns["task"])
    workers, people = dictionary_codes(columns["worker"])
    first = pa.array([copies.get(name, name) for name in names.to_pylist()]).dictionary_encode()
    questions = first.indices.to_numpy()[tasks]
    cells = questions.astype(np.int64) * len(people) + workers
    marks = Marks.of(columns)
    order = np.arange(len(cells)) if marks is None else np.argsort(~marks.again, kind="stable")
    last = len(cells) - 1 - np.unique(cells[order][::-1], return_index=True)[1]
    renamed = pa.DictionaryArray.from_arrays(questions, first.dictionary)
    return columns.set_column(0, "task", renamed).take(pa.array(np.sort(order[last])))


def _noted_copies(path: Path, note: dict[str, Any]) -> dict[str, str]:
    copies = note.get("copies", {})
    if not isinstance(copies, dict) or not all(isinstance(one, str) for one in copies.values()):
        raise FormatError("formats.copies-invalid", path=path, copies=copies)
    return copies


def _noted_rounds(path: Path, note: dict[str, Any]) -> dict[str, int]:
    rounds: Any = note.get("rounds", {})
    valid = isinstance(rounds, dict) and rounds.keys() in (set(), {"window", "apart"})
    if not valid or any(type(one) is not int or one < 1 for one in rounds.values()):
        raise FormatError("formats.rounds-invalid", path=path, rounds=rounds)
    return dict(rounds)


def _noted_ids(path: Path, note: dict[str, Any], name: str) -> tuple[Any, ...]:
    ids = note.get(name, [])
    kinds = {type(one) for one in ids} if isinstance(ids, list) else {None}
    if kinds not in (set(), {str}, {int}) or len(set(ids)) < len(ids):
        raise FormatError("formats.ids-invalid", path=path, name=name, ids=ids)
    return tuple(ids)


def _joined(tables: Sequence[pa.Table]) -> pa.Table:
    columns = {}
    for name in dict.fromkeys(name for table in tables for name in table.column_names):
        chunks = [
            table[name] if name in table.column_names else pa.chunked_array([pa.nulls(len(table))])
            for table in tables
        ]
        if len({chunk.type for chunk in chunks}) > 1:
            chunks = [pc.cast(chunk, pa.large_string()) for chunk in chunks]
        columns[name] = pa.chunked_array([part for chunk in chunks for part in chunk.chunks])
    return pa.table(columns)


def _all_ids(table: pa.Table, name: str, noted: Iterable[Any]) -> pa.Array:
    named = pc.unique(table[name]).drop_null() if name in table.column_names else pa.nulls(0)
    return listed_ids(named, noted)


def listed_ids(named: pa.Array, noted: Iterable[Any]) -> pa.Array:
    """Return the unique ids of rows and notes, sorted."""
    if len(named):
        silent = [str(one) for one in noted]
        ids = pa.concat_arrays([named, pc.cast(pa.array(silent, pa.string()), named.type)])
    else:
        ids = pa.array(list(dict.fromkeys(noted)))
    return pc.unique(ids.take(pc.sort_indices(ids)))


def report_note(
    mechanism: Mechanism,
    *,
    simulated: bool,
    tasks: Sequence[Any] = (),
    workers: Sequence[Any] = (),
    copies: Mapping[str, str] | None = None,
    rounds: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Return the JSON-ready note of a file of reports; parameters as in `ReportNote`."""
    note = {"mechanism": mechanism.to_dict(), "simulated": simulated, "warning": RANDOMISED}
    silent = {"tasks": list(tasks), "workers": list(workers)}
    named = {name: ids for name, ids in silent.items() if ids}
    some = {"copies": copies, "rounds": rounds}
    return note | named | {name: dict(given) for name, given in some.items() if given}


def write_reports(reports: Reports, path: str | Path, *, file_format: str | None = None) -> None:
    """Write reports and their mechanism to a file; replace an existing file.

    The note goes into the metadata of a Parquet file, the first line of a JSON Lines file, or
    ``NAME.mechanism.json`` next to any other file. It contains the mechanism, the ids of tasks and
    workers without a row, and a warning that the labels are randomized.

    Parameters
    ----------
    reports : Reports
        The reports.
    path : str or Path
        See `write_table`.
    file_format : str, optional
        See `write_table`. Files of platforms can only contain one label per report.

    Raises
    ------
    ParameterError
        If the format cannot contain such reports, or does not match the suffix.
    FormatError, FileNotFoundError
        See `write_table`.
    """
    frame, table = reports.to_frame("pyarrow"), reports.table
    kind = find_format(Path(path), file_format)
    if kind.platform:  # their columns are fixed
        if len(reports.mechanisms) > 1:
            raise ParameterError("formats.mixture-not-written", path=path, name=kind.title)
        frame = frame.drop_columns([MECHANISM])
    note = report_note(
        reports.mechanism,
        simulated=reports.simulated,
        tasks=_unnamed(table.tasks, frame, "task"),
        workers=_unnamed(table.workers, frame, "worker"),
    )
    write_table(frame, path, note, file_format=file_format)


def _unnamed(ids: pa.Array, frame: pa.Table, name: str) -> list[Any]:
    if name in frame.column_names:
        ids = ids.filter(pc.invert(pc.is_in(ids, pc.unique(frame[name]))))
    if not (pa.types.is_integer(ids.type) or pa.types.is_string(ids.type)):
        ids = pc.cast(ids, pa.string())
    return ids.to_pylist()  # type: ignore[no-any-return]
