"""Levels of privacy and rounds in the studio: their form, and results over time."""

import csv
import io
import math

import pytest
from axe_playwright_python.sync_playwright import Axe
from tests.campaign.people import YES_NO, Running, new_desk
from tests.campaign.results.test_following import infer, report
from tests.campaign.store.test_menus_and_rounds import HOUR, ROUNDS, Clock, joined, keep
from tests.campaign.web.people_in_browsers import RequesterInBrowser
from tests.campaign.web.test_studio_screens import SIZES, SMALL, WIDE, planned
from tests.nightly import nightly

from quietcrowd.campaign.server.settings import Settings

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.QuietcrowdWarning"),
]

QUESTIONS = "task,question\n" + "".join(f"t{k},Is it {k}?\n" for k in range(3))
NUMBERS = {"kind": "interval", "low": 0, "high": 10}
CAMPAIGNS = {
    "labels": {"domain": YES_NO.to_dict()},
    "numbers": {"domain": NUMBERS},
    "shares": {"domain": YES_NO.to_dict(), "goal": "shares"},
}


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """Return a requester with campaigns of which four rounds are shown, and with a draft."""
    clock = Clock()
    database = f"sqlite:///{tmp_path_factory.mktemp('rounds')}/quietcrowd.db"
    settings = Settings(database=database, requests_per_second=0, joins_per_minute=0, infer=False)
    running = Running(settings, clock=clock).start()
    desk = new_desk(running)
    played = {name: start(desk, name, members) for name, members in CAMPAIGNS.items()}
    for number in range(4):
        clock.to(number)
        keep(desk)
        for name, people in played.items():
            answer = 2.0 + number if name == "numbers" else "yes" if number % 2 else "no"
            for one in people[number % 2 :: 2]:
                report(one, {f"t{k}": answer for k in range(3)}, number)
    clock.to(4, HOUR + 1)
    keep(desk)
    for people in played.values():
        infer(desk, people[0].campaign)
    desk.import_csv(desk.draft(title="Hedges", domain=NUMBERS)["id"], QUESTIONS)
    yield desk
    running.stop()


def start(desk, name, members):
    """Return people who joined a new campaign in rounds."""
    terms = {"rounds": {**ROUNDS, "keep": 4}, "join_mode": "open", "at_least": 2}
    made = desk.campaign(title=name, total_epsilon=60.0, **terms, **members)
    return [joined(desk, made, slot=0) for _ in range(12)]


def results(requester, desk, name):
    requester.open(desk.server.url, "", desk.key)
    requester.go(name, "Results")
    requester.page.locator("#series-chart circle").nth(3).wait_for()


def choose(requester, steps):
    """Go to another round by the keyboard, and wait until the results of it are there."""
    slider = requester.page.locator("#series-round")
    slider.focus()
    assert "Dec 2026" in slider.get_attribute("aria-valuetext")
    for _ in range(abs(steps)):
        requester.page.keyboard.press("ArrowRight" if steps > 0 else "ArrowLeft")
    return slider.get_attribute("aria-valuetext")


def shown(row):
    """Return a number to the second digit of its standard error."""
    return f"{row['truth']:.{1 - math.floor(math.log10(row['standard_error']))}f}"


def told(row):
    """Return the words on a round of the campaign of numbers."""
    wide = float(f"{1.645 * row['standard_error']:.2g}")
    day = f"{int(row['begins'][8:10])} Dec 2026"
    return f"{day}: {shown(row)} ± {wide:g} (6 people, 18 reports to all questions)"


@pytest.mark.nightly
def test_a_round_is_chosen_by_the_keyboard_and_the_tables_follow(person, desk):
    requester = person(RequesterInBrowser)
    results(requester, desk, "numbers")
    page = requester.page
    made = page.url.split("/")[-1]
    series = desk.client.get(f"/campaigns/{made}/series", params={"task": "t0"}).json()["items"]
    assert choose(requester, 0) == told(series[3])
    assert choose(requester, -3) == told(series[0])
    assert page.locator("#series-now").inner_text() == told(series[0])
    truths = page.get_by_role("region", name="Truths")
    truths.get_by_role("cell", name=shown(series[0])).first.wait_for()
    with page.expect_download() as download:
        requester.press("Truths, CSV")
    assert download.value.suggested_filename == "truths-2026-12-01T00.csv"
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text("utf-8-sig"))))
    assert float(rows[0]["truth"]) == series[0]["truth"]
    page.locator("#series-card summary").click()
    with page.expect_download() as download:
        requester.press("Save as CSV")
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text("utf-8-sig"))))
    assert [row["begins"][:10] for row in rows] == [f"2026-12-0{day}" for day in (1, 2, 3, 4)]
    page.locator("#series-task").select_option("t2")
    assert requester.told == []


@pytest.mark.nightly
@pytest.mark.parametrize("name", CAMPAIGNS)
@pytest.mark.parametrize(
    ("size", "scheme"),
    [("phone", "light"), nightly("phone", "dark"), nightly("computer", "light")],
)
def test_results_over_time_are_accessible_and_fit(person, desk, size, scheme, name):
    width, height = SIZES[size]
    options = {"viewport": {"width": width, "height": height}, "bypass_csp": True}
    requester = person(RequesterInBrowser, color_scheme=scheme, **options)
    results(requester, desk, name)
    page = requester.page
    page.locator("#series-card summary").click()
    violations = Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in violations] == []
    assert not page.evaluate(WIDE)
    assert page.evaluate(SMALL) == []
    words = {"labels": "yes, ", "numbers": "±", "shares": "yes"}[name]
    card = page.locator("#series-card")
    assert words in card.inner_text()
    band = {"labels": "probability", "numbers": "9 of 10 truths", "shares": "interval"}[name]
    assert band in page.locator("#series-about").inner_text()
    told = card.get_by_role("img").get_attribute("aria-label")
    assert told.startswith("Curve from 1 Dec 2026: ")
    assert told.endswith(". The table has all rounds.")
    assert page.locator("#series-chart .band").count() == 1


@pytest.mark.nightly
def test_levels_and_rounds_are_stored_and_told_before_opening(person, desk):
    requester = person(RequesterInBrowser, viewport={"width": 360, "height": 740}, bypass_csp=True)
    page = requester.page
    page.route(
        "**/api/v1/plans",
        lambda route: (
            route.fulfill(json=planned(route.request.post_data_json))
            if route.request.method == "POST"
            else route.continue_()
        ),
    )
    requester.open(desk.server.url, "", desk.key)
    requester.go("Hedges", "What do you want to ask?")
    requester.go("Next: preview", "What people will see")
    requester.go("Next: people and privacy", "People and privacy")
    page.get_by_label("Everyone chooses among several levels").check()
    page.get_by_text("medium protection").wait_for()
    page.get_by_label("Level 3: Percent of people").fill("0")
    page.get_by_label("Level 3: Percent of people").blur()
    page.get_by_text("Not stored yet").wait_for()
    page.get_by_label("Level 1: Percent of people").fill("70")
    page.get_by_label("Level 1: Percent of people").blur()
    page.get_by_text("Not offered.").wait_for()
    page.get_by_label("Ask again every hour, day or week").check()
    page.get_by_text("Each person answers one round in 7").wait_for()
    page.get_by_text("More about rounds").click()
    page.locator("#verdict:not(.old)").get_by_text("With 7 people").wait_for()
    violations = Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in violations] == []
    assert not page.evaluate(WIDE)
    assert page.evaluate(SMALL) == []
    page.get_by_label("Rounds in a row for which the total holds").fill("4")
    page.get_by_label("Rounds in a row for which the total holds").blur()
    page.get_by_text("about 12 people of 50 in each round").wait_for()
    draft = desk.client.get(f"/campaigns/{page.url.split('/')[-1].partition('#')[0]}").json()
    assert [(one["total_epsilon"], one["share"]) for one in draft["menu"]] == [(1, 0.7), (3, 0.3)]
    assert (draft["rounds"]["window"], draft["rounds"]["step"], draft["rounds"]["cap"]) == (
        4,
        4,
        28,
    )
    requester.go("Next: who asks", "Who asks, and for how long")
    requester.go("Next: check and open", "Check, then open")
    page.get_by_text("In each round: With 12 people").wait_for()
    stored = desk.client.get(f"/campaigns/{page.url.split('/')[-1].partition('#')[0]}").json()
    assert stored["expected"] == {"error": 0.5 / 12**0.2, "guess": 0.48}
    text = page.locator("main").inner_text()
    assert "every day, 28 rounds from" in text
    assert "everyone chooses: ε\u00a0=\u00a01 (for 70\u00a0% of people), ε\u00a0=\u00a03" in text
