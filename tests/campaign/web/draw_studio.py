"""Take the pictures of the studio that the documents show.

``python -m tests.campaign.web.draw_studio``, where Chromium is, writes
``docs/figures/dashboard.png``, of the demo with its crowd, and ``docs/figures/ask-*.png``, of the
campaign of ``docs/start/ask-50-people.md``.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from pathlib import Path

from PIL import Image
from playwright.sync_api import expect
from tests.campaign.people import Running, new_desk
from tests.campaign.web.browser import chromium
from tests.campaign.web.people_in_browsers import RequesterInBrowser, somebody
from tests.programs import QUIETCROWD, running

import quietcrowd as qc
from quietcrowd.campaign.results.inference_process import Inferrer
from quietcrowd.campaign.server.settings import Settings
from quietcrowd.mechanisms import Mechanism

FIGURES = Path(__file__).parents[3] / "docs" / "figures"
SIZE = {"width": 1120, "height": 860}
NARROW, PHONE = {"width": 520, "height": 700}, {"width": 360, "height": 700}
SCALE, MARGIN = 0.75, 16
COLORS = 64
"""A picture of so few colors has a third of the bytes, and looks the same."""

PEOPLE = 50
QUESTIONS = {
    "Is the emergency exit of hall 2 blocked during shifts?": "yes",
    "Is the guard of press 4 removed while it runs?": "no",
    "Do people handle solvent without gloves?": "yes",
}
"""Questions, and what is true; one answer in eight is wrong."""


def ask(requester, worker, desk):
    """Ask 50 people as the page says; yield the name, page, first and last part of each picture.

    The first part is None for a picture from the top.
    """
    yield from set_up(requester, desk)
    campaign = yield from invite(requester)
    worker.open(desk.link(campaign)).consider()
    yield "consent", worker.page, None, "main"
    worker.press("Take part")
    worker.start()
    yield "question", worker.page, None, "main"
    worker.answer(["yes", "no", "yes"])
    worker.send()
    worker.arrive()
    send_the_others(desk, campaign)
    requester.go("Results")
    requester.page.get_by_role("row", name="guard of press 4").wait_for()
    yield "results", requester.page, "#undecided", "#truths-none ~ div"


def set_up(requester, desk):
    """Go through the five steps, and open the campaign."""
    page = requester.page
    requester.open(desk.server.url, "", desk.key)
    requester.press("New campaign")
    requester.heading("What do you want to ask?")
    page.get_by_label("Title, which people see").fill("Safety in hall 2")
    page.get_by_label("Or type one question per line").fill("\n".join(QUESTIONS))
    requester.press("Add these questions")
    page.get_by_text("Added: 3 questions.").wait_for()
    yield "questions", page, None, "#kind"
    requester.go("Next: preview", "What people will see")
    page.frame_locator("iframe").get_by_role("button", name="Continue").wait_for()
    yield "preview", page, "#frame", "#frame"
    requester.go("Next: people and privacy", "People and privacy")
    page.locator("#curve-card:not(.old) polyline").wait_for(state="attached")
    total = page.get_by_label("Total privacy loss of a person, ε").first
    total.fill("3")
    total.blur()
    page.get_by_text("medium protection").wait_for()
    yield "total", page, None, "#one-total"
    page.locator("#verdict-text").get_by_text("a total of ε = 3 per person").wait_for()
    page.locator("#curve-card:not(.old) polyline").wait_for(state="attached")
    yield "forecast", page, "#verdict", "#curve"
    requester.go("Next: who asks", "Who asks, and for how long")
    page.get_by_label("Who asks", exact=True).fill("The works council")
    page.get_by_label("Contact, such as a mail address").fill("council@example.org")
    purpose = page.get_by_label("What the answers are for, in one sentence")
    purpose.fill("To report hazards to the safety officer.")
    purpose.blur()
    page.locator("#saved").get_by_text("Draft saved").wait_for()
    yield "asker", page, None, "#field-purpose"
    requester.go("Next: check and open", "Check, then open")
    page.get_by_text("With 50 people").wait_for()
    yield "check", page, None, "#expected"
    requester.press("Open the campaign")


def invite(requester):
    """Make links, and return the campaign."""
    page = requester.page
    requester.heading("Invite people")
    page.get_by_role("button", name="For a trial on this computer, make them anyway").click()
    page.get_by_label("How many").fill(str(PEOPLE))
    page.locator("#make").click()
    page.locator("#sheet-shown svg").first.wait_for()
    yield "invite", page, None, "#print-links"
    return page.url.split("/dashboard/")[1].split("#")[0]


def send_the_others(desk, campaign):
    """Let all people but one answer, and infer."""
    mechanism = Mechanism.from_dict(
        desk.client.get(f"/campaigns/{campaign}").raise_for_status().json()["mechanism"]
    )
    for place in range(PEOPLE - 1):
        device = desk.worker(campaign)
        answers = {}
        for turn, task in enumerate(device.tasks()):
            truth = QUESTIONS[task["data"]["question"]]
            is_wrong = (place + turn) % 8 == 0
            answers[task["task"]] = {"yes": "no", "no": "yes"}[truth] if is_wrong else truth
        device.send_all(mechanism, answers)
    Inferrer(desk.server.database).infer(bytes.fromhex(campaign))


def draw_asking(browser):
    """Write the pictures of the page on 50 people."""
    warnings.simplefilter("ignore", qc.exceptions.QuietcrowdWarning)
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{folder}/quietcrowd.db"
        server = Running(
            Settings(database=database, infer=False, requests_per_second=0, longest_plan=600)
        ).start()
        try:
            with (
                somebody(
                    browser, RequesterInBrowser, viewport=NARROW, device_scale_factor=SCALE
                ) as requester,
                somebody(browser, viewport=PHONE) as worker,
            ):
                for name, page, first, last in ask(requester, worker, new_desk(server)):
                    path = FIGURES / f"ask-{name}.png"
                    page.screenshot(path=path, full_page=True, clip=area(page, first, last))
                    shrink(path)
        finally:
            server.stop()


def area(page, first, last):
    """Return the part of a page from the top of a part to the bottom of another."""
    top, bottom = (
        page.locator(one).first.evaluate(f"one => one.getBoundingClientRect().{edge} + scrollY")
        if one
        else 0
        for one, edge in ((first, "top"), (last, "bottom"))
    )
    top, width = max(0, top - MARGIN), page.viewport_size["width"]
    return {"x": 0, "y": top, "width": width, "height": bottom + MARGIN - top}


def draw_dashboard(browser):
    """Play the demo, and look at its results until all reports are in."""
    unbuffered = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with running(*QUIETCROWD, "demo", "--stay", env=unbuffered) as demo:
        page = browser.new_page(viewport=SIZE)
        page.goto(demo.until("/dashboard/")[-1].strip())
        demo.until("until Ctrl-C")  # the last inference is there
        expect(page.get_by_text("1,600", exact=True)).to_be_visible()
        expect(page.get_by_role("row", name="statement 18")).to_be_visible()
        page.screenshot(path=FIGURES / "dashboard.png")
        shrink(FIGURES / "dashboard.png")


def shrink(path):
    """Write a picture again with few colors."""
    Image.open(path).convert("RGB").quantize(COLORS).save(path, optimize=True)


def main() -> None:
    """Take all pictures."""
    with chromium() as browser:
        draw_asking(browser)
        draw_dashboard(browser)


if __name__ == "__main__":
    main()
