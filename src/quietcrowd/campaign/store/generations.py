"""Generations of copies: directories with a database, its journal and a manifest."""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from attrs import asdict, field, frozen, validators
from sqlalchemy import Table, inspect, select

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.clock import Clock
from quietcrowd.campaign.store.copies import WHEN, copy_name, copy_to, stem_of
from quietcrowd.campaign.store.database import Database, create_private
from quietcrowd.campaign.store.withdrawals.copies import copy_journal, entries_of, lost_entries
from quietcrowd.exceptions import ParameterError

JOURNAL, MANIFEST = "departures.db", "manifest.json"
_BLOCK = 2**20
_TEXT, _COUNT = validators.instance_of(str), validators.instance_of(int)


@frozen(kw_only=True)
class Manifest:
    """The description of a copy: UTC time, ids in hexadecimal, rows by table, and hashes by file.

    `number` counts the copies in a directory, and is 0 for a copy of only a database. `entries`
    counts workers and campaigns in the journal.
    """

    number: int = field(validator=_COUNT)
    made: str = field(validator=_TEXT)
    database: str | None = field(validator=validators.optional(_TEXT))
    journal: str | None = field(validator=validators.optional(_TEXT))
    rows: dict[str, int] = field(validator=validators.deep_mapping(_TEXT, _COUNT))
    entries: int | None = field(validator=validators.optional(_COUNT))
    sha256: dict[str, str] = field(validator=validators.deep_mapping(_TEXT, _TEXT))


@frozen(kw_only=True)
class Generation:
    """A copy, a directory or the file of only a database, with its manifest."""

    place: Path
    manifest: Manifest

    @property
    def _folder(self) -> Path:
        return self.place if self.place.is_dir() else self.place.parent

    @property
    def database(self) -> Path:
        """Copy of the database."""
        return self._folder / next(name for name in self.manifest.sha256 if name != JOURNAL)

    @property
    def journal(self) -> Path | None:
        """Copy of the journal."""
        return self._folder / JOURNAL if JOURNAL in self.manifest.sha256 else None

    def damaged_file(self) -> Path | None:
        """Return a missing or changed file, or None."""
        files = [self._folder / name for name in self.manifest.sha256]
        return next((file for file in files if not self.is_good(file)), None)

    def is_good(self, file: Path) -> bool:
        """Return whether a file exists and has the hash of the manifest."""
        return file.is_file() and _sha256(file) == self.manifest.sha256[file.name]


def write_manifest(
    files: list[Path],
    place: Path,
    now: float,
    database: Database,
    rows: dict[str, int],
    *,
    journal: Database | None = None,
    number: int = 0,
    entries: int | None = None,
) -> Manifest:
    """Write the manifest of copies, first that of the database, and put all on the disk."""
    manifest = Manifest(
        number=number,
        made=datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        database=identity_of(database),
        journal=identity_of(journal or database, tables.journal),
        rows=rows,
        entries=entries,
        sha256={file.name: _sha256(file) for file in files},
    )
    create_private(place)
    place.write_text(json.dumps(asdict(manifest), indent=2) + "\n", encoding="utf-8")
    for file in (*files, place):
        make_lasting(file)
    return manifest


def copy_at(place: Path) -> Generation | None:
    """Return a copy with its manifest; None if the manifest is missing or invalid."""
    beside = place.with_name(f"{place.name}.{MANIFEST}")
    file = place / MANIFEST if place.is_dir() else beside
    try:
        read = json.loads(file.read_text(encoding="utf-8"))
        found = Generation(place=place, manifest=Manifest(**read))
    except (OSError, TypeError, ValueError):
        return None
    names = found.manifest.sha256.keys()
    safe = all(name == Path(name).name for name in names) and names - {JOURNAL}
    return found if safe else None


def generations_in(folder: Path, stem: str) -> list[Generation]:
    """Return the generations in a directory whose names begin with `stem`, the newest first."""
    named = [place for place in folder.iterdir() if place.name.startswith(f"{stem}.copy-")]
    found = [one for place in named if place.is_dir() and (one := copy_at(place)) is not None]
    return sorted(found, key=lambda one: one.manifest.number, reverse=True)


def make_lasting(file: Path) -> None:
    """Wait until a file is on the disk."""
    with file.open("rb+") as opened:
        os.fsync(opened.fileno())


def identity_of(database: Database, table: Table = tables.identity) -> str | None:
    """Return the id of a database, or of its journal, in hexadecimal; None if it has none."""
    with database.read() as connection:
        if not inspect(connection).has_table(table.name):  # of an older version
            return None
        found = connection.scalar(select(table.c.id))
    return None if found is None else bytes(found).hex()


def _sha256(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as content:
        while block := content.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


KEPT = 3  # good generations to keep, however old they are
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

    Raises `ParameterError` if the copy would be incomplete, or the journal lacks entries of the
    previous copy and is not known to be `lost`.
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
    sync_directory(folder)
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

    The newest good generations and copies of other databases stay.
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


def sync_directory(folder: Path) -> None:
    """Wait until the names in a directory are on the disk."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)
