"""Take the picture of the dashboard that the documents show: of the demo, with its crowd.

``python -m tests.campaign.web.draw_dashboard``, where Chromium is, writes
``docs/figures/dashboard.png``.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO

from playwright.sync_api import expect
from tests.campaign.web.browser import chromium

FIGURE = Path(__file__).parents[3] / "docs" / "figures" / "dashboard.png"
SIZE = {"width": 1120, "height": 860}
SECONDS = 120


def link_in(output: IO[str]) -> str:
    """Return the link to the dashboard, once the demo says it."""
    for line in output:
        found = re.fullmatch(r"(http://\S+/dashboard/\S+)\n", line)
        if found:
            return found[1]
    raise RuntimeError("the demo ended without a link")


def main() -> None:
    """Play the demo, and look at its dashboard until all reports are in."""
    demo = subprocess.Popen(
        [sys.executable, "-m", "quietcrowd", "demo", "--stay"], stdout=subprocess.PIPE, text=True
    )
    assert demo.stdout is not None
    try:
        with chromium() as browser:
            page = browser.new_page(viewport=SIZE)
            page.goto(link_in(demo.stdout))
            wait = {"timeout": 1_000 * SECONDS}
            expect(page.get_by_text("1,600", exact=True)).to_be_visible(**wait)
            expect(page.get_by_role("row", name="statement 18")).to_be_visible(**wait)
            page.wait_for_timeout(8_000)  # the last inference is behind by a few seconds
            page.screenshot(path=FIGURE)
    finally:
        demo.send_signal(signal.SIGINT)
        demo.communicate(timeout=SECONDS)


if __name__ == "__main__":
    main()
