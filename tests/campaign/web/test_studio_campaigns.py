"""A whole campaign in the studio, from a file of questions to its deletion, without a terminal."""

import base64
import csv
import html
import io
import json
import re
import sys

import pytest
from tests.campaign.waiting import LONG
from tests.campaign.web.people_in_browsers import RequesterInBrowser, WorkerInBrowser

from quietcrowd.campaign.results.inference_process import Inferrer
from quietcrowd.campaign.server.jobs import plans
from quietcrowd.commands.campaign.sheet import qr_sheet
from quietcrowd.mechanisms import Mechanism

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.QuietcrowdWarning"),
]

PRINTED = """
window.printed = [];
window.print = () => window.printed.push(document.querySelectorAll("#sheet figure svg").length);
"""
HEDGES = "id,question,gold\n" + "".join(
    f"h{place},Is there a nest in hedge {place}?,{'yes' if place == 0 else ''}\n"
    for place in range(20)
)


@pytest.fixture
def requester(person, desk):
    """Return a requester who is signed in, of a server that ends no plan for being slow."""
    desk.server.service.plans.longest = LONG
    found = person(RequesterInBrowser)
    found.page.add_init_script(PRINTED)
    return found.open(desk.server.url, "", desk.key)


FEW_CROWDS = """
from quietcrowd.campaign.server.jobs.plan_process import main
from quietcrowd.planning import planner

planner.MOST_DRAWS = planner.DRAWS
main()
"""


@pytest.fixture
def few_crowds(server, monkeypatch):
    """Let plans simulate as few crowds of a small campaign as of a large one: a quarter."""
    service = server.service.plans
    service._kill()
    monkeypatch.setattr(plans, "_COMMAND", (sys.executable, "-c", FEW_CROWDS))
    yield
    service._kill()


def drop(requester, name, content):
    """Drop a file of questions onto the page."""
    requester.page.evaluate(
        """([name, bytes]) => {
          const dataTransfer = new DataTransfer();
          dataTransfer.items.add(new File([Uint8Array.fromBase64(bytes)], name));
          const event = new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true });
          document.getElementById("drop-zone").dispatchEvent(event);
        }""",
        [name, base64.b64encode(content).decode()],
    )


def draft_of(requester, name, text):
    """Make a draft with the questions of a file."""
    requester.press("New campaign")
    requester.heading("What do you want to ask?")
    drop(requester, name, text.encode())
    requester.page.get_by_role("button", name="Use these").click()
    requester.page.get_by_text(re.compile(r"^Added: \d+ questions?\.$")).wait_for()


def fill(requester, name, text):
    field = requester.page.get_by_label(name)
    field.fill(text)
    field.blur()


def campaign_of(requester):
    return requester.page.url.split("/")[-1].partition("#")[0]


def open_campaign(requester):
    """Go through the five steps, with a way out of a bad forecast; return the campaign's id."""
    page = requester.page
    draft_of(requester, "hedges.csv", HEDGES)
    fill(requester, "Title, which people see", "Hedges")
    requester.go("Next: preview", "What people will see")
    frame = page.frame_locator("iframe")
    frame.get_by_role("heading", level=1, name="Hedges").wait_for()
    frame.get_by_role("button", name="Continue").click()
    frame.get_by_role("button", name="Take part").click()
    frame.get_by_text("Is there a nest in hedge").wait_for()

    requester.go("Next: people and privacy", "People and privacy")
    typed = page.get_by_label("How many people will answer?")
    typed.fill("12")  # and stay there
    page.locator("#verdict-text").get_by_text("With 12 people").wait_for()
    assert typed.evaluate("one => [one === document.activeElement, one.value]") == [True, "12"]
    page.get_by_text("As good as guessing", exact=True).wait_for()
    page.locator("#ways").get_by_role("button").first.click()
    page.get_by_text("Better than guessing", exact=True).wait_for()

    requester.go("Next: who asks", "Who asks, and for how long")
    fill(requester, "Who asks", "Bird group")
    fill(requester, "Contact, such as a mail address", "birds@example.org")
    fill(requester, "What the answers are for, in one sentence", "A map of nests.")
    page.get_by_label("You see the reports of").select_option("10")
    requester.go("Next: check and open", "Check, then open")
    page.get_by_role("button", name="Open the campaign").click()

    requester.heading("Invite people")
    return campaign_of(requester)


def make_links(requester):
    """Make links, print them, and return them from the saved file."""
    page = requester.page
    assert page.get_by_role("button", name="Make links").is_disabled()
    requester.press("For a trial on this computer, make them anyway")
    fill(requester, "How many", "12")
    requester.press("Make links")
    page.get_by_text("12 links made. Save or print them now").wait_for()
    assert page.get_by_role("button", name="Make 12 more links").is_visible()
    page.get_by_label("How many").fill("1")
    assert page.get_by_role("button", name="Make 1 more link", exact=True).is_visible()
    requester.press("Print QR sheet")
    assert page.evaluate("window.printed") == [12]
    with page.expect_download() as download:
        requester.press("Save as CSV")
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
    assert [list(row) for row in rows] == [["number", "link"]] * 12
    assert [row["number"] for row in rows] == [str(place) for place in range(1, 13)]
    links = [row["link"] for row in rows]
    assert len(set(links)) == 12
    check_sheet(page, links)
    return links


def check_sheet(page, links):
    """Check that the slips have the words of the command, in as many columns as on the screen."""
    asked = {"requester": "Bird group", "contact": "birds@example.org", "closes_on": None}
    slips = re.findall("<figure>(.*?)</figure>", qr_sheet({"title": "Hedges", **asked}, links))
    words = [html.unescape(re.sub("<svg.*?</svg>|<.*?>", "", slip)) for slip in slips]
    assert "Who asks: Bird group, birds@example.org" in words[0]
    assert page.locator("#sheet figure").all_text_contents() == words
    columns = "one => getComputedStyle(one).gridTemplateColumns.split(' ').length"
    assert page.locator("#sheet-shown").evaluate(columns) == 3
    page.emulate_media(media="print")
    assert page.locator("#sheet").evaluate(columns) == 3
    page.emulate_media(media="screen")


def answer(person, desk, made, links):
    """Let one person answer in a browser, and simulate the others."""
    worker = person(WorkerInBrowser, quick=True)
    worker.play(links[0], ["yes"] * 20).send()
    worker.arrive()
    described = desk.client.get(f"/campaigns/{made}").json()["mechanism"]
    mechanism = Mechanism.from_dict(described)
    for link in links[1:]:
        simulated = desk.guest(made)
        desk.join(simulated, link.partition("#i=")[2]).raise_for_status()
        simulated.send_all(mechanism, {f"h{place}": "yes" for place in range(20)})
    assert Inferrer(desk.server.database).infer(bytes.fromhex(made))


@pytest.mark.usefixtures("few_crowds")
def test_the_whole_way_without_a_terminal(person, desk, requester):
    page = requester.page
    made = open_campaign(requester)
    answer(person, desk, made, make_links(requester))
    requester.go("Results")
    page.get_by_text("Is there a nest in hedge 7?").wait_for()
    assert requester.count("Sent and shown") >= 10
    assert len(requester.table("Truths")) == 21
    with page.expect_download() as download:
        requester.press("Truths, CSV")
    assert download.value.path().read_text().count("\n") == 21

    requester.go("Act")
    requester.press("Close…")
    page.get_by_text("No one can join or send to “Hedges” any longer.").wait_for()
    requester.press("Close the campaign")
    requester.heading("Results")
    page.get_by_text("closed", exact=True).wait_for()
    with page.expect_download() as download:
        requester.press("Reports, CSV")
    assert download.value.path().read_text().count("\n") > 200
    requester.go("Act")
    requester.press("Delete…")
    button = page.get_by_role("button", name="Delete", exact=True)
    assert button.is_disabled()
    page.get_by_label("Type its title to confirm").fill("Hedges")
    button.click()
    requester.heading("Campaigns")
    assert desk.client.get(f"/campaigns/{made}").status_code == 404
    expected = re.compile("409|429")  # no results yet, or a plan before has not ended
    assert all(expected.search(line) for line in requester.told)
    assert {one.origin for one in requester.wire.sent} == {desk.server.url}


def table_of(requester):
    """Return the names and errors in the table below the curve."""
    page = requester.page
    page.get_by_text("As a table", exact=True).click()
    rows = page.locator("#curve-body tr").all()
    return {one.locator("th").inner_text(): one.locator("td").first.inner_text() for one in rows}


@pytest.mark.nightly
def test_typed_questions_are_added_on_the_way_and_a_survey_has_a_forecast(desk, requester):
    page = requester.page
    requester.press("New campaign")
    requester.heading("What do you want to ask?")
    page.get_by_label("How many people answer what").check()
    page.locator("#kind").select_option("ja,nein")
    fill(requester, "Or type one question per line", "Schläfst du gut?\nIsst du Obst?\n")
    requester.go("Next: preview", "What people will see")
    document = desk.client.get(f"/campaigns/{campaign_of(requester)}").json()
    assert (document["goal"], document["tasks"]) == ("shares", 2)
    assert document["domain"]["labels"] == ["ja", "nein"]
    requester.go("Next: people and privacy", "People and privacy")
    page.get_by_text("at most 98.8 % sure: weak protection").wait_for()
    page.get_by_text("Rough", exact=True).wait_for()
    page.get_by_text(
        "With 50 people, 2 questions and a total of ε = 4.4 per person, each share"
    ).wait_for()
    assert page.locator("#curve-card").is_hidden()
    page.locator("#ways").get_by_role("button").first.click()
    page.get_by_text("Usable", exact=True).wait_for()
    assert page.locator("#verdict").get_attribute("class") == "verdict stack good"
    requester.go("Next: who asks", "Who asks, and for how long")
    requester.go("Next: check and open", "Check, then open")
    page.get_by_text("each share will be known to about ±").wait_for()
    page.get_by_text("Title: people see it: replace “New campaign”.").wait_for()
    assert page.get_by_role("button", name="Open the campaign").is_disabled()
    requester.go("Questions", "What do you want to ask?")
    assert page.locator("#kind").input_value() == "ja,nein"
    drop(requester, "more.csv", b"question\nTrinkst du Tee?\n")
    page.get_by_text("more.csv: 1 question").wait_for()
    page.get_by_role("link", name="Next: preview").click()
    assert "First use the questions of the file, or cancel it." in requester.alert()


@pytest.mark.nightly
def test_the_curve_has_the_number_of_the_verdict(requester):
    """Twelve questions, as a newcomer typed them: 35 of 100 wrong, and 38 in the curve."""
    page = requester.page
    draft_of(requester, "few.csv", "".join(HEDGES.splitlines(keepends=True)[:13]))
    requester.go("Next: preview", "What people will see")
    requester.go("Next: people and privacy", "People and privacy")
    fill(requester, "How many people will answer?", "30")
    page.get_by_text("May be as good as guessing", exact=True).wait_for()
    said = page.locator("#verdict-text").inner_text()
    assert page.locator("#verdict").get_attribute("class") == "verdict stack weak"
    page.locator("#ways button").nth(2).wait_for()
    page.locator("#curve-card:not(.old)").wait_for()
    [percent] = re.findall(r"of 12 questions \((\d+)\s%;", said)
    assert page.get_by_text(f"you: {percent} %").count() == 1
    assert table_of(requester)["30"] == f"{percent} %"
    assumed = page.locator("#assumed").text_content()
    assert len(re.findall(r"\d\u00a0%", assumed)) == assumed.count("%") > 0
    each = page.locator("#each-loss").text_content()
    assert re.fullmatch(r"At most ε\s=\s0\.\d{2,3} of the total goes to each answer\.", each)
    page.route("**/api/v1/plans", lambda _: None)  # the next verdict does not come
    fill(requester, "How many people will answer?", "31")
    page.locator("#verdict.old").get_by_text("Forecasting", exact=True).wait_for()
    assert page.locator("#curve-card.old").count() == 1


@pytest.mark.nightly
def test_a_typed_number_is_stored_and_forecast_once(requester):
    page = requester.page
    draft_of(requester, "few.csv", "".join(HEDGES.splitlines(keepends=True)[:4]))
    requester.go("Next: preview", "What people will see")
    requester.go("Next: people and privacy", "People and privacy")
    total, people = (page.locator(f"#{one}") for one in ("field-total_epsilon", "how-many"))
    total.fill("1")
    page.get_by_text("Draft saved", exact=True).wait_for()
    total.blur()
    people.fill("12")
    page.locator("#verdict:not(.old)").get_by_text("With 12 people").wait_for()
    people.blur()
    assert page.locator("#verdict.old").count() == 0
    requester.go("Next: who asks", "Who asks, and for how long")  # once all changes are stored
    changes = [json.loads(one.body) for one in requester.wire.sent if one.method == "PATCH"]
    assert changes.count({"total_epsilon": 1}) == 1


@pytest.mark.nightly
def test_each_question_lists_its_options(desk, requester):
    page = requester.page
    draft_of(requester, "pets.csv", "question,options\nA pet?,dog|cat\nA tree?,fir; oak; elm\n")
    campaign = desk.client.get(f"/campaigns/{campaign_of(requester)}").json()
    assert campaign["mechanism"]["option_counts"] == [2, 3]
    requester.go("Next: preview", "What people will see")
    frame = page.frame_locator("iframe")
    frame.get_by_role("button", name="Continue").click()
    frame.get_by_role("button", name="Take part").click()
    frame.get_by_role("button", name="dog").or_(frame.get_by_role("button", name="oak")).wait_for()
    requester.go("Next: people and privacy", "People and privacy")
    page.get_by_text(re.compile("^With 50 people, 2 questions")).wait_for()
    requester.go("Next: who asks", "Who asks, and for how long")
    requester.go("Next: check and open", "Check, then open")
    page.get_by_text("one of the options of each question; the results are truths").wait_for()
    requester.go("Questions", "What do you want to ask?")
    page.locator("#kind").select_option("yes,no")
    assert "remove the tasks first" in requester.alert()
    requester.press("Remove all")
    fill(requester, "Or type one question per line", "A cow?")
    requester.press("Add these questions")
    page.get_by_text("Added: 1 question.").wait_for()
    campaign = desk.client.get(f"/campaigns/{campaign_of(requester)}").json()
    assert campaign["domain"]["labels"] == ["yes", "no"]


HOSTILE = (
    "question,note\n"
    '"=HYPERLINK(""x"")",<img src=x onerror=document.title=1>\n'
    '"<script>document.title=1</script>",\u202eevil\n'
    "${7*7},{{link}}\n"
)


def test_a_hostile_file_stays_text(desk, requester):
    page = requester.page
    draft_of(requester, "x<b>.csv", HOSTILE)
    page.get_by_text("<script>document.title=1</script>").wait_for()
    assert page.locator("main img, main script").count() == 0
    requester.go("Next: preview", "What people will see")
    frame = page.frame_locator("iframe")
    frame.get_by_role("button", name="Continue").click()
    frame.get_by_role("button", name="Take part").click()
    frame.locator("#count").get_by_text("1 of ").wait_for()
    assert frame.locator("main img, main script").count() == 0
    assert page.title().startswith("What people will see")
    requester.go("Questions", "What do you want to ask?")
    drop(requester, "x.csv", b"\x00\x01" * 50)
    requester.alert()
    drop(requester, "bad.xlsx", b"\x00\x01" * 50)
    page.get_by_role("alert").filter(has_text="The file is not an Excel workbook.").wait_for()
    assert desk.client.get(f"/campaigns/{campaign_of(requester)}").json()["tasks"] == 3


@pytest.mark.nightly
def test_a_hundred_thousand_hostile_rows_are_refused_in_words(desk, requester):
    requester.press("New campaign")
    requester.heading("What do you want to ask?")
    rows = (f'"=HYPERLINK(""{row}"")<script>document.title=1</script>"\n' for row in range(10**5))
    drop(requester, "many.csv", ("question\n" + "".join(rows)).encode())
    assert requester.alert() == (
        "The file has more than 20,000 tasks, the most of a campaign: divide it."
    )
    assert desk.client.get(f"/campaigns/{campaign_of(requester)}").json()["tasks"] == 0
    fill(requester, "Or type one question per line", "Does the page still work?")
    requester.press("Add these questions")
    requester.page.get_by_text("1 question", exact=True).wait_for()


@pytest.mark.nightly
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_encodings_of_spreadsheets_are_read(requester, encoding):
    requester.press("New campaign")
    requester.heading("What do you want to ask?")
    drop(requester, "x.csv", "question\nIst es größer oder nicht?\n".encode(encoding))
    requester.page.get_by_text("Ist es größer oder nicht?").wait_for()
