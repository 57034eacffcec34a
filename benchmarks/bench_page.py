"""How soon a worker sees something, on a slow telephone: a campaign of 100 tasks, in Chromium.

Its processor is slowed four times, by way of the developers' protocol; server and browser share the
machine. Each time it is a browser that has never been at the page.
"""

import secrets
from statistics import median

import pytest
from tests.campaign.people import Running, new_desk
from tests.campaign.web.browser import chromium

from quietcrowd.campaign.server.settings import Settings

TASKS = 100
SLOWED = 4
ROUNDS = 5
LIMIT = 1.0

NOTE_PAINTS = """
(() => {
  window.seen = new Map();
  const look = () => {
    const heading = document.querySelector("h1[tabindex]")?.textContent;
    if (heading && !window.seen.has(heading)) {
      window.seen.set(heading, null);
      requestAnimationFrame(() =>
        setTimeout(() => window.seen.set(heading, performance.now())),
      );
    }
  };
  new MutationObserver(look).observe(document, { childList: true, subtree: true });
})();
"""
"""Notes when each screen is painted, in ms since the page was asked for."""

FIRST_PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"

JOIN = "Do you want to take part?"


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """Return a requester of a server of one's own."""
    database = f"sqlite:///{tmp_path_factory.mktemp('page')}/quietcrowd.db"
    server = Running(Settings(database=database, infer=False, requests_per_second=0)).start()
    yield new_desk(server)
    server.stop()


def seen(page, heading):
    """Return when a screen was painted, in ms; wait for it."""
    page.wait_for_function("(heading) => window.seen.get(heading)", arg=heading)
    return page.evaluate("(heading) => window.seen.get(heading)", heading)


def open_slowly(browser, link):
    """Return when there was the first paint, and when the first screen, in ms."""
    with browser.new_context(locale="en-US") as context:
        page = context.new_page()
        page.add_init_script(NOTE_PAINTS)
        developers = context.new_cdp_session(page)
        developers.send("Emulation.setCPUThrottlingRate", {"rate": SLOWED})
        page.goto(link)
        screen = seen(page, JOIN)
        return page.evaluate(FIRST_PAINT), screen


def come_back_slowly(browser, link):
    """Return how long it is from the click of who comes back to the first of many questions."""
    with browser.new_context(locale="en-US") as context:
        page = context.new_page()
        page.goto(link)
        page.get_by_role("button", name="Take part").click()
        page.get_by_role("heading", name="Question 1").wait_for()
        page.add_init_script(NOTE_PAINTS)
        page.on("dialog", lambda dialog: dialog.accept())
        page.reload()
        button = page.get_by_role("button", name="Yes, go on")
        button.wait_for()
        context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOWED})
        start = button.evaluate(
            "(one) => { const now = performance.now(); one.click(); return now; }"
        )
        return seen(page, "Question 1") - start


def test_the_first_paint(browser, desk, compare, remark):
    campaign = desk.campaign(tasks=TASKS, about=secrets.token_hex(4))
    times = [open_slowly(browser, desk.link(campaign)) for _ in range(ROUNDS)]
    back = [come_back_slowly(browser, desk.link(campaign)) for _ in range(ROUNDS)]
    first, screen = (median(one) / 1e3 for one in zip(*times, strict=True))
    what = f"{TASKS} tasks, a processor slowed {SLOWED} times"
    compare(f"first paint of a worker's page, {what}", first, f"the limit of {LIMIT:g} s", LIMIT, 1)
    remark(
        f"A worker's page, {what}: it says what the campaign costs after {screen:.2g} s, and asks "
        f"the first question {median(back) / 1e3:.2g} s after a worker has come back."
    )
