import sqlite3

import psycopg
import pytest
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from quietcrowd.campaign.store.failures import cannot_write, cause_of, database_code, explain


def of_sqlite(name):
    error = sqlite3.OperationalError("planted")
    error.sqlite_errorname = name
    return error


@pytest.mark.parametrize(
    ("error", "code", "unwritable"),
    [
        (OperationalError("planted", {}, psycopg.errors.DiskFull()), "53100", True),
        (psycopg.errors.ReadOnlySqlTransaction(), "25006", True),
        (psycopg.errors.UniqueViolation(), "23505", False),
        (psycopg.OperationalError("planted"), None, False),
        (OperationalError("planted", {}, of_sqlite("SQLITE_FULL")), "SQLITE_FULL", True),
        (of_sqlite("SQLITE_IOERR_WRITE"), "SQLITE_IOERR_WRITE", True),
        (of_sqlite("SQLITE_READONLY_DBMOVED"), "SQLITE_READONLY_DBMOVED", True),
        (of_sqlite("SQLITE_BUSY"), "SQLITE_BUSY", False),
        (of_sqlite("planted"), None, False),
        (PoolTimeoutError("planted"), None, False),
        (ValueError("planted"), None, False),
    ],
)
def test_a_failure_has_the_code_of_the_database_and_nothing_else(error, code, unwritable):
    assert database_code(error) == code
    assert cannot_write(error) is unwritable


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (of_sqlite("SQLITE_CORRUPT"), "damaged"),
        (of_sqlite("SQLITE_CORRUPT_INDEX"), "damaged"),
        (of_sqlite("SQLITE_NOTADB"), "damaged"),
        (psycopg.errors.DataCorrupted(), "damaged"),
        (psycopg.errors.IndexCorrupted(), "damaged"),
        (of_sqlite("SQLITE_FULL"), "full"),
        (psycopg.errors.DiskFull(), "full"),
        (of_sqlite("SQLITE_READONLY_DIRECTORY"), "read-only"),
        (psycopg.errors.ReadOnlySqlTransaction(), "read-only"),
        (of_sqlite("SQLITE_IOERR_READ"), "disk error"),
        (psycopg.errors.IoError(), "disk error"),
        (of_sqlite("SQLITE_CANTOPEN"), "no access"),
        (psycopg.errors.InsufficientPrivilege(), "no access"),
        (psycopg.errors.InvalidPassword(), "no access"),
        (of_sqlite("SQLITE_BUSY_SNAPSHOT"), "busy"),
        (psycopg.errors.LockNotAvailable(), "busy"),
        (psycopg.errors.UniqueViolation(), None),
        (ValueError("planted"), None),
    ],
)
def test_a_failure_has_its_true_cause(error, cause):
    assert cause_of(error) == cause
    told = explain(OperationalError("planted statement", {}, error))
    assert (error.args == () or cause is None) or "planted" not in told
    assert ("disk is full" in told) is (cause == "full")
