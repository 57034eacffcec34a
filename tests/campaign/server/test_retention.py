import pytest
from attrs import evolve
from tests.campaign.people import new_desk
from tests.campaign.waiting import in_time

from quietcrowd.campaign.server import retention
from quietcrowd.campaign.server.retention import RetentionKeeper

DAY = 86_400


def test_a_server_deletes_what_is_over_while_it_runs(start_server, monkeypatch):
    monkeypatch.setattr(retention, "_EVERY", 0.02)
    server = start_server()
    desk = new_desk(server)
    campaign = desk.campaign(retention_days=2)
    desk.worker(campaign).send_values(1)
    server.app.state.service = evolve(server.service, clock=lambda: 1_000.0)
    desk.client.post(f"/campaigns/{campaign}/close").raise_for_status()
    url = f"/campaigns/{campaign}"  # closed in 1970
    assert in_time(lambda: desk.client.get(url).json()["participants"] == 0)
    assert desk.client.get("/readyz").is_success


def test_who_keeps_truths_is_told_and_a_lost_database_is_tried_again(start_server, monkeypatch):
    monkeypatch.setattr(retention, "_EVERY", 0.02)
    server = start_server()
    desk = new_desk(server)
    campaign = desk.campaign(retention_days=2)
    desk.worker(campaign).send_values(1)
    desk.client.post(f"/campaigns/{campaign}/close").raise_for_status()
    told, times = [], [0.0]

    def clock():
        return times[0]

    keeper = RetentionKeeper(
        database=server.database,
        departures=server.service.departures,
        clock=clock,
        changed=told.append,
    )
    failing = [True]
    look = retention.some_expired

    def some_expired(connection, now):
        if failing.pop() if failing else False:
            raise retention.UNAVAILABLE[2]("", {}, Exception("gone"))
        return look(connection, now)

    monkeypatch.setattr(retention, "some_expired", some_expired)
    assert in_time(lambda: not failing)
    assert keeper.alive
    assert told == []
    times[0] = 4e9
    assert in_time(lambda: told == [bytes.fromhex(campaign)])
    keeper.close()
    assert not keeper.alive


def test_a_server_closes_a_campaign_when_its_day_is_over(start_server, monkeypatch):
    monkeypatch.setattr(retention, "_EVERY", 0.02)
    server = start_server()
    desk = new_desk(server)
    campaign = desk.campaign(closes_on="2099-12-31", at_least=2)
    told = []
    keeper = RetentionKeeper(
        database=server.database,
        departures=server.service.departures,
        clock=lambda: 4_102_444_800.0,
        changed=told.append,
    )
    assert in_time(lambda: told == [bytes.fromhex(campaign)])
    keeper.close()
    assert desk.client.get(f"/campaigns/{campaign}").json()["state"] == "closed"
    assert desk.client.get("/readyz").is_success


@pytest.mark.parametrize(("now", "pause"), [(5, 600.0), (DAY - 5, 5.0), (3 * DAY, 600.0)])
def test_a_look_is_not_later_than_midnight(now, pause):
    assert retention._pause(now) == pause
