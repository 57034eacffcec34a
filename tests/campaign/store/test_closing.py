import pytest
from sqlalchemy import select

import quietcrowd as qc
from quietcrowd.campaign.results.inference_process import Inferrer
from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.closing import (
    close_campaign,
    close_due,
    day_of,
    due_campaigns,
)
from quietcrowd.campaign.store.departures import Departures

NEW_YEAR = 4_102_444_800.0
"""2100-01-01 00:00, in UTC."""

MAJORITY = qc.MajorityVote().to_dict()


def close_all(server, now):
    """Close what is due; return which campaigns, and of which results may be others."""
    with server.database.read() as connection:
        due = due_campaigns(connection, now)
    changed, departures = [], server.service.departures
    for campaign in due:
        with server.database.write() as connection:
            if close_due(connection, departures, campaign, now):
                changed.append(campaign.hex())
            assert not close_due(connection, departures, campaign, now)
    return {one.hex() for one in due}, changed


def test_a_day_is_one_in_utc():
    assert day_of(NEW_YEAR) == "2100-01-01"
    assert day_of(NEW_YEAR - 0.001) == "2099-12-31"


@pytest.mark.parametrize("least", [1, 3])
def test_a_campaign_closes_when_its_last_day_is_over(server, desk, least):
    members = {"at_least": least, "method": MAJORITY, "retention_days": 1}
    campaign, later, never = (
        desk.campaign(closes_on=day, **members) for day in ("2099-12-31", "2100-01-01", None)
    )
    draft = desk.draft(closes_on="2099-12-31")["id"]
    workers = [desk.worker(campaign) for _ in range(4)]
    for worker in workers:
        worker.send_values(1)
    assert close_all(server, NEW_YEAR - 1) == (set(), [])
    due, changed = close_all(server, NEW_YEAR)
    assert due == {campaign}
    assert changed == ([campaign] if least > 1 else [])
    states = [
        desk.client.get(f"/campaigns/{one}").json()["state"]
        for one in (campaign, later, never, draft)
    ]
    assert states == ["closed", "open", "open", "draft"]
    assert Inferrer(server.database).infer(bytes.fromhex(campaign))
    shown = 4 if least == 1 else 3
    assert desk.client.get(f"/campaigns/{campaign}/results").json()["participants"] == shown
    assert workers[0].send(workers[0].report("0" * 32, 1)).is_success
    assert close_all(server, NEW_YEAR) == (set(), [])
    desk.client.delete(f"/campaigns/{later}").raise_for_status()


def close(server, departures, campaign, problem=None):
    wanted = select(tables.campaign).where(tables.campaign.c.id == campaign)
    with server.database.write() as connection:
        close_campaign(connection, departures, connection.execute(wanted).one(), NEW_YEAR)
        assert departures.ended(campaign)
        if problem is not None:
            raise problem


def test_a_closing_that_fails_is_taken_back(server, desk, tmp_path):
    """Else a start of the server after the retention would delete what came meanwhile."""
    campaign = bytes.fromhex(desk.campaign(retention_days=1))
    departures = Departures.open(Settings(database=f"sqlite:///{tmp_path}/q.db"))
    with pytest.raises(OSError, match="full"):
        close(server, departures, campaign, OSError("the disk is full"))
    assert not departures.ended(campaign)
    close(server, departures, campaign)
    with server.database.write():
        pass
    assert departures.ended(campaign)
    departures.close()
