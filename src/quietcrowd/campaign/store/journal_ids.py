"""That a database and its journal of who left belong together: both have the same random id.

The first server takes one. From then on no other journal, and no new and empty one, is taken for
the journal of this database unless somebody says that it was lost: who left would come back with a
copy. A copy of the database has the id, and a copy of the journal too.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from sqlalchemy import select, text

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.departures import Departures, place_of_departures
from quietcrowd.campaign.store.journal_copies import merge_journal
from quietcrowd.campaign.store.places import Places
from quietcrowd.exceptions import ParameterError

__all__ = ["journal_of", "leave_journal", "matching_departures", "replace_journal"]

_BYTES = 16

_TAKE = text("INSERT INTO journal (line, id) VALUES ('', :id) ON CONFLICT DO NOTHING")

_REPLACE = text("UPDATE journal SET id = :id")


def journal_of(held: Database) -> bytes | None:
    """Return the id that a database of campaigns, or a journal, has; None where it has none yet."""
    with held.read() as connection:
        return connection.scalar(select(tables.journal.c.id))


def matching_departures(settings: Places, database: Database) -> Departures:
    """Return who left, of the journal that is this database's; they get an id if there is none.

    Servers that start at once take one: that of the journal, which has it first.

    Parameters
    ----------
    settings : Places
        Of the server.
    database : Database
        Of this version's tables.

    Raises
    ------
    ParameterError
        Where the database has another journal, or nothing can be kept at that place.
    """
    known = journal_of(database)
    if known is not None:
        _require_file(settings)
    departures = Departures.open(settings, database)
    try:
        if departures.journal is None:
            return departures
        found = journal_of(departures.journal)
        if known is not None and found != known:
            shown = departures.journal.url.set(query={}).render_as_string()
            _refuse(f"{shown} is {'a new one' if found is None else 'another one'}")
        taken = _take(departures.journal, secrets.token_bytes(_BYTES))
        if _take(database, taken) != taken:
            _refuse("another server took another one just now")
    except BaseException:
        departures.close()
        raise
    return departures


def replace_journal(settings: Places, database: Database, copies: Sequence[Path] = ()) -> bool:
    """Take what there is, or a new journal, in place of one that was lost.

    Parameters
    ----------
    settings : Places
        Of the server.
    database : Database
        Of this version's tables.
    copies : sequence of Path
        Copies of the lost journal: their entries are added, and a new journal has its id.

    Returns
    -------
    bool
        Whether one was lost.

    Raises
    ------
    ParameterError
        Where nothing is kept, or it cannot be at that place.
    """
    departures = Departures.open(settings, database)
    try:
        if departures.journal is None:
            raise ParameterError("nothing can be lost where --departures is none: give one of both")
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
    """Take it that no journal knows any more who left: a server serves without one.

    The next server with a journal refuses to start until somebody says that it is known.
    """
    if journal_of(database) is not None:
        with database.write() as connection:
            connection.execute(_REPLACE, {"id": secrets.token_bytes(_BYTES)})


def _take(held: Database, new: bytes) -> bytes:
    """Return the id that a database or journal has; it gets this one where it has none."""
    with held.write() as connection:
        connection.execute(_TAKE, {"id": new})
        found: bytes = connection.execute(select(tables.journal.c.id)).scalar_one()
        return found


def _require_file(settings: Places) -> None:
    """Refuse where the journal is a file that is not there; none is made then."""
    place = place_of_departures(settings)
    if place is None:
        return
    journal = Database.open(place)
    journal.close()
    if journal.path is not None and not journal.path.exists():
        _refuse(f"there is no {journal.path}")


def _refuse(found: str) -> NoReturn:
    raise ParameterError(
        f"the journal that says who left this database is lost: {found}. Put its newest copy there "
        "or name its place with --departures; or say --departures-lost once: who left before comes "
        "back with a copy then."
    )
