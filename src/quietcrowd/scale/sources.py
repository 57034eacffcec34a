"""Parquet files of answers or reports, read in batches of rows."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from attrs import frozen

from quietcrowd.answer_errors import outside_domain, plain_type
from quietcrowd.domains import Domain, FiniteDomain
from quietcrowd.exceptions import AnswerError, FormatError
from quietcrowd.formats.answers import names_mechanisms
from quietcrowd.formats.columns import check_once
from quietcrowd.formats.registry import read_note
from quietcrowd.formats.reports import ReportNote, read_report_note
from quietcrowd.frames import MECHANISM, as_frame, column_of
from quietcrowd.intake import Intake, decoded
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.mechanisms.mixture import Mixture
from quietcrowd.mechanisms.report_frames import (
    ROUND,
    check_one_round,
    known_hashes,
    mechanisms_by_hash,
)
from quietcrowd.mechanisms.sent_again import Marks
from quietcrowd.validation import one_line

ROWS_AT_ONCE = 2**17
"""Rows per batch."""


@frozen(kw_only=True, eq=False)
class Rows:
    """Consecutive rows of a file; `first` is the index of the first one in it."""

    path: Path
    first: int
    columns: dict[str, pa.ChunkedArray]

    def __len__(self) -> int:
        return len(self.columns["task"])


@frozen(kw_only=True, eq=False)
class Source:
    """Parquet files that are read as one.

    `names` are the columns of tasks, workers, labels and, if they exist, participation bits.
    `tasks` and `workers` are ids without a row. `described` are the mechanisms of each file.
    """

    paths: tuple[Path, ...]
    names: tuple[str, ...]
    domain: Domain
    mechanism: Mechanism | None = None
    simulated: bool = False
    tasks: tuple[Any, ...] = ()
    workers: tuple[Any, ...] = ()
    described: tuple[Mapping[str, Mechanism], ...] = ()

    @classmethod
    def of_answers(
        cls, paths: Sequence[Path], domain: Domain, names: tuple[str, str, str]
    ) -> "Source":
        """Make a source of non-private answers; raise FormatError for other files."""
        for path in paths:
            _check_suffix(path)
            note = read_note(path)
            if (note is not None and "mechanism" in note) or names_mechanisms(path):
                raise FormatError("scale.reports-take-no-domain", path=path)
        return cls(paths=tuple(paths), names=names, domain=domain)

    @classmethod
    def of_reports(cls, paths: Sequence[Path]) -> "Source":
        """Make a source of reports; errors as in `quietcrowd.read_reports`."""
        for path in paths:
            _check_suffix(path)
        notes = [read_report_note(path) for path in paths]
        described = tuple(mechanisms_by_hash([note.mechanism]) for note in notes)
        mechanism = notes[0].mechanism
        if any(note.mechanism != mechanism for note in notes):
            mechanism = Mixture.of(one for known in described for one in known.values())
        if "task" not in mechanism.columns:
            raise FormatError("scale.sketches-not-partitioned", path=paths[0], name=mechanism.name)
        if mechanism.options is not None:
            raise FormatError("scale.options-not-partitioned", path=paths[0])
        for note in notes:
            _check_counted(note, alone=len(notes) == 1)
            if ROUND in _open(note.path).schema_arrow.names:
                check_one_round(pa.chunked_array(_columns_of(note.path, ROUND)))
        return cls(
            paths=tuple(paths),
            names=mechanism.columns,
            domain=mechanism.report_domain,
            mechanism=mechanism,
            simulated=any(note.simulated for note in notes),
            tasks=tuple(task for note in notes for task in note.tasks),
            workers=tuple(worker for note in notes for worker in note.workers),
            described=described,
        )

    def __len__(self) -> int:
        return sum(_open(path).metadata.num_rows for path in self.paths)

    def rows(self) -> Iterator[Rows]:
        """Yield all rows, file by file; ids become text if the files have different types."""
        schemas = [self._schema(path) for path in self.paths]
        kinds = [
            _common_kind([schema.field(name).type for schema in schemas]) for name in self.names[:2]
        ]
        intake = None if self.mechanism is not None else Intake()
        nothing: tuple[Mapping[str, Mechanism], ...] = ({},) * len(self.paths)
        for path, schema, known in zip(self.paths, schemas, self.described or nothing, strict=True):
            first = 0
            named = [MECHANISM] if known and MECHANISM in schema.names else []
            for table in _tables(path, (*self.names, *named)):
                columns = self._columns(path, table, kinds, intake, known, first)
                yield Rows(path=path, first=first, columns=columns)
                first += len(table)
        if intake is not None:
            intake.warn()

    def _schema(self, path: Path) -> pa.Schema:
        schema = _open(path).schema_arrow
        missing = [name for name in self.names if name not in schema.names]
        if missing:
            raise AnswerError(
                "scale.column-missing",
                path=path,
                missing=missing[0],
                names=", ".join(map(repr, schema.names)),
            )
        check_once(path, schema.names, self.names)
        return schema

    def _columns(
        self,
        path: Path,
        table: pa.Table,
        kinds: Sequence[pa.DataType],
        intake: Intake | None,
        mechanisms: Mapping[str, Mechanism],
        first: int,
    ) -> dict[str, pa.ChunkedArray]:
        frame = as_frame(table)
        try:
            columns = [column_of(frame, name) for name in self.names]
            if intake is not None:
                known = self.domain.labels if isinstance(self.domain, FiniteDomain) else ()
                columns = [
                    *(
                        decoded(intake.ids(column, name, first=first))
                        for column, name in zip(columns[:2], self.names, strict=False)
                    ),
                    intake.encoded(columns[2], self.names[2], known, first=first),
                ]
            columns[:2] = [
                pc.cast(column, kind) for column, kind in zip(columns, kinds, strict=False)
            ]
            if mechanisms:
                columns[2] = self._stored(table, columns[2], mechanisms, first)
        except AnswerError as error:
            raise AnswerError("formats.in-file", path=path, error=error) from None
        except pa.ArrowException as error:
            raise FormatError(
                "formats.ids-incompatible", names=path, reason=one_line(error)
            ) from None
        return dict(zip(("task", "worker", "label", "participation"), columns, strict=False))

    def _stored(
        self,
        table: pa.Table,
        labels: pa.ChunkedArray,
        known: Mapping[str, Mechanism],
        first: int,
    ) -> pa.ChunkedArray:
        """Check the mechanisms that rows name; return reports as the domain encodes them."""
        if MECHANISM in table.column_names:
            found = known_hashes(as_frame(table), known)
            rows = {one: pc.is_in(table[MECHANISM], pa.array(found[one])) for one in found}
        elif len(known) == 1:
            rows = {one: pa.repeat(True, len(table)) for one in known.values()}
        else:
            raise AnswerError("mechanisms.hashes-missing")
        mixture = self.mechanism
        if not isinstance(mixture, Mixture):
            return labels
        stored = np.empty(len(labels), np.int64)
        for one, mine in rows.items():
            codes, inside = one.report_domain.encode(labels.filter(mine))
            places = np.flatnonzero(mine.to_numpy(zero_copy_only=False))
            if not inside.all():
                row = int(places[np.argmin(inside)])
                raise outside_domain(
                    labels, "label", row, one.report_domain, advice="reports", first=first
                )
            stored[places] = mixture.report_domain.values_of(mixture.parts.index(one), codes)
        return pa.chunked_array([pa.array(stored)])


def _check_counted(note: ReportNote, *, alone: bool) -> None:
    """Raise FormatError if a store would count a report twice."""
    reason = None
    if note.copies:
        reason = "some tasks are copies of each other, for which a worker sends one report"
    elif not alone and _holds_marks(note.path):
        reason = "some reports were sent again, and their originals may be in the other files"
    if reason is not None:
        raise FormatError("scale.repeated-reports", path=note.path, reason=reason)


def _columns_of(path: Path, name: str) -> Iterator[pa.Array]:
    for table in _tables(path, (name,)):
        yield from table[name].chunks


def _holds_marks(path: Path) -> bool:
    if "again" not in _open(path).schema_arrow.names:
        return False
    return any(Marks.of(table) for table in _tables(path, ("task", "again")))


def _common_kind(kinds: Sequence[pa.DataType]) -> pa.DataType:
    plain = {
        plain_type(kind.value_type if pa.types.is_dictionary(kind) else kind) for kind in kinds
    }
    return plain.pop() if len(plain) == 1 else pa.string()


def _check_suffix(path: Path) -> None:
    if not path.name.lower().endswith(".parquet"):
        stem = path.name.removesuffix(".gz").rpartition(".")[0] or path.name
        raise FormatError("scale.not-parquet", path=path, target=path.with_name(f"{stem}.parquet"))


def _open(path: Path) -> pq.ParquetFile:
    with path.open("rb"):
        pass  # later errors are about the content
    try:
        return pq.ParquetFile(path, buffer_size=2**20, pre_buffer=False)
    except (pa.ArrowException, OSError) as error:
        raise FormatError("scale.parquet-unreadable", path=path, reason=one_line(error)) from None


def _tables(path: Path, names: Sequence[str]) -> Iterator[pa.Table]:
    file = _open(path)
    try:
        # More threads need more memory, and the following steps are slower anyway.
        for batch in file.iter_batches(ROWS_AT_ONCE, columns=list(names), use_threads=False):
            yield pa.table(batch)
    except (pa.ArrowException, OSError) as error:
        raise FormatError("scale.parquet-unreadable", path=path, reason=one_line(error)) from None
