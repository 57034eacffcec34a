"""Putting a copy of an SQLite database in its place: brought up to date, without those who left."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from quietcrowd.campaign.store.copies import copy_name
from quietcrowd.campaign.store.database import Database, create_private
from quietcrowd.campaign.store.departures import NOWHERE, place_of_departures
from quietcrowd.campaign.store.journal_ids import matching_departures, replace_journal
from quietcrowd.campaign.store.opening import migrate, only_server
from quietcrowd.campaign.store.places import Places
from quietcrowd.campaign.store.replay import Replayed, replay
from quietcrowd.exceptions import ParameterError

__all__ = ["restore"]

_BESIDE = ("-wal", "-shm", "-journal")


def restore(
    copy: Path, settings: Places, now: float, *, lost: bool = False
) -> tuple[Replayed, Path | None]:
    """Put a copy in the place of a database; the copy stays as it is.

    What is put there is finished before: killed at any moment, there is the former database or the
    restored one. The former one is kept beside it, as a copy that was made now.

    Parameters
    ----------
    copy : Path
        What ``campaign backup`` made.
    settings : Places
        With the database of SQLite, and where it is kept who left.
    now : float
        Seconds since 1970.
    lost : bool
        Whether it is known that the journal of who left was lost.

    Returns
    -------
    replayed : Replayed
        Who had left since, and what had ended.
    former : Path, optional
        Where the former database is now; None where there was none.

    Raises
    ------
    ParameterError
        Where a server has the database, the copy is not valid, or it is not known who left.
    FormatError
        Where the copy was made by a newer version.
    """
    database = Database.open(settings.database)
    database.close()
    target = database.path
    if target is None:
        raise ParameterError(
            "a PostgreSQL database is restored with pg_restore, into an empty database: then "
            "quietcrowd campaign migrate, and quietcrowd serve with the same --departures as before"
        )
    if not copy.is_file():
        raise ParameterError(f"there is no copy {copy}")
    if not lost:
        _require_departures(settings)
    with only_server(target), TemporaryDirectory(dir=target.parent, prefix=".restoring-") as place:
        staged = Path(place) / target.name
        _read_copy(copy, staged)
        replayed = _finish(staged, settings, now, lost)
        former = _set_aside(database, target.with_name(copy_name(database, now)))
        os.replace(staged, target)
        _settle_folder(target.parent)
    return replayed, former


def _require_departures(settings: Places) -> None:
    """Refuse where who left was kept in a file that is not there."""
    place = place_of_departures(settings)
    if place is None:
        return
    journal = Database.open(place)
    journal.close()
    if journal.path is not None and not journal.path.exists():
        raise ParameterError(
            f"there is no {journal.path}, which says who left since the copy was made: put it "
            "there, or name another place with --departures. With --departures-lost, or "
            f"--departures {NOWHERE}, they come back."
        )


def _read_copy(copy: Path, staged: Path) -> None:
    """Write what is in a copy to a file that is its owner's alone; the copy is only read."""
    create_private(staged)
    try:
        with closing(sqlite3.connect(f"file:{quote(str(copy))}?mode=ro", uri=True)) as raw:
            [(found,)] = raw.execute("PRAGMA quick_check(1)").fetchall()
            if found != "ok":
                raise ParameterError(f"{copy} is damaged: take another copy")
            raw.execute("SELECT version_num FROM alembic_version").fetchall()
            raw.execute("VACUUM INTO ?", (str(staged),))
    except sqlite3.Error as error:
        raise ParameterError(f"{copy} is no copy of a database of campaigns: {error}") from None


def _finish(staged: Path, settings: Places, now: float, lost: bool) -> Replayed:
    """Bring a copy up to date, and do again what was done since; on the disk afterwards."""
    database = Database.open(f"sqlite:///{staged}")
    try:
        migrate(database)
        if lost:
            replace_journal(settings, database)
        with closing(matching_departures(settings, database)) as departures:
            replayed = replay(database, departures, now)
        if not database.empty_journal():
            raise ParameterError(f"somebody reads {staged}: try again")
    finally:
        database.close()
    handle = os.open(staged, os.O_RDWR)
    os.fsync(handle)
    os.close(handle)
    return replayed


def _set_aside(database: Database, aside: Path) -> Path | None:
    """Keep the former database under another name too, with its journal in it or beside it."""
    target = database.path
    assert target is not None
    if not target.exists():
        return None
    if aside.exists():
        raise ParameterError(f"{aside} exists already: try again in a second")
    journal, kept = (at.with_name(f"{at.name}-wal") for at in (target, aside))
    if journal.exists() and journal.stat().st_size:
        _copy_file(journal, kept)
    try:
        settled = database.empty_journal()
    except sqlite3.Error:  # it may be damaged, and replaced for that
        settled = False
    try:
        os.link(target, aside)
    except OSError:  # a file system without links
        _copy_file(target, aside)
    for ending in _BESIDE:
        target.with_name(f"{target.name}{ending}").unlink(missing_ok=True)
    if settled:
        kept.unlink(missing_ok=True)
    return aside


def _copy_file(file: Path, to: Path) -> None:
    create_private(to)
    shutil.copyfile(file, to)


def _settle_folder(folder: Path) -> None:
    """See to it that names in a folder are on the disk."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)
