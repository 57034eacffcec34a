"""``quietcrowd campaign key``, ``migrate``, ``clock`` and ``doctor``, for the operator."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from quietcrowd.campaign.extra import require_server
from quietcrowd.commands import options
from quietcrowd.commands.declare import argument, command, option, option_group
from quietcrowd.commands.printing import counted, note
from quietcrowd.exceptions import ParameterError

if TYPE_CHECKING:
    from quietcrowd.campaign.server.settings import Settings
    from quietcrowd.campaign.store.database import Database

LOCAL = "sqlite:///quietcrowd.db"
MAX_KEY_DAYS = 3_650


@option_group("Database")
class OnDatabase:
    """Option for commands that use the database of a server."""

    database: str = option(
        metavar="URL",
        envvar="QUIETCROWD_DATABASE",
        help="Of the server: sqlite:///FILE or postgresql://USER@HOST/NAME.",
        default=LOCAL,
    )


@option_group("Database")
class WithJournal(OnDatabase):
    """Options for commands that use the journal of withdrawals, too."""

    withdrawal_log: str | None = options.WITHDRAWAL_LOG

    def settings(self) -> Settings:
        """Return the settings of a server with this database and journal."""
        from quietcrowd.campaign.server.settings import Settings

        return Settings(database=self.database, withdrawal_log=self.withdrawal_log)


def existing(url: str) -> Database:
    """Open a database; raise ParameterError instead of creating a new one."""
    from quietcrowd.campaign.store.database import Database

    opened = Database.open(url)
    if opened.path is not None and not opened.path.exists():
        raise ParameterError("commands.database-missing", path=opened.path)
    return opened


@command("key")
class Key(WithJournal):
    """Make a key for a requester.

    A requester of a new name is added. The key is printed once: what is
    stored is a hash, and its last four characters.

    Example: quietcrowd campaign key "bird group" --days 365

    Example: quietcrowd campaign key "bird group" --replace
    """

    name: str = argument(metavar="NAME", help="Of the requester.")
    database: str = option(
        metavar="URL",
        envvar="QUIETCROWD_DATABASE",
        help="sqlite:///FILE or postgresql://USER@HOST/NAME; created where there is none.",
        default="sqlite:///quietcrowd.db",
    )
    replace: bool = option(help="End all earlier keys of the requester.", default=False)
    days: int | None = option(
        min=1,
        max=MAX_KEY_DAYS,
        metavar="NUMBER",
        help="Days until it ends. Default: never.",
        default=None,
    )

    def run(self) -> None:
        """Make the key, and print it."""
        require_server()
        from quietcrowd.campaign.store.database import Database
        from quietcrowd.campaign.store.opening import ready_beside_server
        from quietcrowd.campaign.store.requesters import issue_key

        end = None if self.days is None else int(time.time()) + self.days * 86_400
        opened = Database.open(self.database)
        ready_beside_server(opened, self.settings())
        typer.echo(issue_key(opened, self.name, replace=self.replace, expires_at=end))
        opened.close()


@command("migrate")
class Migrate(OnDatabase):
    """Bring a database up to date, after a copy of it was made.

    The revisions that it lacks are printed, one to a line. Of SQLite the server has to be stopped;
    servers on PostgreSQL go on meanwhile, also those of the version before. The day of this
    machine's clock is stored, and a server compares its clock with it.

    Example: quietcrowd campaign migrate --dry-run

    Example: quietcrowd campaign migrate --database postgresql://me@db/crowd --copies /var/backups
    """

    dry_run: bool = option(help="Say what would be done, and do nothing.", default=False)
    no_backup: bool = option(help="Make no copy before.", default=False)
    copies: Path | None = option(
        metavar="FOLDER",
        help="Where the copy is made. Default: beside SQLite's file; here, of PostgreSQL.",
        default=None,
    )

    def run(self) -> None:
        """Copy the database, and migrate it."""
        require_server()
        from quietcrowd.campaign.store.clock import observe_clock
        from quietcrowd.campaign.store.opening import migrate as bring_up_to_date
        from quietcrowd.campaign.store.opening import only_server, pending

        with closing(existing(self.database)) as opened:
            wanted = pending(opened)
            for revision in wanted:
                typer.echo(f"{revision.name}  {revision.says}")
            if self.dry_run or not wanted:
                note(_what_would_be(len(wanted)))
                return
            with only_server(opened.path):
                if self.no_backup:
                    note("Warning: no copy was made before.")
                else:
                    _copy_before(opened, self.copies)
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


@command("clock")
class Clock(WithJournal):
    """Compare the clock with the last day that the server saw.

    If the clock is implausible, the server closes and deletes nothing by date.

    Example: quietcrowd campaign clock

    Example: quietcrowd campaign clock --confirm
    """

    confirm: bool = option(help="Confirm that this machine's clock is right.", default=False)

    def run(self) -> None:
        """Compare the clock, or confirm it."""
        require_server()
        from quietcrowd.campaign.store.clock import confirm_clock, read_clock
        from quietcrowd.campaign.store.opening import require_current
        from quietcrowd.campaign.store.withdrawals.journal import Departures

        settings = self.settings()
        with closing(existing(self.database)) as opened:
            require_current(opened)
            with closing(Departures.open(settings, opened)) as left:
                now = time.time()
                found = read_clock(now, opened, left.journal)
                if self.confirm:
                    confirm_clock(now, opened, left.journal)
        if found.held and not self.confirm:
            note(found.describe())
        else:
            note("The clock is confirmed." if self.confirm else "The clock is plausible.")


@command("doctor")
class Doctor(WithJournal):
    """Check a database, its journal and its copies.

    It prints the cause of each problem; the exit status is 2 then. The server may run. All of an
    SQLite file is read.

    Example: quietcrowd campaign doctor /var/backups/crowd
    """

    copies: Path | None = argument(
        metavar="[COPIES]", help="The folder of campaign backup.", exists=True, default=None
    )

    def run(self) -> None:
        """Print what is found, and raise ParameterError if something is wrong."""
        require_server()
        from quietcrowd.campaign.store.checking import examine

        if self.copies is not None and not self.copies.is_dir():
            raise ParameterError("commands.not-a-folder-of-copies", copies=self.copies)
        settings = self.settings()
        problems = 0
        for found in examine(settings, self.copies, time.time()):
            typer.echo(f"{'ok     ' if found.good else 'PROBLEM'} {found.part}: {found.says}")
            problems += not found.good
        if problems:
            raise ParameterError("commands.faults-found", counted=counted(problems, "problem"))
