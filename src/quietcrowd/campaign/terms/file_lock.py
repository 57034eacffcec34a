"""One process at a time: a lock on a file, which ends with the process, however that ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["file_lock"]

if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int, wait: bool) -> None:
        msvcrt.locking(handle, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)

    def _unlock(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(handle: int, wait: bool) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))

    def _unlock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)


@contextmanager
def file_lock(path: Path, *, wait: bool) -> Iterator[None]:
    """Hold the lock of a file, which is made where there is none and stays.

    Parameters
    ----------
    path : Path
        Of the lock.
    wait : bool
        Whether to wait until it is free.

    Raises
    ------
    OSError
        Where somebody else holds it, in this process or another one, and `wait` is False; where
        the file cannot be made.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        _lock(handle, wait)
        try:
            yield
        finally:
            _unlock(handle)  # closed alone, a child that is just being forked would hold it on
    finally:
        os.close(handle)
