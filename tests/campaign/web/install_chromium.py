"""Installs Chromium from Debian's packages where there is none, for the tests of pages.

Most of them run in Chromium without windows, which is a package of its own.

Usage: python -m tests.campaign.web.install_chromium
"""

from tests.campaign.debian import Program
from tests.campaign.web.browser import HOW_TO_GET_IT, find_chromium, find_headless_shell

CHROMIUM = Program(
    name="Chromium", package="chromium", find=find_chromium, how_to_get_it=HOW_TO_GET_IT
)

HEADLESS_SHELL = Program(
    name="chromium-headless-shell",
    package="chromium-headless-shell",
    find=find_headless_shell,
    how_to_get_it="chromium-headless-shell is not installed: tests of pages take twice as long.",
)

if __name__ == "__main__":
    CHROMIUM.provide()
    HEADLESS_SHELL.provide()
