import pytest
from tests.campaign.people import check_problem

import quietcrowd as qc
from quietcrowd.campaign.results.inference_process import Inferrer
from quietcrowd.campaign.store import exclusions

NOBODY = "worker-0123456789abcdef"
MAJORITY = qc.MajorityVote().to_dict()


def name_of(worker):
    return worker.client.get("/me").json()["pseudonym"]


def infer(server, campaign):
    return Inferrer(server.database).infer(bytes.fromhex(campaign))


def results(server, desk, campaign):
    infer(server, campaign)
    return desk.client.get(f"/campaigns/{campaign}/results").raise_for_status().json()


def excluded(desk, campaign):
    items = desk.client.get(f"/campaigns/{campaign}/excluded").raise_for_status().json()["items"]
    return {item["worker"]: item["state"] for item in items}


def crowd(desk, least=1, workers=3, **members):
    """Return a campaign, its workers who have sent, and their pseudonyms."""
    campaign = desk.campaign(at_least=least, method=MAJORITY, tasks=2, **members)
    people = [desk.worker(campaign) for _ in range(workers)]
    for place, worker in enumerate(people):
        worker.send_values(int(place > 0), 1)
    return campaign, people, [name_of(worker) for worker in people]


@pytest.mark.parametrize("least", [1, 3])
def test_an_excluded_worker_is_in_no_results_and_back_afterwards(server, desk, least):
    campaign, _, names = crowd(desk, least)
    desk.client.post(f"/campaigns/{campaign}/close").raise_for_status()
    url = f"/campaigns/{campaign}/excluded/{names[0]}"
    whole = results(server, desk, campaign)
    for _ in range(2):
        assert desk.client.put(url).status_code == 204
        found = results(server, desk, campaign)
        assert {worker["worker"] for worker in found["workers"]} == set(names[1:])
        assert (found["excluded"], found["participants"], found["reports"]) == ([names[0]], 2, 4)
        assert found["truths"][0]["reports"] == 2
        assert excluded(desk, campaign) == {names[0]: "excluded"}
    document = desk.client.get(f"/campaigns/{campaign}").json()
    assert (document["participants"], document["reports"]) == (3, 6)
    for _ in range(2):
        assert desk.client.delete(url).status_code == 204
        assert results(server, desk, campaign) == whole
        assert excluded(desk, campaign) == {}
    lines = desk.client.get(f"/campaigns/{campaign}/reports?format=csv").text.splitlines()
    assert len(lines) == 7


def test_results_of_nobody_say_so(server, desk):
    campaign, _, names = crowd(desk, workers=2)
    assert results(server, desk, campaign)["participants"] == 2
    for name in names:
        desk.client.put(f"/campaigns/{campaign}/excluded/{name}").raise_for_status()
    found = results(server, desk, campaign)
    assert (found["participants"], found["truths"], found["workers"]) == (0, [], [])
    assert found["excluded"] == sorted(names)
    assert found["warnings"][0]["message"] == "All workers with reports are excluded."


def test_while_others_are_waited_for_exclusion_comes_with_the_release(server, desk):
    campaign, people, names = crowd(desk, 3)
    url = f"/campaigns/{campaign}/excluded"
    before = results(server, desk, campaign)
    desk.client.put(f"{url}/{names[0]}").raise_for_status()
    desk.client.put(f"{url}/{NOBODY}").raise_for_status()
    assert results(server, desk, campaign) == before
    assert excluded(desk, campaign) == {
        names[0]: "to-be-excluded",
        NOBODY: "to-be-excluded",
    }
    for _ in range(3):
        desk.worker(campaign).send_values(1)
    found = results(server, desk, campaign)
    assert (found["excluded"], found["participants"]) == ([names[0]], 5)
    assert excluded(desk, campaign) == {names[0]: "excluded", NOBODY: "to-be-excluded"}
    desk.client.delete(f"{url}/{names[0]}").raise_for_status()
    assert results(server, desk, campaign) == found
    assert excluded(desk, campaign)[names[0]] == "to-be-included"
    desk.client.post(f"/campaigns/{campaign}/close").raise_for_status()
    assert results(server, desk, campaign)["participants"] == 6
    assert excluded(desk, campaign) == {NOBODY: "to-be-excluded"}
    assert len(people) == 3


def test_whoever_is_excluded_and_leaves_is_forgotten_with_what_is_shown(server, desk):
    campaign, people, names = crowd(desk, 2, 4)
    desk.client.put(f"/campaigns/{campaign}/excluded/{names[0]}").raise_for_status()
    for _ in range(2):
        desk.worker(campaign).send_values(1)
    people[0].client.delete("/me").raise_for_status()
    assert excluded(desk, campaign) == {names[0]: "excluded"}
    desk.client.post(f"/campaigns/{campaign}/close").raise_for_status()
    assert excluded(desk, campaign) == {}
    assert names[0] not in str(results(server, desk, campaign))


def test_an_inference_that_was_overtaken_by_an_exclusion_is_not_written(server, desk, monkeypatch):
    campaign, _, names = crowd(desk)
    inferrer = Inferrer(server.database)
    snapshot = inferrer._findings

    def slow(*given):
        desk.client.put(f"/campaigns/{campaign}/excluded/{names[0]}").raise_for_status()
        return snapshot(*given)

    monkeypatch.setattr(Inferrer, "_findings", lambda _, *given: slow(*given))
    assert not inferrer.infer(bytes.fromhex(campaign))
    monkeypatch.undo()
    assert results(server, desk, campaign)["excluded"] == [names[0]]


def test_only_so_many_are_excluded(desk, monkeypatch):
    monkeypatch.setattr(exclusions, "MOST", 1)
    campaign = desk.campaign()
    url = f"/campaigns/{campaign}/excluded"
    assert desk.client.put(f"{url}/{NOBODY}").status_code == 204
    assert desk.client.put(f"{url}/{NOBODY}").status_code == 204
    other = desk.client.put(f"{url}/worker-{'f' * 16}")
    check_problem(other, 409, "excluded-many")
    check_problem(desk.client.put(f"{url}/me"), 422, "validation")


@pytest.mark.parametrize("least", [1, 3])
def test_an_erased_worker_is_gone_and_joins_no_more(server, desk, least):
    campaign, people, names = crowd(desk, least)
    desk.client.post(f"/campaigns/{campaign}/close").raise_for_status()
    assert results(server, desk, campaign)["participants"] == 3
    for _ in range(2):
        assert desk.client.delete(f"/campaigns/{campaign}/workers/{names[0]}").status_code == 204
        check_problem(people[0].client.get("/me/reports"), 401, "credential")
        found = results(server, desk, campaign)
        assert {worker["worker"] for worker in found["workers"]} == set(names[1:])
        document = desk.client.get(f"/campaigns/{campaign}").json()
        assert (document["participants"], document["reports"]) == (2, 4)


@pytest.mark.parametrize("mode", ["invite", "open"])
def test_the_credential_of_an_erased_worker_joins_no_more(desk, mode):
    campaign = desk.campaign(at_least=5, join_mode=mode)
    worker = desk.worker(campaign)
    worker.send_values(1)
    desk.client.delete(f"/campaigns/{campaign}/workers/{name_of(worker)}").raise_for_status()
    invite = desk.invite(campaign)[0] if mode == "invite" else None
    check_problem(desk.join(worker, invite), 409, "withdrawn")


def test_a_worker_of_another_campaign_stays(desk):
    campaign, people, names = crowd(desk)
    other = desk.campaign()
    assert desk.client.delete(f"/campaigns/{other}/workers/{names[0]}").status_code == 204
    assert people[0].client.get("/me").is_success
    check_problem(desk.client.delete(f"/campaigns/{other}/workers/me"), 422, "validation")
    assert campaign
