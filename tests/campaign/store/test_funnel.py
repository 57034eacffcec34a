"""How many people came how far: it moves with releases alone, in steps of as many workers."""

import pytest
from tests.campaign.mechanisms import MECHANISMS

from quietcrowd.campaign.terms.tokens import new_code


def funnel(desk, campaign):
    found = desk.client.get(f"/campaigns/{campaign}/funnel").raise_for_status().json()
    return found["links"], found["joined"], found["sent"], found["left"]


def joined(desk, campaign, invite, **members):
    worker = desk.guest(campaign)
    desk.join(worker, invite, **members).raise_for_status()
    return worker


def test_where_nobody_waits_all_is_shown_at_once(desk):
    campaign = desk.campaign(MECHANISMS["one-layer"], at_least=1)
    assert funnel(desk, campaign) == (0, 0, 0, 0)
    one, two, three = desk.invite(campaign, 3)
    worker = joined(desk, campaign, one)
    assert funnel(desk, campaign) == (3, 1, 0, 0)
    worker.send_values(1)
    joined(desk, campaign, two)
    joined(desk, campaign, three).client.delete("/me").raise_for_status()
    assert funnel(desk, campaign) == (3, 3, 1, 1)


def test_several_browsers_with_one_link_are_one_person(desk):
    campaign = desk.campaign(MECHANISMS["one-layer"], at_least=1)
    [invite], code = desk.invite(campaign), new_code()
    joined(desk, campaign, invite, code=code)
    joined(desk, campaign, invite)
    joined(desk, campaign, invite, code=code, continues=True)
    assert funnel(desk, campaign) == (1, 1, 0, 0)


def test_it_moves_with_releases_in_steps(desk):
    campaign = desk.campaign(MECHANISMS["one-layer"], at_least=3)
    workers = [joined(desk, campaign, invite) for invite in desk.invite(campaign, 9)]
    for worker in workers[:2]:
        worker.send_values(1)
    for worker in workers[5:]:
        worker.client.delete("/me").raise_for_status()
    assert funnel(desk, campaign) == (9, 0, 0, 0)
    workers[2].send_values(1)
    assert funnel(desk, campaign) == (9, 9, 3, 3)  # 4 left
    workers[3].send_values(1)
    workers[4].client.delete("/me").raise_for_status()
    assert funnel(desk, campaign) == (9, 9, 3, 3)
    desk.client.post(f"/campaigns/{campaign}/close").raise_for_status()
    assert funnel(desk, campaign) == (9, 9, 3, 3)  # 5 left


def test_a_single_person_who_has_not_sent_is_not_seen(desk):
    """Those without reports are rounded, not all who joined: else 3 of 3 and of 4 would differ."""
    seen = set()
    for count in (4, 5, 6):
        campaign = desk.campaign(MECHANISMS["one-layer"], at_least=4)
        workers = [joined(desk, campaign, invite) for invite in desk.invite(campaign, count)]
        for worker in workers[:4]:
            worker.send_values(1)
        name = workers[0].client.get("/me").json()["pseudonym"]
        desk.client.delete(f"/campaigns/{campaign}/workers/{name}").raise_for_status()
        desk.client.post(f"/campaigns/{campaign}/close").raise_for_status()
        seen.add(funnel(desk, campaign)[1:])
    assert seen == {(3, 3, 0)}


@pytest.mark.grid
@pytest.mark.parametrize("exists", [True, False])
def test_whom_the_requester_deletes_has_not_left(desk, exists):
    """So that a requester cannot fill up a step with deletions, and then see the next one."""
    campaign = desk.campaign(MECHANISMS["one-layer"], at_least=2)
    workers = [joined(desk, campaign, invite) for invite in desk.invite(campaign, 4)]
    name = workers[0].client.get("/me").json()["pseudonym"]
    for _ in range(3):
        gone = name if exists else "worker-0123456789abcdef"
        desk.client.delete(f"/campaigns/{campaign}/workers/{gone}").raise_for_status()
    for worker in workers[1:3]:
        worker.send_values(1)
    assert funnel(desk, campaign) == (4, 4 - 2 * exists, 2, 0)


def test_there_are_no_links_where_all_may_join(desk):
    campaign = desk.campaign(join_mode="open")
    assert funnel(desk, campaign)[0] is None
