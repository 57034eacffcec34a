"""When what a requester is shown changes; see tests/campaign/test_looks.py for any order."""

import json
import threading

import pytest
from sqlalchemy import insert, select, update
from tests.campaign.mechanisms import MECHANISMS
from tests.campaign.older_databases import fill_older
from tests.campaign.people import check_problem

import quietcrowd as qc
from quietcrowd.campaign.results.inference_process import Inferrer
from quietcrowd.campaign.results.results import (
    outdated_campaigns,
    read_provenance,
    write_failure,
)
from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.opening import migrate, ready_database
from quietcrowd.campaign.store.releases import recount

MAJORITY = qc.MajorityVote().to_dict()


def counts(desk, campaign):
    document = desk.client.get(f"/campaigns/{campaign}").json()
    return document["participants"], document["reports"]


def results(desk, campaign):
    answer = desk.client.get(f"/campaigns/{campaign}/results")
    return answer.json() if answer.is_success else answer.status_code


def change(desk, campaign, **members):
    url = f"/campaigns/{campaign}"
    etag = {"If-Match": desk.client.get(url).headers["etag"]}
    desk.client.patch(url, json=members, headers=etag).raise_for_status()


def outdated(server, campaign):
    with server.database.read() as connection:
        return bytes.fromhex(campaign) in outdated_campaigns(connection)


def counted(server, campaign):
    """Return how many participants, reports and tasks there are."""
    listed = (tables.participant, tables.report, tables.sketch, tables.task)
    with server.database.read() as connection:
        people, reports, sketches, tasks = (
            len(connection.execute(select(table).where(mine(table, campaign))).all())
            for table in listed
        )
    return people, reports + sketches, tasks


def mine(table, campaign):
    return table.c.campaign_id == bytes.fromhex(campaign)


@pytest.mark.grid
@pytest.mark.parametrize("name", ["one-layer", "matrix factorisation"])
def test_where_nobody_waits_the_counts_that_are_kept_are_those_of_the_moment(server, desk, name):
    mechanism = MECHANISMS[name]
    campaign = desk.campaign(mechanism, join_mode="open")
    answers = {f"t{task}": mechanism.domain.labels[0] for task in range(3)}
    workers = [desk.worker(campaign) for _ in range(4)]
    acts = [
        *(lambda worker=worker: worker.send_all(mechanism, answers) for worker in workers[:3]),
        *(lambda worker=worker: worker.client.delete("/me") for worker in workers[2:]),
        lambda: desk.worker(campaign),
        lambda: desk.client.post(f"/campaigns/{campaign}/close"),
        lambda: workers[0].client.delete("/me"),
    ]
    for act in acts:
        act()
        document = desk.client.get(f"/campaigns/{campaign}").json()
        told = tuple(document[name] for name in ("participants", "reports", "tasks"))
        assert told == counted(server, campaign)
    assert told[0] == 2


def test_what_is_sent_again_or_refused_is_not_counted(server, desk):
    campaign = desk.campaign(join_mode="open")
    worker = desk.worker(campaign)
    reports = worker.send_values(1, 0)
    worker.send(*reports).raise_for_status()
    worker.send(worker.report(reports[0]["task_id"], 0)).raise_for_status()
    desk.join(worker).raise_for_status()
    assert counts(desk, campaign) == counted(server, campaign)[:2] == (1, 2)


def test_tasks_of_a_draft_are_counted(desk):
    draft = desk.draft()["id"]
    told = []
    for rows in ("a\n1\n2\n", "a\n3\n"):
        desk.import_csv(draft, rows).raise_for_status()
        told.append(desk.client.get(f"/campaigns/{draft}").json()["tasks"])
    desk.client.delete(f"/campaigns/{draft}/tasks").raise_for_status()
    assert [*told, desk.client.get(f"/campaigns/{draft}").json()["tasks"]] == [2, 3, 0]


def test_transactions_at_once_count_one_after_the_other(desk):
    campaign = desk.campaign(join_mode="open")
    workers = [desk.worker(campaign) for _ in range(8)]
    threads = [threading.Thread(target=worker.send_values, args=(1, 0)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts(desk, campaign) == (8, 16)


@pytest.mark.grid
@pytest.mark.parametrize("name", ["one-layer", "matrix factorisation"])
def test_reports_and_sketches_wait_for_others(desk, name):
    mechanism = MECHANISMS[name]
    campaign = desk.campaign(mechanism, at_least=2)
    label = mechanism.domain.labels[0]
    sent = 3 if name == "one-layer" else 1
    for place in range(5):
        desk.worker(campaign).send_all(mechanism, {f"t{task}": label for task in range(3)})
        shown = (place + 1) // 2 * 2
        assert counts(desk, campaign) == (shown, shown * sent)


def test_all_reports_of_a_worker_come_in_one_upload(desk):
    campaign = desk.campaign(at_least=2)
    worker = desk.worker(campaign)
    first = worker.send_values(1)
    again, more = worker.tasks()[:2]
    assert again["task_id"] == first[0]["task_id"]
    receipt = worker.send(first[0], worker.report(more["task_id"], 1)).json()
    assert (receipt["accepted"], receipt["duplicates"]) == (0, 1)
    assert [one["code"] for one in receipt["rejected"]] == ["conflict"]
    desk.worker(campaign).send_values(0)
    assert counts(desk, campaign) == (2, 2)


def test_who_withdraws_does_not_make_up_the_number(desk):
    campaign = desk.campaign(at_least=2)
    leaving = desk.worker(campaign)
    leaving.send_values(1)
    leaving.client.delete("/me").raise_for_status()
    desk.worker(campaign).send_values(1)
    assert counts(desk, campaign) == (0, 0)
    desk.worker(campaign).send_values(1)
    assert counts(desk, campaign) == (2, 2)


def test_who_sends_at_the_same_time_is_counted_once(desk):
    """Who comes behind a release waits: how many these are is up to the threads."""
    campaign = desk.campaign(at_least=4)
    workers = [desk.worker(campaign) for _ in range(8)]
    threads = [threading.Thread(target=worker.send_values, args=(1,)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    people, reports = counts(desk, campaign)
    assert people == reports
    assert 8 - 4 < people <= 8  # fewer than four wait; how many are released at once, chance says


def test_results_are_of_the_reports_of_a_release_or_there_are_none(server, desk):
    campaign, inferrer = desk.campaign(at_least=2, method=MAJORITY), Inferrer(server.database)
    first, _ = workers = [desk.worker(campaign) for _ in range(2)]
    for worker in workers:
        worker.send_values(1)
    assert outdated(server, campaign)
    first.client.delete("/me").raise_for_status()
    assert not outdated(server, campaign)
    assert not inferrer.infer(bytes.fromhex(campaign))
    assert results(desk, campaign) == 409
    for _ in range(2):
        desk.worker(campaign).send_values(0)
    assert inferrer.infer(bytes.fromhex(campaign))
    assert results(desk, campaign)["participants"] == 3
    assert not inferrer.infer(bytes.fromhex(campaign))


def test_another_method_waits_for_a_release(server, desk):
    campaign, inferrer = desk.campaign(at_least=2, method=MAJORITY), Inferrer(server.database)
    for _ in range(2):
        desk.worker(campaign).send_values(1)
    inferrer.infer(bytes.fromhex(campaign))
    before = results(desk, campaign)
    change(desk, campaign, method=qc.WeightedVote().to_dict())
    assert not outdated(server, campaign)
    inferrer.infer(bytes.fromhex(campaign))
    assert results(desk, campaign) == before
    desk.client.post(f"/campaigns/{campaign}/close").raise_for_status()
    inferrer.infer(bytes.fromhex(campaign))
    assert results(desk, campaign)["method"]["method"] == "weighted-vote"
    change(desk, campaign, method=MAJORITY)
    inferrer.infer(bytes.fromhex(campaign))
    assert results(desk, campaign) == before


def test_a_failure_tells_of_those_who_are_shown(server, desk):
    campaign, inferrer = desk.campaign(at_least=2, method=MAJORITY), Inferrer(server.database)
    for _ in range(3):
        desk.worker(campaign).send_values(1, 0)
    with server.database.write() as connection:
        write_failure(connection, read_provenance(connection, bytes.fromhex(campaign)), "why")
    found = results(desk, campaign)
    assert (found["participants"], found["reports"], found["method"]) == (2, 4, None)
    assert inferrer.infer(bytes.fromhex(campaign))
    assert results(desk, campaign)["method"] == MAJORITY


def test_revoking_invites_tells_of_nobody_who_waits(desk):
    campaign = desk.campaign(at_least=2)
    url = f"/campaigns/{campaign}/invites"
    workers = [desk.worker(campaign) for _ in range(3)]
    assert desk.client.get(url).json() == {"invites": 3, "used": 0}
    desk.client.delete(url).raise_for_status()
    assert desk.client.get(url).json() == {"invites": 0, "used": 0}
    for worker in workers:
        worker.send_values(1)
    assert desk.client.get(url).json() == {"invites": 2, "used": 2}


def test_a_file_of_reports_waits_for_the_closing(desk):
    campaign = desk.campaign(at_least=2)
    url = f"/campaigns/{campaign}/reports"
    for _ in range(3):
        desk.worker(campaign).send_values(1)
    refused = check_problem(desk.client.get(url), 409, "held-back")
    assert "Close the campaign first" in refused["detail"]
    assert desk.client.get(url, params={"format": "mechanism"}).is_success
    desk.client.post(f"/campaigns/{campaign}/close").raise_for_status()
    rows = [json.loads(line) for line in desk.client.get(url).text.splitlines()[1:]]
    assert len({row["worker"] for row in rows}) == 2


def test_who_came_with_whom_is_not_stored(server, desk):
    campaign = desk.campaign(at_least=2)
    for _ in range(5):
        desk.worker(campaign).send_values(1)
    desk.worker(campaign)
    person = tables.participant.c
    with server.database.read() as connection:
        found = connection.scalars(
            select(person.standing).where(person.campaign_id == bytes.fromhex(campaign))
        ).all()
    assert sorted(found) == ["joined", *["shown"] * 4, "waiting"]


KEPT = ("tasks", "joined", "shown_participants", "shown_reports", "invites_made")


@pytest.fixture
def database(new_database):
    opened = Database.open(new_database)
    migrate(opened)
    with opened.write() as connection:
        connection.execute(insert(tables.requester), {"id": b"r", "name": "birds"})
        for campaign, at_least in ((b"a", 1), (b"b", 5)):
            fill_older(connection, campaign, at_least=at_least)
    yield opened
    opened.close()


def kept(database):
    campaign = tables.campaign.c
    wanted = select(*(campaign[name] for name in KEPT)).order_by(campaign.id)
    with database.read() as connection:
        return [tuple(row) for row in connection.execute(wanted)]


def test_what_older_servers_stored_is_counted(database):
    assert kept(database) == [(0,) * 5] * 2
    recount(database)
    assert kept(database) == [(2, 2, 2, 2, 4), (2, 2, 0, 0, 0)]


def test_a_server_counts_as_it_starts(database, new_database):
    with ready_database(Settings(database=new_database, withdrawal_log="none")):
        assert kept(database) == [(2, 2, 2, 2, 4), (2, 2, 0, 0, 0)]


def test_what_releases_and_revocations_wrote_stays(database):
    with database.write() as connection:
        connection.execute(update(tables.campaign).values(invites_made=9, shown_reports=7))
        connection.execute(update(tables.invite).values(revoked=1))
    recount(database)
    assert kept(database) == [(2, 2, 2, 2, 9), (2, 2, 0, 7, 9)]
