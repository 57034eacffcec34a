import pytest
from sqlalchemy import make_url, text

from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.departures import Departures
from quietcrowd.campaign.store.opening import migrate
from quietcrowd.campaign.store.same_database import same_database
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
        Departures.open(Settings(database=url, departures=there), database)
    database.close()
