"""The revisions of the tables: which one a database has, and which would bring it up to date.

A revision's name is four digits, as in ``0006``: all of that form only add, so that a server that
knows a part of them goes on with a database that has more. One that takes something away, or
renames it, begins a new line, ``2.0010``, which older servers refuse.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, TypeAlias

from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import Script, ScriptDirectory
from attrs import frozen
from sqlalchemy import Connection

from quietcrowd.exceptions import FormatError

__all__ = [
    "Revision",
    "Standing",
    "configuration",
    "found_revision",
    "newest_revision",
    "pending_revisions",
    "standing_of",
]

FOLDER = Path(__file__).parent / "migrations"

_NAME = re.compile(r"(?:(?P<line>\d+)\.)?(?P<number>\d{4})", re.ASCII)

Standing: TypeAlias = Literal["new", "older", "current", "newer"]
"""Of a database, to this version; one that is newer has more than this version knows of."""


@frozen(kw_only=True)
class Revision:
    """A change of the tables.

    Attributes
    ----------
    name : str
        As it stands in the database.
    says : str
        What it changes, in one line.
    """

    name: str
    says: str


def configuration() -> Config:
    """Return what Alembic needs to know."""
    config = Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    return config


def _scripts() -> list[Script]:
    """Return all revisions, the first one first."""
    return list(ScriptDirectory.from_config(configuration()).walk_revisions())[::-1]


def newest_revision() -> str:
    """Return the name of the newest revision."""
    return str(_scripts()[-1].revision)


def found_revision(connection: Connection) -> str | None:
    """Return the name of the revision that a database has; None where it has no tables yet."""
    return MigrationContext.configure(connection).get_current_revision()


def standing_of(found: str | None) -> Standing:
    """Return how a database of a revision stands to this version.

    Raises
    ------
    FormatError
        Where this version cannot use it, and no migration of this version helps.
    """
    known = [script.revision for script in _scripts()]
    if found is None:
        return "new"
    if found in known:
        return "current" if found == known[-1] else "older"
    theirs, ours = _NAME.fullmatch(found), _NAME.fullmatch(known[-1])
    if theirs and ours and theirs["line"] == ours["line"] and theirs["number"] > ours["number"]:
        return "newer"
    raise FormatError(
        f"the database is of revision {found}, and this version knows {known[-1]} as the newest: "
        "it was made by a newer quietcrowd, take that one."
    )


def pending_revisions(found: str | None) -> list[Revision]:
    """Return the revisions that a database does not have yet, the first one first.

    Raises
    ------
    FormatError
        As of `standing_of`.
    """
    standing = standing_of(found)
    if standing in ("current", "newer"):
        return []
    all_of_them = [
        Revision(name=script.revision, says=script.doc.partition("\n")[0].strip())
        for script in _scripts()
    ]
    names = [revision.name for revision in all_of_them]
    return all_of_them[0 if found is None else names.index(found) + 1 :]
