"""What a draft lacks, what its workers will see, and copies of campaigns."""

import pytest
from sqlalchemy import update
from tests.campaign.people import YES_NO, check_problem
from tests.campaign.pictures import PNG, hash_of, image
from tests.campaign.promises import PROMISES

import quietcrowd as qc
from quietcrowd.campaign.store import tables

EMPTY = {"requester": "", "contact": " ", "purpose": ""}


@pytest.fixture
def draft(desk):
    """Return a way to make a draft with tasks, and to ask about it."""

    def make(csv="task,q\na,A?\nb,B?\n", **members):
        asked = {"title": "Birds", "domain": YES_NO.to_dict(), **PROMISES, **members}
        made = desk.client.post("/campaigns", json=asked).raise_for_status().json()
        if csv:
            desk.import_csv(made["id"], csv).raise_for_status()
        return f"/campaigns/{made['id']}"

    return make


def lacking(desk, url):
    found = desk.client.get(f"{url}/readiness").raise_for_status().json()
    return found, [one["field"] for one in found["problems"]]


def test_a_draft_that_is_ready_opens_with_the_words_it_told(desk, draft):
    url = draft()
    found, fields = lacking(desk, url)
    assert (found["ready"], fields) == (True, [])
    preview = desk.client.get(f"{url}/preview").json()
    desk.client.post(f"{url}/open").raise_for_status()
    config = desk.client.get(f"/public{url}").json()["config"]
    assert (found["words"], found["sentences"]) == (config["summary"], config["consent"])
    assert preview["config"] == config
    assert desk.client.get(f"{url}/preview").json() == preview
    check_problem(desk.client.get(f"{url}/readiness"), 409, "bad-state")


@pytest.mark.parametrize(
    ("members", "csv", "fields", "has_words"),
    [
        (EMPTY, "q\na\n", ["requester", "contact", "purpose"], True),
        ({}, "", ["tasks"], False),
        ({"linked": 1}, "q,n\nIs it?,1\nIs it?,2\n", ["linked"], False),
        (
            {"answers_per_participant": 3, "allotment": "random"},
            "q\na\nb\n",
            ["answers_per_participant"],
            False,
        ),
        ({"contact": ""}, "", ["contact", "tasks"], False),
    ],
)
def test_what_is_lacking_is_told_by_member(desk, draft, members, csv, fields, has_words):
    url = draft(csv, **members)
    found, told = lacking(desk, url)
    assert (found["ready"], told) == (False, fields)
    assert (found["words"] is not None) == has_words
    assert all(one["message"].endswith(".") for one in found["problems"])
    check_problem(desk.client.post(f"{url}/open"), 409, "not-ready")


def test_questions_that_count_as_one_are_told_unless_declared(desk, draft):
    csv = "q,n\nIs it an owl?,1\nIs it an owl?,2\nIs \u0456t a robin?,\nIs it a robin?,\n"
    found, fields = lacking(desk, draft(csv))
    assert (found["ready"], fields) == (True, [])
    one, other = found["notes"]
    assert one.startswith("Up to 2 answers of a person count as answers to one question.")
    assert other.startswith("Questions 3, 4 look alike, but contain different characters")
    assert len(lacking(desk, draft(csv, linked=2))[0]["notes"]) == 1
    assert lacking(desk, draft())[0]["notes"] == []


def test_a_day_that_is_over_and_a_missing_image(server, desk, draft):
    url = draft("", closes_on="2999-12-31")
    shown = [{"data": {"picture": image(PNG)}}]
    desk.client.post(f"{url}/tasks", json=shown).raise_for_status()
    assert lacking(desk, url)[1] == ["images"]
    mine = tables.campaign.c.id == bytes.fromhex(url[-32:])
    with server.database.write() as connection:
        connection.execute(update(tables.campaign).where(mine).values(closes_on="2020-01-01"))
    assert lacking(desk, url)[1] == ["closes_on", "images"]
    desk.client.put(f"{url}/images/{hash_of(PNG)}", content=PNG).raise_for_status()
    assert lacking(desk, url)[1] == ["closes_on"]


def test_a_preview_has_dots_for_what_is_not_said_yet(desk, draft):
    url = draft(**EMPTY, answers_per_participant=1, allotment="random")
    found = desk.client.get(f"{url}/preview").json()
    assert [found["config"][name] for name in EMPTY] == ["…"] * 3
    tasks = {one["task_id"]: one["task"] for one in found["tasks"]}
    assert sorted(tasks.values()) == ["a", "b"]
    assert len(found["allotted"]) == 1
    assert found["allotted"][0] in tasks
    problem = check_problem(desk.client.get(f"{draft('')}/preview"), 409, "not-ready")
    assert problem["detail"].startswith("tasks: ")


def test_a_copy_has_all_settings_tasks_and_images_and_no_workers(desk):
    campaign = desk.campaign(
        tasks=2,
        image=PNG,
        join_mode="open",
        goal="shares",
        at_least=1,
        answers_per_participant=2,
        method=qc.MajorityVote().to_dict(),
    )
    desk.worker(campaign).send_values(1)
    url = f"/campaigns/{campaign}"
    desk.client.post(f"{url}/close").raise_for_status()
    answer = desk.client.post(f"{url}/copy")
    made, old = answer.raise_for_status().json(), desk.client.get(url).json()
    assert answer.headers["location"] == f"/api/v1/campaigns/{made['id']}"
    changed = {name for name in old if old[name] != made[name]}
    assert changed == {"id", "state", "version", "title", "participants", "reports", "config_hash"}
    assert (made["title"], made["state"], made["reports"]) == ("Birds (copy)", "draft", 0)

    def tasks(of):
        items = desk.client.get(f"/campaigns/{of}/tasks").json()["items"]
        return [(one["task"], one["data"], one["gold"]) for one in items]

    assert tasks(made["id"]) == tasks(campaign)
    opened = desk.client.post(f"/campaigns/{made['id']}/open").raise_for_status().json()
    assert opened["config_hash"] != old["config_hash"]


def test_a_copy_follows_what_it_depends_on_and_its_title_fits(desk, draft):
    url = draft(title="x" * 200, total_epsilon=4.0, closes_on="2999-12-31")
    made = desk.client.post(f"{url}/copy").raise_for_status()
    assert len(made.json()["title"]) == 200
    assert made.json()["closes_on"] == "2999-12-31"
    copied = f"/campaigns/{made.json()['id']}"
    tag = {"If-Match": made.headers["etag"]}
    one = desk.client.patch(copied, json={"answers_per_participant": 1}, headers=tag).json()
    assert one["total_epsilon"] == 4.0
    assert one["answer_epsilon"] > 1.9 * made.json()["answer_epsilon"]
