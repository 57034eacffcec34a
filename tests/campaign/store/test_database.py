import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import insert, select, text
from sqlalchemy.exc import DBAPIError

from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.migrating import migrate
from quietcrowd.campaign.store.tables import requester
from quietcrowd.exceptions import ParameterError


@pytest.fixture
def database(tmp_path):
    opened = Database.open(f"sqlite:///{tmp_path}/q.db")
    migrate(opened)
    yield opened
    opened.close()


@pytest.mark.parametrize(
    "url",
    ["", "q.db", "mysql://host/name", "sqlite://", "sqlite:///:memory:", "sqlite:////no/folder/q"],
)
def test_other_addresses_are_refused(url):
    with pytest.raises(ParameterError):
        Database.open(url)


@pytest.mark.parametrize(
    ("pragma", "value"),
    [
        ("journal_mode", "wal"),
        ("synchronous", 2),
        ("foreign_keys", 1),
        ("secure_delete", 1),
        ("trusted_schema", 0),
        ("busy_timeout", 10_000),
    ],
)
def test_sqlite_is_durable_and_deletes_for_good(database, pragma, value):
    with database.read() as connection:
        assert connection.scalar(text(f"PRAGMA {pragma}")) == value


def files_for_others(folder):
    return [file.name for file in folder.iterdir() if file.stat().st_mode & 0o077]


def test_all_files_are_their_owners_alone(database, tmp_path):
    with database.read():
        assert {file.name for file in tmp_path.iterdir()} == {"q.db", "q.db-wal", "q.db-shm"}
        assert files_for_others(tmp_path) == []


def test_files_that_others_could_read_are_closed_to_them(database, tmp_path):
    with database.read():
        for file in tmp_path.iterdir():
            file.chmod(0o644)
        again = Database.open(f"sqlite:///{tmp_path}/q.db")
        with again.read():
            assert files_for_others(tmp_path) == []
        again.close()


def test_a_link_is_the_file_that_it_points_to(tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "link.db").symlink_to("other/q.db")
    opened = Database.open(f"sqlite:///{tmp_path}/link.db")
    migrate(opened)
    with opened.write() as connection:
        connection.execute(insert(requester), {"id": b"1", "name": "one"})
    journal = tmp_path / "other" / "q.db-wal"
    assert journal.stat().st_size
    assert files_for_others(tmp_path / "other") == []
    assert opened.empty_journal()
    assert journal.stat().st_size == 0
    opened.close()


def test_links_that_go_round_are_no_database(tmp_path):
    (tmp_path / "link.db").symlink_to("link.db")
    opened = Database.open(f"sqlite:///{tmp_path}/link.db")
    with pytest.raises(DBAPIError), opened.read():
        pass


def test_a_folder_is_no_database_and_stays_as_it_is(tmp_path):
    (tmp_path / "folder").mkdir(mode=0o755)
    opened = Database.open(f"sqlite:///{tmp_path}/folder")
    with pytest.raises(DBAPIError), opened.read():
        pass
    assert (tmp_path / "folder").stat().st_mode & 0o777 == 0o755


def test_what_is_read_and_then_written_at_once_is_never_refused(database):
    with database.write() as connection:
        connection.execute(insert(requester), {"id": b"1", "name": "0"})

    def count_up(_):
        with database.write() as connection:
            before = connection.scalar(select(requester.c.name))
            connection.execute(requester.update().values(name=str(int(before) + 1)))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(count_up, range(80)))
    with database.read() as connection:
        assert connection.scalar(select(requester.c.name)) == "80"


def test_a_failed_transaction_leaves_nothing(database):
    def fail():
        with database.write() as connection:
            connection.execute(insert(requester), {"id": b"1", "name": "one"})
            connection.execute(insert(requester), {"id": b"1", "name": "two"})

    with pytest.raises(DBAPIError) as caught:
        fail()
    assert "two" not in str(caught.value)
    with database.read() as connection:
        assert connection.scalar(select(requester.c.name)) is None


def test_types_are_strict(database):
    with pytest.raises(DBAPIError), database.write() as connection:
        connection.execute(text("INSERT INTO requester VALUES ('text', 'name')"))


def test_what_is_deleted_is_in_no_file(database, tmp_path):
    with database.write() as connection:
        connection.execute(insert(requester), {"id": b"1", "name": "planted-secret"})
    with database.write() as connection:
        connection.execute(requester.delete())
    assert database.empty_journal()
    files = list(tmp_path.iterdir())
    assert len(files) > 1
    assert not any(b"planted-secret" in file.read_bytes() for file in files)


def test_a_journal_that_somebody_reads_is_left_alone_and_nobody_waits(database, tmp_path):
    journal = tmp_path / "q.db-wal"
    with database.write() as connection:
        connection.execute(insert(requester), {"id": b"1", "name": "planted-secret"})
    with database.read() as reading:
        assert reading.scalar(select(requester.c.name)) == "planted-secret"
        with database.write() as connection:
            connection.execute(requester.delete())
        start = time.monotonic()
        assert not database.empty_journal()
        assert time.monotonic() - start < 10, "who waits does so for as long as busy_timeout says"
        assert b"planted-secret" in journal.read_bytes()
    assert database.empty_journal()
    assert journal.stat().st_size == 0


def test_a_backup_is_a_database(database, tmp_path):
    with database.write() as connection:
        connection.execute(insert(requester), {"id": b"1", "name": "one"})
    target = tmp_path / "backup.db"
    database.backup(target)
    copy = sqlite3.connect(target)
    assert copy.execute("SELECT name FROM requester").fetchall() == [("one",)]
    copy.close()
    assert target.stat().st_mode & 0o077 == 0
    with pytest.raises(ParameterError, match="exists already"):
        database.backup(target)


def test_a_backup_is_nobody_elses_while_it_is_written(database, tmp_path):
    target = tmp_path / "backup.db"
    seen = []

    def look(*_):
        if target.exists():
            seen.append(target.stat().st_mode & 0o077)

    with database.engine.connect() as connection:
        connection.connection.driver_connection.set_progress_handler(look, 1)
    database.backup(target)
    assert set(seen) == {0}


def test_a_backup_that_fails_leaves_nothing(database, tmp_path):
    with database.engine.connect() as connection:
        connection.connection.driver_connection.set_progress_handler(lambda: 1, 1)
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        database.backup(tmp_path / "backup.db")
    assert not (tmp_path / "backup.db").exists()
