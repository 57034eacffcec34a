"""Manifests of copies, with ids, row counts and hashes."""

from __future__ import annotations

import hashlib
import json
import os
from datetime import UTC, datetime
from pathlib import Path

from attrs import asdict, field, frozen, validators
from sqlalchemy import Table, inspect, select

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.database import Database, create_private

JOURNAL, MANIFEST = "departures.db", "manifest.json"

_BLOCK = 2**20

_TEXT, _COUNT = validators.instance_of(str), validators.instance_of(int)


@frozen(kw_only=True)
class Manifest:
    """The description of a copy.

    `number` counts the copies in a directory, and is 0 for a copy of only a database. `made` is the
    UTC time. `database` and `journal` are random ids in hexadecimal, `rows` counts by table, and
    `sha256` hashes by file name. `entries` counts workers and campaigns in the journal.
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
    """A copy with its manifest.

    `place` is a directory, or a file for a copy of only a database.
    """

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
    """Write the manifest of a copy to a new file, and wait until all files are on the disk.

    `files` are the copies, with that of the database first, and `database` and `journal` the
    originals. `place` is the new file, and `now` in seconds since 1970. For other parameters see
    `Manifest`.
    """
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
