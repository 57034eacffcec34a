"""``quietcrowd admin``: migrate, check, copy and restore a database, for its operator."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
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


@option_group("Database")
class OnDatabase:
    """Option for commands that use the database of a server."""

    database: str = option(
        metavar="URL",
        envvar="QUIETCROWD_DATABASE",
        help="Database of the server: sqlite:///FILE or postgresql://USER@HOST/NAME.",
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


@command()
class Migrate(OnDatabase):
    """Migrate a database to this version.

    It first copies the database and prints the missing revisions, one per line. Stop the server of
    an SQLite database before. Servers on PostgreSQL can run meanwhile, also those of the previous
    version. The day of this machine's clock is stored for comparison.

    Example: quietcrowd admin migrate --dry-run

    Example: quietcrowd admin migrate --database postgresql://me@db/crowd --copies /var/backups
    """

    dry_run: bool = option(help="Print the missing revisions and change nothing.", default=False)
    no_backup: bool = option(help="Make no copy.", default=False)
    copies: Path | None = option(
        metavar="FOLDER",
        help="Directory of the copy. Default: next to SQLite's file; here for PostgreSQL.",
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
                    note("Warning: no copy was made.")
                else:
                    _copy_before(opened, self.copies)
                bring_up_to_date(opened)
                clock = observe_clock(time.time(), opened)
        note("Migrated.")
        if clock.held:
            note(f"Warning: {clock.describe()}")
        else:
            note(f"This machine's clock shows {clock.date}. If it is wrong, correct it now.")


def _what_would_be(count: int) -> str:
    if not count:
        return "The database is up to date."
    return f"The database lacks {counted(count, 'revision')}. Nothing was changed."


def _copy_before(opened: Database, folder: Path | None) -> None:
    from quietcrowd.campaign.store.copies import copy_name
    from quietcrowd.campaign.store.generations import copy_alone

    place = folder or (Path() if opened.path is None else opened.path.parent)
    now = time.time()
    file = place / copy_name(opened, now)
    copy_alone(opened, file, now)
    note(f"Copied to {file}: delete it once you do not need it.")


@command()
class Clock(WithJournal):
    """Compare the clock with the server's last day.

    If the clock is implausible, the server closes and deletes no campaign by date.

    Example: quietcrowd admin clock

    Example: quietcrowd admin clock --confirm
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


@command()
class Doctor(WithJournal):
    """Check a database, its journal and its copies.

    It prints the cause of each problem and then exits with status 2. The server may run. It reads
    the complete SQLite file.

    Example: quietcrowd admin doctor /var/backups/crowd
    """

    copies: Path | None = argument(
        metavar="[COPIES]", help="Directory of admin backup.", exists=True, default=None
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


@command()
class Backup(WithJournal):
    """Copy a database while its server runs.

    Each copy in the directory PLACE is a new directory with the database, the journal of
    withdrawals, and a manifest. The three newest good copies are never deleted. If PLACE is a new
    file, it gets the database only, with a manifest next to it.

    A copy still contains what is deleted later: delete old copies too. Workers who withdraw later
    stay withdrawn after quietcrowd admin restore.

    Example: quietcrowd admin backup copy.db

    Example: quietcrowd admin backup /var/backups/crowd --keep-days 30
    """

    target: Path = argument(metavar="PLACE", help="A directory of copies, or a new file.")
    keep_days: int | None = option(
        min=1,
        metavar="NUMBER",
        help="Delete copies of this command that are older than this number of days.",
        default=None,
    )
    accept_lost_withdrawal_log: bool = option(
        help="Accept once that the journal lacks entries of its previous copy.",
        default=False,
    )

    def run(self) -> None:
        """Copy the database, or the database and its journal."""
        require_server()
        from quietcrowd.campaign.store.clock import read_clock
        from quietcrowd.campaign.store.generations import copy_alone, make_generation, prune

        settings = self.settings()
        if self.keep_days is not None and not self.target.is_dir():
            raise ParameterError("commands.keep-days-needs-a-folder", target=self.target)
        now = time.time()
        with closing(existing(self.database)) as opened, _existing_journal(settings) as journal:
            if not self.target.is_dir():
                copy_alone(opened, self.target, now)
                note(f"Copied to {self.target}.")
                return
            clock = read_clock(now, opened, journal)
            made = make_generation(
                opened, journal, self.target, clock, lost=self.accept_lost_withdrawal_log
            )
            note(f"Copied to {made.place}.")
            if self.keep_days is not None:
                for old in prune(opened, self.target, self.keep_days, clock):
                    note(f"Deleted {old}.")
            if clock.held:
                note(f"Warning: {clock.describe()}")


@contextmanager
def _existing_journal(settings: Settings) -> Iterator[Database | None]:
    from quietcrowd.campaign.store.database import Database
    from quietcrowd.campaign.store.withdrawals.journal import place_of_departures

    place = place_of_departures(settings)
    if place is None:
        yield None
        note(
            "Withdrawals were not copied: name the journal with --withdrawal-log, if there is one."
        )
        return
    with closing(Database.open(place)) as journal:
        if journal.path is not None and not journal.path.exists():
            yield None
            note(f"Withdrawals were not copied: there is no journal {journal.path} yet.")
        else:
            yield journal


@command()
class Restore(WithJournal):
    """Restore a copy of a database.

    Stop all servers before. A PostgreSQL database must be empty; an existing SQLite file is kept
    next to the new one. Workers who withdrew since, and campaigns that were deleted or expired,
    are deleted again. The copy is migrated to this version.

    Example: quietcrowd admin restore copy.db --database sqlite:///quietcrowd.db
    """

    copy: Path = argument(metavar="COPY", help="A copy of admin backup.")
    accept_lost_withdrawal_log: bool = options.ACCEPT_LOST_WITHDRAWAL_LOG

    def run(self) -> None:
        """Restore the copy."""
        require_server()
        from quietcrowd.campaign.store.restore import restore as put_in_place

        settings = self.settings()
        done, former = put_in_place(
            self.copy, settings, time.time(), lost=self.accept_lost_withdrawal_log
        )
        if former is not None:
            note(f"The former database is {former}: delete it once you do not need it.")
        note(
            f"Restored from {self.copy}. Deleted again: {counted(done.workers, 'worker')} and "
            f"{counted(done.deleted, 'campaign')}; closed again: "
            f"{counted(done.closed, 'campaign')}."
        )
        note("Keys and invites revoked since are valid again: see admin create-key --replace.")
