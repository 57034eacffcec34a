import itertools
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from sqlalchemy import event, func, insert, select, text
from sqlalchemy.exc import DBAPIError
from tests.campaign.damage import damage
from tests.campaign.waiting import LONG

from quietcrowd.campaign.store import database as database_module
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.database import UNAVAILABLE, Database, insert_rows, look_up
from quietcrowd.campaign.store.opening import migrate
from quietcrowd.campaign.store.tables import requester
from quietcrowd.exceptions import ParameterError

PEOPLE, REPORTS = 40, 50


@pytest.fixture
def database(tmp_path):
    opened = Database.open(f"sqlite:///{tmp_path}/q.db", pool_seconds=LONG)
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


def test_a_journal_that_somebody_reads_is_left_alone(database, tmp_path):
    journal = tmp_path / "q.db-wal"
    with database.write() as connection:
        connection.execute(insert(requester), {"id": b"1", "name": "planted-secret"})
    with database.read() as reading:
        assert reading.scalar(select(requester.c.name)) == "planted-secret"
        with database.write() as connection:
            connection.execute(requester.delete())
        assert not database.empty_journal()
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
    with pytest.raises(ParameterError, match="already exists"):
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


def test_damage_that_a_statement_meets_is_noted_and_the_database_unavailable(database):
    """SQLAlchemy raises another kind of error for it, which was answered with 500."""
    assert database.is_intact()
    damage(database.path, "participant")
    for use in (database.read, database.write):
        with pytest.raises(UNAVAILABLE, match="malformed"), use() as connection:
            connection.execute(select(tables.participant)).all()
    assert database.damage == "SQLITE_CORRUPT"
    assert not database.write_anew()


def test_damage_is_found_in_what_nobody_reads(database, tmp_path):
    damage(database.path, "sketch")
    assert database.damage is None
    assert not database.is_intact()
    assert database.damage == "SQLITE_CORRUPT"
    with pytest.raises(ParameterError, match="it is damaged"):
        database.backup(tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()


def test_damage_is_the_cause_though_sqlite_says_that_the_disk_is_full(database, tmp_path):
    """A page that counts too many others makes SQLite reserve them all."""
    full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorname = "SQLITE_FULL"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database_module, "closing", raising(full))
        with pytest.raises(ParameterError, match="its disk is full"):
            database.backup(tmp_path / "copy.db")
    damage(database.path, "sketch")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database_module, "closing", raising(full))
        with pytest.raises(ParameterError, match="it is damaged"):
            database.backup(tmp_path / "copy.db")


def raising(error):
    """Return `closing` that raises an error once."""
    errors = [error]

    def close(opened):
        if errors:
            opened.close()
            raise errors.pop()
        return closing(opened)

    return close


@pytest.fixture
def each_database(new_database):
    opened = Database.open(new_database)
    migrate(opened)
    yield opened
    with opened.write() as connection:
        connection.execute(tables.requester.delete().where(tables.requester.c.name.like("row %")))
    opened.close()


@pytest.mark.grid
@pytest.mark.parametrize("count", [0, 1, 7])
def test_rows_are_inserted_with_few_statements(each_database, monkeypatch, count):
    monkeypatch.setattr(database_module, "_MOST_PARAMETERS", 6)
    rows = [(b"row %d" % place, f"row % {place}") for place in range(count)]
    statements = []
    event.listen(each_database.engine, "before_cursor_execute", lambda *a: statements.append(a[2]))
    table = tables.requester
    with each_database.write() as connection:
        insert_rows(connection, table, rows)
        found = connection.execute(select(table).where(table.c.name.like("row %"))).all()
    assert sorted(map(tuple, found)) == rows
    assert len([one for one in statements if one.startswith("INSERT")]) == -(-count // 3)
    with each_database.read() as connection:
        assert connection.scalar(select(func.count()).where(table.c.name.like("row %"))) == count


def an_id(campaign, number):
    return campaign + number.to_bytes(15)


def reports_of(campaign):
    """Give as many reports as one campaign has alone: statistics know nothing of it."""
    return [
        (campaign, *(an_id(campaign, one) for one in (person, task, number)), 1, None, 0)
        for number, (person, task) in enumerate(itertools.product(range(PEOPLE), range(REPORTS)))
    ]


@pytest.fixture
def crowded_database(new_database):
    opened = Database.open(new_database)
    migrate(opened)
    texts = dict.fromkeys(("title", "description", "mechanism", "state", "join_mode"), "")
    wholes = dict.fromkeys(("version", "erasures", "invites_used"), 0)
    with opened.write() as connection:
        owner = {"id": b"looks up", "name": "looks up"}
        connection.execute(insert(tables.requester), owner)
        for one in (b"a", b"b"):
            campaign = {"id": one, "requester_id": owner["id"], **texts, **wholes}
            connection.execute(insert(tables.campaign), campaign)
            people = [
                {"id": an_id(one, person), "pseudonym": str(person), "campaign_id": one}
                | dict.fromkeys(("token_sha256", "consent_hash"), b"")
                for person in range(PEOPLE)
            ]
            connection.execute(insert(tables.participant), people)
            insert_rows(connection, tables.report, reports_of(one))
    yield opened
    with opened.write() as connection:
        mine = tables.requester.c.id == owner["id"]
        connection.execute(tables.requester.delete().where(mine))
    opened.close()


def test_all_rows_with_an_id_are_found_in_the_campaign(crowded_database, monkeypatch):
    wanted = [an_id(b"a", number) for number in range(0, PEOPLE, 5)]
    strangers = [an_id(b"b", 1), an_id(b"a", 10**6), b""]
    for column, chunk in itertools.product(("participant_id", "report_id"), (3, 10_000)):
        monkeypatch.setattr(database_module, "_MOST_IDS", chunk)
        place = tables.report.columns.keys().index(column)
        with crowded_database.read() as connection:
            rows = list(look_up(connection, tables.report, b"a", column, [*wanted, *strangers]))
        assert sorted(map(tuple, rows)) == [row for row in reports_of(b"a") if row[place] in wanted]
        assert rows[0].report_id[:1] == b"a"


@pytest.mark.grid
def test_rows_are_found_while_another_version_adds_a_column(crowded_database):
    """PostgreSQL ends what it has prepared of a table of which all columns are asked for."""
    wanted = [an_id(b"a", 1)]
    beside = Database.open(crowded_database.url.render_as_string(hide_password=False))
    with crowded_database.engine.connect() as connection:
        for _ in range(8):  # psycopg prepares what is asked for the sixth time
            before = list(look_up(connection, tables.report, b"a", "report_id", wanted))
            connection.commit()
        with beside.write() as other:
            other.exec_driver_sql("ALTER TABLE report ADD COLUMN later text")
        assert list(look_up(connection, tables.report, b"a", "report_id", wanted)) == before
        connection.commit()
    beside.close()


def test_of_no_ids_nothing_is_asked(crowded_database):
    statements = []
    with crowded_database.read() as connection:
        event.listen(connection, "before_cursor_execute", lambda *a: statements.append(a[2]))
        assert list(look_up(connection, tables.report, b"a", "report_id", [])) == []
    assert statements == []


@pytest.mark.grid
@pytest.mark.parametrize("known", [False, True], ids=["no statistics", "statistics"])
def test_rows_are_found_by_the_index_whatever_the_statistics(crowded_database, known):
    if known:
        with crowded_database.write() as connection:
            connection.exec_driver_sql("ANALYZE report")
    for column, ids in itertools.product(("participant_id", "report_id"), (1, 30, 1_000)):
        plan = plan_of_look_up(crowded_database, column, ids)
        if crowded_database.path:
            assert f"(campaign_id=? AND {column}=?)" in plan
        else:
            assert f"AND ({column} = wanted.id)" in plan
            assert "Seq Scan" not in plan


def plan_of_look_up(database, column, ids):
    """Return how a database finds rows of so many ids, in its own words."""
    asked = []
    wanted = [an_id(b"a", number) for number in range(ids)]
    with database.write() as connection:
        event.listen(connection, "before_cursor_execute", lambda *a: asked.append(a[2:4]))
        list(look_up(connection, tables.report, b"a", column, wanted))
        explain = "EXPLAIN QUERY PLAN" if database.path else "EXPLAIN"
        ((statement, values),) = asked
        rows = connection.exec_driver_sql(f"{explain} {statement}", values).all()
    return "\n".join(str(row[-1]) for row in rows)


def test_nothing_is_prepared_on_a_connection_that_a_pooler_may_change(postgresql_server):
    opened = Database.open(postgresql_server.url)
    with opened.read() as connection:
        for _ in range(20):
            connection.execute(select(1)).one()
        assert connection.scalar(text("SELECT count(*) FROM pg_prepared_statements")) == 0
    assert not opened.behind_pooler()
    opened.close()


def test_sqlite_has_no_pooler(database):
    assert not database.behind_pooler()
