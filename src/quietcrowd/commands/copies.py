"""``quietcrowd campaign backup``, ``restore`` and ``migrate``: for whoever owns the database."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quietcrowd.campaign.extra import require_server
from quietcrowd.commands import options
from quietcrowd.commands.printing import counted, note
from quietcrowd.exceptions import ParameterError

if TYPE_CHECKING:
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
    """Return a database, which is made by no command that is about copies."""
    from quietcrowd.campaign.store.database import Database

    opened = Database.open(url)
    if opened.path is not None and not opened.path.exists():
        raise ParameterError(f"there is no database {opened.path}")
    return opened


def backup(
    target: Annotated[
        Path,
        typer.Argument(
            metavar="PLACE", help="A new file; or a folder, where it is named after when."
        ),
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
) -> None:
    """Copy a database to a file, while the server runs.

    Of PostgreSQL it is what pg_dump writes. What is deleted later stays in the copy: delete old
    copies too. Who leaves later does not come back with it: quietcrowd campaign restore.

    Into a folder, the journal of who left is copied as well, in place of its copy before: an older
    one would let people come back.

    Example: quietcrowd campaign backup copy.db

    Example: quietcrowd campaign backup /var/backups/crowd --keep-days 30
    """
    require_server()
    from quietcrowd.campaign.store.copies import copy_name, copy_to, delete_old_copies

    journal = _journal(database, departures)
    if keep_days is not None and not target.is_dir():
        raise ParameterError(f"--keep-days is for a folder of copies, and {target} is none")
    with closing(existing(database)) as opened:
        now = time.time()
        file = target / copy_name(opened, now) if target.is_dir() else target
        copy_to(opened, file)
        note(f"Copied to {file}.")
        if target.is_dir():  # after the database: whoever left in between is in the journal
            _copy_journal(journal, target)
        if keep_days is not None:
            for old in delete_old_copies(opened, target, keep_days, now):
                note(f"Deleted {old}.")


def _journal(database: str, departures: str | None) -> str | None:
    """Return the URL of the journal of who left; None where there is none, or nobody says where."""
    from quietcrowd.campaign.server.settings import Settings
    from quietcrowd.campaign.store.departures import place_of_departures

    return place_of_departures(Settings(database=database, departures=departures))


def _copy_journal(journal: str | None, folder: Path) -> None:
    from quietcrowd.campaign.store.copies import replace_newest_copy
    from quietcrowd.campaign.store.database import Database

    if journal is None:
        note("Who left was not copied: name the journal with --departures, if there is one.")
        return
    with closing(Database.open(journal)) as opened:
        if opened.path is not None and not opened.path.exists():
            note(f"Who left was not copied: there is no journal {opened.path} yet.")
            return
        note(f"Who left is copied to {replace_newest_copy(opened, folder)}.")


def restore(
    copy: Annotated[Path, typer.Argument(metavar="COPY", help="What campaign backup made.")],
    database: DatabaseUrl = LOCAL,
    departures: options.Departures = None,
    departures_lost: options.DeparturesLost = False,
) -> None:
    """Put a copy in place of an SQLite database that no server has.

    Who left since stays away, and so do campaigns that were deleted or whose time is over. The copy
    is brought up to date. The former database is kept beside it.

    Example: quietcrowd campaign restore copy.db --database sqlite:///quietcrowd.db
    """
    require_server()
    from quietcrowd.campaign.server.settings import Settings
    from quietcrowd.campaign.store.restoring import restore as put_in_place

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
    servers on PostgreSQL go on meanwhile, also those of the version before.

    Example: quietcrowd campaign migrate --dry-run

    Example: quietcrowd campaign migrate --database postgresql://me@db/crowd --copies /var/backups
    """
    require_server()
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
    note("Brought up to date.")


def _what_would_be(count: int) -> str:
    if not count:
        return "It is up to date: there is nothing to do."
    return f"It lacks {counted(count, 'revision')}. Nothing was changed."


def _copy_before(opened: Database, folder: Path | None) -> None:
    from quietcrowd.campaign.store.copies import copy_name, copy_to

    place = folder or (Path() if opened.path is None else opened.path.parent)
    file = place / copy_name(opened, time.time())
    copy_to(opened, file)
    note(f"Copied to {file}: delete it once you do not need it.")
