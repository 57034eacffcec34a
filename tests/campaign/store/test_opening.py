import json
from importlib.resources import files

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import MetaData, select, text

from quietcrowd.campaign.results.shown_results import ShownResults
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.opening import (
    migrate,
    migrate_beside_server,
    newest_revision,
    only_server,
)
from quietcrowd.campaign.store.result_pages import KINDS
from quietcrowd.campaign.store.tables import metadata
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


def revision(database):
    with database.read() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def test_what_nobody_serves_is_brought_up_to_date(database):
    migrate_beside_server(database)
    assert revision(database) == newest_revision()
    with only_server(database.path):
        migrate_beside_server(database)


def older_database(url):
    """Return a database of revision 0005 with results, as older versions wrote them."""
    database = Database.open(url)
    rows = [{"task": f"{place},]}}", "truth": None} for place in range(2_500)]
    found = {"method": {"a": [1, {}]}, "truths": rows, "workers": [], "warnings": [], "x": -1.5e-9}
    config = Config()
    config.set_main_option(
        "script_location", str(files("quietcrowd.campaign.store") / "migrations")
    )
    with database.write() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0005")
        older = MetaData()
        older.reflect(connection)
        requester = {"id": b"r", "name": "birds"}
        connection.execute(older.tables["requester"].insert(), requester)
        for one, least in ((b"a", 1), (b"b", 5)):
            _fill(connection, older.tables, one, least)
        row = {"campaign_id": b"a", "reports": 7, "erasures": 0, "etag": "e"}
        text = json.dumps(found, separators=(",", ":"))
        connection.execute(older.tables["inference"].insert(), {**row, "snapshot": text})
    return database, found


def _fill(connection, known, one, least):
    """Store a campaign of two tasks and two participants, of whom one has sent two reports."""
    names = ("state", "title", "description", "mechanism", "join_mode")
    row = {"id": one, "requester_id": b"r", **dict.fromkeys(names, "-")}
    counts = dict.fromkeys(("version", "erasures", "invites_used"), 0)
    connection.execute(known["campaign"].insert(), {**row, **counts, "at_least": least})
    for place in range(2):
        here = {"campaign_id": one}
        mine = {**here, "id": one + bytes([place])}
        task = {"position": place, "name": str(place), "data": "{}"}
        connection.execute(known["task"].insert(), {**mine, **task})
        person = {"token_sha256": b"", "pseudonym": str(place), "consent_hash": b""}
        connection.execute(known["participant"].insert(), {**mine, **person})
    for place in range(2):
        sent = {"participant_id": one + b"\0", "task_id": bytes([place]), "value": 0}
        report = {**here, **sent, "report_id": bytes([place])}
        connection.execute(known["report"].insert(), report)


def test_results_and_counts_of_an_older_database_are_kept(new_database, request):
    database, found = older_database(new_database)
    request.addfinalizer(database.close)
    migrate(database)
    with database.read() as connection:
        rows = connection.execute(select(tables.campaign).order_by(tables.campaign.c.id)).all()
        shown = ShownResults.read(database, connection, rows[0], KINDS)
        truths = ShownResults.read(database, connection, rows[0], ["truths"])
        counts = [(row.tasks, row.shown_participants, row.shown_reports) for row in rows]
    assert json.loads("".join(shown.document())) == found
    assert (shown.etag, shown.counts) == ("e", {"truths": 2_500, "workers": 0})
    assert [len(rows) for rows in truths.rows()] == [1_000, 1_000, 500]
    assert counts == [(2, 2, 2), (2, 0, 0)]


def test_nothing_is_changed_below_a_server(database):
    with (
        only_server(database.path),
        pytest.raises(ParameterError, match="stop that one first"),
    ):
        migrate_beside_server(database)
    assert revision(database) is None


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
