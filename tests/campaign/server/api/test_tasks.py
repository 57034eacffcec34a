import json

import pytest
from sqlalchemy import func, select
from tests.campaign.people import check_problem
from tests.campaign.pictures import NO_IMAGES, PICTURES, PNG, hash_of, image, png

import quietcrowd as qc
from quietcrowd.campaign.server.api import tasks
from quietcrowd.campaign.store import images, tables
from quietcrowd.campaign.terms.settings import MAX_FILE, MAX_TASKS


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
    assert "--" not in response.text  # options of commands
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
    check_problem(send(desk, desk.draft()["id"], b"a" * (MAX_FILE + 1)), 413, "too-large")


def test_tasks_of_a_draft_can_be_taken_back(desk):
    campaign = desk.draft(qc.LaplaceMechanism(domain=qc.Ordinal(range(3)), epsilon=1.0))["id"]
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


NAMED = {"q": "A bird?", "picture": image(PNG, "A bird")}


def put(desk, campaign, content, named=None):
    url = f"/campaigns/{campaign}/images/{named or hash_of(content)}"
    return desk.client.put(url, content=content)


def import_tasks(desk, campaign, *shown):
    lines = "".join(json.dumps({"data": data}) + "\n" for data in shown)
    headers = {"Content-Type": "application/x-ndjson"}
    url = f"/campaigns/{campaign}/tasks"
    desk.client.post(url, content=lines, headers=headers).raise_for_status()


def held(server, campaign):
    """Return how many images of a campaign are stored."""
    mine = tables.image.c.campaign_id == bytes.fromhex(campaign)
    with server.database.read() as connection:
        return connection.scalar(select(func.count()).select_from(tables.image).where(mine))


def opened(desk, *shown, pictures=(PNG,), **members):
    campaign = desk.draft(**members)["id"]
    for content in pictures:
        put(desk, campaign, content).raise_for_status()
    import_tasks(desk, campaign, *shown)
    desk.client.post(f"/campaigns/{campaign}/open").raise_for_status()
    return campaign


@pytest.mark.parametrize("kind", PICTURES)
def test_a_worker_gets_what_a_requester_has_stored(desk, kind):
    content = PICTURES[kind]
    shown = {"picture": image(content)}
    worker = desk.worker(opened(desk, shown, pictures=[content], join_mode="open"))
    assert [task["data"] for task in worker.tasks()] == [shown]
    got = worker.client.get(f"/me/images/{hash_of(content)}")
    assert (got.status_code, got.content) == (200, content)
    assert got.headers["content-type"] == kind
    assert got.headers["etag"] == f'"{hash_of(content)}"'
    assert got.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'; sandbox" in got.headers["content-security-policy"]


def test_an_image_is_stored_once(desk, server):
    campaign = desk.draft()["id"]
    version = desk.client.get(f"/campaigns/{campaign}").json()["version"]
    for _ in range(2):
        assert put(desk, campaign, PNG).status_code == 204
    assert held(server, campaign) == 1
    assert desk.client.get(f"/campaigns/{campaign}").json()["version"] == version


@pytest.mark.parametrize("name", NO_IMAGES)
def test_what_is_no_image_is_refused(desk, name):
    refused = put(desk, desk.draft()["id"], NO_IMAGES[name])
    assert "SVG and GIF are not supported" in check_problem(refused, 415, "media-type")["detail"]


def test_an_image_has_the_hash_of_its_name(desk, server):
    campaign = desk.draft()["id"]
    refused = put(desk, campaign, PNG, hash_of(b""))
    assert check_problem(refused, 422, "validation")["errors"][0]["pointer"] == "/path/sha256"
    check_problem(put(desk, campaign, PNG, hash_of(PNG).upper()), 422, "validation")
    assert held(server, campaign) == 0


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (png(0, (b"tEXt", b"by Anna")), "contains invisible data"),
        (PNG + b"<script>alert(1)</script>", "contains invisible data"),
        (PNG[:-1], "is cut off"),
        (PNG[:-1] + b"!", "is damaged"),
        (png(width=60_000, height=60_000), "60,000 x 60,000 pixels; at most 40,000,000"),
        (png(0, (b"acTL", bytes(8))), "is animated"),
    ],
)
def test_what_is_no_plain_image_is_refused(desk, server, content, told):
    campaign = desk.draft()["id"]
    problem = check_problem(put(desk, campaign, content), 422, "validation")["errors"][0]
    assert problem["code"] == "image"
    assert told in problem["message"]
    assert held(server, campaign) == 0


def test_images_have_limits(desk, monkeypatch):
    campaign = desk.draft()["id"]
    check_problem(put(desk, campaign, PNG + bytes(2**20)), 413, "too-large")
    monkeypatch.setattr(images, "MAX_IMAGE", 66)
    check_problem(put(desk, campaign, PNG), 413, "too-large")
    monkeypatch.undo()
    put(desk, campaign, PNG).raise_for_status()
    for limit, value in (("MAX_IMAGES", 1), ("MAX_IMAGE_BYTES", 2 * 67 - 1)):
        monkeypatch.setattr(images, limit, value)
        told = check_problem(put(desk, campaign, png(1)), 422, "validation")["errors"][0]
        assert told["message"].startswith("a campaign has at most 1,000 images, with 52,428,800")
        put(desk, campaign, PNG).raise_for_status()
        monkeypatch.undo()
    put(desk, campaign, png(1)).raise_for_status()


def test_a_campaign_opens_with_all_images_that_its_tasks_name_and_no_others(desk, server):
    campaign = desk.draft()["id"]
    import_tasks(desk, campaign, NAMED, {"picture": image(png(1))})
    put(desk, campaign, PNG).raise_for_status()
    put(desk, campaign, png(2)).raise_for_status()
    url = f"/campaigns/{campaign}/open"
    told = check_problem(desk.client.post(url), 409, "not-ready")["detail"]
    assert told.startswith("1 of the 2 images of its tasks are missing")
    assert held(server, campaign) == 2
    put(desk, campaign, png(1)).raise_for_status()
    desk.client.post(url).raise_for_status()
    assert held(server, campaign) == 2
    check_problem(put(desk, campaign, png(3)), 409, "bad-state")
    check_problem(put(desk, campaign, PNG), 409, "bad-state")


def test_workers_get_images_of_their_own_campaign_alone(desk):
    mine = desk.worker(opened(desk, NAMED, pictures=[PNG, png(2)], join_mode="open"))
    other = desk.worker(
        opened(desk, {"a": image(png(1))}, pictures=[png(1)], join_mode="open", title="B")
    )
    for worker, content in ((mine, png(1)), (mine, png(2)), (other, PNG)):
        refused = worker.client.get(f"/me/images/{hash_of(content)}")
        check_problem(refused, 404, "not-found")
    check_problem(mine.client.get("/me/images/abc"), 422, "validation")


def test_images_go_with_the_tasks_and_with_the_campaign(desk, server):
    campaign = desk.draft()["id"]
    put(desk, campaign, PNG).raise_for_status()
    desk.client.delete(f"/campaigns/{campaign}/tasks").raise_for_status()
    assert held(server, campaign) == 0
    put(desk, campaign, PNG).raise_for_status()
    desk.client.delete(f"/campaigns/{campaign}").raise_for_status()
    assert held(server, campaign) == 0


def test_tasks_with_one_question_about_many_images_are_no_copies(desk):
    pictures = [png(shade) for shade in range(5)]
    shown = [{"q": "Is it a bird?", "image": image(one)} for one in pictures]
    config = desk.guest(opened(desk, *shown, pictures=pictures)).config
    assert config["linked"] == 1
