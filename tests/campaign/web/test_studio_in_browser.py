"""The studio in a browser: how one gets in, what one chooses from, and what a link shows."""

import codecs
import csv
import io
import re

import pytest
from tests.campaign.people import new_desk
from tests.campaign.pictures import PNG
from tests.campaign.pictures import image as name_image
from tests.campaign.web.people_in_browsers import RequesterInBrowser
from tests.nightly import nightly

import quietcrowd as qc
from quietcrowd.campaign.results.inference_process import Inferrer
from quietcrowd.campaign.store.requesters import issue_key

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.QuietcrowdWarning"),
]

LONG = " ".join(["word"] * 100)
TASKS = [
    {"task": "one", "data": {"question": "Is it a bird?"}, "gold": "yes"},
    {"task": "two", "data": {"question": LONG, "place": "a <b>wood</b>"}},
    {"task": "three", "data": {"picture": name_image(PNG)}},
]


@pytest.fixture(scope="module")
def campaign(server):
    """Return a requester, and a campaign with results."""
    desk = new_desk(server)
    mechanism = qc.RandomizedResponse(domain=qc.Categorical(["no", "yes"]), epsilon=10.0)
    made = desk.draft(mechanism, title="Birds in a browser", at_least=3)["id"]
    desk.put_image(made, PNG).raise_for_status()
    desk.client.post(f"/campaigns/{made}/tasks", json=TASKS).raise_for_status()
    desk.client.post(f"/campaigns/{made}/open").raise_for_status()
    for two, three in [("no", "yes"), ("no", "no"), ("yes", "yes")]:
        answers = {"one": "yes", "two": two, "three": three}
        desk.worker(made).send_all(mechanism, answers)
    Inferrer(server.database).infer(bytes.fromhex(made))
    return desk, made


def asked(requester):
    """Return all that the page asked the interface for."""
    return [one.path for one in requester.wire.sent if "/api/" in one.path]


@pytest.mark.nightly
def test_questions_stand_beside_names_and_known_truths_are_marked(person, campaign):
    desk, made = campaign
    requester = person(RequesterInBrowser).open(desk.server.url, made, desk.key)
    requester.page.get_by_text("Is it a bird?").wait_for()
    rows = {
        row[0].split("\n")[0]: [one.strip() for one in row] for row in requester.table("Truths")[1:]
    }
    assert rows["one"][:2] == ["one\nIs it a bird?", "yes (known)"]
    assert rows["two"][1] == "undecided\nlikeliest: no"
    grey = requester.page.get_by_role("row").filter(has=requester.page.locator(".faint .bar-part"))
    assert [one.get_by_role("rowheader").inner_text()[:3] for one in grey.all()] == ["thr", "two"]
    assert requester.page.get_by_text("2 undecided: tied, or less than 80 % sure.").is_visible()
    assert re.fullmatch(r"two\nquestion: (word )+word…", rows["two"][0])
    assert len(rows["two"][0]) < 150
    assert rows["three"][0].startswith("three\n[")
    assert requester.page.get_by_text("1 known beforehand.").is_visible()
    with requester.page.expect_download() as download:
        requester.press("Truths, CSV")
    assert download.value.suggested_filename == "truths.csv"
    saved = download.value.path().read_bytes()
    assert saved.startswith(codecs.BOM_UTF8)  # else Excel does not read UTF-8
    truths = list(csv.DictReader(io.StringIO(saved.decode("utf-8-sig"))))
    assert {row["task"]: row["truth"] for row in truths} == {
        "one": "yes",
        "two": "no",
        "three": "yes",
    }
    assert {row["task"]: row["decided"] for row in truths} == {
        "one": "True",
        "two": "False",
        "three": "False",
    }
    assert [row["question"][:13] for row in truths] == [
        "Is it a bird?",
        "[image]",
        "question: wor",
    ]
    assert requester.told == []


@pytest.mark.nightly
@pytest.mark.parametrize("path", ["/", nightly("/dashboard"), nightly("/dashboard/")])
def test_all_campaigns_can_be_chosen_from(person, campaign, path):
    desk, made = campaign
    other = desk.draft(title=f"A draft {path}")["id"]
    requester = person(RequesterInBrowser)
    requester.page.goto(f"{desk.server.url}{path}")
    requester.give(desk.key)
    requester.heading("Campaigns")
    titles = [row[0].strip() for row in requester.table("Campaigns")[1:]]
    draft = f"A draft {path}\n0 questions, truths"
    assert {"Birds in a browser\n3 questions, truths", draft} <= set(titles)
    requester.go("Birds in a browser", "Results")
    assert requester.page.url == f"{desk.server.url}/dashboard/{made}"
    requester.go("Campaigns")
    assert requester.page.url == f"{desk.server.url}/dashboard/"
    requester.page.go_back()
    requester.heading("Results")
    requester.page.go_back()
    requester.heading("Campaigns")
    requester.go(f"A draft {path}", "What do you want to ask?")
    assert requester.page.url == f"{desk.server.url}/dashboard/{other}"
    requester.page.reload()
    requester.heading("Sign in")
    assert requester.field.input_value() == ""


@pytest.mark.nightly
def test_a_link_shows_results_once_and_no_workers(person, campaign):
    desk, made = campaign
    link = desk.dashboard(made)
    requester = person(RequesterInBrowser, quick=True).follow(link)
    page = requester.page
    page.get_by_text("Is it a bird?").wait_for()
    assert page.url == f"{desk.server.url}/dashboard/{made}"
    assert (requester.count("Sent and shown"), requester.count("Reports")) == (3, 9)
    assert len(requester.table("Truths")) == 4
    shown = [one.inner_text() for one in page.get_by_role("button").all() if one.is_visible()]
    assert [name for name in shown if "," in name] == ["Truths, CSV", "Results, JSON"]
    assert not page.get_by_role("link").filter(visible=True).count()
    assert not re.search("worker-[0-9a-f]{16}", page.content())
    page.get_by_text("Opened with a link").wait_for()
    requester.look_again()
    page.reload()
    requester.heading("Sign in")
    again = person(RequesterInBrowser)
    again.page.goto(link)
    assert "The link was used or has expired" in again.alert()
    again.give(desk.key)
    again.heading("Results")


@pytest.mark.nightly
def test_a_key_in_an_address_is_not_used_and_does_not_stay_there(person, campaign):
    desk, made = campaign
    for place in (f"/dashboard/{made}", "/dashboard/", "/"):
        requester = person(RequesterInBrowser)
        requester.page.goto(f"{desk.server.url}{place}#k={desk.key}")
        assert "this browser stored it" in requester.alert()
        assert "#" not in requester.page.url
        assert asked(requester) == []
        requester.page.evaluate(f"location.hash = 'k={desk.key}'")
        assert "this browser stored it" in requester.alert()
        assert "#" not in requester.page.url
        assert desk.key.encode() not in b"".join(one.everything for one in requester.wire.sent)


@pytest.mark.nightly
def test_a_key_that_has_ended_says_so(person, campaign):
    desk, made = campaign
    old = issue_key(desk.server.database, "old in a browser", expires_at=1_000)
    requester = person(RequesterInBrowser)
    requester.page.goto(f"{desk.server.url}/dashboard/{made}")
    for given, told in ((old, "has expired"), (f"qck_{'a' * 43}", "unknown"), ("x", "not a key")):
        requester.field.fill(given)
        requester.press("Sign in")
        requester.page.get_by_role("alert").filter(has_text=told).wait_for()
        assert requester.field.input_value() == ""
