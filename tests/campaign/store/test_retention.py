import time

import pytest
from attrs import evolve
from sqlalchemy import func, select
from tests.campaign.people import check_problem
from tests.campaign.pictures import PNG

import quietcrowd as qc
from quietcrowd.campaign.results.inference_process import Inferrer
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.clock import confirm_clock
from quietcrowd.campaign.store.retention import delete_expired, some_expired

DAY = 86_400
CLOSED = 1_700_000_000.5
OF_WORKERS = (
    tables.report,
    tables.participant,
    tables.withdrawn,
    tables.invite,
    tables.inference,
    tables.image,
)


@pytest.fixture(autouse=True)
def clock(server):
    """Close campaigns at a time of the tests' own."""
    before = server.service
    server.app.state.service = evolve(before, clock=lambda: CLOSED)
    confirm_clock(CLOSED, server.database, before.departures.journal)
    yield
    confirm_clock(time.time(), server.database, before.departures.journal)
    server.app.state.service = before


def held(server, campaign):
    """Return how much of workers a campaign has, by table."""
    with server.database.read() as connection:
        return [
            connection.scalar(
                select(func.count())
                .select_from(table)
                .where(table.c.campaign_id == bytes.fromhex(campaign))
            )
            for table in OF_WORKERS
        ]


def over(server, now):
    with server.database.write() as connection:
        some = some_expired(connection, now)
        found = delete_expired(connection, now)
    assert some == bool(found)
    return [one.hex() for one in found]


@pytest.mark.parametrize("least", [1, 2])
def test_all_of_workers_is_deleted_so_many_days_after_closing(server, desk, least):
    method = qc.MajorityVote().to_dict()
    campaign = desk.campaign(retention_days=30, at_least=least, method=method, image=PNG)
    other = desk.campaign(retention_days=31, at_least=least)
    for one in (campaign, other):
        workers = [desk.worker(one) for _ in range(4)]
        for worker in workers:
            worker.send_values(1, 0)
        workers[0].client.delete("/me").raise_for_status()
        desk.invite(one)
        desk.client.post(f"/campaigns/{one}/close").raise_for_status()
    assert Inferrer(server.database).infer(bytes.fromhex(campaign))
    assert held(server, campaign) == [6, 3, 1, 1, 1, 1]
    end = int(CLOSED) + 30 * DAY
    assert over(server, end - 1) == []
    assert held(server, campaign) == [6, 3, 1, 1, 1, 1]
    assert over(server, end) == [campaign]
    assert over(server, end) == []
    assert held(server, campaign) == [0] * 6
    assert held(server, other) == [6, 3, 1, 1, 0, 0]
    check_problem(workers[0].client.get("/me"), 401, "credential")
    document = desk.client.get(f"/campaigns/{campaign}").json()
    assert (document["participants"], document["reports"], document["tasks"]) == (0, 0, 4)
    assert desk.client.get(f"/campaigns/{campaign}/invites").json() == {"invites": 0, "used": 0}
    refused = check_problem(desk.client.get(f"/campaigns/{campaign}/results"), 409, "no-results")
    assert "deleted 30 days after the campaign closed" in refused["detail"]
    assert not Inferrer(server.database).infer(bytes.fromhex(campaign))
    assert over(server, end + DAY) == [other]


def test_an_open_campaign_keeps_what_it_has(server, desk):
    campaign = desk.campaign(retention_days=1)
    desk.worker(campaign).send_values(1)
    assert campaign not in over(server, CLOSED + 10_000 * DAY)
    assert held(server, campaign)[0] == 1
