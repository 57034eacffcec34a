"""The files of one partition: plain arrays that are mapped into memory, and ids of tasks."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import asdict, frozen

__all__ = ["PartitionRecord", "map_array", "read_ids", "write_partition"]

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
    digest = blake2b(digest_size=16)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)
        digest.update(f"{name} {array.dtype.str} {len(array)}\n".encode())
        digest.update(np.ascontiguousarray(array).view(np.uint8).data)
    table = pa.table({"task": tasks})
    with pa.OSFile(str(folder / IDS), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return PartitionRecord(
        rows=len(arrays["worker_codes"]),
        tasks=len(tasks),
        files={file.name: file.stat().st_size for file in sorted(folder.iterdir())},
        digest=digest.hexdigest(),
    )


def map_array(folder: Path, name: str, mode: Literal["r", "c"] = "r") -> npt.NDArray[Any]:
    """Return an array that is read from its file as it is used.

    Nobody can write to it; by mode "c" one can, and the file stays as it is.
    """
    return np.asarray(np.load(folder / f"{name}.npy", mmap_mode=mode, allow_pickle=False))


def read_ids(folder: Path) -> pa.Array:
    """Return the ids of the tasks."""
    with pa.memory_map(str(folder / IDS)) as file:
        column = pa.ipc.open_file(file).read_all()["task"]
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
