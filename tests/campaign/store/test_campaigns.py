"""Deleting a campaign while workers send and leave."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select, text
from tests.campaign.people import Running, check_problem, new_desk
from tests.campaign.waiting import in_time

from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.campaigns import delete_campaign

WAITING = text("SELECT count(*) FROM pg_locks WHERE NOT granted")


@pytest.fixture(scope="module")
def server(postgresql_server):
    settings = Settings(
        database=postgresql_server.url, infer=False, requests_per_second=0, joins_per_minute=0
    )
    running = Running(settings).start()
    yield running
    running.stop()


def wait_for_one(database):
    """Wait until somebody waits for a lock."""

    def somebody_waits():
        with database.read() as connection:
            return connection.scalar(WAITING)

    assert in_time(somebody_waits)


@pytest.mark.parametrize("request_", ["upload", "withdrawal", "joining"])
def test_who_comes_while_a_campaign_is_deleted_waits_and_holds_nothing(server, request_):
    desk = new_desk(server)
    campaign = desk.campaign(join_mode="open")
    worker = desk.worker(campaign)
    report = worker.report(worker.tasks()[0]["task_id"], 1)
    ask = {
        "upload": lambda: worker.send(report),
        "withdrawal": lambda: worker.client.delete("/me"),
        "joining": lambda: desk.join(worker),
    }[request_]
    row = tables.campaign.c.id == bytes.fromhex(campaign)
    mine = tables.participant.c.campaign_id == bytes.fromhex(campaign)
    with ThreadPoolExecutor(1) as pool, server.database.write() as connection:
        connection.execute(select(tables.campaign).where(row).with_for_update())
        answer = pool.submit(ask)
        wait_for_one(server.database)
        connection.execute(select(tables.participant).where(mine).with_for_update(nowait=True))
        delete_campaign(connection, bytes.fromhex(campaign))
    if request_ == "joining":
        check_problem(answer.result(), 404, "not-found")
    else:
        check_problem(answer.result(), 401, "credential")
