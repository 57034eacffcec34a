"""Stores: directories of answers or reports, partitioned by task."""

import json
import math
from collections.abc import Mapping
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from attrs import asdict, field, frozen

from quietcrowd.answer_errors import is_id_type
from quietcrowd.answers import DroppedRows
from quietcrowd.domains import Domain, check_numeric
from quietcrowd.exceptions import FormatError
from quietcrowd.gold import UNKNOWN
from quietcrowd.inference.partition import Partition, Summary, hash_ids
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.report_domains import OneOf
from quietcrowd.scale.partition_files import (
    PartitionRecord,
    array_names,
    is_count,
    map_array,
    read_ids,
    verify_partition,
)
from quietcrowd.validation import one_line

FORMAT, VERSION = "quietcrowd-store", 1
NOTE, WORKERS = "store.json", "workers.parquet"


def is_store(folder: str | Path) -> bool:
    """Return whether the directory contains a store, which may be damaged."""
    return (Path(folder) / NOTE).is_file()


def partition_name(index: int) -> str:
    """Return the directory name of a partition."""
    return f"partition-{index:05d}"


def partition_places(hashes: npt.NDArray[np.uint64], partitions: int) -> npt.NDArray[np.uint16]:
    """Return the partition of each task from the hash of its id, shape (tasks,)."""
    places = ((hashes >> np.uint64(32)) * np.uint64(partitions)) >> np.uint64(32)
    return places.astype(np.uint16)


@frozen(kw_only=True, eq=False, slots=False)
class Store:
    """Answers or reports in a directory, partitioned by task.

    Make one with `quietcrowd.scale.partition_parquet`, open one with `Store.open`. Only ids
    and counts of workers are in memory; partitions are memory-mapped on demand.

    Attributes
    ----------
    folder : Path
        The directory.
    domain : Domain
        Domain of the answers, without NULL reports.
    mechanism : Mechanism or None
        Mechanism of the reports; None for non-private answers.
    simulated : bool
        Whether the noise of the reports is simulated.
    partitions : tuple of PartitionRecord
        Their sizes and digests.
    longest_task : int
        Most answers of a task.
    low, high : float
        Smallest and largest answer; 0 for labels.
    dropped : DroppedRows
        Rows that were dropped on import.
    workers : pyarrow.Array
        Ids.
    answers_per_worker : ndarray of int64, shape (workers,)
        Number of answers per worker.
    answers_per_part : ndarray of int64, shape (workers, parts), or None
        Number of reports by each mechanism of a `Mixture`.
    """

    folder: Path
    domain: Domain
    mechanism: Mechanism | None = None
    simulated: bool = False
    partitions: tuple[PartitionRecord, ...]
    longest_task: int
    low: float
    high: float
    dropped: DroppedRows
    workers: pa.Array
    answers_per_worker: npt.NDArray[np.int64]
    answers_per_part: npt.NDArray[np.int64] | None = None
    _verified: set[int] = field(factory=set, init=False, repr=False)

    def __len__(self) -> int:
        return sum(partition.rows for partition in self.partitions)

    def __repr__(self) -> str:
        return (
            f"Store({str(self.folder)!r}, {len(self):,} answers, {self.tasks:,} tasks, "
            f"{len(self.workers):,} workers, {len(self.partitions):,} partitions)"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Reopen the store in the other process, which fails if the files changed."""
        return _open_same, (str(self.folder.absolute()), self.fingerprint)

    @property
    def tasks(self) -> int:
        """Number of tasks."""
        return sum(partition.tasks for partition in self.partitions)

    @property
    def participation(self) -> bool:
        """Whether reports have a noisy participation bit."""
        return "participation" in _domains(self.domain, self.mechanism)

    @property
    def summary(self) -> Summary:
        """Totals over all answers, an argument of every method."""
        return Summary(
            domain=self.domain,
            answers_per_worker=self.answers_per_worker,
            tasks=self.tasks,
            longest_task=self.longest_task,
            low=self.low,
            high=self.high,
            channel=None if self.mechanism is None else self.mechanism.worker_channel,
            participation=self.participation,
            report_distribution=None
            if self.mechanism is None
            else self.mechanism.report_distribution,
            mixed=self.domain if isinstance(self.domain, OneOf) else None,
            answers_per_part=self.answers_per_part,
        )

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the store's contents."""
        digest = blake2b(json.dumps(self._note(), sort_keys=True).encode(), digest_size=16)
        digest.update(hash_ids(self.workers).tobytes())
        digest.update(self.answers_per_worker.tobytes())
        if self.answers_per_part is not None:
            digest.update(self.answers_per_part.tobytes())
        return digest.hexdigest()

    def partition(self, index: int, known_truths: npt.NDArray[Any] | None = None) -> Partition:
        """Map a partition into memory; the mapping ends with the arrays.

        The first call for a partition verifies all its files. By default no truth is known.
        """
        folder = self.folder / partition_name(index)
        domains = _domains(self.domain, self.mechanism)
        if index not in self._verified:
            verify_partition(folder, self.partitions[index], domains, self.summary)
            self._verified.add(index)
        bits = None
        if self.participation:
            domain = check_numeric(domains["participation"], "participation")
            bits = domain.numbers(map_array(folder, "participation"))
        nothing = np.full(self.partitions[index].tasks, UNKNOWN, np.int32)
        return Partition(
            offsets=map_array(folder, "offsets"),
            worker_codes=map_array(folder, "worker_codes"),
            values=map_array(folder, "values"),
            draws=map_array(folder, "draws", writable=True),  # kernels take writable arrays
            known_truths=nothing if known_truths is None else known_truths,
            participation=bits,
        )

    def task_ids(self, index: int) -> pa.Array:
        """Return the ids of a partition's tasks; raise FormatError if they cannot be read."""
        return read_ids(self.folder / partition_name(index), self.partitions[index].tasks)

    def by_partition(self, tasks: pa.Array) -> dict[int, pa.Array]:
        """Group ids of tasks by partition, in order."""
        places = partition_places(hash_ids(tasks), len(self.partitions))
        order = np.argsort(places, kind="stable")
        indices, starts = np.unique(places[order], return_index=True)
        parts = np.split(order, starts[1:])
        return {
            int(index): tasks.take(pa.array(part))
            for index, part in zip(indices, parts, strict=False)  # split([]) has one part
        }

    def _note(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": VERSION,
            "domain": self.domain.to_dict(),
            "mechanism": None if self.mechanism is None else self.mechanism.to_dict(),
            "simulated": self.simulated,
            "answers": len(self),
            "tasks": self.tasks,
            "workers": len(self.workers),
            "longest_task": self.longest_task,
            "low": self.low,
            "high": self.high,
            "dropped": asdict(self.dropped),
            "partitions": [partition.to_dict() for partition in self.partitions],
        }

    def write_note(self) -> None:
        """Write workers and note, which complete the store."""
        parts = () if self.answers_per_part is None else self.answers_per_part.T
        counts = dict(zip(_part_columns(self.domain), parts, strict=True))
        table = pa.table({"worker": self.workers, "answers": self.answers_per_worker, **counts})
        pq.write_table(table, self.folder / WORKERS, compression="zstd", write_page_checksum=True)
        (self.folder / NOTE).write_text(json.dumps(self._note(), indent=1) + "\n")

    @classmethod
    def open(cls, folder: str | Path) -> "Store":
        """Open a store.

        Raises
        ------
        FormatError
            If the directory has no store, one of another version, or one with missing, truncated or
            exchanged files.
        OSError
            If a file cannot be opened.
        """
        place = Path(folder)
        note = _read_note(place)
        try:
            domain = Domain.from_dict(note["domain"])
            store = _from_note(place, note, domain, _read_workers(place / WORKERS, domain))
        except FormatError as error:
            raise FormatError("formats.in-file", path=place / NOTE, error=error) from None
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise FormatError("scale.note-unreadable", place=place / NOTE, error=error) from None
        for index, partition in enumerate(store.partitions):
            _check_files(place / partition_name(index), partition.files)
        counts, per_part = store.answers_per_worker, store.answers_per_part
        consistent = len(store) == int(counts.sum())
        if per_part is not None:
            consistent = consistent and np.array_equal(per_part.sum(axis=1), counts)
        if store._note() != note or not consistent:
            raise FormatError("scale.note-inconsistent", place=place, note=NOTE)
        return store


def _open_same(folder: str, fingerprint: str) -> Store:
    store = Store.open(folder)
    if store.fingerprint != fingerprint:
        raise FormatError("scale.store-exists", folder=folder)
    return store


def _read_note(place: Path) -> dict[str, Any]:
    if place.is_dir() and not is_store(place):
        raise FormatError("scale.store-missing", place=place)
    try:
        note = json.loads((place / NOTE).read_text())
    except (ValueError, RecursionError) as error:
        raise FormatError("formats.note-not-json", path=place / NOTE, error=error) from None
    if not isinstance(note, dict) or note.get("format") != FORMAT:
        raise FormatError("scale.note-invalid", place=place / NOTE)
    if note.get("version") != VERSION:
        raise FormatError(
            "scale.store-version", place=place / NOTE, value=note.get("version"), version=VERSION
        )
    return note


def _from_note(place: Path, note: Mapping[str, Any], domain: Domain, workers: pa.Table) -> Store:
    mechanism = None if note["mechanism"] is None else Mechanism.from_dict(note["mechanism"])
    names = array_names(_domains(domain, mechanism))
    dropped = DroppedRows(**note["dropped"])
    for name, value in {"longest_task": note["longest_task"], **asdict(dropped)}.items():
        if not is_count(value):
            raise FormatError("scale.note-not-whole", name=name, value=value)
    for name in ("low", "high"):
        if type(note[name]) not in (int, float) or not math.isfinite(note[name]):
            raise FormatError("scale.note-not-finite", name=name, note=note[name])
    if not isinstance(note["simulated"], bool):
        raise FormatError("scale.note-not-boolean", note=note["simulated"])
    return Store(
        folder=place,
        domain=domain,
        mechanism=mechanism,
        simulated=note["simulated"],
        partitions=tuple(PartitionRecord.from_dict(one, names) for one in note["partitions"]),
        longest_task=note["longest_task"],
        low=note["low"],
        high=note["high"],
        dropped=dropped,
        workers=workers["worker"].combine_chunks(),
        answers_per_worker=workers["answers"].to_numpy(),
        answers_per_part=np.stack([workers[name].to_numpy() for name in counts], axis=1)
        if (counts := _part_columns(domain))
        else None,
    )


def _part_columns(domain: Domain) -> list[str]:
    parts = domain.parts if isinstance(domain, OneOf) else ()
    return [f"answers_{place}" for place in range(len(parts))]


def _domains(domain: Domain, mechanism: Mechanism | None) -> dict[str, Domain]:
    domains = {"values": domain}
    if mechanism is not None and mechanism.participation_domain is not None:
        domains["participation"] = mechanism.participation_domain
    return domains


def _read_workers(path: Path, domain: Domain) -> pa.Table:
    with path.open("rb"):
        pass  # later errors are about the content
    try:
        names = ["answers", *_part_columns(domain)]
        table = pq.read_table(path, columns=["worker", *names], page_checksum_verification=True)
        table.validate(full=True)
        ids = table["worker"]
        if ids.null_count or not is_id_type(ids.type):
            raise ValueError(f"ids are {ids.type} with {ids.null_count:,} missing")
        for counts in map(table.column, names):
            if counts.null_count or counts.type != pa.int64() or (counts.to_numpy() < 0).any():
                raise ValueError("answers must be whole numbers of at least 0")
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        raise FormatError("scale.file-unreadable", path=path, reason=one_line(error)) from None
    return table


def _check_files(folder: Path, files: Mapping[str, int]) -> None:
    for name, size in files.items():
        path = folder / name
        if not path.is_file():
            raise FormatError("scale.file-missing", path=path)
        if path.stat().st_size != size:
            raise FormatError("scale.file-size", path=path, length=path.stat().st_size, size=size)
