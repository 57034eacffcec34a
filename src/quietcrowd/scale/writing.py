"""Writing of sorted rows to partitions, and of partitions to a store."""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import frozen

from quietcrowd.answers import DroppedRows
from quietcrowd.domains import Domain, NumericDomain
from quietcrowd.exceptions import AnswerError
from quietcrowd.frames import offsets_of
from quietcrowd.inference.partition import counts_per_part, hash_ids
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.report_domains import OneOf, OrNull
from quietcrowd.scale.partition_files import PartitionRecord, write_partition
from quietcrowd.scale.store import Store


@frozen(kw_only=True, eq=False)
class SortedPartition:
    """A written partition, and its part of the store's totals; `ends` may be empty."""

    record: PartitionRecord
    reports_per_worker: npt.NDArray[np.int64]
    answers_per_worker: npt.NDArray[np.int64]
    answers_per_part: npt.NDArray[np.int64] | None
    longest_task: int
    ends: tuple[float, ...]
    dropped: DroppedRows


def write_sorted(
    folder: Path,
    domain: Domain,
    tasks: pa.Array,
    task_codes: npt.NDArray[np.int32],
    worker_codes: npt.NDArray[np.int32],
    columns: dict[str, npt.NDArray[Any]],
    *,
    workers: int,
    repeated: int = 0,
) -> SortedPartition:
    """Write the sorted rows of a partition, without NULL reports."""
    reports_per_worker = np.bincount(worker_codes, minlength=workers)
    null_reports = 0
    if isinstance(domain, OrNull):
        reported = columns["label"] != domain.null_code
        null_reports = int(len(reported) - reported.sum())
        task_codes, worker_codes = task_codes[reported], worker_codes[reported]
        columns = {name: values[reported] for name, values in columns.items()}
    offsets = offsets_of(task_codes, len(tasks)).astype(np.int64)
    values = _narrow(columns["label"])
    arrays: dict[str, npt.NDArray[Any]] = {
        "offsets": offsets,
        "worker_codes": worker_codes,
        "values": values,
        "draws": hash_ids(tasks),
        **{name: column for name, column in columns.items() if name != "label"},
    }
    ends: list[float] = []
    if isinstance(domain, NumericDomain) and len(values):
        ends = domain.numbers(np.array([values.min(), values.max()])).tolist()
    if isinstance(domain, OneOf) and domain.is_numeric and len(values):
        numbers = domain.numbers(values)
        ends = [float(numbers.min()), float(numbers.max())]
    return SortedPartition(
        record=write_partition(folder, tasks, arrays),
        reports_per_worker=reports_per_worker,
        answers_per_worker=np.bincount(worker_codes, minlength=workers),
        answers_per_part=counts_per_part(domain, worker_codes, columns["label"], workers)
        if isinstance(domain, OneOf)
        else None,
        longest_task=int(np.diff(offsets).max(initial=0)),
        ends=tuple(ends),
        dropped=DroppedRows(duplicates=repeated, null_reports=null_reports),
    )


def _narrow(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return numbers as float32 if this is lossless."""
    if values.dtype != np.float64:
        return values
    with np.errstate(over="ignore"):
        short = values.astype(np.float32)
    return short if np.array_equal(short, values) else values


def whole_store(
    folder: Path,
    domain: Domain,
    workers: pa.Array,
    partitions: Iterable[SortedPartition],
    *,
    mechanism: Mechanism | None = None,
    simulated: bool = False,
    skipped: int = 0,
) -> Store:
    """Combine partitions, in order, into a store; the caller writes its note.

    `skipped` counts rows with a missing answer or one outside the domain. Raises AnswerError if no
    answer remains, or if a worker who must report every task did not.
    """
    records, longest, low, high = [], 0, math.inf, -math.inf
    duplicates = null_reports = 0
    reports, answers = np.zeros((2, len(workers)), np.int64)
    per_part: Any = None
    for one in partitions:
        records.append(one.record)
        longest = max(longest, one.longest_task)
        low, high = min(low, *one.ends, low), max(high, *one.ends, high)
        duplicates += one.dropped.duplicates
        null_reports += one.dropped.null_reports
        reports += one.reports_per_worker
        answers += one.answers_per_worker
        if one.answers_per_part is not None:
            per_part = one.answers_per_part + (0 if per_part is None else per_part)
    numbers = low <= high
    store = Store(
        folder=folder,
        domain=domain.domain if isinstance(domain, OrNull) else domain,
        mechanism=mechanism,
        simulated=simulated,
        partitions=tuple(records),
        longest_task=longest,
        low=low if numbers else 0.0,
        high=high if numbers else 0.0,
        dropped=DroppedRows(
            duplicates=duplicates, out_of_domain=skipped, null_reports=null_reports
        ),
        workers=workers,
        answers_per_worker=answers,
        answers_per_part=per_part,
    )
    if mechanism is not None:
        mechanism.check_complete(workers, reports, store.tasks)
    elif not len(store):
        raise AnswerError("scale.all-outside-domain", domain=domain.describe())
    return store
