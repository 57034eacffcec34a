"""Reading of rows into a store: encode workers and labels, and spill rows by partition."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from quietcrowd.answer_errors import outside_domain, plain_type
from quietcrowd.domains import Domain
from quietcrowd.exceptions import AnswerError
from quietcrowd.frames import dictionary_codes
from quietcrowd.inference.partition import hash_ids
from quietcrowd.intake import check_ids
from quietcrowd.scale.sources import Rows, Source
from quietcrowd.scale.store import partition_places

SKIPPED = -1
"""Worker code of a skipped row; its task still counts."""


class Reader:
    """Encoder of rows, which it adds to a spill; `skip` drops invalid answers."""

    def __init__(self, source: Source, spill: "Spill", *, skip: bool) -> None:
        self.source, self.spill, self.skip = source, spill, skip
        self._workers = Workers()
        self.rows = self.skipped = 0

    def take_workers(self) -> pa.Array:
        """Return the ids of all workers in the order of their first row, and release them."""
        ids = self._workers.ids()
        self._workers = Workers()
        return ids

    def read(self, rows: Rows) -> None:
        """Encode and spill rows; raise AnswerError if an id is missing, or an answer is invalid."""
        task, worker = rows.columns["task"], rows.columns["worker"]
        try:
            check_ids(task, self.source.names[0], rows.first)
            check_ids(worker, self.source.names[1], rows.first)
            columns, inside = self._values(rows)
        except AnswerError as error:
            raise AnswerError("formats.in-file", path=rows.path, error=error) from None
        codes = np.where(inside, self._codes(worker), np.int32(SKIPPED))
        self.rows += len(rows)
        self.skipped += len(rows) - int(inside.sum())
        table = pa.table({"task": task.combine_chunks(), "worker_code": codes, **columns})
        self.spill.add(
            table, partition_places(hash_ids(table["task"].chunk(0)), self.spill.partitions)
        )

    def _values(self, rows: Rows) -> tuple[dict[str, pa.Array], npt.NDArray[np.bool_]]:
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
        codes, ids = dictionary_codes(column)
        places = self._workers.codes(pc.cast(ids, plain_type(ids.type)))
        rows: npt.NDArray[np.int32] = places[codes]
        return rows


class Workers:
    """A growing list of ids; the position of an id is its code.

    Rebuilding a lookup table for every batch would be slower and take more memory than the ids.
    """

    def __init__(self) -> None:
        self._parts: list[pa.Array] = []
        self._count = 0
        self._hashes = np.zeros(0, np.uint64)
        self._codes = np.zeros(0, np.int32)

    def ids(self) -> pa.Array:
        """Return all ids."""
        if len(self._parts) != 1:
            self._parts = [pa.concat_arrays(self._parts) if self._parts else pa.nulls(0)]
        return self._parts[0]

    def codes(self, ids: pa.Array) -> npt.NDArray[np.int32]:
        """Return the codes of unique ids; new ids get new codes."""
        hashes = hash_ids(ids)
        found = self._look_up(ids, hashes)
        new = np.flatnonzero(found < 0)
        found[new] = self._count + np.arange(len(new), dtype=np.int32)
        self._add(ids.take(pa.array(new)), hashes[new], found[new])
        return found

    def _look_up(self, ids: pa.Array, hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.int32]:
        codes = np.full(len(ids), -1, np.int32)
        if not self._count:
            return codes
        places = np.minimum(np.searchsorted(self._hashes, hashes), self._count - 1)
        likely = np.flatnonzero(self._hashes[places] == hashes)
        if not len(likely):
            return codes
        codes[likely] = self._codes[places[likely]]
        known = pa.chunked_array(self._parts).take(pa.array(codes[likely]))
        if pc.all(pc.equal(known, ids.take(pa.array(likely)))).as_py():
            return codes
        table = self.ids()  # two ids collide
        return pc.index_in(ids, table).fill_null(-1).to_numpy().astype(np.int32)  # type: ignore[no-any-return]

    def _add(
        self, ids: pa.Array, hashes: npt.NDArray[np.uint64], codes: npt.NDArray[np.int32]
    ) -> None:
        if not len(ids):
            return
        self._parts.append(ids)
        self._count += len(ids)
        order = np.argsort(hashes)
        places = np.searchsorted(self._hashes, hashes[order])
        self._hashes = np.insert(self._hashes, places, hashes[order])
        self._codes = np.insert(self._codes, places, codes[order])


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
