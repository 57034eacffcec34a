"""Take the pictures of the worker's page that ``docs/run`` shows.

``python -m tests.campaign.web.draw_worker``, where Chromium is, writes
``docs/figures/worker-*.png``.
"""

from tests.campaign.web.browser import chromium
from tests.campaign.web.draw_studio import FIGURES, PHONE, SCALE, area, shrink
from tests.campaign.web.screen_pages import (
    arrive,
    asked,
    choose,
    consider,
    given,
    press,
    screens,
)
from tests.campaign.web.test_round_screens import in_rounds, with_menu

LOOKS = {"viewport": PHONE, "device_scale_factor": SCALE, "timezone_id": "UTC"}
SHARES = (0.7, 0.3)


def offered():
    """Return a menu whose entries have shares that sum to 1."""
    state = with_menu()
    entries = zip(state["menu"], SHARES, strict=True)
    menu = [{**entry, "share": share} for entry, share in entries]
    return {**state, "menu": menu, "terms": menu[0]}


def show(browser):
    """Yield the name, page and last part of each picture."""
    with screens(browser, offered(), **LOOKS) as page:
        page.get_by_role("group", name="Choose your protection").wait_for()
        yield "choice", page, "fieldset"
    with screens(browser, given(tasks=3, code="7FQ2-M4XK-0RTV-9HBD"), **LOOKS) as page:
        consider(page)
        press(page, "Take part")
        arrive(page, "If you are interrupted")
        yield "code", page, "main"
        press(page, "Start")
        asked(page, 1)
        for _ in range(3):
            choose(page, "no")
        page.locator("#send").wait_for()
        press(page, "Send")
        arrive(page, "Sent. Thank you!")
        yield "sent", page, "main"
    with screens(browser, in_rounds(state="joined"), **LOOKS) as page:
        page.locator(".main").click()
        arrive(page, "Until your next round")
        yield "wait", page, "main"


def main() -> None:
    """Take all pictures."""
    with chromium() as browser:
        for name, page, last in show(browser):
            path = FIGURES / f"worker-{name}.png"
            page.screenshot(path=path, full_page=True, clip=area(page, None, last))
            shrink(path)


if __name__ == "__main__":
    main()
