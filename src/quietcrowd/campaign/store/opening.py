"""Opening a database: by one server at a time, and with the tables that this version knows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.terms.file_lock import file_lock
from quietcrowd.exceptions import FormatError, ParameterError

__all__ = ["migrate", "migrate_beside_server", "newest_revision", "only_server", "ready_database"]

_FOLDER = Path(__file__).parent / "migrations"

_LOCK = 7_117_202
"""Of PostgreSQL: two servers that start at once migrate one after the other."""


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    return config


def newest_revision() -> str | None:
    """Return the name of the newest revision."""
    return ScriptDirectory.from_config(_config()).get_current_head()


def migrate(database: Database) -> None:
    """Create the tables, or bring older ones up to date.

    Raises
    ------
    FormatError
        Where the database was made by a newer version.
    ParameterError
        Where it cannot be reached, or is none.
    """
    with _one_sentence(database):
        _upgrade(database)


def migrate_beside_server(database: Database) -> None:
    """Bring a database up to date that may be served meanwhile.

    Nothing is changed below a server: only what nobody serves is migrated.

    Raises
    ------
    FormatError
        Where the database was made by a newer version.
    ParameterError
        Where it cannot be reached, is none, or a server of another version has it.
    """
    with _one_sentence(database), database.read() as connection:
        found = MigrationContext.configure(connection).get_current_revision()
    if found != newest_revision():
        with only_server(database.path):
            migrate(database)


@contextmanager
def _one_sentence(database: Database) -> Iterator[None]:
    """Tell in one sentence where a database cannot be used."""
    try:
        yield
    except DBAPIError as error:
        shown = database.url.set(query={}).render_as_string()  # a query may hold a password
        reason = str(error.orig).strip().partition("\n")[0]
        raise ParameterError(
            f"the database {shown} cannot be used: {reason}. Is it there, and may you write to it?"
        ) from None


def _upgrade(database: Database) -> None:
    config = _config()
    with database.write() as connection:
        if database.path is None:
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except CommandError as error:
            raise FormatError(
                f"the database cannot be brought to revision {newest_revision()}: {error}. It was "
                "made by a newer quietcrowd: take that one."
            ) from None


@contextmanager
def only_server(database: Path | None) -> Iterator[None]:
    """Hold the lock of an SQLite file; None, a server database, needs none.

    Raises
    ------
    ParameterError
        Where another server holds it.
    """
    with ExitStack() as held:
        if database is not None:
            try:
                held.enter_context(
                    file_lock(database.with_name(f"{database.name}.lock"), wait=False)
                )
            except BlockingIOError:
                raise ParameterError(
                    f"{database} is served by another process already: stop that one first. For "
                    "several processes take PostgreSQL."
                ) from None
        yield


@contextmanager
def ready_database(text: str, *, pool_size: int, pool_seconds: float) -> Iterator[Database]:
    """Give the database of a server: locked where it is a file, and brought up to date.

    Parameters
    ----------
    text : str
        Its URL.
    pool_size, pool_seconds
        As of `Database.open`.

    Raises
    ------
    ParameterError, FormatError
        Where it cannot be opened, is served already, or was made by a newer version.
    """
    database = Database.open(text, pool_size=pool_size, pool_seconds=pool_seconds)
    with only_server(database.path):
        try:
            migrate(database)
            yield database
        finally:
            database.close()
