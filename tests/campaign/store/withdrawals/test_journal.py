import sqlite3
from contextlib import closing
from stat import S_IMODE

import pytest
from sqlalchemy import make_url, text

from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.opening import migrate
from quietcrowd.campaign.store.withdrawals.journal import (
    Departures,
    place_of_departures,
    same_database,
    trace_of,
)
from quietcrowd.campaign.terms.tokens import new_id
from quietcrowd.exceptions import ParameterError


def opened(*urls):
    return [Database.open(url) for url in urls]


def test_a_file_is_the_same_under_another_name(tmp_path):
    urls = [f"sqlite:///{tmp_path}/{name}.db" for name in ("one", "link", "other")]
    one, link, other = opened(*urls)
    assert not same_database(one, one)  # there is none yet
    one.path.touch()
    link.path.hardlink_to(one.path)
    other.path.touch()
    assert same_database(one, link)
    assert not same_database(one, other)


def with_query(url, **query):
    return make_url(url).update_query_dict(query).render_as_string(hide_password=False)


@pytest.mark.slow
def test_postgresql_is_the_same_under_another_host_or_schema(postgresql_server, tmp_path):
    url = postgresql_server.new_database()
    host = make_url(url).set(host="localhost").render_as_string(hide_password=False)
    schema = with_query(url, options="-csearch_path=elsewhere")
    one, other, *names = opened(url, postgresql_server.new_database(), host, schema)
    assert all(same_database(one, name) for name in names)
    assert not same_database(one, other)
    assert not same_database(one, Database.open(f"sqlite:///{tmp_path}/q.db"))
    with one.read() as connection:
        assert not connection.scalar(text("SELECT count(*) FROM pg_locks WHERE mode = 'advisory'"))
    for database in (one, other, *names):
        database.close()


@pytest.mark.slow
def test_a_journal_in_another_schema_of_the_database_is_refused(postgresql_server):
    """A dump of the database would hold it; its tables are not where the campaigns' are."""
    url = postgresql_server.new_database()
    database = Database.open(url)
    migrate(database)
    with database.write() as connection:
        connection.execute(text("CREATE SCHEMA elsewhere"))
    there = with_query(url, options="-csearch_path=elsewhere")
    with pytest.raises(ParameterError, match="another database"):
        Departures.open(Settings(database=url, withdrawal_log=there), database)
    database.close()


KEPT = bytes(32)
HEAD = 100


@pytest.fixture
def departures(new_database, tmp_path):
    """Return a journal on SQLite, and once more on PostgreSQL."""
    settings = Settings(database=f"sqlite:///{tmp_path}/campaigns.db", withdrawal_log=new_database)
    with closing(Departures.open(settings)) as opened:
        yield opened


def credentials(departures, campaign):
    return [one for some in departures.credentials_left(campaign) for one in some]


def test_what_is_kept_is_there_for_the_next_server(departures, tmp_path):
    campaign, worker = new_id(), new_id()
    for _ in range(2):
        departures.leave(campaign, worker, KEPT)
    departures.end(campaign, "closed", 17)
    url = departures.journal.url.render_as_string(hide_password=False)
    again = Settings(database=f"sqlite:///{tmp_path}/campaigns.db", withdrawal_log=url)
    with closing(Departures.open(again)) as next_one:
        assert next_one.campaigns_left() == {trace_of(campaign)}
        assert next_one.left(campaign, [new_id(), worker]) == {worker: KEPT}
        assert next_one.left(new_id(), [worker]) == {}
        assert credentials(next_one, campaign) == [KEPT]
        [(trace, row)] = next_one.endings().items()
        assert (trace, row.kind, row.delete_at) == (trace_of(campaign), "closed", 17)
        assert next_one.ended(campaign)
        assert not next_one.ended(worker)


def test_what_is_deleted_stays_deleted_and_names_no_worker(departures):
    campaign, other = new_id(), new_id()
    for one in (campaign, other):
        departures.leave(one, new_id(), KEPT)
    departures.end(campaign, "deleted")
    departures.end(campaign, "closed", 17)
    [(trace, row)] = departures.endings().items()
    assert (trace, row.kind, row.delete_at) == (trace_of(campaign), "deleted", None)
    assert departures.campaigns_left() == {trace_of(campaign), trace_of(other)}
    departures.forget([trace_of(campaign)])
    assert departures.campaigns_left() == {trace_of(other)}
    departures.forget([trace_of(other)])
    assert departures.campaigns_left() == set()


def test_all_who_left_are_found_however_many(departures, monkeypatch):
    monkeypatch.setattr("quietcrowd.campaign.store.withdrawals.journal._SOME", 3)
    campaign = new_id()
    kept = {new_id(): new_id() for _ in range(7)}
    for worker, credential in kept.items():
        departures.leave(campaign, worker, credential)
    departures.leave(new_id(), new_id(), KEPT)
    assert sorted(credentials(departures, campaign)) == sorted(kept.values())
    assert departures.left(campaign, [*kept, new_id()]) == kept


def written(place, entries):
    """Return what lies on the disk after workers have left, without the counters of its head."""
    with closing(Departures.open(Settings(database=f"sqlite:///{place}"))) as departures:
        for entry in entries:
            departures.leave(*entry)
        assert departures.empty_journal()
        assert not place.with_name(f"{place.name}.departures-wal").stat().st_size
        file = place.with_name(f"{place.name}.departures")
        assert S_IMODE(file.stat().st_mode) == 0o600
        return file.read_bytes()[HEAD:]


def test_nothing_tells_when_or_in_which_order_somebody_left(tmp_path):
    """The file is the same, whoever left first: it is written anew with its journal."""
    entries = [(new_id(), new_id(), KEPT) for _ in range(100)]
    first = written(tmp_path / "first.db", entries)
    second = written(tmp_path / "second.db", sorted(entries))
    assert first == second
    assert all(trace_of(campaign, worker) in first for campaign, worker, _ in entries)
    assert not any(one in first for campaign, worker, _ in entries for one in (campaign, worker))
    with closing(sqlite3.connect(tmp_path / "first.db.departures")) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(departure)")]
    assert columns == ["campaign_id", "participant_id", "credential_hash"]


def test_a_large_file_is_seldom_written_anew(tmp_path, monkeypatch):
    monkeypatch.setattr("quietcrowd.campaign.store.withdrawals.journal._SMALL", 0)
    entries = [(new_id(), new_id(), KEPT) for _ in range(10)]
    mixed = written(tmp_path / "mixed.db", entries)
    assert mixed != (settled := (tmp_path / "mixed.db.departures").read_bytes()[HEAD:])
    monkeypatch.setattr("quietcrowd.campaign.store.withdrawals.journal._SELDOM", -1.0)
    assert written(tmp_path / "now.db", entries) == settled


@pytest.mark.slow
def test_a_file_that_somebody_has_is_written_anew_later(tmp_path):
    settings = Settings(database=f"sqlite:///{tmp_path}/q.db")
    with closing(Departures.open(settings)) as departures:
        departures.leave(new_id(), new_id(), KEPT)
        with closing(sqlite3.connect(departures.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            departures.empty_journal()
            before = departures.path.read_bytes()
        assert departures.empty_journal()
        assert departures.path.read_bytes() != before


def test_a_journal_that_lies_in_the_database_is_refused(tmp_path):
    url = f"sqlite:///{tmp_path}/q.db"
    for one in (url, f"sqlite:///{tmp_path}/../{tmp_path.name}/q.db"):
        with pytest.raises(ParameterError, match="another database"):
            place_of_departures(Settings(database=url, withdrawal_log=one))
    base = "postgresql://me@host/"
    with pytest.raises(ParameterError, match="another database"):
        place_of_departures(Settings(database=f"{base}one", withdrawal_log=f"{base}one"))
    other = Settings(database=f"{base}one", withdrawal_log=f"{base}two")
    assert place_of_departures(other) == f"{base}two"


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "no.db").write_bytes(b"a text that is no database" * 100)
    for place in (f"sqlite:///{tmp_path}/no.db", "postgresql://me:secret@127.0.0.1:1/other"):
        with pytest.raises(ParameterError, match="--withdrawal-log") as caught:
            Departures.open(Settings(database=f"sqlite:///{tmp_path}/q.db", withdrawal_log=place))
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "settings", [{"withdrawal_log": "none"}, {"database": "postgresql://me@h/n"}]
)
def test_where_nothing_is_kept_nothing_is_known(tmp_path, settings):
    with closing(
        Departures.open(Settings(**{"database": f"sqlite:///{tmp_path}/q.db", **settings}))
    ) as departures:
        departures.leave(new_id(), new_id(), KEPT)
        departures.end(new_id(), "deleted")
        departures.forget([new_id()])
        assert (departures.endings(), departures.campaigns_left()) == ({}, set())
        assert (departures.left(b"", [b""]), credentials(departures, b"")) == ({}, [])
        assert not departures.ended(new_id())
    assert not list(tmp_path.iterdir())


def test_a_journal_that_turns_out_to_be_a_database_of_campaigns_is_refused(tmp_path):
    """Two names of one database differ as texts: a hard link, localhost and 127.0.0.1."""
    database = Database.open(f"sqlite:///{tmp_path}/q.db")
    migrate(database)
    database.close()
    (tmp_path / "other.db").hardlink_to(tmp_path / "q.db")
    settings = Settings(
        database=f"sqlite:///{tmp_path}/q.db", withdrawal_log=f"sqlite:///{tmp_path}/other.db"
    )
    with pytest.raises(ParameterError, match="another database"):
        Departures.open(settings)
