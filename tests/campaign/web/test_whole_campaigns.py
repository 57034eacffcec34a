"""Whole campaigns in a browser: three workers at their page, a requester at the studio."""

import re

import pytest
from tests.campaign.mechanisms import MECHANISMS
from tests.campaign.web.people_in_browsers import (
    RequesterInBrowser,
    WorkerInBrowser,
    WorkerWithKeyboard,
)
from tests.nightly import nightly

import quietcrowd as qc
from quietcrowd.campaign.results.inference_process import Inferrer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.QuietcrowdWarning"),
]

PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}


def held(desk, key):
    """Return what the server holds of a worker."""
    return desk.server.client(key).get("/me/reports").raise_for_status().json()


def infer(desk, campaign):
    assert Inferrer(desk.server.database).infer(bytes.fromhex(campaign))


def test_labels_by_mouse_by_keyboard_and_by_touch(person, desk):
    """All three agree. A truth is another one than theirs with a chance of 10^-8."""
    mechanism = qc.RandomizedResponse(domain=qc.Categorical(["no", "yes"]), epsilon=10.0)
    campaign = desk.campaign(mechanism, about="labels in a browser", at_least=3)
    requester = person(RequesterInBrowser, quick=True)
    requester.open(desk.server.url, campaign, desk.key)
    assert requester.count("Sent and shown") == 0
    page = requester.page
    table = page.get_by_role("button", name="Reports, CSV")
    assert table.is_disabled()
    page.get_by_text("Reports are available after the campaign closes.").wait_for()
    assert not page.locator("#agreement").is_visible()
    workers = [
        person(quick=True),
        person(WorkerWithKeyboard, quick=True, service_workers="block"),
        person(quick=True, service_workers="block", **PHONE),
    ]
    for worker in workers:
        worker.play(desk.link(campaign), ["yes", "no", "yes"])
    for worker in workers:
        worker.send()
    for worker in workers:
        key = worker.arrive()
        sent = worker.upload()["reports"]
        stored = held(desk, key)["reports"]
        assert {one["report_id"] for one in sent} == {one["report_id"] for one in stored}
        assert len(sent) == 3
        assert worker.told == []
        assert {one.origin for one in worker.wire.sent} == {desk.server.url}
    infer(desk, campaign)
    requester.look_again()
    assert requester.count("Sent and shown") == 3
    assert requester.count("Reports") == 9
    truths = requester.table("Truths")[1:]
    found = [(row[0].partition("\n")[0], row[1].strip()) for row in truths]
    assert found == [("t0", "yes"), ("t1", "no"), ("t2", "yes")]
    assert len(requester.table("People")) == 4
    assert page.locator("#agreement").is_visible()
    assert page.get_by_role("button", name="Results, JSON").is_enabled()
    assert table.is_disabled()
    assert all("409 (Conflict)" in line for line in requester.told)  # no results yet


@pytest.mark.nightly
def test_a_requester_sees_who_is_excluded_and_that_workers_may_be_invented(person, desk):
    campaign = desk.campaign(join_mode="open", at_least=1, closes_on="2099-12-31")
    workers = [desk.worker(campaign) for _ in range(3)]
    for worker in workers:
        worker.send_values(1, 0)
    name = workers[0].client.get("/me").json()["pseudonym"]
    desk.client.put(f"/campaigns/{campaign}/excluded/{name}").raise_for_status()
    infer(desk, campaign)
    requester = person(RequesterInBrowser, quick=True)
    requester.open(desk.server.url, campaign, desk.key)
    rows = requester.table("People")[1:]
    excluded = [f"{name} (excluded)", "", "", "", "Include"]
    assert excluded in [[cell.strip() for cell in row] for row in rows]
    assert len(rows) == 3
    page = requester.page
    page.get_by_text("2 people, by pseudonym. 1 more excluded").wait_for()
    page.get_by_text("Anyone with the link can take part").wait_for()
    requester.go("Privacy")
    page.get_by_text("the link, repeatedly: people may be invented").wait_for()
    page.get_by_text("at the end of 2099-12-31 (UTC)").wait_for()
    assert requester.told == []


KINDS = {
    "laplace, filled": ["4", None, "1"],
    "laplace with a bit": [7.25, None, 0.5],
    "two-layer": ["maybe", "no", None],
    "matrix factorisation": ["0", "3", None],
    "matrix factorisation, statistics": [10.0, None, 3.5],
}


@pytest.mark.nightly
@pytest.mark.parametrize(
    "name",
    [
        "laplace, filled",
        *map(nightly, ["two-layer", "laplace with a bit", "matrix factorisation"]),
        nightly("matrix factorisation, statistics"),
    ],
)
def test_other_kinds_of_answers(person, desk, name):
    mechanism = MECHANISMS[name]
    about = name.replace(",", "")
    campaign = desk.campaign(mechanism, about=f"{about} in a browser", at_least=3)
    workers = [person(quick=True, service_workers="block") for _ in range(3)]
    for worker in workers:
        worker.play(desk.link(campaign), KINDS[name]).send()
    for worker in workers:
        key = worker.arrive()
        sent, stored = worker.upload(), held(desk, key)
        if mechanism.sketch_bounds(3):
            assert sent["sketch"]["numbers"] == stored["sketch"]["numbers"]
            assert len(sent["sketch"]["numbers"]) == mechanism.sketch_length
        else:
            assert len(sent["reports"]) == (3 if mechanism.every_task else 2)
            bits = ["bit" in one for one in sent["reports"]]
            assert all(bits) if "bit" in name else not any(bits)
        assert worker.told == []
    infer(desk, campaign)
    requester = person(RequesterInBrowser, quick=True)
    requester.open(desk.server.url, campaign, desk.key)
    assert requester.count("Sent and shown") == 3
    found = [row[0].partition("\n")[0] for row in requester.table("Truths")[1:]]
    assert sorted(found) == ["t0", "t1", "t2"]
    assert all("409 (Conflict)" in line for line in requester.told)  # no results yet


def test_tasks_with_options_of_their_own(person, desk):
    labels = qc.Categorical(["cat", "dog", "oak", "elm", "fir"])
    mechanism = qc.RandomizedResponse(domain=labels, epsilon=1.0).among(labels, [2, 3])
    draft = desk.draft(mechanism)["id"]
    lines = ["task,question,options", "t0,A pet?,dog|cat", "t1,A tree?,fir; oak; elm"]
    desk.import_csv(draft, "\n".join(lines)).raise_for_status()
    desk.client.post(f"/campaigns/{draft}/open").raise_for_status()
    worker = person(quick=True)
    worker.open(desk.link(draft)).consider()
    assert "swaps at least 26 of 100 answers" in worker.text()
    worker.press("Take part")
    worker.start()
    given = [(["dog", "cat"], "cat"), (["fir", "oak", "elm"], "elm")]
    for place, (options, answer) in enumerate(given, start=1):
        worker.question(place)
        assert worker.page.locator(".answers button span").all_inner_texts() == options
        assert "options" not in worker.text()
        worker.choose(answer)
    worker.page.locator("#send").wait_for()
    worker.send()
    key = worker.arrive()
    sent, stored = worker.upload(), held(desk, key)["reports"]
    of_task = {one["task_id"]: one["value"] for one in stored}
    assert {one["task_id"]: one["value"] for one in sent["reports"]} == of_task
    tasks = {one["task"]: one for one in desk.server.client(key).get("/me/tasks").json()["tasks"]}
    shown = worker.page.locator("main").text_content()
    for name in ("t0", "t1"):
        task = tasks[name]
        assert task["data"]["options"][of_task[task["task_id"]]] in shown
    assert worker.told == []


@pytest.mark.nightly
def test_a_worker_withdraws_with_the_key_on_another_device(person, desk):
    campaign = desk.campaign(about="withdrawn in a browser")
    worker = person(WorkerInBrowser, quick=True)
    link = desk.link(campaign)
    worker.play(link, ["yes", "no", None]).send()
    key = worker.arrive()
    other = person()
    other.open(link.partition("#")[0])
    other.press("Withdraw with a key")
    other.heading("Withdraw")
    other.page.get_by_label("Withdrawal key").fill(key)
    other.press("Withdraw permanently")
    other.heading("The reports are deleted")
    assert desk.server.client(key).get("/me/reports").status_code == 401


@pytest.mark.nightly
def test_another_browser_goes_on_with_the_code_and_only_one_sends(person, desk):
    campaign = desk.campaign(about="continued in a browser")
    link = desk.link(campaign)
    first, second = person(quick=True), person(quick=True)
    first.open(link).consider()
    first.press("Take part")
    first.heading("If you are interrupted")
    code = first.page.locator(".code").inner_text()
    first.press("Start")
    first.answer(["yes", "no", None])
    second.open(link)
    second.page.get_by_text("Opened this link before?").click()
    second.page.get_by_label("In another browser? Enter the code").fill(code.lower())
    second.join()
    second.answer(["no", "yes", "yes"])
    second.send()
    key = second.arrive()
    assert len(held(desk, key)["reports"]) == 3
    first.send()
    first.heading("You cannot answer here")
    assert "Nothing was sent from here" in first.text()
    assert first.wire.uploads == []
    first.press("Delete the answers")
    first.heading("Your answers are deleted")


@pytest.mark.nightly
def test_a_link_that_was_replaced_goes_on_with_the_new_one(person, desk):
    campaign = desk.campaign(about="replaced in a browser")
    link = desk.link(campaign)
    worker = person(quick=True)
    worker.play(link, ["yes", "no", "yes"])
    address, _, invite = link.partition("#i=")
    made = desk.client.post(f"/campaigns/{campaign}/invites/replace", json={"invite": invite})
    [new] = set(re.findall(r"qci_[\w-]{43}", made.raise_for_status().text)) - {invite}
    worker.page.goto("about:blank")
    worker.open(f"{address}#i={new}")
    worker.heading("Go on where you stopped?")
    worker.press("Start with this link instead")
    worker.join()
    worker.answer(["no", "no", "yes"])
    worker.send()
    key = worker.arrive()
    assert len(held(desk, key)["reports"]) == 3
