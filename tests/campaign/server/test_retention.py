import time

import pytest
from attrs import evolve
from sqlalchemy import select
from tests.campaign.people import check_problem, new_desk
from tests.campaign.waiting import in_time

from quietcrowd.campaign.server import retention
from quietcrowd.campaign.server.retention import RetentionKeeper
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.clock import MOST_DAYS, confirm_clock
from quietcrowd.campaign.store.database import Database

DAY = 86_400


def test_a_server_deletes_what_is_over_while_it_runs(start_server, monkeypatch):
    monkeypatch.setattr(retention, "_EVERY", 0.02)
    server = start_server()
    desk = new_desk(server)
    campaign = desk.campaign(retention_days=2)
    desk.worker(campaign).send_values(1)
    journal = server.service.departures.journal
    server.app.state.service = evolve(server.service, clock=lambda: 1_000.0)
    confirm_clock(1_000.0, server.database, journal)
    desk.client.post(f"/campaigns/{campaign}/close").raise_for_status()
    confirm_clock(time.time(), server.database, journal)
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
    confirm_clock(4e9, server.database, server.service.departures.journal)
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
    confirm_clock(4_102_444_800.0, server.database, server.service.departures.journal)
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


@pytest.mark.nightly
def test_one_wrong_reading_of_the_clock_deletes_nothing(start_server, monkeypatch):
    """Before, the first look 200 days ahead deleted 2 workers and closed the open campaign."""
    monkeypatch.setattr(retention, "_EVERY", 0.02)
    server = start_server()
    desk = new_desk(server)
    over, due = desk.campaign(retention_days=30), desk.campaign(closes_on="2100-01-01")
    for one in (over, due):
        desk.worker(one).send_values(1)
    journal = server.service.departures.journal
    start = 4_102_444_800.0  # 2100
    server.app.state.service = evolve(server.service, clock=lambda: start)
    confirm_clock(start, server.database, journal)
    desk.client.post(f"/campaigns/{over}/close").raise_for_status()

    def look(days):
        now = start + days * DAY
        server.app.state.service = evolve(server.service, clock=lambda: now)
        keeper = RetentionKeeper(
            database=server.database,
            departures=server.service.departures,
            clock=lambda: now,
            changed=lambda _: None,
        )
        keeper.close()  # after the first look
        found = [desk.client.get(f"/campaigns/{one}").json() for one in (over, due)]
        [closed, opened] = found
        ready = desk.client.get("/readyz").raise_for_status().json()
        return closed["participants"], opened["state"], ready.get("clock")

    for days in (200, -200, 31 + MOST_DAYS):
        assert look(days) == (1, "open", "held")
    assert look(0.5) == (1, "open", None)
    for days in (3, 10, 17, 24):
        assert look(days) == (1, "closed", None)
    assert look(31) == (0, "closed", None)


@pytest.mark.parametrize("days", [-400, 0, 200])
def test_retention_is_counted_from_the_right_day_while_the_clock_is_wrong(server, desk, days):
    """Before, all of workers went at once, or 200 days later than was promised."""
    campaign = desk.campaign(retention_days=30)
    before = server.service
    server.app.state.service = evolve(before, clock=lambda: time.time() + days * DAY)
    desk.client.post(f"/campaigns/{campaign}/close").raise_for_status()
    server.app.state.service = before
    wanted = select(tables.campaign.c.delete_at).where(
        tables.campaign.c.id == bytes.fromhex(campaign)
    )
    with server.database.read() as connection:
        end = connection.scalar(wanted)
    assert 28 * DAY < end - time.time() <= 31 * DAY  # a held clock counts from midnight


def test_a_look_finds_damage_that_no_request_meets(start_server, monkeypatch):
    server = start_server()
    keeper = RetentionKeeper(
        database=server.database,
        departures=server.service.departures,
        clock=time.time,
        changed=lambda _: None,
    )
    keeper.close()
    monkeypatch.setattr(Database, "is_intact", lambda one: setattr(one, "damage", "SQLITE_CORRUPT"))
    assert server.client().get("/readyz").status_code == 200
    keeper._checked = None
    keeper.look()
    check_problem(server.client().get("/readyz"), 503, "damaged")


@pytest.mark.parametrize(("now", "pause"), [(5, 600.0), (DAY - 5, 5.0), (3 * DAY, 600.0)])
def test_a_look_is_not_later_than_midnight(now, pause):
    assert retention._pause(now) == pause
