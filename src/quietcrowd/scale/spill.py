"""Rows on their way from files to partitions: put aside in one file per partition."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["Spill"]


class Spill:
    """Rows that are put aside by partition and read again, partition by partition.

    Parameters
    ----------
    folder : Path
        Of the files; it is made.
    partitions : int
        How many there are.
    """

    def __init__(self, folder: Path, partitions: int) -> None:
        folder.mkdir()
        self.folder = folder
        self.partitions = partitions
        self.schema = pa.schema([])

    def add(self, table: pa.Table, places: npt.NDArray[np.uint16]) -> None:
        """Put each row with those of its partition, shape (rows,); their order stays."""
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
        """Return the rows of a partition and forget them."""
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
