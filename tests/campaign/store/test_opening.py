import json
from contextlib import closing

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import insert, select, text, update
from tests.campaign.older_databases import all_revisions, fill_older, upgrade_to, write_older
from tests.campaign.people import new_desk

from quietcrowd.campaign.results.shown import ShownResults
from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.copies import copy_to
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.opening import (
    accept_loss,
    begin_new,
    migrate,
    only_server,
    pending,
    ready_database,
    require_current,
    require_current_while_serving,
)
from quietcrowd.campaign.store.restore import restore
from quietcrowd.campaign.store.result_pages import KINDS
from quietcrowd.campaign.store.revisions import newest_revision
from quietcrowd.campaign.store.tables import metadata
from quietcrowd.campaign.store.withdrawals.copies import journal_of
from quietcrowd.campaign.store.withdrawals.journal import Departures
from quietcrowd.exceptions import FormatError, ParameterError


@pytest.fixture
def database(tmp_path):
    opened = Database.open(f"sqlite:///{tmp_path}/q.db")
    yield opened
    opened.close()


def test_migrations_give_the_tables_that_the_code_knows(database):
    migrate(database)
    with database.read() as connection:
        context = MigrationContext.configure(connection)
        assert compare_metadata(context, metadata) == []
        assert context.get_current_revision() == newest_revision()


def test_tables_are_strict_and_have_no_row_numbers(database):
    migrate(database)
    with database.read() as connection:
        listed = connection.execute(text("PRAGMA table_list")).mappings().all()
    ours = [row for row in listed if row["name"] in metadata.tables]
    assert len(ours) == len(metadata.tables)
    assert all(row["strict"] and row["wr"] for row in ours)


def test_a_second_time_changes_nothing(database):
    migrate(database)
    before = database.path.stat().st_size
    migrate(database)
    assert database.path.stat().st_size == before


def test_a_newer_database_is_refused(database):
    migrate(database)
    with database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = 'from the future'"))
    with pytest.raises(FormatError, match="newer quietcrowd"):
        migrate(database)


@pytest.mark.parametrize("kind", ["no database", "nobody there"])
def test_what_cannot_be_used_is_one_sentence(tmp_path, kind):
    url = f"sqlite:///{tmp_path}/q.db"
    if kind == "no database":
        (tmp_path / "q.db").write_bytes(b"a text that is no database" * 100)
    else:
        url = "postgresql://me:secret@127.0.0.1:1/name?password=secret&sslpassword=secret"
    broken = Database.open(url)
    with pytest.raises(ParameterError, match="cannot be used") as caught:
        migrate(broken)
    broken.close()
    assert "secret" not in str(caught.value)
    assert kind == "no database" or "postgresql+psycopg://me:***@127.0.0.1:1/name " in str(
        caught.value
    )
    assert "\n" not in str(caught.value)


OLDER = """
INSERT INTO requester (id, name) VALUES (x'01', 'r');
INSERT INTO campaign (id, requester_id, state, version, title, description, mechanism, join_mode,
  max_participants, erasures, invites_used, at_least, invites_made) VALUES
  (x'0a', x'01', 'open', 1, '', '', '', 'invite', NULL, 0, 3, 1, 0),
  (x'0b', x'01', 'open', 1, '', '', '', 'invite', NULL, 0, 3, 5, 7),
  (x'0c', x'01', 'open', 1, '', '', '', 'open', 20, 0, 0, 5, 0),
  (x'0d', x'01', 'open', 1, '', '', '', 'open', 2000, 0, 0, 5, 0),
  (x'0e', x'01', 'draft', 1, '', '', '', 'open', 20, 0, 0, 5, 0);
INSERT INTO invite (campaign_id, token_sha256) VALUES
  (x'0a', x'01'), (x'0a', x'02'), (x'0b', x'03');
INSERT INTO participant (id, campaign_id, token_sha256, pseudonym, consent_hash) VALUES
  (x'01', x'0a', x'01', 'a', x'01'), (x'02', x'0c', x'01', 'a', x'01'),
  (x'03', x'0c', x'01', 'b', x'01')
"""
"""Rows of revision 0005: campaigns with invites, with and without releases, and open to all."""


def test_older_campaigns_get_room(database):
    upgrade_to(database, "0005")
    with database.write() as connection:
        for statement in OLDER.split(";"):
            connection.execute(text(statement))
    migrate(database)
    with database.read() as connection:
        rows = connection.execute(
            text("SELECT joined, max_joined, crowded FROM campaign ORDER BY id")
        ).all()
        revoked = connection.execute(text("SELECT revoked FROM invite")).scalars().all()
    assert [tuple(row) for row in rows] == [
        (1, None, 0),
        (0, None, 0),
        (2, 10_000, 0),
        (0, 20_000, 0),
        (0, None, 0),
    ]
    assert revoked == [0, 0, 0]


def revision(database):
    with database.read() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def test_what_is_new_gets_its_tables(database):
    settings = Settings(database=f"sqlite:///{database.path}")
    require_current_while_serving(database, settings)
    assert revision(database) == newest_revision()
    with only_server(database.path):
        require_current_while_serving(database, settings)


@pytest.mark.grid
def test_results_of_an_older_database_are_kept(new_database, request):
    database = Database.open(new_database)
    request.addfinalizer(database.close)
    upgrade_to(database, "0005")
    rows = [{"task": f"{place},]}}", "truth": None} for place in range(2_500)]
    found = {"method": {"a": [1, {}]}, "truths": rows, "workers": [], "warnings": [], "x": -1.5e-9}
    with database.write() as connection:
        connection.execute(insert(tables.requester), {"id": b"r", "name": "birds"})
        fill_older(connection, b"a", at_least=1)
        whole = json.dumps(found, separators=(",", ":"))
        write_older(connection, b"a", whole, reports=7)
    migrate(database)
    with database.read() as connection:
        campaign = connection.execute(select(tables.campaign)).one()
        shown = ShownResults.read(database, connection, campaign, KINDS)
        truths = ShownResults.read(database, connection, campaign, ["truths"])
        placed = connection.scalars(select(tables.participant.c.placed)).all()
        assert placed == [1, 1]  # their invites were spent when they joined
    assert json.loads("".join(shown.document())) == {**found, "decided_from": 0.8}
    assert (shown.etag, shown.counts) == ("e", {"truths": 2_500, "workers": 0})
    assert [len(rows) for rows in truths.rows()] == [1_000, 1_000, 500]


def test_no_tables_are_made_below_a_server(database):
    with (
        only_server(database.path),
        pytest.raises(ParameterError, match="Stop it first"),
    ):
        require_current_while_serving(database, Settings(database=f"sqlite:///{database.path}"))
    assert revision(database) is None


def test_an_older_database_is_changed_by_nobody_who_was_not_asked_to(database):
    upgrade_to(database, "0001")
    settings = Settings(database=f"sqlite:///{database.path}")
    for use in (lambda one: require_current_while_serving(one, settings), require_current):
        with pytest.raises(FormatError, match="quietcrowd admin migrate"):
            use(database)
    with pytest.raises(FormatError, match="quietcrowd admin migrate"), ready_database(settings):
        pass
    assert [one.name for one in pending(database)] == all_revisions()[1:]
    assert revision(database) == "0001"
    migrate(database)
    assert pending(database) == []
    with ready_database(settings):
        pass


def test_one_server_at_a_time(tmp_path):
    file = tmp_path / "q.db"
    with (
        only_server(file),
        pytest.raises(ParameterError, match="another process"),
        only_server(file),
    ):
        pass
    with only_server(file):
        pass


def test_a_database_server_needs_no_lock():
    with only_server(None), only_server(None):
        pass


HEAD = 100
"""Bytes of a file of SQLite before its pages: they count changes."""


@pytest.mark.nightly
def test_a_file_does_not_tell_who_came_before_whom_once_its_server_has_ended(tmp_path):
    rows = [
        {"campaign_id": b"c", "token_sha256": place.to_bytes(32, "big")} for place in range(300)
    ]
    files = []
    for name, order in (("one", rows), ("another", rows[::-1])):
        settings = Settings(database=f"sqlite:///{tmp_path}/{name}.db", withdrawal_log="none")
        with ready_database(settings) as database:
            with database.write() as connection:
                connection.execute(update(tables.identity).values(id=b"the same"))
                connection.execute(insert(tables.requester), {"id": b"r", "name": "birds"})
                fill_older(connection, b"c", at_least=5)
            for row in order:
                with database.write() as connection:
                    connection.execute(insert(tables.invite), row)
            database.empty_journal()
            before = database.path.read_bytes()[HEAD:]
        files.append(((tmp_path / f"{name}.db").read_bytes()[HEAD:], before))
    (one, one_before), (another, another_before) = files
    assert one == another
    assert one_before != another_before


KEPT = bytes(32)
WITHDRAWALS = 60


@pytest.fixture
def settings(new_database, tmp_path):
    return Settings(database=new_database, withdrawal_log=f"sqlite:///{tmp_path}/left.db")


def leave(settings, count):
    with closing(Departures.open(settings)) as departures:
        for number in range(count):
            departures.leave(b"campaign", number.to_bytes(4, "big"), KEPT)


def start(settings):
    with ready_database(settings) as database:
        return journal_of(database)


def refused(settings, match):
    opened = Database.open(settings.database)
    for use in (start, accept_loss, lambda one: require_current_while_serving(opened, one)):
        with pytest.raises(ParameterError, match=match) as caught:
            use(settings)
        assert "serve --new" in str(caught.value)
        assert "\n" not in str(caught.value)
    opened.close()


@pytest.fixture
def lose(settings, tmp_path, request):
    """Return what loses a database, and returns settings of a missing or empty one."""

    def lost(how="missing"):
        if settings.database.startswith("postgresql"):
            url = request.getfixturevalue("postgresql_server").new_database()
            return settings.model_copy(update={"database": url})
        file = tmp_path / "quietcrowd.db"
        for name in ("", "-wal", "-shm", ".started"):
            file.with_name(f"{file.name}{name}").unlink(missing_ok=True)
        if how == "empty":
            file.touch()
        return settings

    return lost


def test_a_first_start_needs_no_option(settings):
    assert start(settings) == start(settings) is not None


def test_a_first_start_that_failed_is_tried_again(settings):
    wrong = settings.model_copy(update={"withdrawal_log": settings.database})
    with pytest.raises(ParameterError, match="another database"):
        start(wrong)
    start(settings)


@pytest.mark.grid
@pytest.mark.parametrize("how", ["missing", "empty"])
def test_a_lost_database_is_refused_next_to_its_journal(settings, lose, how):
    """A server started with an empty one before, and `readyz` said 200."""
    start(settings)
    leave(settings, WITHDRAWALS)
    lost = lose(how)
    refused(lost, f"has {WITHDRAWALS} entries")
    database = Database.open(lost.database)
    if how == "missing" and database.path is not None:
        assert not database.path.exists()
    database.close()


def test_a_journal_without_entries_says_that_there_was_a_database(settings, lose):
    start(settings)
    refused(lose(), "belongs to a database")


def test_a_database_that_only_has_a_key_is_empty(settings, lose):
    start(settings)
    leave(settings, 1)
    lost = lose()
    with closing(Database.open(lost.database)) as database:
        migrate(database)  # as `admin create-key` without --withdrawal-log
    refused(lost, "has 1 entries")


@pytest.mark.grid
def test_new_overrides_and_says_what_it_leaves_behind(settings, lose):
    first = start(settings)
    assert begin_new(settings) is None
    leave(settings, WITHDRAWALS)
    lost = lose()
    [said] = begin_new(lost)
    assert "left.db has 60 entries" in said
    assert start(lost) == first
    assert begin_new(lost) is None


@pytest.fixture
def alone(tmp_path):
    """Return settings without a journal."""
    settings = Settings(database=f"sqlite:///{tmp_path}/q.db", withdrawal_log="none")
    start(settings)
    return settings


def test_without_a_journal_a_file_says_that_there_was_a_database(alone, tmp_path):
    (tmp_path / "q.db").unlink()
    refused(alone, r"q\.db\.started")
    [said] = begin_new(alone)
    assert said == f"{tmp_path}/q.db.started exists"
    start(alone)


def test_copies_and_a_log_that_are_left_are_named(alone, tmp_path):
    with closing(Database.open(alone.database)) as database:
        copy_to(database, tmp_path / "q.db.copy-20270115T080000Z")
    for name in ("q.db", "q.db.started"):
        (tmp_path / name).unlink()
    refused(alone, "q.db.copy-20270115T080000Z")
    restore(tmp_path / "q.db.copy-20270115T080000Z", alone, 0.0)
    start(alone)
    for file in tmp_path.glob("q.db*"):
        file.unlink()
    (tmp_path / "q.db-wal").write_bytes(b"changes")
    refused(alone, "q.db-wal")
    assert len(begin_new(alone)) == 1
    assert (tmp_path / "q.db-wal.left").read_bytes() == b"changes"


def test_a_server_refuses_a_lost_database(start_server, tmp_path):
    server = start_server()
    desk = new_desk(server)
    campaign = desk.campaign(join_mode="open", at_least=1)
    desk.worker(campaign).client.delete("/me").raise_for_status()
    server.stop()
    (tmp_path / "own0.db").unlink()
    with pytest.raises(ParameterError, match="has 1 entries"):
        start_server(database=server.settings.database)
