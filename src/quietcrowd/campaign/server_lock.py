"""One server per SQLite file: two would each believe that all writes are theirs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from quietcrowd.exceptions import ParameterError

__all__ = ["only_server"]


@contextmanager
def only_server(database: Path | None) -> Iterator[None]:
    """Hold the lock of an SQLite file; None, a server database, needs none.

    The lock ends with the process, however that ends.

    Raises
    ------
    ParameterError
        Where another server holds it, or the system has no such locks, as Windows.
    """
    if database is None:
        yield
        return
    if find_spec("fcntl") is None:
        raise ParameterError(
            f"{database} cannot be locked on this system, so that two servers could write to it: "
            "serve it on Linux or macOS, or take PostgreSQL."
        )
    lock = database.with_name(f"{database.name}.lock")
    handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _lock(handle, database)
        yield
    finally:
        os.close(handle)


def _lock(handle: int, database: Path) -> None:
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ParameterError(
            f"{database} is served by another process already: one server per SQLite file. "
            "For several processes take PostgreSQL."
        ) from None
