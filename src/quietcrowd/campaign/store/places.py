"""Where a server keeps what: all that a store has to know of its settings."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Places"]


class Places(Protocol):
    """Where campaigns are stored, and who left."""

    @property
    def database(self) -> str:
        """URL of the campaigns."""

    @property
    def departures(self) -> str | None:
        """URL of another database, which keeps who left and which campaigns ended.

        ``none`` for none. Without it: a file beside that of SQLite, and none for PostgreSQL.
        """

    @property
    def pool_size(self) -> int:
        """Most connections at once to the campaigns."""

    @property
    def pool_seconds(self) -> float:
        """Seconds for which one is waited for."""
