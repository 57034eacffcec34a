"""Reading of rows into a store: encode workers and labels, and spill rows by partition."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from quietcrowd.answer_errors import check_ids, outside_domain, plain_type
from quietcrowd.domains import Domain
from quietcrowd.exceptions import AnswerError
from quietcrowd.frames import dictionary_codes
from quietcrowd.inference.partition import hash_ids
from quietcrowd.scale.sources import Rows, Source
from quietcrowd.scale.store import partition_places
from quietcrowd.scale.worker_list import WorkerList

__all__ = [
    "SKIPPED",
    "Reader",
    "Spill",
]

SKIPPED = -1
"""Worker code of a skipped row; its task still counts."""


class Reader:
    """Encoder of rows, which it adds to a spill.

    `skip` drops rows with a missing answer or one outside the domain. `rows` and `skipped` count
    read and dropped rows.
    """

    def __init__(self, source: Source, spill: Spill, *, skip: bool) -> None:
        self.source, self.spill, self.skip = source, spill, skip
        self._workers = WorkerList()
        self.rows = self.skipped = 0

    def take_workers(self) -> pa.Array:
        """Return the ids of all workers in the order of their first row, and release them."""
        ids = self._workers.ids()
        self._workers = WorkerList()
        return ids

    def read(self, rows: Rows) -> None:
        """Encode and spill rows.

        Raises AnswerError if an id is missing or, unless `skip`, an answer is missing or outside
        the domain.
        """
        task, worker = rows.columns["task"], rows.columns["worker"]
        try:
            check_ids(task, self.source.names[0], rows.first)
            check_ids(worker, self.source.names[1], rows.first)
            columns, inside = self._values(rows)
        except AnswerError as error:
            raise AnswerError(f"{rows.path}: {error}") from None
        codes = np.where(inside, self._codes(worker), np.int32(SKIPPED))
        self.rows += len(rows)
        self.skipped += len(rows) - int(inside.sum())
        table = pa.table({"task": task.combine_chunks(), "worker_code": codes, **columns})
        self.spill.add(
            table, partition_places(hash_ids(table["task"].chunk(0)), self.spill.partitions)
        )

    def _values(self, rows: Rows) -> tuple[dict[str, pa.Array], npt.NDArray[np.bool_]]:
        """Return encoded columns, and a mask of rows inside the domain."""
        source = self.source
        domains: dict[str, Domain] = {"label": source.domain}
        if source.mechanism is not None and source.mechanism.participation_domain is not None:
            domains["participation"] = source.mechanism.participation_domain
        columns, inside = {}, np.ones(len(rows), np.bool_)
        for name, domain in domains.items():
            column = rows.columns[name]
            values, possible = domain.encode(column)
            if not (possible.all() or self.skip):
                raise outside_domain(
                    column,
                    source.names[2] if name == "label" else name,
                    int(np.argmin(possible)),
                    domain,
                    advice="partition" if source.mechanism is None else "reports",
                    first=rows.first,
                )
            columns[name] = pa.array(values)
            inside &= possible
        return columns, inside

    def _codes(self, column: pa.ChunkedArray) -> npt.NDArray[np.int32]:
        """Return the worker code of each row; new workers get new codes."""
        codes, ids = dictionary_codes(column)
        places = self._workers.codes(pc.cast(ids, plain_type(ids.type)))
        rows: npt.NDArray[np.int32] = places[codes]
        return rows


class Spill:
    """Files of rows by partition, in a new directory."""

    def __init__(self, folder: Path, partitions: int) -> None:
        folder.mkdir()
        self.folder = folder
        self.partitions = partitions
        self.schema = pa.schema([])

    def add(self, table: pa.Table, places: npt.NDArray[np.uint16]) -> None:
        """Append each row to its partition `places`, shape (rows,), in order."""
        self.schema = table.schema
        order = np.argsort(places, kind="stable")
        ends = np.cumsum(np.bincount(places, minlength=self.partitions)).tolist()
        sorted_table = table.take(pa.array(order)).combine_chunks()
        for index, (begin, end) in enumerate(zip([0, *ends], ends, strict=False)):
            if begin < end:
                self._append(index, sorted_table.slice(begin, end - begin))

    def _append(self, index: int, table: pa.Table) -> None:
        with self._path(index).open("ab") as file, pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table)

    def take(self, index: int) -> pa.Table:
        """Return the rows of a partition and delete its file."""
        path = self._path(index)
        if not path.exists():
            return self.schema.empty_table()
        tables = []
        with pa.OSFile(str(path), "rb") as file:
            size = file.size()
            while file.tell() < size:
                tables.append(pa.ipc.open_stream(file).read_all())
        path.unlink()
        return pa.concat_tables(tables)

    def _path(self, index: int) -> Path:
        return self.folder / f"{index:05d}.arrows"
