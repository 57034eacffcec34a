"""Import of Parquet files into a store, by one pass over rows and one over partitions."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen
from rich.console import Console
from rich.progress import Progress

from quietcrowd.answer_errors import answered_twice, plain_type
from quietcrowd.answers import OutOfDomain
from quietcrowd.domains import Domain
from quietcrowd.exceptions import AnswerError, FormatError, ParameterError
from quietcrowd.formats.files import new_folder
from quietcrowd.formats.reports import listed_ids
from quietcrowd.frames import (
    Duplicates,
    dictionary_codes,
    first_or_last,
    positions_by_text,
    sort_rows,
)
from quietcrowd.inference.loop import threads_of
from quietcrowd.inference.partition import hash_ids
from quietcrowd.scale.executor import in_order
from quietcrowd.scale.reading import SKIPPED, Reader, Spill
from quietcrowd.scale.sources import Source
from quietcrowd.scale.store import Store, partition_name, partition_places
from quietcrowd.scale.writing import SortedPartition, whole_store, write_sorted
from quietcrowd.validation import check_choice, check_whole, one_line

ROWS_PER_PARTITION = 2_000_000
"""Rows that each thread has in memory."""

MOST_PARTITIONS = 10_000


class AnsweredTwiceError(Exception):
    """A worker, by its code in the store, answered a task twice; rows are not known here."""

    def __init__(self, task: pa.Scalar, worker: int) -> None:
        super().__init__(task, worker)
        self.task, self.worker = task, worker


@frozen(kw_only=True, eq=False)
class Sorter:
    """Writer of partitions from spilled rows.

    `worker_codes` maps codes in the spill to codes in the store. `silent` lists, by partition, ids
    of tasks without a row.
    """

    folder: Path
    source: Source
    spill: Spill
    worker_codes: npt.NDArray[np.int32]
    workers: int
    silent: Mapping[int, Sequence[Any]]
    duplicates: Duplicates

    def __call__(self, index: int) -> SortedPartition:
        """Sort and write a partition; raise AnsweredTwiceError if `duplicates` is "error"."""
        table = self.spill.take(index)
        task_codes, tasks = self._tasks(table["task"], self.silent.get(index, ()))
        codes = table["worker_code"].to_numpy()
        columns = {name: table[name].to_numpy() for name in table.column_names[2:]}
        del table  # frees the ids of the rows
        if (codes == SKIPPED).any():
            kept = codes != SKIPPED
            task_codes, codes = task_codes[kept], codes[kept]
            columns = {name: values[kept] for name, values in columns.items()}
        order, task_codes, codes = sort_rows(
            task_codes, self.worker_codes[codes], len(tasks), self.workers
        )
        keep = first_or_last(task_codes, codes, self.duplicates)
        repeated = int(len(keep) - keep.sum())
        if repeated and self.duplicates == "error":
            second = int(np.argmin(keep))
            raise AnsweredTwiceError(tasks[int(task_codes[second])], int(codes[second]))
        if repeated:
            order, task_codes, codes = order[keep], task_codes[keep], codes[keep]
        columns = {name: values[order] for name, values in columns.items()}
        return write_sorted(
            self.folder / partition_name(index),
            self.source.domain,
            tasks,
            task_codes,
            codes,
            columns,
            workers=self.workers,
            repeated=repeated,
        )

    def _tasks(
        self, column: pa.ChunkedArray, silent: Sequence[Any]
    ) -> tuple[npt.NDArray[np.int32], pa.Array]:
        """Return each row's position among the ids of tasks, and these ids."""
        codes, found = dictionary_codes(column)
        ids = pc.cast(found, plain_type(found.type))
        if self.source.mechanism is None:
            return codes, ids
        listed = pc.cast(listed_ids(ids, silent), ids.type)
        return positions_by_text(ids, listed).astype(np.int32)[codes], listed


def partition_parquet(
    paths: str | Path | Sequence[str | Path],
    folder: str | Path,
    *,
    domain: Domain | None = None,
    columns: tuple[str, str, str] = ("task", "worker", "label"),
    partitions: int | None = None,
    duplicates: Duplicates = "error",
    out_of_domain: OutOfDomain = "error",
    n_jobs: int | None = None,
    progress: bool = False,
) -> Store:
    """Make a store from Parquet files that need not fit into memory.

    The rows are read once, spilled by the hash of the task's id, and sorted within each partition.

    Parameters
    ----------
    paths : str, Path or sequence of them
        Files of reports from one mechanism, or of non-private answers.
    folder : str or Path
        Directory of the store, which must not exist. It appears only when the store is complete.
    domain : Domain, optional
        Domain of non-private answers. Reports contain their domain.
    columns : tuple of str
        Columns of tasks, workers and labels, for non-private answers.
    partitions : int, optional
        At most the number of rows. Default: about 2 million rows per partition.
    duplicates, out_of_domain
        As in `Answers.from_frame`, for non-private answers.
    n_jobs : int, optional
        Threads. Default, and -1: all that the process may use.
    progress : bool
        Whether to show a progress bar on standard error.

    Raises
    ------
    AnswerError
        If a row breaks a rule of `Answers.from_frame`. Rows count from 0 in each file.
    FormatError
        If a file cannot be read or contains sketches, each of which is about all tasks.
    ParameterError
        If a parameter is invalid, or `folder` exists.
    OSError
        If a file cannot be opened or written.
    """
    check_choice("duplicates", duplicates, ("error", "first", "last"))
    check_choice("out_of_domain", out_of_domain, ("error", "skip"))
    if domain is None and (duplicates != "error" or out_of_domain != "error"):
        raise ParameterError("scale.options-need-a-domain")
    threads = threads_of(n_jobs)
    source = _source([paths] if isinstance(paths, str | Path) else paths, domain, columns)
    rows = len(source)
    if partitions is None:
        partitions = min(max(1, round(rows / ROWS_PER_PARTITION)), MOST_PARTITIONS)
    check_whole("partitions", partitions, 1, MOST_PARTITIONS)
    partitions = min(partitions, max(1, rows))
    with (
        new_folder(Path(folder)) as temporary,
        Progress(console=Console(stderr=True), disable=not progress, transient=True) as bar,
    ):
        skip = out_of_domain == "skip"
        reader = Reader(source=source, spill=Spill(temporary / "spill", partitions), skip=skip)
        shown = bar.add_task("reading", total=rows)
        for some in source.rows():
            reader.read(some)
            bar.advance(shown, len(some))
        store = _sort(reader, temporary, duplicates, threads, bar)
        reader.spill.folder.rmdir()
        store.write_note()
    return evolve(store, folder=Path(folder))


def _source(
    paths: Sequence[str | Path], domain: Domain | None, columns: tuple[str, str, str]
) -> Source:
    places = [Path(path) for path in paths]
    if not places:
        raise ParameterError("scale.no-path")
    if domain is None:
        return Source.of_reports(places)
    if not isinstance(domain, Domain):
        raise ParameterError("answers.not-a-domain", domain=domain)
    return Source.of_answers(places, domain, columns)


def _sort(
    reader: Reader, folder: Path, duplicates: Duplicates, threads: int, bar: Progress
) -> Store:
    source, partitions = reader.source, reader.spill.partitions
    if not reader.rows:
        raise AnswerError("scale.no-answer-in-files", names=_names(source))
    try:
        workers, codes = _listed_workers(reader)
        pa.default_memory_pool().release_unused()
        sorter = Sorter(
            folder=folder,
            source=source,
            spill=reader.spill,
            worker_codes=codes,
            workers=len(workers),
            silent=_routed(source.tasks, partitions),
            duplicates=duplicates,
        )
        with ThreadPoolExecutor(threads) as pool:

            def start(index: int) -> Future[SortedPartition]:
                return pool.submit(sorter, index)

            done = in_order(start, range(partitions), threads)
            return whole_store(
                folder,
                source.domain,
                workers,
                bar.track(done, total=partitions, description="sorting"),
                mechanism=source.mechanism,
                simulated=source.simulated,
                skipped=reader.skipped,
            )
    except AnsweredTwiceError as error:
        raise _repeated_rows_error(source, error.task, workers[error.worker]) from None
    except pa.ArrowException as error:
        raise FormatError(
            "formats.ids-incompatible", names=_names(source), reason=one_line(error)
        ) from None
    except AnswerError as error:
        raise AnswerError("formats.in-file", path=_names(source), error=error) from None


def _listed_workers(reader: Reader) -> tuple[pa.Array, npt.NDArray[np.int32]]:
    """Return the ids of all workers, sorted for reports, and the codes of those in rows."""
    named, source = reader.take_workers(), reader.source
    codes = np.arange(len(named), dtype=np.int32)
    if source.mechanism is None:
        return named, codes
    if source.workers:
        listed = listed_ids(named, source.workers)
        return listed, positions_by_text(named, listed).astype(np.int32)
    order = pc.sort_indices(named)
    codes[order.to_numpy()] = np.arange(len(named), dtype=np.int32)
    return named.take(order), codes


def _routed(tasks: Sequence[Any], partitions: int) -> dict[int, list[Any]]:
    routed: dict[int, list[Any]] = {}
    if tasks:
        texts = pa.array([str(task) for task in tasks])
        for task, place in zip(tasks, partition_places(hash_ids(texts), partitions), strict=True):
            routed.setdefault(int(place), []).append(task)
    return routed


def _repeated_rows_error(source: Source, task: pa.Scalar, worker: pa.Scalar) -> AnswerError:
    places: list[tuple[Path, int]] = []
    for rows in source.rows():
        columns = rows.columns
        same = pc.and_(pc.equal(columns["task"], task), pc.equal(columns["worker"], worker))
        hits = np.flatnonzero(same.to_numpy())
        possible = source.domain.encode(columns["label"].take(pa.array(hits)))[1]
        places += [(rows.path, rows.first + int(hit)) for hit in hits[possible]]
        if len(places) > 1:
            break
    (first_path, first), (path, row) = places[:2]
    error = answered_twice(
        (source.names[0], source.names[1]),
        (task.as_py(), worker.as_py()),
        (f"{first}" if path == first_path else f"{first} of {first_path}", row),
        advice="partition" if source.mechanism is None else "reports",
    )
    return AnswerError("formats.in-file", path=path, error=error)


def _names(source: Source) -> str:
    return ", ".join(map(str, source.paths))
