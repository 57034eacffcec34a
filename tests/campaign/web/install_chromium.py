"""Installs Chromium from Debian's packages where there is none, for the tests of pages.

Usage: python -m tests.campaign.web.install_chromium
"""

from tests.campaign.debian import Program
from tests.campaign.web.browser import HOW_TO_GET_IT, find_chromium

CHROMIUM = Program(
    name="Chromium", package="chromium", find=find_chromium, how_to_get_it=HOW_TO_GET_IT
)

if __name__ == "__main__":
    CHROMIUM.provide()
