"""Files of a partition: memory-mapped arrays, and ids of tasks.

Kernels rely on valid arrays, so that `verify_partition` must run before the first use.
"""

import mmap
import re
import sys
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import asdict, frozen

from quietcrowd.answer_errors import is_id_type
from quietcrowd.domains import Domain, NumericDomain
from quietcrowd.exceptions import FormatError
from quietcrowd.inference.partition import Summary, hash_ids
from quietcrowd.validation import one_line

Arrays = Mapping[str, npt.NDArray[Any]]

IDS = "tasks.arrow"

_HEADER = re.compile(
    r"\{'descr': '(?P<kind>[<>|][biuf]\d+)', 'fortran_order': False, "
    r"'shape': \((?P<count>\d+),\), \} *\n"
)


@frozen(kw_only=True)
class PartitionRecord:
    """Entry of a partition in the store's note; sizes are in bytes, `digest` covers the arrays."""

    rows: int
    tasks: int
    files: Mapping[str, int]
    digest: str

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready description."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Any, names: Iterable[str]) -> "PartitionRecord":
        """Parse the output of `to_dict`; raise FormatError unless it has the arrays `names`."""
        try:
            record = cls(**data)
            counts = (record.rows, record.tasks, *record.files.values())
        except (TypeError, AttributeError) as error:
            raise FormatError("scale.partition-unreadable", error=error) from None
        if not (all(map(is_count, counts)) and isinstance(record.digest, str)):
            raise FormatError("scale.partition-not-an-object", data=data)
        files = {IDS, *(f"{name}.npy" for name in names)}
        if set(record.files) != files:
            raise FormatError("scale.partition-files-missing", files=", ".join(sorted(files)))
        return record


def is_count(value: Any) -> bool:
    """Return whether `value` is an int of at least 0."""
    return type(value) is int and value >= 0


def write_partition(folder: Path, tasks: pa.Array, arrays: Arrays) -> PartitionRecord:
    """Make a directory with the files of a partition; `arrays` are as in `Partition`."""
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
    """Write an array in the format of `numpy.save`, but raise OSError if the disk is full."""
    plain = np.ascontiguousarray(array)
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(plain))
        file.write(plain.data)


def digest_of(arrays: Arrays) -> str:
    """Return a digest of named arrays; their order matters."""
    digest = blake2b(digest_size=16)
    for name, array in arrays.items():
        digest.update(f"{name} {array.dtype.str} {len(array)}\n".encode())
        digest.update(np.ascontiguousarray(array).view(np.uint8).data)
    return digest.hexdigest()


def array_names(domains: Iterable[str]) -> tuple[str, ...]:
    """Return the names of all arrays of a partition, in the order of the digest."""
    others = (name for name in domains if name != "values")
    return ("offsets", "worker_codes", "values", "draws", *others)


def array_path(folder: Path, name: str) -> Path:
    """Return the path of an array's file."""
    return folder / f"{name}.npy"


def map_array(folder: Path, name: str, *, writable: bool = False) -> npt.NDArray[Any]:
    """Map an array from its file; the mapping ends with the array.

    A read-only mapping loads all pages at once, which is faster. A writable mapping loads them on
    demand, and writes never reach the file.
    """
    path = array_path(folder, name)
    try:
        with path.open("rb") as file:
            kind, count = _read_header(file)
            begin = file.tell()
            pages = _map_pages(file.fileno(), writable=writable)
        return np.ndarray(count, kind, pages, begin)
    except (ValueError, TypeError, OverflowError) as error:
        raise FormatError("scale.array-unreadable", path=path, reason=one_line(error)) from None


def _read_header(file: BinaryIO) -> tuple[np.dtype[Any], int]:
    """Parse a header of `_write_array`; return dtype and length.

    NumPy's reader compiles the header as Python. CPython 3.11 counts recursion depth of the
    compiler once for all threads, so that parallel readers can raise SystemError.
    """
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("another version of the format")
    header = file.read(int.from_bytes(file.read(2), "little")).decode("latin1")
    found = _HEADER.fullmatch(header)
    if found is None:
        raise ValueError(f"{header[:80]!r} is not the header of a one-dimensional array of numbers")
    return np.dtype(found["kind"]), int(found["count"])


def _map_pages(number: int, *, writable: bool) -> mmap.mmap:
    if writable:
        return mmap.mmap(number, 0, access=mmap.ACCESS_COPY)
    if sys.platform != "linux":
        return mmap.mmap(number, 0, access=mmap.ACCESS_READ)
    return mmap.mmap(number, 0, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE, prot=mmap.PROT_READ)


def read_ids(folder: Path, tasks: int) -> pa.Array:
    """Return the ids of the tasks; raise FormatError if they are invalid or their count differs."""
    path = folder / IDS
    try:
        with pa.memory_map(str(path)) as file:
            column = pa.ipc.open_file(file).read_all()["task"]
        ids = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
        ids.validate(full=True)
    except FileNotFoundError:
        raise
    except (pa.ArrowException, KeyError, OSError, TypeError) as error:
        raise FormatError("scale.ids-unreadable", path=path, reason=one_line(error)) from None
    if len(ids) != tasks or ids.null_count or not is_id_type(ids.type):
        raise FormatError(
            "scale.ids-of-wrong-count", path=path, count=len(ids), type=ids.type, tasks=tasks
        )
    return ids


def verify_partition(
    folder: Path,
    record: PartitionRecord,
    domains: Mapping[str, Domain],
    summary: Summary,
) -> None:
    """Read all files of a partition; raise FormatError unless they match record and summary."""
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
            raise _damaged(array_path(folder, name), f"a value is not in {domain.describe()}")
    _check_ends(array_path(folder, "values"), arrays["values"], summary)
    if digest_of(arrays) != record.digest:
        raise _damaged(folder, "the digest of the arrays differs")
    if not np.array_equal(hash_ids(read_ids(folder, record.tasks)), arrays["draws"]):
        raise _damaged(folder / IDS, "the hashes of the ids differ")


def _check_kinds(folder: Path, record: PartitionRecord, arrays: Arrays) -> None:
    """Check dtypes and lengths; the domain checks the dtype of values."""
    kinds = {"offsets": np.int64, "worker_codes": np.int32, "draws": np.uint64}
    lengths = {"offsets": record.tasks + 1, "draws": record.tasks}
    for name, array in arrays.items():
        length = lengths.get(name, record.rows)
        if array.dtype != kinds.get(name, array.dtype) or array.shape != (length,):
            raise _damaged(
                array_path(folder, name),
                f"it contains {array.dtype} of shape {array.shape}, not {length:,} "
                f"{np.dtype(kinds[name]) if name in kinds else 'values'}",
            )


def _check_offsets(
    folder: Path, rows: int, offsets: npt.NDArray[np.int64], longest_task: int
) -> None:
    path = array_path(folder, "offsets")
    if offsets[0] != 0 or offsets[-1] != rows or (offsets[1:] < offsets[:-1]).any():
        raise _damaged(path, f"offsets do not increase from 0 to {rows:,}")
    longest = int(np.diff(offsets).max(initial=0))
    if longest > longest_task:
        raise _damaged(path, f"a task has {longest:,} answers; the maximum is {longest_task:,}")


def _check_ends(path: Path, values: npt.NDArray[Any], summary: Summary) -> None:
    if isinstance(summary.domain, NumericDomain) and len(values):
        low, high = summary.domain.numbers(np.array([values.min(), values.max()]))
        if low < summary.low or high > summary.high:
            raise _damaged(path, f"a number is outside {summary.low!r} to {summary.high!r}")


def _damaged(path: Path, what: str) -> FormatError:
    return FormatError("scale.store-damaged", path=path, subject=what)
