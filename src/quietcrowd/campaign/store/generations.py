"""Generations of copies: each is a directory with a database, its journal and a manifest.

A generation is complete before it gets its name, and it replaces nothing.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from quietcrowd.campaign.store.clock import Clock
from quietcrowd.campaign.store.copies import WHEN, copy_name, copy_to, stem_of
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.journal_copies import copy_journal, entries_of, lost_entries
from quietcrowd.campaign.store.manifests import (
    JOURNAL,
    MANIFEST,
    Generation,
    generations_in,
    identity_of,
    write_manifest,
)
from quietcrowd.exceptions import ParameterError

__all__ = ["KEPT", "copy_alone", "make_generation", "prune", "settle_folder"]

KEPT = 3
"""Good generations that stay, however old they are."""

_STAMP = r"\.copy-(\d{8}T\d{6}Z)(?:\.dump|-wal)?(?:\.manifest\.json)?"


def copy_alone(database: Database, target: Path, now: float) -> None:
    """Copy a database to a new file, with a manifest next to it.

    Raises
    ------
    ParameterError
        As of `copy_to`.
    """
    rows = copy_to(database, target)
    place = target.with_name(f"{target.name}.{MANIFEST}")
    place.unlink(missing_ok=True)  # of a copy that is gone
    write_manifest([target], place, now, database, rows)


def make_generation(
    database: Database, journal: Database | None, folder: Path, clock: Clock, *, lost: bool = False
) -> Generation:
    """Copy a database, and then its journal, into a new directory.

    Parameters
    ----------
    database : Database
        Of campaigns.
    journal : Database or None
        Of withdrawals; None if there is none.
    folder : Path
        Where the new directory is made.
    clock : Clock
        When.
    lost : bool
        Whether the operator knows that the earlier journal is lost.

    Raises
    ------
    ParameterError
        If no whole copy can be made, or the journal lacks entries of the copy before.
    """
    name = copy_name(database, clock.now).removesuffix(".dump")
    target = folder / name
    if target.exists():
        raise ParameterError(f"{target} exists already: a backup overwrites nothing")
    earlier = generations_in(folder, stem_of(database))
    with TemporaryDirectory(dir=folder, prefix=f".{name}.") as place:
        staged = Path(place) / name
        staged.mkdir(mode=0o700)
        files, entries = [staged / f"database.{'dump' if database.path is None else 'db'}"], None
        rows = copy_to(database, files[0])
        if journal is not None:  # after the database: whoever withdraws in between is in it
            files.append(staged / JOURNAL)
            copy_journal(journal, files[-1])
            entries = entries_of(files[-1])
        if not lost:
            _require_superset(journal, files[1:], _last_journal(journal, earlier, folder), clock)
        manifest = write_manifest(
            files,
            staged / MANIFEST,
            clock.now,
            database,
            rows,
            journal=journal,
            number=1 + max((one.manifest.number for one in earlier), default=0),
            entries=entries,
        )
        staged.rename(target)
    settle_folder(folder)
    return Generation(place=target, manifest=manifest)


def _last_journal(
    journal: Database | None, earlier: Sequence[Generation], folder: Path
) -> Path | None:
    """Return the newest good copy of the journal in a directory."""
    for one in earlier:
        if one.journal is not None and one.is_good(one.journal):
            return one.journal
    if journal is None or journal.path is None:
        return None
    older = folder / f"{stem_of(journal)}.newest"  # there was one copy, before generations
    return older if older.is_file() else None


def _require_superset(
    journal: Database | None, copy: Sequence[Path], last: Path | None, clock: Clock
) -> None:
    if last is None:
        return
    lost = lost_entries(copy[0], last, clock.trusted) if copy else entries_of(last)
    if lost:
        shown = "no journal was found, and the copy"
        if journal is not None:
            shown = f"the journal {journal.path or journal.url.set(query={}).render_as_string()}"
        raise ParameterError(
            f"nothing was copied: {shown} lacks {lost:,} entries that {last} has. Correct "
            "--departures, or restore with quietcrowd campaign restore. If the journal is lost, "
            "give --departures-lost once: those workers come back with earlier copies."
        )


def prune(database: Database, folder: Path, days: int, clock: Clock) -> list[Path]:
    """Delete copies in a directory that are older, by their names, and return which.

    The newest good generations stay, and all copies while the clock is implausible.

    Parameters
    ----------
    database : Database
        Whose copies they are; copies of another database stay.
    folder : Path
        Where `copy_name` named them.
    days : int
        How old they may be.
    clock : Clock
        When.
    """
    if clock.held:
        return []
    oldest = datetime.fromtimestamp(clock.now, UTC) - timedelta(days=days)
    stem, mine, good = stem_of(database), identity_of(database), 0
    candidates = [file for file in sorted(folder.iterdir()) if file.is_file()]
    for one in generations_in(folder, stem):
        if one.manifest.database == mine:
            stays = good < KEPT and one.damaged_file() is None
            good += stays
            candidates += [] if stays else [one.place]
    ours = re.compile(re.escape(stem) + _STAMP, re.ASCII)
    over = [
        place
        for place in candidates
        if (named := ours.fullmatch(place.name)) and _made(named[1], oldest) < oldest
    ]
    for place in over:
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink()
    return over


def _made(when: str, default: datetime) -> datetime:
    try:
        return datetime.strptime(when, WHEN).replace(tzinfo=UTC)
    except ValueError:  # no such day: nobody's copy
        return default


def settle_folder(folder: Path) -> None:
    """Wait until the names in a directory are on the disk."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)
