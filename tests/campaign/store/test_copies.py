import os
import re
from stat import S_IMODE

import pytest
from sqlalchemy import func, select
from tests.campaign.older_databases import load_first

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.copies import copy_name, copy_to, pg_restore
from quietcrowd.campaign.store.database import Database
from quietcrowd.exceptions import ParameterError

NOW = 1_800_000_000.0


@pytest.fixture
def database(new_database):
    load_first(new_database)
    opened = Database.open(new_database)
    yield opened
    opened.close()


def test_a_copy_is_named_after_its_database_and_when(database):
    name = copy_name(database, NOW)
    stem = "quietcrowd.db" if database.path else database.url.database
    assert re.fullmatch(rf"{stem}\.copy-20270115T080000Z(\.dump)?", name)


def test_a_copy_is_its_owners_alone_and_overwrites_nothing(database, tmp_path):
    target = tmp_path / "copy"
    copy_to(database, target)
    assert S_IMODE(target.stat().st_mode) == 0o600
    before = target.read_bytes()
    assert before.startswith(b"SQLite format 3" if database.path else b"PGDMP")
    with pytest.raises(ParameterError, match="never overwrites"):
        copy_to(database, target)
    assert target.read_bytes() == before
    with pytest.raises(ParameterError, match="does not exist"):
        copy_to(database, tmp_path / "nowhere" / "copy")


def test_rows_of_a_copy_are_counted(database, tmp_path):
    rows = copy_to(database, tmp_path / "copy")
    with database.read() as connection:
        for name in ("campaign", "participant", "report"):
            table = tables.metadata.tables[name]
            found = connection.scalar(select(func.count()).select_from(table))
            assert rows[name] == found > 0


def test_without_pg_dump_a_copy_is_refused(tmp_path, monkeypatch):
    database = Database.open("postgresql://me:secret@127.0.0.1:1/name")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ParameterError, match="not on the PATH"):
        copy_to(database, tmp_path / "copy")
    database.close()


def test_a_postgresql_that_is_not_there_leaves_nothing_and_tells_no_password(tmp_path):
    database = Database.open("postgresql://me:secret@127.0.0.1:1/name?application_name=x")
    with pytest.raises(ParameterError, match="cannot be copied") as caught:
        copy_to(database, tmp_path / "copy")
    assert "secret" not in str(caught.value)
    assert not (tmp_path / "copy").exists()
    database.close()


def test_a_password_is_no_word_of_postgresqls_programs(tmp_path, monkeypatch):
    """Everyone on a machine can read the words of its programs."""
    program = tmp_path / "pg_restore"
    program.write_text('#!/bin/sh\necho "$@" > "$0.words"\ncat "$PGSERVICEFILE" > "$0.service"\n')
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    database = Database.open("postgresql://me:secret@host:5433/name?sslmode=require")
    pg_restore(database, tmp_path / "copy")
    assert "secret" not in (tmp_path / "pg_restore.words").read_text()
    told = set((tmp_path / "pg_restore.service").read_text().split())
    assert {"host=host", "port=5433", "user=me", "password=secret", "dbname=name"} <= told
    assert "sslmode=require" in told
    program.write_text('#!/bin/sh\necho "pg_restore: error: planted" >&2\nexit 1\n')
    with pytest.raises(ParameterError, match="pg_restore failed: planted"):
        pg_restore(database, tmp_path / "copy")
    database.close()
