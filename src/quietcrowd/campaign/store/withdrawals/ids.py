"""A random id that a database shares with its journal of withdrawals, and with all copies of both.

The first server creates it. Later servers accept neither another journal nor a new one, unless the
operator declares the journal lost: withdrawn workers would return with a copy.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from sqlalchemy import select, text

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.database import Database, Places
from quietcrowd.campaign.store.withdrawals.copies import merge_journal
from quietcrowd.campaign.store.withdrawals.journal import Departures, missing_journal
from quietcrowd.exceptions import ParameterError

_BYTES = 16

_TAKE = text("INSERT INTO journal (line, id) VALUES ('', :id) ON CONFLICT DO NOTHING")

_REPLACE = text("UPDATE journal SET id = :id")


def journal_of(held: Database) -> bytes | None:
    """Return the journal id stored in a database or a journal; None if it has none yet."""
    with held.read() as connection:
        return connection.scalar(select(tables.journal.c.id))


def matching_departures(settings: Places, database: Database) -> Departures:
    """Open the journal of a database, and give both an id if they have none.

    If servers start at once, the first id written to the journal counts. The database must be
    migrated. Raises `ParameterError` if the database has another journal, or the journal cannot be
    written.
    """
    known = journal_of(database)
    missing = None if known is None else missing_journal(settings)
    if missing is not None:
        _refuse(f"{missing} does not exist")
    departures = Departures.open(settings, database)
    try:
        if departures.journal is None:
            return departures
        found = journal_of(departures.journal)
        if known is not None and found != known:
            shown = departures.journal.url.set(query={}).render_as_string()
            _refuse(f"{shown} is {'a new journal' if found is None else 'another journal'}")
        taken = _take(departures.journal, secrets.token_bytes(_BYTES))
        if _take(database, taken) != taken:
            _refuse("another server has just selected another journal")
    except BaseException:
        departures.close()
        raise
    return departures


def replace_journal(settings: Places, database: Database, copies: Sequence[Path] = ()) -> bool:
    """Accept an existing or new journal instead of a lost one; return whether one was lost.

    The entries of `copies` of the lost journal are added, and a new journal gets its id. Raises
    `ParameterError` if no journal is configured, or it cannot be written.
    """
    departures = Departures.open(settings, database)
    try:
        if departures.journal is None:
            raise ParameterError("campaign.no-departures-to-lose")
        known = journal_of(database)
        for copy in copies:
            merge_journal(departures.journal, copy)
        new = known if copies and known is not None else secrets.token_bytes(_BYTES)
        taken = _take(departures.journal, new)
        if known is not None and known != taken:
            with database.write() as connection:
                connection.execute(_REPLACE, {"id": taken})
        return known not in (None, taken)
    finally:
        departures.close()


def leave_journal(database: Database) -> None:
    """Replace the journal id of a database that is served without a journal.

    The next server with a journal raises an error until the operator declares the journal lost.
    """
    if journal_of(database) is not None:
        with database.write() as connection:
            connection.execute(_REPLACE, {"id": secrets.token_bytes(_BYTES)})


def _take(held: Database, new: bytes) -> bytes:
    with held.write() as connection:
        connection.execute(_TAKE, {"id": new})
        found: bytes = connection.execute(select(tables.journal.c.id)).scalar_one()
        return found


def _refuse(found: str) -> NoReturn:
    raise ParameterError("campaign.journal-lost", found=found)
