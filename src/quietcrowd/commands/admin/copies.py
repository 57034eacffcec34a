"""``quietcrowd admin backup`` and ``restore``, for the operator of the database."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from quietcrowd.campaign.extra import require_server
from quietcrowd.commands import options
from quietcrowd.commands.admin.database import WithJournal, existing
from quietcrowd.commands.declare import argument, command, option
from quietcrowd.commands.printing import counted, note
from quietcrowd.exceptions import ParameterError

if TYPE_CHECKING:
    from quietcrowd.campaign.server.settings import Settings
    from quietcrowd.campaign.store.database import Database


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
        help="Delete copies of this command that are older than so many days.",
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
