"""Every screen of the studio: what axe finds, and whether it fits on a phone."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from tests.campaign.people import YES_NO, new_desk
from tests.campaign.web.people_in_browsers import RequesterInBrowser
from tests.nightly import nightly

import quietcrowd as qc
from quietcrowd.campaign.results.inference_process import Inferrer
from quietcrowd.campaign.server.api.plans import PlanDocument

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.QuietcrowdWarning"),
]

SIZES = {"phone": (360, 740), "computer": (1280, 800)}
WIDE = "document.documentElement.scrollWidth > innerWidth"
SMALL = """() =>
  [...document.querySelectorAll("button, .button, select, summary, .choice, nav a, textarea")]
  .filter((one) => one.offsetParent !== null && one.getBoundingClientRect().height < 43.9)
  .map((one) => one.outerHTML)"""
LONG = "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz"


def row(workers, error, *, standing):
    """Return a row of a plan."""
    return {
        **{"mechanism": "one-layer", "total_epsilon": 5.0, "epsilon": 0.25, "workers": workers},
        **{"answers": 20, "error": error, "standard_error": 0.01, "low": error - 0.05},
        **{"high": error + 0.05, "constant": 0.48, "private": True, "standing": standing},
        **{"useless": standing == "useless", "heading": f"A {standing} result"},
        **{"verdict": f"With {workers} people, {error} are wrong.", "meets": False},
    }


def planned(order):
    """Return a plan that no server simulates: more people help."""
    least = order.get("least")
    sizes = [800] if least == "people" else order["workers"]
    changes = {"questions": {"answers": 2}, "total": {"total_epsilon": 20.0}}.get(least, {})
    standings = ["good" if least or n >= 100 else "weak" for n in sizes]
    rows = [
        {**row(n, 0.5 / n**0.2, standing=standing), **changes}
        for n, standing in zip(sizes, standings, strict=True)
    ]
    document = {
        **{"tasks": 3, "score": "error_rate", "assumed": "Some guess.", "target": None},
        **{"draws": 10, "rows": rows, "skipped": []},
    }
    return PlanDocument.model_validate(document).model_dump()


@pytest.fixture(scope="module")
def desk(server):
    """Return a requester with a campaign of each goal, and with a draft."""
    desk = new_desk(server)
    mechanism = qc.RandomizedResponse(domain=YES_NO, epsilon=10.0)
    for goal in ("truths", "shares"):
        made = desk.campaign(mechanism, title=f"Birds, {goal} {LONG}", goal=goal, at_least=3)
        for _ in range(3):
            desk.worker(made).send_values(1, 0, 1)
        Inferrer(server.database).infer(bytes.fromhex(made))
    draft = desk.draft(title="Hedges")["id"]
    desk.import_csv(draft, f"task,question\nt1,Is it {LONG}?\nt2,Is it 2?\nt3,Is it 3?\n")
    return desk


def campaigns(requester, desk):
    """Go through the screens of open campaigns, and yield the name of each."""
    page = requester.page
    page.goto(f"{desk.server.url}/dashboard/")
    requester.heading("Sign in")
    yield "sign in"
    requester.give(desk.key)
    yield "list"
    requester.go(f"Birds, truths {LONG}", "Results")
    page.get_by_text("Is it 1?").wait_for()
    yield "truths"
    requester.go("Invite", "Invite people")
    requester.press("For a trial on this computer, make them anyway")
    page.locator("#make").click()
    page.locator("#sheet-shown svg").first.wait_for()
    page.get_by_text("Revoke or replace links").click()
    yield "invite"
    with page.expect_download():
        requester.press("Save as CSV")
    requester.go("Act")
    yield "act"
    requester.press("Delete…")
    page.get_by_label("Type its title to confirm").wait_for()
    yield "delete"
    requester.press("Cancel")
    requester.go("Privacy")
    page.get_by_text("All sentences").click()
    yield "privacy"
    requester.go("Campaigns")
    requester.go(f"Birds, shares {LONG}", "Results")
    page.get_by_text("Is it 1?").wait_for()
    page.get_by_text("As a table").first.click()
    yield "shares"


def steps(requester, desk):
    """Go through the steps of a draft, and yield the name of each."""
    page = requester.page
    requester.open(desk.server.url, "", desk.key)
    requester.go("Hedges", "What do you want to ask?")
    page.locator("#kind").select_option("labels")
    file = {"name": "more.csv", "mimeType": "text/csv", "buffer": b"id,question\nx,Is it x?\n"}
    page.locator("#files").set_input_files(file)
    page.get_by_text("more.csv: 1 question").wait_for()
    yield "questions"
    page.locator("#reading").get_by_role("button", name="Cancel").click()
    requester.go("Next: preview", "What people will see")
    frame = page.frame_locator("iframe")
    frame.get_by_role("heading", level=1, name="Hedges").wait_for()
    yield "preview"
    requester.go("Next: people and privacy", "People and privacy")
    page.locator("#ways button").nth(2).wait_for()
    page.get_by_text("Wrong truths, by number of people").wait_for()
    for fold in page.locator("summary:visible").all():
        fold.click()
    yield "people"
    requester.go("Next: who asks", "Who asks, and for how long")
    page.get_by_text("More settings").click()
    yield "asker"
    requester.go("Next: check and open", "Check, then open")
    page.get_by_text("With 50 people").wait_for()
    yield "check"


@pytest.mark.nightly
@pytest.mark.parametrize(("walk", "count"), [(campaigns, 8), (steps, 5)])
@pytest.mark.parametrize(
    ("size", "scheme"),
    [
        ("phone", "light"),
        nightly("phone", "dark"),
        nightly("computer", "light"),
        nightly("computer", "dark"),
    ],
)
def test_every_screen_is_accessible_and_fits(person, desk, size, scheme, walk, count):
    axe = Axe()
    width, height = SIZES[size]
    options = {"viewport": {"width": width, "height": height}, "bypass_csp": True}
    requester = person(RequesterInBrowser, color_scheme=scheme, **options)
    page = requester.page
    page.route(
        "**/api/v1/plans",
        lambda route: (
            route.fulfill(json=planned(route.request.post_data_json))
            if route.request.method == "POST"
            else route.continue_()
        ),
    )
    found = {}
    for screen in walk(requester, desk):
        violations = axe.run(page).response["violations"]
        found[screen] = [(one["id"], one["nodes"][0]["html"]) for one in violations]
        found[screen] += [("wide", screen)] * page.evaluate(WIDE)
        found[screen] += [("small", one) for one in page.evaluate(SMALL)]
    assert {screen: list_ for screen, list_ in found.items() if list_} == {}
    assert len(found) == count
