"""How much a browser asks for until a worker sees the first screen, and in how many steps."""

from urllib.parse import urlsplit

import pytest

pytestmark = pytest.mark.slow

MOST_BYTES = 120_000
"""Of the document and all that the first screen needs, as they are sent."""


def needed(campaign):
    """Return the paths of what the first screen needs beside its document."""
    about = f"/api/v1/public/campaigns/{campaign}"
    return sorted(["/worker/page.js", "/worker/worker.css", about, f"{about}/config"])


@pytest.fixture
def page(browser):
    context = browser.new_context()
    yield context.new_page()
    context.close()


def test_all_is_asked_for_at_once_after_the_document(desk, page):
    """No answer but the document is given before everything was asked for, each once."""
    campaign = desk.campaign(about="first screen")
    waiting, asked = [], []

    def hold(route):
        path = urlsplit(route.request.url).path
        asked.append(path)
        if path.startswith("/j/"):
            route.continue_()
            return
        waiting.append(route)
        if len(waiting) == len(needed(campaign)):
            for one in waiting:
                one.continue_()

    page.route("**/*", hold)
    page.goto(desk.link(campaign), wait_until="commit")
    page.locator("h1[tabindex]").wait_for()
    assert sorted(asked) == sorted([f"/j/{campaign}", *needed(campaign)])


def test_the_first_screen_is_small(desk, page):
    campaign = desk.campaign(about="bytes of the first screen")
    sent = []
    network = page.context.new_cdp_session(page)
    network.send("Network.enable")
    network.on("Network.loadingFinished", lambda event: sent.append(event["encodedDataLength"]))
    page.goto(desk.link(campaign))
    page.locator("h1[tabindex]").wait_for()
    assert len(sent) == 1 + len(needed(campaign))
    assert sum(sent) <= MOST_BYTES
