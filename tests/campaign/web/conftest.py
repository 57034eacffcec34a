"""What the tests of pages share: a browser, and people in it."""

from contextlib import ExitStack

import pytest
from tests.campaign.web.browser import chromium
from tests.campaign.web.people_in_browsers import somebody


@pytest.fixture(scope="module")
def browser():
    """Give Chromium to the tests of a file, no longer: while it lives, asyncio cannot run here.

    Skip where there is none.
    """
    with chromium() as started:
        yield started


@pytest.fixture
def person(browser):
    """Return a way to have somebody sit down at a browser of their own; see `somebody`."""
    with ExitStack() as stack:
        yield lambda *kind, **options: stack.enter_context(somebody(browser, *kind, **options))
