"""Read-only checks of a database, its journal and its copies, for the operator."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from attrs import frozen
from sqlalchemy import func, inspect, select
from sqlalchemy.exc import DBAPIError

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.clock import read_clock
from quietcrowd.campaign.store.copies import stem_of
from quietcrowd.campaign.store.database import UNAVAILABLE, Database, Places
from quietcrowd.campaign.store.failures import DAMAGED, explain
from quietcrowd.campaign.store.generations import (
    MANIFEST,
    Generation,
    copy_at,
    generations_in,
    identity_of,
)
from quietcrowd.campaign.store.revisions import found_revision, standing_of
from quietcrowd.campaign.store.withdrawals.copies import copy_journal, entries_of, lost_entries
from quietcrowd.campaign.store.withdrawals.journal import metadata, place_of_departures
from quietcrowd.exceptions import QuietcrowdError


@frozen
class Finding:
    """The result of a check: the part checked, a description, and whether it is as it should be."""

    part: str
    says: str
    good: bool = True


def examine(settings: Places, folder: Path | None, now: float) -> Iterator[Finding]:
    """Check a database in use, its journal, the clock, and the copies in `folder`."""
    place = place_of_departures(settings)
    with closing(Database.open(settings.database)) as database:
        state = _check_database(database)
        yield state
        if place is None:
            yield Finding("journal", "none: copies restore withdrawn workers")
            yield from _check_rest(database, None, folder, now, state.good)
            return
        with closing(Database.open(place)) as journal:
            found = _check_journal(journal, database if state.good else None)
            yield found
            usable = journal if found.good else None
            yield from _check_rest(database, usable, folder, now, state.good)


def _check_database(database: Database) -> Finding:
    trouble = _trouble(database)
    if trouble is not None:
        return Finding("database", trouble, good=False)
    try:
        with database.read() as connection:
            found = found_revision(connection)
        standing = standing_of(found)
    except QuietcrowdError as error:
        return Finding("database", str(error), good=False)
    if standing in ("new", "older"):
        remedy = "a server creates them" if standing == "new" else "run quietcrowd admin migrate"
        return Finding("database", f"it lacks tables of this version: {remedy}", good=False)
    counts = _count(database, ("campaign", "participant", "report"))
    shown = ", ".join(f"{count:,} of {name}" for name, count in counts.items())
    return Finding("database", f"rows: {shown}")


def _check_journal(journal: Database, database: Database | None) -> Finding:
    trouble = _trouble(journal)
    if trouble is not None:
        return Finding("journal", trouble, good=False)
    counts = _count(journal, ("departure", "ending"))
    says = f"{counts.get('departure', 0):,} withdrawals, {counts.get('ending', 0):,} campaigns"
    if database is not None:
        known, own = (identity_of(one, tables.journal) for one in (database, journal))
        if known is not None and known != own:
            return Finding("journal", f"{says}; it belongs to another database", good=False)
    return Finding("journal", says)


def _check_rest(
    database: Database, journal: Database | None, folder: Path | None, now: float, usable: bool
) -> Iterator[Finding]:
    if usable:
        clock = read_clock(now, database, journal)
        yield Finding("clock", clock.describe() if clock.held else "plausible", not clock.held)
    if folder is None:
        return
    found = generations_in(folder, stem_of(database))
    for place in sorted(folder.glob(f"{stem_of(database)}.copy-*")):
        if place.name.endswith(f".{MANIFEST}"):
            continue
        yield _check_copy(place, copy_at(place), database if usable else None)
    good = [one for one in found if one.damaged_file() is None]
    if not good:
        yield Finding("copies", f"there is no good copy with a journal in {folder}", good=False)
    elif journal is not None:
        yield _compare_journal(journal, good, now)


def _check_copy(place: Path, found: Generation | None, database: Database | None) -> Finding:
    if found is None:
        return Finding(place.name, "it has no manifest", good=False)
    damaged = found.damaged_file()
    if damaged is not None:
        return Finding(place.name, f"{damaged.name} is damaged or missing", good=False)
    manifest = found.manifest
    if database is not None and manifest.database != identity_of(database):
        return Finding(place.name, "it is a copy of another database", good=False)
    if found.database.suffix != ".dump":
        trouble = _trouble_of_file(found.database, copy=True)
        if trouble is not None:
            return Finding(place.name, trouble, good=False)
    if found.journal is not None and entries_of(found.journal) != manifest.entries:
        return Finding(place.name, "its journal does not match its manifest", good=False)
    rows = manifest.rows
    shown = f"{rows.get('campaign', 0):,} campaigns, {rows.get('participant', 0):,} workers"
    return Finding(place.name, f"{shown}, of {manifest.made}")


def _compare_journal(journal: Database, good: list[Generation], now: float) -> Finding:
    last = next((one.journal for one in good if one.journal is not None), None)
    if last is None:
        return Finding("copies", "no good copy has a journal", good=False)
    with TemporaryDirectory() as place:
        copy = Path(place) / "journal.db"
        copy_journal(journal, copy)
        lost = lost_entries(copy, last, now)
    if lost:
        return Finding("copies", f"the journal lacks {lost:,} entries that {last} has", good=False)
    return Finding("copies", f"{len(good):,} good; the journal has all entries of the newest")


def _trouble(database: Database) -> str | None:
    if database.path is not None:
        return _trouble_of_file(database.path)
    try:
        _count(database, (*tables.metadata.tables, *metadata.tables))  # reads every page
    except UNAVAILABLE as error:
        return explain(error) if isinstance(error, DBAPIError) else "no connection is free"
    return None


def _trouble_of_file(file: Path, *, copy: bool = False) -> str | None:
    if not file.exists():
        return f"there is no {file}"
    try:
        url = f"file:{quote(str(file.absolute()))}?mode=ro{'&immutable=1' if copy else ''}"
        with closing(sqlite3.connect(url, uri=True)) as raw:
            found = raw.execute("PRAGMA integrity_check(1)").fetchone()[0]
            broken = raw.execute("PRAGMA foreign_key_check").fetchone()
    except sqlite3.Error as error:
        return explain(error)
    return DAMAGED if found != "ok" or broken is not None else None


def _count(database: Database, names: tuple[str, ...]) -> dict[str, int]:
    known = {**metadata.tables, **tables.metadata.tables}
    with database.read() as connection:
        there = set(inspect(connection).get_table_names())
        return {
            name: int(connection.scalar(select(func.count()).select_from(known[name])) or 0)
            for name in dict.fromkeys(names)
            if name in there
        }
