"""Generations of copies: directories with a database, its journal and a manifest.

A generation gets its name once it is complete, and replaces nothing.
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
from quietcrowd.campaign.store.manifests import (
    JOURNAL,
    MANIFEST,
    Generation,
    generations_in,
    identity_of,
    write_manifest,
)
from quietcrowd.campaign.store.withdrawals.copies import copy_journal, entries_of, lost_entries
from quietcrowd.exceptions import ParameterError

KEPT = 3
"""Good generations to keep, however old they are."""

_STAMP = r"\.copy-(\d{8}T\d{6}Z)(?:\.dump|-wal)?(?:\.manifest\.json)?"


def copy_alone(database: Database, target: Path, now: float) -> None:
    """Copy a database to a new file, with a manifest next to it; errors as in `copy_to`."""
    rows = copy_to(database, target)
    place = target.with_name(f"{target.name}.{MANIFEST}")
    place.unlink(missing_ok=True)  # left by a deleted copy
    write_manifest([target], place, now, database, rows)


def make_generation(
    database: Database, journal: Database | None, folder: Path, clock: Clock, *, lost: bool = False
) -> Generation:
    """Copy a database, and then its journal, into a new directory within `folder`.

    `lost` means that the operator knows that the earlier journal is lost. Raises `ParameterError`
    if the copy would be incomplete, or the journal lacks entries of the previous copy.
    """
    name = copy_name(database, clock.now).removesuffix(".dump")
    target = folder / name
    if target.exists():
        raise ParameterError("campaign.target-exists", target=target)
    earlier = generations_in(folder, stem_of(database))
    with TemporaryDirectory(dir=folder, prefix=f".{name}.") as place:
        staged = Path(place) / name
        staged.mkdir(mode=0o700)
        files, entries = [staged / f"database.{'dump' if database.path is None else 'db'}"], None
        rows = copy_to(database, files[0])
        if journal is not None:  # after the database, to include withdrawals in between
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
    for one in earlier:
        if one.journal is not None and one.is_good(one.journal):
            return one.journal
    if journal is None or journal.path is None:
        return None
    older = folder / f"{stem_of(journal)}.newest"  # the one copy of versions before generations
    return older if older.is_file() else None


def _require_superset(
    journal: Database | None, copy: Sequence[Path], last: Path | None, clock: Clock
) -> None:
    if last is None:
        return
    lost = lost_entries(copy[0], last, clock.trusted) if copy else entries_of(last)
    if lost:
        shown = "the copy without a journal"
        if journal is not None:
            shown = f"the journal {journal.path or journal.url.set(query={}).render_as_string()}"
        raise ParameterError("campaign.departures-incomplete", shown=shown, lost=lost, last=last)


def prune(database: Database, folder: Path, days: int, clock: Clock) -> list[Path]:
    """Delete copies named by `copy_name` that are more than `days` old; return the deleted ones.

    The newest good generations and copies of other databases stay. Nothing is deleted while the
    clock is implausible.
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
    except ValueError:  # not a date, so not a copy
        return default


def settle_folder(folder: Path) -> None:
    """Wait until the names in a directory are on the disk."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)
