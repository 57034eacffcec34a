"""Reports on disk, as a Parquet file read by row group, and inference from a partitioned store."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any
from weakref import finalize

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from attrs import frozen
from sqlalchemy import Connection
from typing_extensions import override

from quietcrowd.campaign.results.large_campaigns import LargeCampaigns
from quietcrowd.campaign.results.reports import (
    Inferred,
    ReportRows,
    ReportsToInfer,
    RowBlock,
    take_again,
)
from quietcrowd.domains import Domain
from quietcrowd.formats.reports import merge_copies, report_note
from quietcrowd.frames import MARK, dictionary_codes, positions_by_text
from quietcrowd.inference.model import State
from quietcrowd.inference.suggesting import further_answers
from quietcrowd.mechanisms import Mechanism
from quietcrowd.scale import StoreEstimate, infer_store, partition_parquet

_ROWS_OF_GROUP = 2**17
"""Rows of a row group, which contains whole workers; this many rows are in memory."""


@frozen(kw_only=True, eq=False, slots=False)
class FileRows(ReportRows):
    """Reports in a Parquet file with whole workers in each row group; `names` are all tasks."""

    path: Path
    mechanism: Mechanism
    names: pa.Array

    @property
    @override
    def tasks(self) -> int:
        return len(self.names)

    @cached_property
    def _order(self) -> tuple[pa.Array, pa.Array]:
        """Return all workers in file order, and the permutation that sorts them."""
        ids = pa.concat_arrays(
            [dictionary_codes(group["worker"])[1] for group in self._groups(["worker"])]
        )
        return ids, pc.sort_indices(ids)

    @property
    @override
    def workers(self) -> pa.Array:
        ids, order = self._order
        return ids.take(order)

    @override
    def blocks(self) -> Iterator[RowBlock]:
        for group in self._groups(["task", "worker", "label"]):
            tasks, named = dictionary_codes(group["task"])
            workers, people = dictionary_codes(group["worker"])
            places = positions_by_text(named, self.names).astype(np.int32)
            values = self.domain.encode(group["label"])[0]
            yield RowBlock(places[tasks], workers, values, len(people))

    @override
    def sorted_by_worker(self, parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        found: npt.NDArray[Any] = np.concatenate(parts)[self._order[1].to_numpy()]
        return found

    def _groups(self, columns: list[str]) -> Iterator[pa.Table]:
        with pq.ParquetFile(self.path) as file:
            for group in range(file.num_row_groups):
                yield file.read_row_group(group, columns)


@frozen(kw_only=True, eq=False)
class KeptEstimate:
    """Estimate to start from, in an unnamed file, because the state of many workers is large."""

    method: Any
    domain: Domain
    file: Any

    @classmethod
    def of(cls, found: StoreEstimate, folder: str | None) -> KeptEstimate:
        """Store an estimate in a file that exists as long as the returned object."""
        file: Any = TemporaryFile(dir=folder)  # noqa: SIM115
        kept = cls(method=found.method, domain=found.domain, file=file)
        finalize(kept, file.close)
        pickle.dump((found.store.workers, found.state), file, pickle.HIGHEST_PROTOCOL)
        return kept

    def state_of(self, workers: pa.Array) -> State | None:
        """Return the state of workers with these ids, matched as text."""
        self.file.seek(0)
        known, state = pickle.load(self.file)
        if state is None:
            return None
        taken: State = state.take(positions_by_text(workers, known))
        return taken


@frozen(kw_only=True, eq=False)
class FiledReports:
    """Reports of a campaign in a directory, with the attributes of `StoredReports`."""

    rows: FileRows
    independent: FileRows
    again: Mapping[str, int]
    known_truths: pa.Table | None
    large: LargeCampaigns

    def infer(self, method: Any, start: Any) -> Inferred:
        """Fit a method to the reports; the result equals that of `StoredReports` bit for bit."""
        path = self.independent.path
        folder = path.parent
        store = partition_parquet(path, folder / "store", n_jobs=1)
        pa.default_memory_pool().release_unused()
        with self.large.executor() as executor:
            found = infer_store(
                store,
                method,
                folder / "truths.parquet",
                init=start,
                gold=self.known_truths,
                n_jobs=1,
                executor=executor,
            )
        truths = pq.read_table(found.truths)
        order = positions_by_text(self.independent.names, truths["task"].combine_chunks())
        return Inferred(
            method=method,
            iterations=found.n_iter,
            converged=found.converged,
            truths=truths.take(pa.array(order)),
            workers=found.workers,
            start=KeptEstimate.of(found, self.large.folder),
            suggest=partial(self._suggested, found),
        )

    def _suggested(self, found: StoreEstimate, answers: int) -> npt.NDArray[np.int64]:
        """Suggest answers per task, in one more pass over the store."""
        job, places = found.job, range(len(found.store.partitions))
        model: Any = job.model
        ids = pa.concat_arrays([found.store.task_ids(place) for place in places])
        order = positions_by_text(self.independent.names, ids)
        known = np.concatenate([job.known(place) for place in places])
        beliefs = np.concatenate([job.beliefs(place, found.state) for place in places])
        counts, _ = further_answers(
            model.further_report(found.state, None), beliefs[order], ~known[order], answers
        )
        return counts


def file_stored(
    connection: Connection, given: ReportsToInfer, folder: Path, large: LargeCampaigns
) -> FiledReports | None:
    """Write the reports of a campaign to files within a transaction; return None without any."""
    files = {"reports": given.names}
    if given.copies:
        files["independent"] = given.questions
    rows = {
        name: FileRows(
            path=folder / f"{name}.parquet", mechanism=given.mechanism, names=pa.array(tasks)
        )
        for name, tasks in files.items()
    }
    again: Counter[str] = Counter()
    writers: dict[str, pq.ParquetWriter] = {}
    with ExitStack() as opened:
        for marked in _groups(given.blocks(connection)):
            group, counts = take_again(marked)
            again.update(counts)
            for name, tasks in files.items():
                table = group if name == "reports" else merge_copies(group, given.copies)
                if name not in writers:
                    note = json.dumps(report_note(given.mechanism, simulated=False, tasks=tasks))
                    schema = table.schema.with_metadata({MARK: note})
                    writer = pq.ParquetWriter(rows[name].path, schema, compression="zstd")
                    writers[name] = opened.enter_context(writer)
                writers[name].write_table(table, row_group_size=max(len(table), 1))
    if not writers:
        return None
    return FiledReports(
        rows=rows["reports"],
        independent=rows.get("independent", rows["reports"]),
        again=again,
        known_truths=given.known_truths,
        large=large,
    )


def _groups(blocks: Iterable[pa.Table]) -> Iterator[pa.Table]:
    held: list[pa.Table] = []
    for block in blocks:
        if len(block):
            held.append(block)
        if sum(map(len, held)) >= _ROWS_OF_GROUP:
            yield pa.concat_tables(held)
            held = []
    if held:
        yield pa.concat_tables(held)
