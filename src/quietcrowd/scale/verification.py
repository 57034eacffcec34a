"""Whether the files of a partition are the ones that were written: kernels rely on them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from quietcrowd.domains import Domain, NumericDomain
from quietcrowd.exceptions import FormatError
from quietcrowd.inference.partition import Summary, hash_ids
from quietcrowd.scale.partition_files import (
    IDS,
    PartitionRecord,
    array_names,
    array_path,
    digest_of,
    map_array,
    read_ids,
)

__all__ = ["verify_partition"]

Arrays = Mapping[str, npt.NDArray[Any]]


def verify_partition(
    folder: Path,
    record: PartitionRecord,
    domains: Mapping[str, Domain],
    summary: Summary,
) -> None:
    """Read the files of a partition once, and raise unless they are what the store says.

    Parameters
    ----------
    folder : Path
        Of the partition.
    record : PartitionRecord
        What the store knows of it.
    domains : mapping of str to Domain
        What is in ``values``, and in ``participation`` where there is one.
    summary : Summary
        What the store says of all partitions.

    Raises
    ------
    FormatError
        Where a file cannot be read, or holds something else; the message names it.
    """
    arrays = {name: map_array(folder, name) for name in array_names(domains)}
    _check_kinds(folder, record, arrays)
    _check_offsets(folder, record.rows, arrays["offsets"], summary.longest_task)
    workers = len(summary.answers_per_worker)
    if (arrays["worker_codes"].view(np.uint32) >= workers).any():
        raise _damaged(array_path(folder, "worker_codes"), f"a code is not below {workers:,}")
    for name, domain in domains.items():
        values = arrays[name]
        wide = values.astype(np.float64) if values.dtype == np.float32 else values
        if not domain.holds(wide):
            raise _damaged(array_path(folder, name), f"a value is none of {domain.describe()}")
    _check_ends(array_path(folder, "values"), arrays["values"], summary)
    if digest_of(arrays) != record.digest:
        raise _damaged(folder, "the digest of the arrays is another one")
    if not np.array_equal(hash_ids(read_ids(folder, record.tasks)), arrays["draws"]):
        raise _damaged(folder / IDS, "the hashes of the ids are other ones")


def _check_kinds(folder: Path, record: PartitionRecord, arrays: Arrays) -> None:
    """Raise unless arrays are of the right dtype and length; that of values a domain knows."""
    kinds = {"offsets": np.int64, "worker_codes": np.int32, "draws": np.uint64}
    lengths = {"offsets": record.tasks + 1, "draws": record.tasks}
    for name, array in arrays.items():
        length = lengths.get(name, record.rows)
        if array.dtype != kinds.get(name, array.dtype) or array.shape != (length,):
            raise _damaged(
                array_path(folder, name),
                f"it holds {array.dtype} of shape {array.shape}, not {length:,} "
                f"{np.dtype(kinds[name]) if name in kinds else 'values'}",
            )


def _check_offsets(
    folder: Path, rows: int, offsets: npt.NDArray[np.int64], longest_task: int
) -> None:
    """Raise unless offsets lead from 0 to the number of rows and never fall."""
    path = array_path(folder, "offsets")
    if offsets[0] != 0 or offsets[-1] != rows or (offsets[1:] < offsets[:-1]).any():
        raise _damaged(path, f"offsets do not rise from 0 to {rows:,}")
    longest = int(np.diff(offsets).max(initial=0))
    if longest > longest_task:
        raise _damaged(path, f"a task has {longest:,} answers, the longest {longest_task:,}")


def _check_ends(path: Path, values: npt.NDArray[Any], summary: Summary) -> None:
    """Raise where a number lies outside of those that the store tells of."""
    if isinstance(summary.domain, NumericDomain) and len(values):
        low, high = summary.domain.numbers(np.array([values.min(), values.max()]))
        if low < summary.low or high > summary.high:
            raise _damaged(path, f"a number is not from {summary.low!r} to {summary.high!r}")


def _damaged(path: Path, what: str) -> FormatError:
    return FormatError(f"{path}: {what}. This was changed or damaged: make the store anew.")
