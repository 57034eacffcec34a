import pytest
from tests.campaign.people import check_problem

import quietcrowd as qc
from quietcrowd.campaign.server.api import tasks
from quietcrowd.campaign.terms.settings import MAX_TASKS


def send(desk, campaign, content, kind="text/csv"):
    return desk.client.post(
        f"/campaigns/{campaign}/tasks", content=content, headers={"Content-Type": kind}
    )


def test_tasks_come_from_tables_and_from_lines(desk):
    campaign = desk.draft()["id"]
    first = send(desk, campaign, "task,question,gold\na,A?,yes\nb,B?,\n")
    assert first.json() == {"imported": 2, "tasks": 2}
    lines = '{"task": "c", "data": {"question": "C?"}}\n{"question": "D?"}\n'
    second = send(desk, campaign, lines, "application/x-ndjson; charset=utf-8")
    assert second.json() == {"imported": 2, "tasks": 4}
    page = desk.client.get(f"/campaigns/{campaign}/tasks").json()
    assert [item["task"] for item in page["items"]] == ["a", "b", "c", "4"]
    assert [item["gold"] for item in page["items"]] == ["yes", None, None, None]
    assert page["items"][3]["data"] == {"question": "D?"}


def test_pages_are_in_the_order_of_the_file(desk):
    campaign = desk.draft()["id"]
    send(desk, campaign, "\n".join(["task,a", *(f"t{place},1" for place in range(5))]))
    seen, cursor = [], {}
    while True:
        page = desk.client.get(f"/campaigns/{campaign}/tasks", params={"limit": 2} | cursor).json()
        seen += [item["task"] for item in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert seen == [f"t{place}" for place in range(5)]


def test_a_name_is_taken_once(desk):
    campaign = desk.draft()["id"]
    check_problem(send(desk, campaign, "task,a\nx,1\nx,2\n"), 409, "task-repeated")
    send(desk, campaign, "task,a\nx,1\n").raise_for_status()
    check_problem(send(desk, campaign, "task,a\ny,1\nx,1\n"), 409, "task-repeated")
    assert desk.client.get(f"/campaigns/{campaign}").json()["tasks"] == 1


def test_answers_are_no_tasks_unless_they_are_set_apart(desk):
    campaign = desk.draft()["id"]
    response = send(desk, campaign, "picture,secret\np1,no\np1,yes\n")
    check_problem(response, 422, "validation")
    assert "look like answers" in response.text
    assert "secret" not in response.text
    lines = '{"data": {"rater": "a", "guess": "no"}}\n{"data": {"rater": "b", "guess": "yes"}}'
    assert send(desk, campaign, lines, "application/x-ndjson").json() == {"imported": 2, "tasks": 2}


@pytest.mark.grid
@pytest.mark.parametrize(
    "content",
    ["task,gold,a\nx,secret,1\n", "", "task,a\n", "a\n" + "1\n" * (MAX_TASKS + 1), b"secret\xff"],
)
def test_files_that_break_a_rule_change_nothing(desk, content):
    campaign = desk.draft()["id"]
    response = send(desk, campaign, content)
    check_problem(response, 422, "validation")
    assert "secret" not in response.text
    assert desk.client.get(f"/campaigns/{campaign}").json()["tasks"] == 0


def test_a_known_truth_that_is_no_answer_is_named_by_its_row(desk):
    refused = send(desk, desk.draft()["id"], "task,gold\nx,yes\ny,secret\n")
    [told] = check_problem(refused, 422, "validation")["errors"]
    assert told["message"] == "row 3: gold must be one of the campaign's possible answers"


@pytest.mark.parametrize("kind", ["application/xml", "text/html", ""])
def test_other_kinds_of_files_are_refused(desk, kind):
    check_problem(send(desk, desk.draft()["id"], "task\n1\n", kind), 415, "media-type")


def test_a_request_has_a_largest_size(desk):
    check_problem(send(desk, desk.draft()["id"], b"a" * (2**20 + 1)), 413, "too-large")


def test_tasks_of_a_draft_can_be_taken_back(desk):
    campaign = desk.draft(qc.LaplacePerturbation(domain=qc.Ordinal(range(3)), epsilon=1.0))["id"]
    send(desk, campaign, "task,gold\nx,2\n").raise_for_status()
    assert desk.client.delete(f"/campaigns/{campaign}/tasks").status_code == 204
    assert desk.client.get(f"/campaigns/{campaign}").json()["tasks"] == 0


def test_all_tasks_together_have_a_largest_size(desk, monkeypatch):
    monkeypatch.setattr(tasks, "MAX_TASK_TEXT", 60)
    draft = desk.draft()["id"]
    desk.import_csv(draft, "task,a\nt1,1234567890\n").raise_for_status()
    document = check_problem(desk.import_csv(draft, "task,a\nt2," + 40 * "1"), 422, "validation")
    assert "60 characters" in document["errors"][0]["message"]
    assert desk.client.get(f"/campaigns/{draft}").json()["tasks"] == 1
    desk.import_csv(draft, "task,a\nt2,1234567890\n").raise_for_status()


def test_tasks_are_a_change_of_their_campaign(desk):
    draft = desk.draft()
    url = f"/campaigns/{draft['id']}"
    desk.import_csv(draft["id"], "task\nt1\n").raise_for_status()
    imported = desk.client.get(url).json()["version"]
    assert imported > draft["version"]
    desk.client.delete(f"{url}/tasks").raise_for_status()
    assert desk.client.get(url).json()["version"] > imported
