from contextlib import contextmanager

import psycopg
import pytest

from quietcrowd.campaign.store.capacity import claim_connections
from quietcrowd.campaign.store.database import Database
from quietcrowd.exceptions import ParameterError


@contextmanager
def opened(url, pool_size):
    database = Database.open(url, pool_size=pool_size)
    yield database
    database.close()


def test_sqlite_has_no_limit(tmp_path):
    with opened(f"sqlite:///{tmp_path}/q.db", 2) as database:
        assert claim_connections(database, pool_size=2, others=1) is None


def test_all_are_taken_at_once_and_the_next_server_sees_them(postgresql_server):
    url = postgresql_server.new_database()
    with opened(url, 5) as first, opened(url, 5) as second:
        before = claim_connections(first, pool_size=5, others=0)
        assert before.given == 97
        assert first.engine.pool.checkedin() == 5
        assert claim_connections(first, pool_size=5, others=0) == before
        after = claim_connections(second, pool_size=5, others=1)
        assert after.used - before.used == 6


def test_what_postgresql_cannot_give_is_refused_in_one_line(postgresql_server):
    with opened(postgresql_server.new_database(), 98) as database:
        told = r"PostgreSQL allows 97 connections .*, \d+ are in use, and this server needs 99\."
        with pytest.raises(ParameterError, match=told):
            claim_connections(database, pool_size=98, others=1)
        assert database.engine.pool.checkedin() <= 1


def test_limits_of_a_database_and_of_its_user_count(postgresql_server):
    url = postgresql_server.new_database()
    name = url.rpartition("/")[2]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} CONNECTION LIMIT 3")
    with opened(url, 4) as database, pytest.raises(ParameterError, match="allows 3 connections"):
        claim_connections(database, pool_size=4, others=0)
