"""Settings of a server that the store needs."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Places"]


class Places(Protocol):
    """Location and connection pool of the databases."""

    @property
    def database(self) -> str:
        """URL of the campaigns."""

    @property
    def departures(self) -> str | None:
        """URL of the journal of withdrawals and ended campaigns, a separate database.

        ``none`` means no journal. None means a file next to an SQLite database, and no journal for
        PostgreSQL.
        """

    @property
    def pool_size(self) -> int:
        """Most connections to the campaigns."""

    @property
    def pool_seconds(self) -> float:
        """Seconds to wait for a connection."""
