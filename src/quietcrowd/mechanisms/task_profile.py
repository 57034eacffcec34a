"""The task profile matrix: public numbers that stand for each task, the same on every device.

A column of the matrix depends on the public seed and on what the task's id prints as, and on
nothing else: neither the order of the tasks nor which others there are changes it. It is made by
SHAKE-256 and whole numbers alone, so that every version of every library gets the same one.
"""

from __future__ import annotations

import hashlib
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import field, frozen

from quietcrowd.validation import check_whole, one_of

__all__ = ["UNIT", "Profile", "TaskProfile"]

Profile: TypeAlias = Literal["gaussian", "rademacher", "buckets"]

UNIT = 2**24
"""What 1.0 is stored as."""

MAX_RANK = 4096
_SUMMANDS = 12  # uniform 16-bit numbers whose sum is nearly normal
_MIDDLE = _SUMMANDS * (2**16 - 1) // 2


def _check_rank(_: object, __: object, rank: Any) -> None:
    check_whole("rank", rank, 1, MAX_RANK)


def _check_seed(_: object, __: object, seed: Any) -> None:
    check_whole("seed", seed, 0, 2**64 - 1)


@frozen(kw_only=True)
class TaskProfile:
    """The law of the task profile matrix V.

    Parameters
    ----------
    rank : int
        Number of coordinates d of a task, 1 to 4,096.
    kind : {"gaussian", "rademacher", "buckets"}
        Nearly normal entries, scaled to a 1-norm of 1; entries ``+-1/d``; or a single 1, at a
        coordinate that is drawn.
    seed : int
        Public.

    References
    ----------
    H. Sun et al., IEEE Big Data 2018, section V: V is random, independent of all answers, and
    the 1-norm of each column is at most 1.

    Examples
    --------
    >>> matrix = TaskProfile(rank=3, kind="buckets", seed=1).matrix(pa.array(["a", "b"]))
    >>> (matrix / UNIT).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    """

    rank: int = field(validator=_check_rank)
    kind: Profile = field(validator=one_of(*get_args(Profile)))
    seed: int = field(validator=_check_seed)

    def matrix(self, tasks: pa.Array) -> npt.NDArray[np.int64]:
        """Return V transposed, in units of 2^-24, shape (tasks, rank).

        Every row has a 1-norm of at most 2^24.
        """
        prefix = f"quietcrowd task profile\n{self.kind}\n{self.rank}\n{self.seed}\n".encode()
        texts = pc.cast(tasks, pa.large_string()).to_pylist()
        stream = b"".join(
            hashlib.shake_256(prefix + text.encode()).digest(self._bytes_per_task) for text in texts
        )
        octets = np.frombuffer(stream, np.uint8).reshape(len(texts), self._bytes_per_task)
        match self.kind:
            case "gaussian":
                return _nearly_normal(octets, self.rank)
            case "rademacher":
                return _signs(octets, self.rank)
            case "buckets":
                return _one_hot(octets, self.rank)

    @property
    def _bytes_per_task(self) -> int:
        return {
            "gaussian": 2 * _SUMMANDS * self.rank,
            "rademacher": (self.rank + 7) // 8,
            "buckets": 8,
        }[self.kind]


def _nearly_normal(octets: npt.NDArray[np.uint8], rank: int) -> npt.NDArray[np.int64]:
    summands = octets.view("<u2").reshape(len(octets), rank, _SUMMANDS)
    raw = summands.sum(axis=2, dtype=np.int64) - _MIDDLE
    norms = np.maximum(np.abs(raw).sum(axis=1, keepdims=True), 1)
    scaled: npt.NDArray[np.int64] = np.sign(raw) * (np.abs(raw) * UNIT // norms)
    return scaled


def _signs(octets: npt.NDArray[np.uint8], rank: int) -> npt.NDArray[np.int64]:
    bits = np.unpackbits(octets, axis=1, count=rank, bitorder="little").astype(np.int64)
    return (2 * bits - 1) * (UNIT // rank)


def _one_hot(octets: npt.NDArray[np.uint8], rank: int) -> npt.NDArray[np.int64]:
    buckets = octets.view("<u8")[:, 0] % np.uint64(rank)
    matrix = np.zeros((len(octets), rank), np.int64)
    matrix[np.arange(len(octets)), buckets.astype(np.intp)] = UNIT
    return matrix
