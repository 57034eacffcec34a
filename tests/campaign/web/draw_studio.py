"""Take the picture of the studio that the documents show: of the demo, with its crowd.

``python -m tests.campaign.web.draw_studio``, where Chromium is, writes
``docs/figures/dashboard.png``.
"""

from __future__ import annotations

import os
from pathlib import Path

from playwright.sync_api import expect
from tests.campaign.web.browser import chromium
from tests.programs import QUIETCROWD, running

FIGURE = Path(__file__).parents[3] / "docs" / "figures" / "dashboard.png"
SIZE = {"width": 1120, "height": 860}


def main() -> None:
    """Play the demo, and look at its results until all reports are in."""
    unbuffered = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with running(*QUIETCROWD, "demo", "--stay", env=unbuffered) as demo, chromium() as browser:
        page = browser.new_page(viewport=SIZE)
        page.goto(demo.until("/dashboard/")[-1].strip())
        demo.until("until Ctrl-C")  # the last inference is there
        expect(page.get_by_text("1,600", exact=True)).to_be_visible()
        expect(page.get_by_role("row", name="statement 18")).to_be_visible()
        page.screenshot(path=FIGURE)


if __name__ == "__main__":
    main()
