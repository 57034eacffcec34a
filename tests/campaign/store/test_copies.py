import os
import re
import time
from stat import S_IMODE

import pytest
from tests.campaign.older_databases import load_first

from quietcrowd.campaign.store.copies import copy_name, copy_to, delete_old_copies
from quietcrowd.campaign.store.database import Database
from quietcrowd.exceptions import ParameterError

DAY = 86_400
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
    with pytest.raises(ParameterError, match="overwrites nothing"):
        copy_to(database, target)
    assert target.read_bytes() == before
    with pytest.raises(ParameterError, match="no folder"):
        copy_to(database, tmp_path / "nowhere" / "copy")


def test_old_copies_are_deleted_and_nothing_else(database, tmp_path):
    for days in (0, 29, 31, 400):
        (tmp_path / copy_name(database, NOW - days * DAY)).write_text("a copy")
    stem = copy_name(database, NOW).partition(".copy-")[0]
    others = ["other.db.copy-20200101T000000Z", f"{stem}.copy-20209999T000000Z", f"{stem}.old"]
    for name in others:
        (tmp_path / name).write_text("another file")
    gone = delete_old_copies(database, tmp_path, 30, NOW)
    assert sorted(file.name for file in gone) == [
        copy_name(database, NOW - 400 * DAY),
        copy_name(database, NOW - 31 * DAY),
    ]
    kept = {copy_name(database, NOW), copy_name(database, NOW - 29 * DAY), *others}
    assert kept <= {file.name for file in tmp_path.iterdir()}


def test_without_pg_dump_a_copy_is_refused(tmp_path, monkeypatch):
    database = Database.open("postgresql://me:secret@127.0.0.1:1/name")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ParameterError, match="not on the PATH"):
        copy_to(database, tmp_path / "copy")
    database.close()


def test_a_pg_dump_that_fails_leaves_nothing_and_tells_no_password(tmp_path):
    database = Database.open("postgresql://me:secret@127.0.0.1:1/name?application_name=x")
    with pytest.raises(ParameterError, match="pg_dump made no copy") as caught:
        copy_to(database, tmp_path / "copy")
    assert "secret" not in str(caught.value)
    assert not (tmp_path / "copy").exists()
    database.close()


def test_a_password_is_no_word_of_pg_dump(tmp_path, monkeypatch):
    """Everyone on a machine can read the words of its programs."""
    program = tmp_path / "pg_dump"
    program.write_text('#!/bin/sh\necho "$@" > "$0.words"\ncat "$PGSERVICEFILE" > "$0.service"\n')
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    database = Database.open("postgresql://me:secret@host:5433/name?sslmode=require")
    copy_to(database, tmp_path / "copy")
    assert "secret" not in (tmp_path / "pg_dump.words").read_text()
    told = set((tmp_path / "pg_dump.service").read_text().split())
    assert {"host=host", "port=5433", "user=me", "password=secret", "dbname=name"} <= told
    assert "sslmode=require" in told
    database.close()


def test_copies_of_now_stay(database, tmp_path):
    file = tmp_path / copy_name(database, time.time())
    file.write_text("a copy")
    assert delete_old_copies(database, tmp_path, 1, time.time()) == []
