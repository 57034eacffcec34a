"""One server per SQLite file: two would each believe that all writes are theirs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from quietcrowd.campaign.terms.file_lock import file_lock
from quietcrowd.exceptions import ParameterError

__all__ = ["only_server"]


@contextmanager
def only_server(database: Path | None) -> Iterator[None]:
    """Hold the lock of an SQLite file; None, a server database, needs none.

    Raises
    ------
    ParameterError
        Where another server holds it.
    """
    with ExitStack() as held:
        if database is not None:
            try:
                held.enter_context(
                    file_lock(database.with_name(f"{database.name}.lock"), wait=False)
                )
            except BlockingIOError:
                raise ParameterError(
                    f"{database} is served by another process already: stop that one first. For "
                    "several processes take PostgreSQL."
                ) from None
        yield
