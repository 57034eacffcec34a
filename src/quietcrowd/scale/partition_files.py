"""The files of one partition: plain arrays that are mapped into memory, and ids of tasks."""

from __future__ import annotations

import mmap
import sys
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import asdict, frozen

from quietcrowd.answer_errors import is_id_type
from quietcrowd.exceptions import FormatError

__all__ = [
    "IDS",
    "PartitionRecord",
    "array_names",
    "array_path",
    "digest_of",
    "is_count",
    "map_array",
    "read_ids",
    "write_partition",
]

IDS = "tasks.arrow"


@frozen(kw_only=True)
class PartitionRecord:
    """What the store knows of a partition.

    Attributes
    ----------
    rows, tasks : int
        How many answers and tasks there are.
    files : mapping of str to int
        Sizes in bytes.
    digest : str
        Of the arrays.
    """

    rows: int
    tasks: int
    files: Mapping[str, int]
    digest: str

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready description."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Any, names: Iterable[str]) -> PartitionRecord:
        """Return the record that `to_dict` described, of a partition with these arrays.

        Raises
        ------
        FormatError
            Where it describes none.
        """
        try:
            record = cls(**data)
            counts = (record.rows, record.tasks, *record.files.values())
        except (TypeError, AttributeError) as error:
            raise FormatError(f"a partition cannot be read: {error}") from None
        if not (all(map(is_count, counts)) and isinstance(record.digest, str)):
            raise FormatError(f"a partition cannot be read: {data!r}")
        files = {IDS, *(f"{name}.npy" for name in names)}
        if set(record.files) != files:
            raise FormatError(f"a partition must have the files {', '.join(sorted(files))}")
        return record


def is_count(value: Any) -> bool:
    """Return whether this is a whole number that is not below 0."""
    return type(value) is int and value >= 0


def write_partition(
    folder: Path, tasks: pa.Array, arrays: Mapping[str, npt.NDArray[Any]]
) -> PartitionRecord:
    """Write the files of a partition.

    Parameters
    ----------
    folder : Path
        It is made.
    tasks : pyarrow.Array
        Ids.
    arrays : mapping of str to ndarray
        ``offsets``, ``worker_codes``, ``values``, ``draws``, and ``participation`` where there is
        one; see `quietcrowd.inference.partition.Partition`.
    """
    folder.mkdir()
    for name, array in arrays.items():
        _write_array(array_path(folder, name), array)
    table = pa.table({"task": tasks})
    with pa.OSFile(str(folder / IDS), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return PartitionRecord(
        rows=len(arrays["worker_codes"]),
        tasks=len(tasks),
        files={file.name: file.stat().st_size for file in sorted(folder.iterdir())},
        digest=digest_of(arrays),
    )


def _write_array(path: Path, array: npt.NDArray[Any]) -> None:
    """Write an array as `numpy.save` does, which cannot say that a disk is full."""
    plain = np.ascontiguousarray(array)
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(plain))
        file.write(plain.data)


def digest_of(arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """Return a digest of named arrays, in their order."""
    digest = blake2b(digest_size=16)
    for name, array in arrays.items():
        digest.update(f"{name} {array.dtype.str} {len(array)}\n".encode())
        digest.update(np.ascontiguousarray(array).view(np.uint8).data)
    return digest.hexdigest()


def array_names(domains: Iterable[str]) -> tuple[str, ...]:
    """Return the names of all arrays of a partition, as written, from those with domains."""
    others = (name for name in domains if name != "values")
    return ("offsets", "worker_codes", "values", "draws", *others)


def array_path(folder: Path, name: str) -> Path:
    """Return the file of an array."""
    return folder / f"{name}.npy"


def map_array(folder: Path, name: str, *, writable: bool = False) -> npt.NDArray[Any]:
    """Return an array that is mapped from its file, and let go with the array.

    Its pages are mapped at once, which is faster than one by one; of an array that one can write
    to, as they are used, and the file stays as it is.

    Raises
    ------
    FormatError
        Where the file holds no such array.
    """
    path = array_path(folder, name)
    try:
        with path.open("rb") as file:
            if np.lib.format.read_magic(file) != (1, 0):
                raise ValueError("another version of the format")
            shape, _, kind = np.lib.format.read_array_header_1_0(file)
            begin = file.tell()
            pages = _map_pages(file.fileno(), writable=writable)
        if len(shape) != 1 or kind.hasobject:
            raise ValueError(f"{kind} of shape {shape}")
        return np.ndarray(shape, kind, pages, begin)
    except (ValueError, TypeError, OverflowError) as error:
        reason = " ".join(str(error).split())
        raise FormatError(f"{path}: this holds no array of numbers: {reason}") from None


def _map_pages(number: int, *, writable: bool) -> mmap.mmap:
    """Map a whole open file: for writing in memory alone, or for reading, all pages at once."""
    if writable:
        return mmap.mmap(number, 0, access=mmap.ACCESS_COPY)
    if sys.platform != "linux":
        return mmap.mmap(number, 0, access=mmap.ACCESS_READ)
    return mmap.mmap(number, 0, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE, prot=mmap.PROT_READ)


def read_ids(folder: Path, tasks: int) -> pa.Array:
    """Return the ids of the tasks; FormatError where they cannot be read, or are not so many."""
    path = folder / IDS
    try:
        with pa.memory_map(str(path)) as file:
            column = pa.ipc.open_file(file).read_all()["task"]
        ids = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
        ids.validate(full=True)
    except FileNotFoundError:
        raise
    except (pa.ArrowException, KeyError, OSError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise FormatError(f"{path}: the ids cannot be read: {reason}") from None
    if len(ids) != tasks or ids.null_count or not is_id_type(ids.type):
        raise FormatError(f"{path}: there are {len(ids):,} ids ({ids.type}), not {tasks:,}")
    return ids
