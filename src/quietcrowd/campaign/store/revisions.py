"""Schema revisions: which one a database has, and which are pending.

Revisions with four digits only add to the schema, so an older server can use a newer database. One
that removes or renames something begins a new line, such as ``2.0010``.
"""

import re
from pathlib import Path
from typing import Literal, TypeAlias

from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import Script, ScriptDirectory
from attrs import frozen
from sqlalchemy import Connection

from quietcrowd.exceptions import FormatError

FOLDER = Path(__file__).parent / "migrations"
_NAME = re.compile(r"(?:(?P<line>\d+)\.)?(?P<number>\d{4})", re.ASCII)

Standing: TypeAlias = Literal["new", "older", "current", "newer"]
"""State of a database compared with this version; a newer one has unknown additions."""


@frozen(kw_only=True)
class Revision:
    """A change of the schema: its name in the database and a one-line description."""

    name: str
    says: str


def configuration() -> Config:
    """Return the configuration of Alembic."""
    config = Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    return config


def _scripts() -> list[Script]:
    return list(ScriptDirectory.from_config(configuration()).walk_revisions())[::-1]


def newest_revision() -> str:
    """Return the name of the newest revision."""
    return str(_scripts()[-1].revision)


def found_revision(connection: Connection) -> str | None:
    """Return the revision of a database; None if it has no tables yet."""
    return MigrationContext.configure(connection).get_current_revision()


def standing_of(found: str | None) -> Standing:
    """Compare a database's revision with this version; raise `FormatError` if incompatible."""
    known = [script.revision for script in _scripts()]
    if found is None:
        return "new"
    if found in known:
        return "current" if found == known[-1] else "older"
    theirs, ours = _NAME.fullmatch(found), _NAME.fullmatch(known[-1])
    if theirs and ours and theirs["line"] == ours["line"] and theirs["number"] > ours["number"]:
        return "newer"
    raise FormatError("campaign.database-too-new", found=found, known=known[-1])


def pending_revisions(found: str | None) -> list[Revision]:
    """Return the revisions that a database lacks, oldest first; errors as in `standing_of`."""
    standing = standing_of(found)
    if standing in ("current", "newer"):
        return []
    all_of_them = [
        Revision(name=script.revision, says=script.doc.partition("\n")[0].strip())
        for script in _scripts()
    ]
    names = [revision.name for revision in all_of_them]
    return all_of_them[0 if found is None else names.index(found) + 1 :]
