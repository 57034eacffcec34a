"""Waiting until SQLite's journal is empty: a server's own thread may be emptying it just now.

SQLite lets one empty it at a time and tells all others at once that it is busy.
"""

import time
from pathlib import Path

from quietcrowd.campaign.database import Database


def _in_time(done, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while not done():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def emptied(journal: Path, seconds: float = 10) -> bool:
    """Return whether a journal is emptied by somebody else before long."""
    return _in_time(lambda: not journal.stat().st_size, seconds)


def can_be_emptied(database: Database, seconds: float = 10) -> bool:
    """Empty the journal of a running server; return whether nobody's reading hinders it."""
    return _in_time(database.empty_journal, seconds)
