"""``quietcrowd campaign backup``, ``restore`` and ``migrate``, for the operator of the database."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quietcrowd.campaign.extra import require_server
from quietcrowd.commands import options
from quietcrowd.commands.printing import counted, note
from quietcrowd.exceptions import ParameterError

if TYPE_CHECKING:
    from quietcrowd.campaign.server.settings import Settings
    from quietcrowd.campaign.store.database import Database

__all__ = ["LOCAL", "DatabaseUrl", "backup", "existing", "migrate", "restore"]

DatabaseUrl = Annotated[
    str,
    typer.Option(
        metavar="URL",
        envvar="QUIETCROWD_DATABASE",
        help="Of the server: sqlite:///FILE or postgresql://USER@HOST/NAME.",
    ),
]

LOCAL = "sqlite:///quietcrowd.db"


def existing(url: str) -> Database:
    """Open a database; raise ParameterError instead of creating a new one."""
    from quietcrowd.campaign.store.database import Database

    opened = Database.open(url)
    if opened.path is not None and not opened.path.exists():
        raise ParameterError(f"there is no database {opened.path}")
    return opened


def backup(
    target: Annotated[
        Path,
        typer.Argument(metavar="PLACE", help="A folder of copies, or a new file."),
    ],
    database: DatabaseUrl = LOCAL,
    keep_days: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="NUMBER",
            help="Delete copies in the folder that this command made more days ago.",
        ),
    ] = None,
    departures: options.Departures = None,
    departures_lost: Annotated[
        bool,
        typer.Option(
            "--departures-lost",
            help="Give it once if the journal is lost: it may lack entries of its copy before.",
        ),
    ] = False,
) -> None:
    """Copy a database and its journal while the server runs.

    PLACE is a folder: each copy is a new folder in it, with the database, the journal of
    withdrawals, and a manifest. The newest three good copies always stay. A new file gets the
    database only, and a manifest next to it.

    What is deleted later stays in the copy: delete old copies too. Who leaves later does not come
    back with it: quietcrowd campaign restore.

    Example: quietcrowd campaign backup copy.db

    Example: quietcrowd campaign backup /var/backups/crowd --keep-days 30
    """
    require_server()
    from quietcrowd.campaign.server.settings import Settings
    from quietcrowd.campaign.store.clock import read_clock
    from quietcrowd.campaign.store.generations import copy_alone, make_generation, prune

    settings = Settings(database=database, departures=departures)
    if keep_days is not None and not target.is_dir():
        raise ParameterError(f"--keep-days is for a folder of copies, and {target} is none")
    now = time.time()
    with closing(existing(database)) as opened, _existing_journal(settings) as journal:
        if not target.is_dir():
            copy_alone(opened, target, now)
            note(f"Copied to {target}.")
            return
        clock = read_clock(now, opened, journal)
        made = make_generation(opened, journal, target, clock, lost=departures_lost)
        note(f"Copied to {made.place}.")
        if keep_days is not None:
            for old in prune(opened, target, keep_days, clock):
                note(f"Deleted {old}.")
        if clock.held:
            note(f"Warning: {clock.describe()}")


@contextmanager
def _existing_journal(settings: Settings) -> Iterator[Database | None]:
    """Provide the journal of withdrawals; if there is none, print a note after the copy."""
    from quietcrowd.campaign.store.database import Database
    from quietcrowd.campaign.store.withdrawals.journal import place_of_departures

    place = place_of_departures(settings)
    if place is None:
        yield None
        note("Withdrawals were not copied: name the journal with --departures, if there is one.")
        return
    with closing(Database.open(place)) as journal:
        if journal.path is not None and not journal.path.exists():
            yield None
            note(f"Withdrawals were not copied: there is no journal {journal.path} yet.")
        else:
            yield journal


def restore(
    copy: Annotated[Path, typer.Argument(metavar="COPY", help="What campaign backup made.")],
    database: DatabaseUrl = LOCAL,
    departures: options.Departures = None,
    departures_lost: options.DeparturesLost = False,
) -> None:
    """Put a copy in place of a database that no server has.

    A database of PostgreSQL has to be empty. Who left since stays away, and so do campaigns that
    were deleted or whose time is over. The copy is brought up to date. The former database of
    SQLite is kept beside it.

    Example: quietcrowd campaign restore copy.db --database sqlite:///quietcrowd.db
    """
    require_server()
    from quietcrowd.campaign.server.settings import Settings
    from quietcrowd.campaign.store.restore import restore as put_in_place

    settings = Settings(database=database, departures=departures)
    done, former = put_in_place(copy, settings, time.time(), lost=departures_lost)
    if former is not None:
        note(f"The former database is {former}: delete it once you do not need it.")
    note(
        f"Restored from {copy}. Deleted again: {counted(done.workers, 'worker')} and "
        f"{counted(done.deleted, 'campaign')}; closed again: {counted(done.closed, 'campaign')}."
    )
    note("Keys and invites that ended since are valid again: campaign key --replace ends keys.")


def migrate(
    database: DatabaseUrl = LOCAL,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")
    ] = False,
    no_backup: Annotated[bool, typer.Option("--no-backup", help="Make no copy before.")] = False,
    copies: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Where the copy is made. Default: beside SQLite's file; here, of PostgreSQL.",
        ),
    ] = None,
) -> None:
    """Bring a database up to date, after a copy of it was made.

    The revisions that it lacks are printed, one to a line. Of SQLite the server has to be stopped;
    servers on PostgreSQL go on meanwhile, also those of the version before. The day of this
    machine's clock is stored, and a server compares its clock with it.

    Example: quietcrowd campaign migrate --dry-run

    Example: quietcrowd campaign migrate --database postgresql://me@db/crowd --copies /var/backups
    """
    require_server()
    from quietcrowd.campaign.store.clock import observe_clock
    from quietcrowd.campaign.store.opening import migrate as bring_up_to_date
    from quietcrowd.campaign.store.opening import only_server, pending

    with closing(existing(database)) as opened:
        wanted = pending(opened)
        for revision in wanted:
            typer.echo(f"{revision.name}  {revision.says}")
        if dry_run or not wanted:
            note(_what_would_be(len(wanted)))
            return
        with only_server(opened.path):
            if no_backup:
                note("Warning: no copy was made before.")
            else:
                _copy_before(opened, copies)
            bring_up_to_date(opened)
            clock = observe_clock(time.time(), opened)
    note("Brought up to date.")
    if clock.held:
        note(f"Warning: {clock.describe()}")
    else:
        note(f"This machine's clock says {clock.date}. If it is wrong, correct it now.")


def _what_would_be(count: int) -> str:
    if not count:
        return "It is up to date: there is nothing to do."
    return f"It lacks {counted(count, 'revision')}. Nothing was changed."


def _copy_before(opened: Database, folder: Path | None) -> None:
    from quietcrowd.campaign.store.copies import copy_name
    from quietcrowd.campaign.store.generations import copy_alone

    place = folder or (Path() if opened.path is None else opened.path.parent)
    now = time.time()
    file = place / copy_name(opened, now)
    copy_alone(opened, file, now)
    note(f"Copied to {file}: delete it once you do not need it.")
