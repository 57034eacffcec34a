"""Two servers on one PostgreSQL, upgraded one after the other, while workers send."""

import json
import os
import sys
import threading
from collections import Counter
from contextlib import ExitStack, contextmanager

import httpx
import pytest
from tests.campaign.older_databases import with_a_later_revision
from tests.campaign.people import PLAIN
from tests.campaign.ports import free_port
from tests.campaign.server_process import base_url, new_key, wait_until_ready
from tests.campaign.uploading import Campaign, open_campaign, stored, uploading
from tests.campaign.waiting import LONG
from tests.programs import finished, running

from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.opening import migrate
from quietcrowd.exceptions import FormatError

pytestmark = pytest.mark.slow

UPLOADERS, TASKS, PAUSE = 8, 5_000, 0.3

COMMAND = """
import json, sys
from pathlib import Path
from quietcrowd.campaign.store import revisions
from quietcrowd.commands.main import main

folder, words = json.loads(sys.argv[1])
if folder is not None:
    revisions.FOLDER = Path(folder)
sys.argv[1:] = words
main()
"""


def command(folder, *words):
    """Return the words that run a command of a version: this one, or one with a later revision."""
    told = json.dumps([None if folder is None else str(folder), [str(word) for word in words]])
    return [sys.executable, "-c", COMMAND, told]


@contextmanager
def serving(folder, url, tmp_path, name):
    """Give the port of a server of a version; at the end it is told to end, if it has not been."""
    port = free_port()
    places = ("--database", url, "--withdrawal-log", f"sqlite:///{tmp_path}/departures.db")
    words = command(folder, "serve", "--port", port, *places, "--no-infer")
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    with (
        (tmp_path / f"{name}.log").open("w") as log,
        running(*words, stderr=log, env=environment) as one,
    ):
        wait_until_ready(base_url(port), lambda: not one.has_ended)
        yield port
        one.process.terminate()
        one.finished(check=True)


def on(port, campaign):
    return Campaign(base_url(port), campaign.key, campaign.id, campaign.config_hash)


@contextmanager
def reading(port, campaign, statuses):
    """Read what a requester reads, again and again, and count the statuses."""
    stop = threading.Event()

    def read():
        headers = {"Authorization": f"Bearer {campaign.key}"}
        with httpx.Client(
            base_url=base_url(port), headers=headers, verify=PLAIN, timeout=LONG
        ) as client:
            while not stop.is_set():
                for path in ("", "/tasks", "/invites"):
                    answer = client.get(f"/campaigns/{campaign.id}{path}", timeout=LONG)
                    statuses[answer.status_code] += 1
                stop.wait(PAUSE)

    thread = threading.Thread(target=read)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def wait_for(*crowds):
    """Wait until every worker of some crowds has sent once more."""
    for crowd in crowds:
        crowd.wait_for_each()


@pytest.mark.nightly
def test_two_servers_are_upgraded_in_turn(postgresql_server, tmp_path):
    """The database first; then each server is stopped and started as the later version."""
    url = postgresql_server.new_database()
    key, later, read = new_key(url), with_a_later_revision(tmp_path)[0], Counter()
    words = ("admin", "migrate", "--database", url, "--copies", tmp_path)
    with ExitStack() as servers, ExitStack() as leaving:
        one = leaving.enter_context(serving(None, url, tmp_path, "old one"))
        campaign = open_campaign(base_url(one), key, TASKS)
        two = servers.enter_context(serving(None, url, tmp_path, "old two"))
        with (
            uploading(on(one, campaign), UPLOADERS) as first,
            uploading(on(two, campaign), UPLOADERS) as second,
            reading(two, campaign, read),
        ):
            wait_for(first, second)
            finished(*command(later, *words), check=True)
            wait_for(first, second)  # both servers are still of the older version
            newer = servers.enter_context(serving(later, url, tmp_path, "new one"))
            with uploading(on(newer, campaign), UPLOADERS) as third:
                wait_for(first, second, third)
                first.end()
                leaving.close()
                wait_for(second, third)
                third.end()
            second.end()
    crowds = (first, second, third)
    acknowledged = [one for crowd in crowds for one in crowd.acknowledged]
    assert sorted(stored(url, campaign)) == sorted(acknowledged)
    statuses = sum((crowd.statuses for crowd in crowds), Counter())
    assert statuses.keys() <= {200, 429}, statuses  # what asks too often is told so
    assert read.keys() <= {200, 429}, read
    assert read[200] > 10
    for log in tmp_path.glob("*.log"):
        assert "Traceback" not in log.read_text(), log


@pytest.mark.nightly
def test_a_later_server_refuses_what_is_not_upgraded(postgresql_server, tmp_path):
    url = postgresql_server.new_database()
    new_key(url)
    later, _ = with_a_later_revision(tmp_path)
    words = command(later, "serve", "--port", 0, "--database", url, "--withdrawal-log", "none")
    status, _, errors = finished(*words)
    assert status == 2
    [line] = errors.splitlines()
    assert "quietcrowd admin migrate" in line


@pytest.mark.nightly
def test_tables_that_somebody_reads_are_left_alone(postgresql_server, tmp_path, monkeypatch):
    """A reader is never made to wait for long, and what cannot be had is not changed by half."""
    url = postgresql_server.new_database()
    new_key(url)
    folder, _ = with_a_later_revision(tmp_path)
    monkeypatch.setattr("quietcrowd.campaign.store.revisions.FOLDER", folder)
    monkeypatch.setattr("quietcrowd.campaign.store.opening._PATIENCE", 1.0)
    database = Database.open(url)
    with database.read() as connection:
        connection.exec_driver_sql("SELECT * FROM report").all()
        with pytest.raises(Exception, match="Nothing was changed"):
            migrate(database)
    migrate(database)
    database.close()
    monkeypatch.undo()
    database = Database.open(url)
    with database.write() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '2.0001'")
    with pytest.raises(FormatError, match="newer quietcrowd"):
        migrate(database)
    database.close()
