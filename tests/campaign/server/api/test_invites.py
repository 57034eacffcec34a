from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import select
from tests.campaign.people import check_problem

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.terms.tokens import token_hash


def test_an_invite_is_shown_once_and_lies_in_the_fragment(desk):
    campaign = desk.campaign()
    told = desk.client.post(f"/campaigns/{campaign}/invites", json={"count": 3})
    assert told.status_code == 201
    invites = told.json()
    assert invites["fragments"] == [f"/j/{campaign}#i={token}" for token in invites["invites"]]
    counts = desk.client.get(f"/campaigns/{campaign}/invites")
    assert counts.json() == {"invites": 3, "used": 0}
    assert "qci_" not in counts.text


def test_an_invite_lets_one_worker_in(desk):
    campaign = desk.campaign()
    [invite] = desk.invite(campaign)
    guests = [desk.guest(campaign) for _ in range(20)]
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda guest: desk.join(guest, invite), guests))
    assert sorted(answer.status_code for answer in answers) == [201] + [403] * 19
    for answer in answers:
        if answer.status_code == 403:
            check_problem(answer, 403, "invite-invalid")
    counts = desk.client.get(f"/campaigns/{campaign}/invites").json()
    assert counts == {"invites": 1, "used": 1}


def test_invites_that_were_not_used_can_be_revoked(desk):
    campaign = desk.campaign()
    used, unused = desk.invite(campaign, 2)
    desk.join(desk.guest(campaign), used).raise_for_status()
    assert desk.client.delete(f"/campaigns/{campaign}/invites").status_code == 204
    check_problem(desk.join(desk.guest(campaign), unused), 403, "invite-invalid")
    check_problem(desk.join(desk.guest(campaign), used), 403, "invite-invalid")
    counts = desk.client.get(f"/campaigns/{campaign}/invites").json()
    assert counts == {"invites": 1, "used": 1}


def test_an_invite_that_was_used_is_not_stored(server, desk):
    campaign = desk.campaign()
    used, unused = desk.invite(campaign, 2)
    desk.join(desk.guest(campaign), used).raise_for_status()
    with server.database.read() as connection:
        stored = connection.scalars(
            select(tables.invite.c.token_sha256).where(
                tables.invite.c.campaign_id == bytes.fromhex(campaign)
            )
        ).all()
    assert stored == [token_hash(unused)]
    assert "used" not in tables.invite.c


def test_a_campaign_for_all_needs_no_invites(desk):
    campaign = desk.campaign(join_mode="open")
    refused = desk.client.post(f"/campaigns/{campaign}/invites", json={"count": 1})
    check_problem(refused, 409, "bad-state")


def test_nobody_is_invited_to_what_is_closed(desk):
    campaign = desk.campaign()
    desk.client.post(f"/campaigns/{campaign}/close")
    refused = desk.client.post(f"/campaigns/{campaign}/invites", json={"count": 1})
    check_problem(refused, 409, "campaign-closed")
