import httpx
import pytest
from tests.campaign.people import check_problem, new_desk
from tests.campaign.waiting import LONG, in_time

pytestmark = pytest.mark.slow

ORDER = {
    "labels": ["no", "yes"],
    "tasks": 40,
    "workers": [10],
    "answers": [8],
    "total_epsilon": [8],
}


@pytest.mark.nightly
def test_a_plan_is_made_for_who_has_a_key(server):
    desk = new_desk(server)
    server.service.plans.longest = LONG
    limits = desk.client.get("/plans").raise_for_status().json()
    assert limits["labels"][0] == "one-layer"
    assert limits["seconds"] == LONG
    assert 5 in limits["total_epsilon"]
    answer = desk.client.post("/plans", json=ORDER, timeout=LONG)
    plan = answer.raise_for_status().json()
    private, plain = plan["rows"]
    assert (private["mechanism"], private["workers"], private["answers"]) == ("one-layer", 10, 8)
    assert private["low"] <= private["error"] <= private["high"]
    assert private["verdict"].startswith("With 10 people, 40 questions (8 for each person)")
    assert plain["epsilon"] is None
    check_problem(server.client().post("/plans", json=ORDER), 401, "credential")
    refused = desk.client.post("/plans", json={**ORDER, "total_epsilon": [0]}, timeout=LONG)
    [error] = check_problem(refused, 422, "validation")["errors"]
    assert error["pointer"] == "/total_epsilon"
    assert "got 0" in error["message"]


@pytest.mark.nightly
def test_who_leaves_can_ask_again_and_others_are_answered_meanwhile(server):
    desk = new_desk(server)
    server.service.plans.longest = LONG
    long = {
        **ORDER,
        "tasks": 1000,
        "workers": [100],
        "answers": [100],
        "total_epsilon": [*range(1, 11)],
    }
    with pytest.raises(httpx.ReadTimeout):
        desk.client.post("/plans", json=long, timeout=httpx.Timeout(LONG, read=0.3))
    assert desk.client.get("/campaigns").status_code == 200
    answers = []

    def is_made():
        answers.append(desk.client.post("/plans", json=ORDER, timeout=LONG))
        return answers[-1].status_code != 429

    assert in_time(is_made)
    assert len(answers[-1].raise_for_status().json()["rows"]) == 2
