"""Known truths of a store, by partition."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import frozen

from quietcrowd.domains import Domain
from quietcrowd.frames import as_frame, column_of, positions_by_text
from quietcrowd.gold import UNKNOWN
from quietcrowd.inference.fitting import FittingMethod
from quietcrowd.scale.store import Store


@frozen(kw_only=True, eq=False)
class StoredTruths:
    """Known truths as in `Partition`; `places` maps to (slice of `values`, tasks' positions)."""

    values: npt.NDArray[Any]
    places: Mapping[int, tuple[slice, npt.NDArray[np.intp]]]

    def __len__(self) -> int:
        return len(self.values)

    def of_partition(self, index: int, tasks: int) -> npt.NDArray[Any]:
        """Return the truths of a partition, shape (tasks,)."""
        unknown = UNKNOWN if self.values.dtype.kind == "i" else np.nan
        truths = np.full(tasks, unknown, self.values.dtype)
        if index in self.places:
            own, positions = self.places[index]
            truths[positions] = self.values[own]
        return truths

    @property
    def fingerprint(self) -> str:
        """A digest of truths and positions."""
        digest = blake2b(self.values.tobytes(), digest_size=16)
        for index, (own, positions) in sorted(self.places.items()):
            digest.update(f"{index} {own.start} ".encode() + positions.tobytes())
        return digest.hexdigest()


def match_truths(store: Store, method: FittingMethod, truths: Any) -> StoredTruths:
    """Match any ``gold`` of `FittingMethod.fit` with the tasks of a store."""
    found = [store.task_ids(0)[:0]]
    places = {}
    begin = 0
    for index, names in store.by_partition(_named_tasks(truths)).items():
        ids = store.task_ids(index)
        positions = np.unique(positions_by_text(names, ids))
        positions = positions[positions >= 0]
        found.append(ids.take(pa.array(positions)))
        places[index] = (slice(begin, begin + len(positions)), positions)
        begin += len(positions)
    return StoredTruths(
        values=method.known(pa.concat_arrays(found), truth_domain(store, method), truths),
        places=places,
    )


def truth_domain(store: Store, method: FittingMethod) -> Domain:
    """Return the domain of inferred truths."""
    return store.domain if store.mechanism is None else method.truth_domain(store.mechanism)


def _named_tasks(truths: Any) -> pa.Array:
    """Return the ids of tasks with known truths, or none if `truths` is not a valid frame."""
    frame = None if truths is None else as_frame(truths)
    if frame is None or "task" not in frame.columns:
        return pa.nulls(0)  # the method raises for such a frame
    return column_of(frame, "task").combine_chunks().drop_null()
