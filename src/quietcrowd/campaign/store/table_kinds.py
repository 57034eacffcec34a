"""Column types and options that all tables share, in SQLite and PostgreSQL."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Integer

__all__ = ["STRICT", "WHOLE"]

WHOLE = BigInteger().with_variant(Integer(), "sqlite")
"""64-bit integers, in a type that SQLite's strict tables accept."""

STRICT: dict[str, Any] = {"sqlite_strict": True, "sqlite_with_rowid": False}
"""Pages are ordered by random keys; rows in a page by arrival: see `Database.write_anew`."""
