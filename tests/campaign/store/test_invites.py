"""Invites: free and reserved ones are one to whoever lacks the code."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import func, select
from tests.campaign.older_databases import rows_of
from tests.campaign.people import check_problem, new_desk
from tests.campaign.statements import statements
from tests.campaign.store.test_replay import copied, put_back, serve, settings

from quietcrowd.campaign.protocol.worker_documents import JoinRequest
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.participants import join, replace_invite
from quietcrowd.campaign.store.withdrawals.journal import departure
from quietcrowd.campaign.terms.tokens import new_code, new_token, token_hash

__all__ = ["serve", "settings"]

GIVEN = {"answers_per_participant": 2, "allotment": "random"}


def reserved(desk, campaign, invite, **members):
    """Return a worker who joined with an invite."""
    worker = desk.guest(campaign)
    desk.join(worker, invite, **members).raise_for_status()
    return worker


def stored(server, table, campaign):
    """Return the rows of a table that belong to a campaign."""
    rows = rows_of(server.database)[table]
    key = "id" if table == "campaign" else "campaign_id"
    return [one for one in rows if one[key].hex() == campaign]


def count(database, table):
    with database.read() as connection:
        return connection.scalar(select(func.count()).select_from(table))


def allotted(worker):
    return worker.client.get("/me/tasks").raise_for_status().json()["allotted"]


def known(worker):
    return worker.client.get("/me").status_code == 200


def seen(desk, campaign):
    """Return what a requester is told of a campaign and its invites."""
    return [desk.client.get(f"/campaigns/{campaign}{one}").json() for one in ("", "/invites")]


@pytest.mark.grid
@pytest.mark.parametrize("at_least", [1, 5])
def test_each_browser_with_a_link_is_let_in_and_asked_the_same(desk, at_least):
    campaign = desk.campaign(tasks=9, at_least=at_least, max_participants=1, **GIVEN)
    [invite] = desk.invite(campaign)
    before = seen(desk, campaign)
    workers = [reserved(desk, campaign, invite, code=new_code()) for _ in range(4)]
    assert len({tuple(allotted(one)) for one in workers}) == 1
    assert len({one.client.get("/me").json()["pseudonym"] for one in workers}) == 4
    assert seen(desk, campaign) == before


@pytest.mark.grid
@pytest.mark.parametrize("at_least", [1, 5])
def test_one_of_them_takes_the_place(server, desk, at_least):
    campaign = desk.campaign(at_least=at_least)
    [invite] = desk.invite(campaign)
    workers = [reserved(desk, campaign, invite) for _ in range(20)]
    task = workers[0].tasks()[0]["task_id"]
    for one in workers:
        check_problem(one.post(one.report(task, 1)), 409, "place-needed")
    with ThreadPoolExecutor(20) as pool:
        statuses = list(pool.map(lambda one: one.place().status_code, workers))
    assert sorted(statuses) == [204] + [401] * 19
    [winner] = [one for one in workers if known(one)]
    assert [winner.place().status_code for _ in range(20)] == [204] * 20
    check_problem(desk.join(desk.guest(campaign), invite), 403, "invite-invalid")
    assert winner.send(winner.report(task, 1)).json()["accepted"] == 1
    [campaign_row] = [
        one for one in rows_of(server.database)["campaign"] if one["id"].hex() == campaign
    ]
    assert (campaign_row["joined"], campaign_row["invites_used"]) == (1, 1)
    [kept] = stored(server, "invite", campaign)
    assert (kept["token_sha256"], kept["revoked"]) == (token_hash(invite), 1)


@pytest.mark.grid
def test_a_code_moves_a_worker_to_another_browser(desk):
    campaign = desk.campaign(tasks=9, **GIVEN)
    invite, code = desk.invite(campaign)[0], new_code()
    first = reserved(desk, campaign, invite, code=code)
    stranger = reserved(desk, campaign, invite, code=new_code())
    name, tasks = first.client.get("/me").json()["pseudonym"], allotted(first)
    second = desk.guest(campaign)
    moved = [desk.join(second, invite, code=code, continues=True) for _ in range(20)]
    assert [one.status_code for one in moved] == [201] + [200] * 19
    assert {one.json()["pseudonym"] for one in moved} == {name}
    assert allotted(second) == tasks
    check_problem(first.client.get("/me"), 401, "credential")
    check_problem(desk.join(first, invite), 409, "withdrawn")
    assert known(stranger)
    third = reserved(desk, campaign, invite, code=code, continues=True)
    assert (known(second), known(third)) == (False, True)
    third.place().raise_for_status()
    check_problem(
        desk.join(desk.guest(campaign), invite, code=code, continues=True), 403, "invite-invalid"
    )
    check_problem(stranger.place(), 401, "credential")


@pytest.mark.grid
def test_another_code_is_refused_alike_for_free_and_reserved_invites(desk):
    campaign = desk.campaign(at_least=5)
    free, held, other = desk.invite(campaign, 3)
    code = new_code()
    worker = reserved(desk, campaign, held, code=code)
    reserved(desk, campaign, other)
    told = set()
    for invite, tried in ((free, new_code()), (held, new_code()), (free, code), (other, code)):
        answer = desk.join(desk.guest(campaign), invite, code=tried, continues=True)
        check_problem(answer, 403, "code-unknown")
        told.add(answer.content)
    answer = desk.join(desk.guest(campaign), other, continues=True)
    check_problem(answer, 403, "code-unknown")
    assert told == {answer.content}
    assert known(worker)
    for wrong in (code[:-1], f"{code[:-1]}U", code.lower(), f"{code}\n"):
        refused = desk.join(desk.guest(campaign), held, code=wrong, continues=True)
        assert code[:-1] not in check_problem(refused, 422, "validation")["detail"]


@pytest.mark.grid
def test_a_code_is_taken_while_the_other_browser_sends(desk):
    """Either the worker moves, and the first browser draws nothing, or the place is taken."""
    campaign = desk.campaign()
    for invite in desk.invite(campaign, 10):
        code = new_code()
        first, second = reserved(desk, campaign, invite, code=code), desk.guest(campaign)
        with ThreadPoolExecutor(2) as pool:
            placed = pool.submit(first.place)
            moved = pool.submit(desk.join, second, invite, code=code, continues=True)
        outcome = (placed.result().status_code, moved.result().status_code)
        assert outcome in {(204, 403), (401, 201)}
        assert (known(first), known(second)) == (outcome[0] == 204, outcome[1] == 201)


@pytest.mark.grid
def test_a_campaign_is_full_once_places_are_taken_and_those_who_joined_go_on(desk):
    campaign = desk.campaign(at_least=1, max_participants=1)
    one, other, late = desk.invite(campaign, 3)
    first = reserved(desk, campaign, one)
    code = new_code()
    second = reserved(desk, campaign, other, code=code)
    first.place().raise_for_status()
    check_problem(desk.join(desk.guest(campaign), late), 409, "full")
    moved = reserved(desk, campaign, other, code=code, continues=True)
    assert not known(second)
    moved.place().raise_for_status()


@pytest.mark.grid
@pytest.mark.parametrize("join_mode", ["invite", "open"])
@pytest.mark.parametrize("at_least", [1, 3])
def test_who_joined_before_a_campaign_was_full_can_send(desk, at_least, join_mode):
    campaign = desk.campaign(at_least=at_least, max_participants=3, join_mode=join_mode)
    invites = desk.invite(campaign, 7) if join_mode == "invite" else [None] * 7
    several = 3 if (at_least, join_mode) == (1, "open") else 6  # only these count on joining
    workers = [reserved(desk, campaign, invite) for invite in invites[:several]]
    for worker in workers[:3]:
        worker.send_values(1)
    check_problem(desk.join(desk.guest(campaign), invites[6]), 409, "full")
    for worker in workers[3:]:
        worker.send_values(1)
    assert seen(desk, campaign)[0]["participants"] == several


@pytest.mark.grid
@pytest.mark.parametrize("all_of_them", [False, True])
def test_revoking_ends_free_and_reserved_invites_alike(desk, all_of_them):
    campaign = desk.campaign()
    free, held = desk.invite(campaign, 2)
    worker, probe = reserved(desk, campaign, held), reserved(desk, campaign, free)
    url = f"/campaigns/{campaign}/invites"
    if all_of_them:
        desk.client.delete(url).raise_for_status()
    for invite in (free, held):
        if not all_of_them:
            desk.client.post(f"{url}/revoke", json={"invite": invite}).raise_for_status()
        check_problem(desk.join(desk.guest(campaign), invite), 403, "invite-invalid")
    for one in (worker, probe):
        check_problem(one.place(), 403, "invite-invalid")
        task = one.tasks()[0]["task_id"]
        check_problem(one.post(one.report(task, 1)), 409, "place-needed")
        assert one.client.delete("/me").status_code == 204


@pytest.mark.grid
def test_who_withdraws_before_sending_spends_the_invite(desk):
    campaign = desk.campaign(at_least=1)
    [invite] = desk.invite(campaign)
    worker, other = (reserved(desk, campaign, invite) for _ in range(2))
    worker.client.delete("/me").raise_for_status()
    assert not known(other)
    check_problem(desk.join(desk.guest(campaign), invite), 403, "invite-invalid")
    document, counts = seen(desk, campaign)
    assert (document["participants"], counts) == (0, {"invites": 1, "used": 1})


@pytest.mark.grid
def test_nobody_takes_a_place_of_what_is_closed(server, desk):
    campaign = desk.campaign()
    one, other = desk.invite(campaign, 2)
    placed, late = (reserved(desk, campaign, each, code=new_code()) for each in (one, other))
    placed.place().raise_for_status()
    desk.client.post(f"/campaigns/{campaign}/close").raise_for_status()
    assert placed.place().status_code == 204
    check_problem(late.place(), 409, "campaign-closed")
    people = [
        one
        for one in rows_of(server.database)["participant"]
        if one["campaign_id"].hex() == campaign
    ]
    assert len(people) == 2
    assert {(one["invite_sha256"], one["code_sha256"]) for one in people} == {(None, None)}
    assert stored(server, "invite", campaign) == []


@pytest.mark.grid
def test_a_public_link_has_places_of_its_own(desk):
    campaign = desk.campaign(join_mode="open", at_least=1, max_participants=2)
    workers = [reserved(desk, campaign, None, code=new_code()) for _ in range(2)]
    assert seen(desk, campaign)[0]["participants"] == 2
    guest, claim = desk.guest(campaign), {"code": new_code(), "continues": True}
    check_problem(desk.join(guest, **claim), 409, "full")
    for worker in workers:
        task = worker.tasks()[0]["task_id"]
        check_problem(worker.post(worker.report(task, 1)), 409, "place-needed")
        worker.place().raise_for_status()
        assert worker.post(worker.report(task, 1)).json()["accepted"] == 1


@pytest.mark.grid
def test_releases_know_nothing_of_places_that_never_sent(desk):
    campaign = desk.campaign(at_least=3)
    before = seen(desk, campaign)[0]
    for place, invite in enumerate(desk.invite(campaign, 5)):
        worker = reserved(desk, campaign, invite)
        if place < 3:
            worker.place().raise_for_status()
        if place < 2:
            worker.send_values(1)
    assert seen(desk, campaign)[0] == before
    desk.worker(campaign).send_values(1)
    assert seen(desk, campaign)[0]["participants"] == 3


STATES = {
    "free": "",
    "reserved": "join",
    "spent": "join place",
    "sent": "join send",
    "left": "join leave",
    "sent and left": "join send leave",
    "revoked": "revoke",
    "reserved and revoked": "join revoke",
    "never issued": "",
}
"""What became of an invite, and the steps that lead there."""


def in_states(desk, campaign):
    """Return an invite in each state, its workers, and their tasks."""
    found = {}
    for state, steps in STATES.items():
        invite = new_token("qci_") if state == "never issued" else desk.invite(campaign)[0]
        joined = 2 if "join" in steps else 0
        workers = [reserved(desk, campaign, invite, code=new_code()) for _ in range(joined)]
        tasks = allotted(workers[0]) if workers else None
        if "place" in steps:
            workers[0].place().raise_for_status()
        if "send" in steps:
            workers[0].send(*(workers[0].report(one, 1) for one in tasks)).raise_for_status()
        if "leave" in steps:
            workers[0].client.delete("/me").raise_for_status()
        if "revoke" in steps:
            url = f"/campaigns/{campaign}/invites/revoke"
            desk.client.post(url, json={"invite": invite}).raise_for_status()
        found[state] = invite, workers, tasks
    return found


def replaced(desk, campaign, invite):
    answer = desk.client.post(f"/campaigns/{campaign}/invites/replace", json={"invite": invite})
    assert answer.status_code == 201
    [new] = answer.json()["invites"]
    assert answer.json()["fragments"] == [f"/j/{campaign}#i={new}"]
    return new


@pytest.mark.grid
@pytest.mark.parametrize("at_least", [1, 3])
def test_a_link_is_replaced_whatever_became_of_it(server, desk, at_least):
    campaign = desk.campaign(tasks=9, at_least=at_least, **GIVEN)
    for invite, workers, tasks in in_states(desk, campaign).values():
        before = seen(desk, campaign)
        new = replaced(desk, campaign, invite)
        after = seen(desk, campaign)
        assert after[1]["invites"] == before[1]["invites"] + 1
        if at_least > 1:
            assert after[0] == before[0]
        assert not any(known(one) for one in workers)
        check_problem(desk.join(desk.guest(campaign), invite), 403, "invite-invalid")
        worker = reserved(desk, campaign, new)
        assert tasks in (None, allotted(worker))
        worker.place().raise_for_status()
        worker.send(*(worker.report(one, 1) for one in allotted(worker))).raise_for_status()
    counts = [one["asked"] for one in stored(server, "task", campaign)]
    assert max(counts) - min(counts) <= 1
    reports = stored(server, "report", campaign)
    assert len(reports) == 2 * len(STATES)
    desk.client.post(f"/campaigns/{campaign}/close").raise_for_status()
    refused = desk.client.post(f"/campaigns/{campaign}/invites/replace", json={"invite": new})
    check_problem(refused, 409, "campaign-closed")
    shown = seen(desk, campaign)[0]["reports"]
    people = stored(server, "participant", campaign)
    waiting = [one for one in people if at_least > 1 and one["standing"] != "shown"]
    assert shown == 2 * (len(STATES) - len(waiting))
    assert len(waiting) < at_least


def replace_at(connection, departures, campaign, invite):
    mine = tables.campaign.c.id == bytes.fromhex(campaign)
    row = connection.execute(select(tables.campaign).where(mine)).one()
    return replace_invite(connection, departures, row, invite, time.time())


@pytest.mark.grid
def test_the_same_is_written_whatever_became_of_a_replaced_link(desk, start_server, server):
    running = start_server() if server.database.path is not None else server
    desk, database, service = new_desk(running), running.database, running.service
    campaign = desk.campaign(tasks=10, at_least=3, **GIVEN)
    journal = service.departures.journal
    databases = [database] if journal is None else [database, journal]
    kept = list(zip(databases, (tables.withdrawn, departure), strict=False))
    told = {}
    for state, (invite, *_) in in_states(desk, campaign).items():
        before = [count(*one) for one in kept]
        with statements(*databases) as asked, database.write() as connection:
            _, changed = replace_at(connection, service.departures, campaign, invite)
        assert not changed
        told[state] = asked
        assert [count(*one) for one in kept] == [number + 1 for number in before]
    assert all(asked == told["free"] for asked in told.values())
    assert len(told["free"]) > 12
    mine = [one for one in rows_of(database)["invite"] if one["campaign_id"].hex() == campaign]
    assert len(mine) == 2 * len(STATES)
    assert all(len(one["allotment"]) == 2 * 16 for one in mine)


@pytest.mark.grid
def test_links_that_are_revoked_together_keep_their_tasks(server, desk):
    campaign = desk.campaign(tasks=9, **GIVEN)
    states = in_states(desk, campaign)
    desk.client.delete(f"/campaigns/{campaign}/invites").raise_for_status()
    for invite, _, tasks in states.values():
        worker = reserved(desk, campaign, replaced(desk, campaign, invite))
        assert tasks in (None, allotted(worker))
    counts = [one["asked"] for one in stored(server, "task", campaign)]
    assert sum(counts) == 2 * len(STATES)


class OfThisTestError(Exception):
    """Raised in a transaction, which then fails."""


def fail_to_replace(database, *named, commits):
    """Replace an invite in a transaction that fails, though perhaps it is committed."""
    with database.write() as connection:
        replace_at(connection, *named)
        if commits:
            connection.commit()
        raise OfThisTestError


@pytest.mark.nightly
@pytest.mark.grid
@pytest.mark.parametrize("commits", [False, True])
def test_the_journal_forgets_a_replacement_that_failed(desk, start_server, server, commits):
    running = start_server() if server.database.path is not None else server
    desk, database, departures = new_desk(running), running.database, running.service.departures
    if departures.journal is None:
        pytest.skip("Without a journal nothing is written twice.")
    campaign = desk.campaign(tasks=9, at_least=3, **GIVEN)
    states = in_states(desk, campaign)
    for invite, *_ in states.values():
        before = rows_of(database), count(departures.journal, departure)
        with pytest.raises(OfThisTestError):
            fail_to_replace(database, departures, campaign, invite, commits=commits)
        assert count(departures.journal, departure) == before[1] + commits
        assert (rows_of(database) == before[0]) is not commits


@pytest.mark.grid
@pytest.mark.parametrize("members", [{}, GIVEN], ids=["all tasks", "some tasks"])
def test_the_same_is_written_by_whoever_joins_with_a_free_or_reserved_invite(server, desk, members):
    campaign = desk.campaign(at_least=3, tasks=9, **members)
    free, held = desk.invite(campaign, 2)
    reserved(desk, campaign, held, code=new_code())
    told = []
    for invite in (free, held):
        guest = desk.guest(campaign)
        request = JoinRequest(config_hash=guest.config_hash, invite=invite, code=new_code())
        with statements(server.database) as asked, server.database.write() as connection:
            assert join(connection, campaign, guest.credential, request, lambda: None)
        told.append([statement for statement, _ in asked])
    assert told[0] == told[1]


@pytest.mark.grid
@pytest.mark.parametrize("first", ["replace", "send"])
def test_a_link_is_replaced_while_its_worker_sends(desk, first):
    campaign = desk.campaign(at_least=1)
    [invite] = desk.invite(campaign)
    worker = reserved(desk, campaign, invite)
    task = worker.tasks()[0]["task_id"]
    worker.place().raise_for_status()
    if first == "send":
        worker.post(worker.report(task, 1)).raise_for_status()
    replaced(desk, campaign, invite)
    check_problem(worker.post(worker.report(task, 1)), 401, "credential")
    assert seen(desk, campaign)[0]["reports"] == 0


@pytest.mark.grid
def test_replacing_and_sending_at_once_stores_nothing_of_the_old_link(desk):
    campaign = desk.campaign(at_least=1)
    for invite in desk.invite(campaign, 8):
        worker = reserved(desk, campaign, invite)
        report = worker.report(worker.tasks()[0]["task_id"], 1)
        with ThreadPoolExecutor(2) as pool:
            sent = pool.submit(worker.send, report)
            pool.submit(replaced, desk, campaign, invite).result()
        assert sent.result().status_code in (200, 401)
        assert not known(worker)
    assert seen(desk, campaign)[0]["reports"] == 0


def test_no_invite_of_a_public_link_is_replaced(desk):
    campaign = desk.campaign(join_mode="open")
    url = f"/campaigns/{campaign}/invites/replace"
    check_problem(desk.client.post(url, json={"invite": new_token("qci_")}), 409, "bad-state")
    check_problem(desk.client.post(url, json={"invite": "x"}), 422, "validation")


@pytest.mark.nightly
@pytest.mark.slow
def test_what_a_replaced_link_sent_does_not_come_back_with_a_copy(
    serve, settings, tmp_path, request
):
    server = serve()
    desk = new_desk(server)
    campaign = desk.campaign(at_least=1)
    invites = desk.invite(campaign, 4)
    stays, sent, placed, joined = (reserved(desk, campaign, invite) for invite in invites)
    for one in (stays, sent):
        one.send_values(1, 0)
    placed.place().raise_for_status()
    copy = copied(settings, tmp_path)
    for one in (placed, joined):
        one.send_values(1)
    for invite in invites[1:]:
        replaced(desk, campaign, invite)
    server.stop()
    restored = put_back(settings, copy, request)
    again = serve(database=restored.database)
    held = new_desk(again)
    held.client.headers["Authorization"] = f"Bearer {desk.key}"
    assert seen(held, campaign)[0]["reports"] == 2
    assert [again.client(one.credential).get("/me").status_code for one in (stays, sent)] == [
        200,
        401,
    ]
    assert {one["id"].hex() for one in rows_of(again.database)["participant"]} == {stays.id}
    for invite in invites:
        check_problem(held.join(held.guest(campaign), invite), 403, "invite-invalid")
    kept = {(one["token_sha256"], one["revoked"]) for one in rows_of(again.database)["invite"]}
    assert kept == {(token_hash(one), 1 if one == invites[0] else 2) for one in invites}
    before = rows_of(again.database)
    again.stop()
    once_more = serve(database=restored.database)
    assert rows_of(once_more.database) == before


@pytest.mark.slow
def test_nor_if_the_campaign_was_closed_meanwhile(serve, settings, tmp_path, request):
    server = serve()
    desk = new_desk(server)
    campaign = desk.campaign(at_least=1)
    invites = desk.invite(campaign, 2)
    stays, sent = (reserved(desk, campaign, invite) for invite in invites)
    for one in (stays, sent):
        one.send_values(1, 0)
    copy = copied(settings, tmp_path)
    replaced(desk, campaign, invites[1])
    desk.client.post(f"/campaigns/{campaign}/close").raise_for_status()
    server.stop()
    again = serve(database=put_back(settings, copy, request).database)
    check_problem(again.client(sent.credential).get("/me"), 401, "credential")
    assert {one["id"].hex() for one in rows_of(again.database)["participant"]} == {stays.id}
