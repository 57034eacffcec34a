"""The screens of the worker's page that the pages on campaigns show are those of the page."""

import pytest
from tests.campaign.web.draw_studio import FIGURES
from tests.campaign.web.draw_worker import show

pytestmark = pytest.mark.slow


def test_every_picture_has_a_screen(browser):
    shown = set()
    for name, page, last in show(browser):
        assert page.locator(last).first.is_visible()
        assert page.told == []
        shown.add(f"worker-{name}.png")
    assert shown == {path.name for path in FIGURES.glob("worker-*.png")}
