"""Waiting until SQLite's journal is empty: a server's own thread may be emptying it just now.

SQLite lets one empty it at a time and tells all others at once that it is busy.
"""

from pathlib import Path

from tests.campaign.waiting import in_time

from quietcrowd.campaign.store.database import Database


def emptied(journal: Path) -> bool:
    """Return whether a journal is emptied by somebody else before long."""
    return in_time(lambda: not journal.stat().st_size)


def can_be_emptied(database: Database) -> bool:
    """Empty the journal of a running server; return whether nobody's reading hinders it."""
    return in_time(database.empty_journal)
