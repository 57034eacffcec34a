"""Databases of older revisions, the first one above all, with rows in every table.

`store/first_revision` holds what a server wrote whose newest revision was the first one: the dump
of its database, by Python's sqlite3 or by pg_dump, and what its interface said.
"""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
from alembic import command
from sqlalchemy import Connection, MetaData, inspect, select, text

from quietcrowd.campaign.store import revisions
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.tables import metadata

FIRST = Path(__file__).parent / "store" / "first_revision"

LATER = '''"""What a later version adds to every table."""

import sqlalchemy as sa
from alembic import op

revision = "{name}"
down_revision = "{before}"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a column to each table, and a table."""
    for table in {tables}:
        op.add_column(table, sa.Column("later", sa.Text(), nullable=False, server_default="new"))
    op.create_table("later", sa.Column("id", sa.LargeBinary(), primary_key=True))
'''


FOREIGN = ("constrained_columns", "referred_table", "referred_columns", "options")


def kind_of(url: str) -> str:
    return "sqlite" if url.startswith("sqlite") else "postgresql"


def said_at_first(url: str) -> dict:
    """Return what the interface said of the first database of this kind, and its secrets."""
    return json.loads((FIRST / f"{kind_of(url)}.json").read_text())


def load_first(url: str) -> None:
    """Fill an empty database with the first one."""
    dump = (FIRST / f"{kind_of(url)}.sql").read_text()
    if kind_of(url) == "sqlite":
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
            connection.executescript(dump)
    else:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(dump)


def upgrade_to(database: Database, revision: str) -> None:
    """Bring a database to a revision."""
    config = revisions.configuration()
    with database.write() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


def all_revisions() -> list[str]:
    """Return the names of all revisions, the first one first."""
    return [one.name for one in revisions.pending_revisions(None)]


def found_tables(database: Database) -> MetaData:
    """Return the tables that a database has, whatever this version knows."""
    found = MetaData()
    found.reflect(database.engine)
    found.remove(found.tables["alembic_version"])
    return found


def rows_of(database: Database, known: MetaData | None = None) -> dict[str, list[dict]]:
    """Return all rows by table, in an order that follows from them; of columns that are known."""
    found = known or found_tables(database)
    with database.read() as connection:
        return {
            table.name: sorted(
                (dict(row) for row in connection.execute(select(table)).mappings()), key=repr
            )
            for table in found.sorted_tables
        }


def replace_rows(database: Database, known: MetaData, rows: dict[str, list[dict]]) -> None:
    """Write rows as a version does that knows these tables and columns, in place of all others."""
    with database.write() as connection:
        for table in reversed(found_tables(database).sorted_tables):
            connection.execute(table.delete())
        for table in known.sorted_tables:
            if rows[table.name]:
                connection.execute(table.insert(), rows[table.name])


def schema_of(database: Database) -> dict:
    """Return columns, constraints and indexes of all tables."""
    found = inspect(database.engine)
    names = sorted(set(found.get_table_names()) - {"alembic_version"})
    return {name: _table_of(found, name) for name in names} | {"storage": _storage(database)}


def _table_of(found, name: str) -> dict:
    columns = {
        column["name"]: (str(column["type"]), column["nullable"], column["default"])
        for column in found.get_columns(name)
    }
    constraints = [
        *(("unique", tuple(one["column_names"])) for one in found.get_unique_constraints(name)),
        *(
            ("foreign", *(str(one[part]) for part in FOREIGN))
            for one in found.get_foreign_keys(name)
        ),
        *(
            ("index", one["name"], tuple(one["column_names"]), bool(one["unique"]))
            for one in found.get_indexes(name)
        ),
        *(("check", one["sqltext"]) for one in found.get_check_constraints(name)),
    ]
    key = found.get_pk_constraint(name)["constrained_columns"]
    return {"columns": columns, "key": key, "constraints": sorted(constraints, key=repr)}


def _storage(database: Database) -> list:
    """Return of tables of SQLite whether they are strict and without row numbers."""
    if database.path is None:
        return []
    with database.read() as connection:
        listed = connection.execute(text("PRAGMA table_list")).mappings().all()
    ours = [row for row in listed if row["type"] == "table" and row["name"] != "alembic_version"]
    return sorted((row["name"], row["strict"], row["wr"]) for row in ours)


def with_a_later_revision(folder: Path) -> tuple[Path, str]:
    """Return a folder of all revisions and one more, as a later version has it, and that one."""
    before = revisions.newest_revision()
    copied = Path(shutil.copytree(revisions.FOLDER, folder / "later"))
    name = f"{int(before) + 1:04d}"
    script = LATER.format(name=name, before=before, tables=sorted(metadata.tables))
    (copied / "versions" / f"r{name}_later.py").write_text(script)
    return copied, name


def fill_older(connection: Connection, campaign: bytes, *, at_least: int) -> None:
    """Store a campaign, as revision 0005 knows it: of two workers, one sent reports on two tasks.

    Its requester is there.
    """
    known = MetaData()
    known.reflect(connection)
    tables = known.tables
    names = ("state", "title", "description", "mechanism", "join_mode")
    row = {
        "id": campaign,
        "requester_id": connection.scalar(select(tables["requester"].c.id)),
        **dict.fromkeys(names, "-"),
        **dict.fromkeys(("version", "erasures"), 0),
        "invites_used": 2,
        "at_least": at_least,
    }
    connection.execute(tables["campaign"].insert(), row)
    here = {"campaign_id": campaign}
    for place in range(2):
        mine = {**here, "id": campaign + bytes([place])}
        task = {"position": place, "name": str(place), "data": "{}"}
        connection.execute(tables["task"].insert(), {**mine, **task})
        person = {"token_sha256": b"", "pseudonym": str(place), "consent_hash": b""}
        connection.execute(tables["participant"].insert(), {**mine, **person})
        invite = {"token_sha256": campaign + bytes([place])}
        connection.execute(tables["invite"].insert(), {**here, **invite})
        sent = {"participant_id": campaign + b"\0", "task_id": bytes([place]), "value": 0}
        connection.execute(tables["report"].insert(), {**here, **sent, "report_id": bytes([place])})


def write_older(connection: Connection, campaign: bytes, text: str, *, reports: int) -> None:
    """Write results as servers before revision 0006 do: all of them as one text."""
    known = MetaData()
    known.reflect(connection, only=["inference"])
    held = known.tables["inference"]
    row = {"reports": reports, "erasures": 0, "etag": "e", "snapshot": text}
    changed = connection.execute(held.update().where(held.c.campaign_id == campaign).values(row))
    if not changed.rowcount:
        connection.execute(held.insert(), {"campaign_id": campaign, **row})
