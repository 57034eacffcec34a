"""What all tables are, of campaigns and of who left, in SQLite and in PostgreSQL."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Integer

__all__ = ["STRICT", "WHOLE"]

WHOLE = BigInteger().with_variant(Integer(), "sqlite")
"""64 bits, in a type that strict tables of SQLite know."""

STRICT: dict[str, Any] = {"sqlite_strict": True, "sqlite_with_rowid": False}
"""Pages lie in the order of random keys; within, rows as they came: see `Database.write_anew`."""
