"""Codes of workers by the order of their first row, looked up by hashes of their ids."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from quietcrowd.inference.partition import hash_ids

__all__ = ["WorkerList"]


class WorkerList:
    """A growing list of ids; the position of an id is its code.

    Rebuilding a lookup table of all ids for every batch would be slower and take more memory than
    the ids.
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
        """Return the codes of ids, or -1 for new ids."""
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
