"""Damage to a file of SQLite, as a failing disk leaves it."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

_PAGE = 4_096


def damage(file: Path, table: str) -> None:
    """Overwrite the first page of a table; its server has emptied the write-ahead log."""
    with closing(sqlite3.connect(file)) as raw:
        query = "SELECT rootpage FROM sqlite_master WHERE name = ?"
        [(page,)] = raw.execute(query, [table]).fetchall()
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with file.open("r+b") as content:
        content.seek((page - 1) * _PAGE)
        content.write(b"\xa5" * _PAGE)
        os.fsync(content.fileno())
