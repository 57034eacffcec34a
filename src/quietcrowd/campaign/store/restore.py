"""Restore a copy of a database: migrate it and replay the journal."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from sqlalchemy import inspect
from sqlalchemy.exc import DBAPIError

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.clock import read_clock
from quietcrowd.campaign.store.copies import copy_name, pg_restore
from quietcrowd.campaign.store.database import Database, Places, create_private
from quietcrowd.campaign.store.failures import explain
from quietcrowd.campaign.store.generations import (
    copy_at,
    generations_in,
    identity_of,
    make_lasting,
    sync_directory,
)
from quietcrowd.campaign.store.opening import migrate, only_server
from quietcrowd.campaign.store.replay import Replayed, replay
from quietcrowd.campaign.store.withdrawals.copies import (
    matching_departures,
    merge_journal,
    replace_journal,
)
from quietcrowd.campaign.store.withdrawals.journal import NOWHERE, missing_journal
from quietcrowd.exceptions import ParameterError

_BESIDE = ("-wal", "-shm", "-journal")


def restore(
    copy: Path, settings: Places, now: float, *, lost: bool = False
) -> tuple[Replayed, Path | None]:
    """Replace a database by a copy, a generation or a file, which stays unchanged.

    The new database is complete before it replaces the old one, so a crash leaves one of them. The
    old SQLite database becomes a copy made now, whose place is returned; a PostgreSQL database must
    be empty. Copies of the journal next to the copy are merged into it; if it is `lost`, they
    replace it.
    """
    file = _require_whole(copy)
    missing = None if lost else missing_journal(settings)
    if missing is not None:
        raise ParameterError("campaign.departures-missing", missing=missing, nowhere=NOWHERE)
    with closing(Database.open(settings.database)) as database:
        target = database.path
        _require_kind(file, dump=target is None)
        if target is None:
            return _fill(database, file, copy, settings, now, lost), None
    with only_server(target), TemporaryDirectory(dir=target.parent, prefix=".restoring-") as place:
        staged = Path(place) / target.name
        _read_copy(file, staged)
        with closing(Database.open(f"sqlite:///{staged}")) as opened:
            replayed = _finish(opened, copy, settings, now, lost)
            if not opened.empty_journal():
                raise ParameterError("campaign.staged-copy-in-use", staged=staged)
        make_lasting(staged)
        former = _set_aside(database, target.with_name(copy_name(database, now)))
        os.replace(staged, target)
        sync_directory(target.parent)
    return replayed, former


def _require_whole(copy: Path) -> Path:
    found = copy_at(copy)
    if found is None:
        if not copy.is_file():
            raise ParameterError("campaign.copy-missing", copy=copy)
        return copy
    damaged = found.damaged_file()
    if damaged is not None:
        raise ParameterError("campaign.copy-file-damaged", damaged=damaged)
    return found.database


def _require_kind(file: Path, *, dump: bool) -> None:
    with file.open("rb") as content:
        if (content.read(5) == b"PGDMP") is not dump:
            kinds = ("PostgreSQL", "SQLite") if dump else ("SQLite", "PostgreSQL")
            raise ParameterError("campaign.copy-of-another-kind", kind=kinds[0], file=file)


def _read_copy(copy: Path, staged: Path) -> None:
    create_private(staged)
    try:
        with closing(sqlite3.connect(f"file:{quote(str(copy))}?mode=ro", uri=True)) as raw:
            [(found,)] = raw.execute("PRAGMA quick_check(1)").fetchall()
            if found != "ok":
                raise ParameterError("campaign.copy-damaged", copy=copy)
            raw.execute("SELECT version_num FROM alembic_version").fetchall()
            raw.execute("VACUUM INTO ?", (str(staged),))
    except sqlite3.Error as error:
        raise ParameterError("campaign.not-a-copy", copy=copy, error=error) from None


def _fill(
    database: Database, dump: Path, copy: Path, settings: Places, now: float, lost: bool
) -> Replayed:
    try:
        with database.read() as connection:
            if inspect(connection).get_table_names():
                raise ParameterError("campaign.database-not-empty")
    except DBAPIError as error:
        raise ParameterError("campaign.database-not-usable", reason=explain(error)) from None
    pg_restore(database, dump)
    return _finish(database, copy, settings, now, lost)


def _finish(database: Database, copy: Path, settings: Places, now: float, lost: bool) -> Replayed:
    migrate(database)
    journals = _journals(copy, database)
    if lost:
        replace_journal(settings, database, journals)
    with closing(matching_departures(settings, database)) as departures:
        if departures.journal is not None:
            for one in journals:
                merge_journal(departures.journal, one)
        clock = read_clock(now, database, departures.journal)
        return replay(database, departures, clock.trusted)


def _journals(copy: Path, database: Database) -> list[Path]:
    mine, known = identity_of(database), identity_of(database, tables.journal)
    return [
        one.journal
        for one in generations_in(copy.absolute().parent, copy.name.partition(".copy-")[0])
        if mine == one.manifest.database or known == one.manifest.journal
        if one.journal is not None and one.is_good(one.journal)
    ]


def _set_aside(database: Database, aside: Path) -> Path | None:
    """Link the old database to a second name, with its write-ahead log merged or next to it."""
    target = database.path
    assert target is not None
    if not target.exists():
        return None
    if aside.exists():
        raise ParameterError("campaign.aside-exists", aside=aside)
    journal, kept = (at.with_name(f"{at.name}-wal") for at in (target, aside))
    if journal.exists() and journal.stat().st_size:
        _copy_file(journal, kept)
    try:
        settled = database.empty_journal()
    except sqlite3.Error:  # damage may be the reason to replace it
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
