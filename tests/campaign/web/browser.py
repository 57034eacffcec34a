"""A browser for tests of pages: Chromium, without a window, by way of Playwright."""

import os
import shutil
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Error, expect, sync_playwright
from tests.campaign.ports import free_port
from tests.campaign.waiting import LONG, in_time
from tests.programs import running

ORIGIN = "http://localhost:8000"
"""Nothing listens there: requests are answered by `serve`. To a browser it is as safe as HTTPS."""

WORKER = Path(str(files("quietcrowd.campaign.web") / "worker"))
"""The files of the worker's page."""

MEDIA = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".json": "application/json",
}


HOW_TO_GET_IT = (
    "Chromium is not installed: pages are not tested in a browser. make chromium installs it on "
    "Debian, as root or with sudo; elsewhere put chromium on the PATH"
)


OF_ITS_OWN_ACCORD = (
    *("AimEnabled", "AutofillServerCommunication", "HttpsFirstBalancedModeAutoEnable"),
    *("HttpsUpgrades", "LensOverlay", "MediaRouter", "NetworkTimeServiceQuerying"),
    *("OptimizationHints", "PaintHolding", "PreconnectToSearch", "ThirdPartyStoragePartitioning"),
)
"""What Chromium asks its maker's servers beside what pages ask for, as which fields a form has; and
what Playwright needs to be without."""

IN_ADVANCE = "SpareRendererForSitePerProcess"
"""Starts a process for a page that nobody has opened yet: for every browser once more."""

ARGUMENTS = (
    "--no-sandbox",
    f"--disable-features={','.join((*OF_ITS_OWN_ACCORD, IN_ADVANCE))}",
)


def find_chromium():
    """Return Chromium's program; None where there is none."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    return None if found is None else Path(found)


def find_headless_shell():
    """Return Chromium without windows, which is twice as fast; None where there is none."""
    found = shutil.which("chromium-headless-shell")
    return None if found is None else Path(found)


def _there(program):
    if program is None:
        (pytest.fail if os.environ.get("QUIETCROWD_CI") else pytest.skip)(HOW_TO_GET_IT)
    return program


@contextmanager
def chromium():
    """Give a browser; where there is none, skip the test, or fail where all tests must run."""
    program = _there(find_headless_shell() or find_chromium())
    with sync_playwright() as playwright:
        expect.set_options(1_000 * LONG)
        browser = playwright.chromium.launch(
            executable_path=program, args=ARGUMENTS, timeout=1_000 * LONG
        )
        for name in ("new_context", "new_page"):
            setattr(browser, name, _patient(getattr(browser, name)))
        yield browser
        browser.close()


def _patient(make):
    """Return a function that makes contexts or pages that give up waiting after `LONG` seconds."""

    def call(**options):
        made = make(**options)
        made.set_default_timeout(1_000 * LONG)
        return made

    return call


@contextmanager
def own_chromium(browser, profile, *arguments):
    """Give a context of Chromium in processes of its own, and what kills them."""
    program = _there(find_chromium())  # the other one keeps no history
    port = free_port()
    options = [f"--remote-debugging-port={port}", f"--user-data-dir={profile}", "--headless"]
    with running(program, *ARGUMENTS, *options, *arguments, "about:blank") as started:
        yield _connected(browser, port), started.kill


def _connected(browser, port):
    """Return the context of a browser that starts."""
    made = []

    def connects():
        try:
            made.append(browser.browser_type.connect_over_cdp(f"http://127.0.0.1:{port}"))
        except Error:
            return False
        return True

    assert in_time(connects), "the browser does not start"
    context = made[0].contexts[0]
    context.set_default_timeout(1_000 * LONG)
    return context


def wait_for_async(page, predicate, arg=None):
    """Wait until an async function's value is true.

    ``page.wait_for_function`` takes the promise itself for true.
    """
    page.evaluate(
        f"""async (arg) => {{
          const end = Date.now() + {1_000 * LONG};
          while (!(await ({predicate})(arg))) {{
            if (Date.now() > end) throw new Error("it did not come true in time");
            await new Promise((resolve) => setTimeout(resolve, 20));
          }}
        }}""",
        arg,
    )


def serve(page, folders):
    """Answer a page's requests with files: a mapping of paths, as ``/worker``, to folders."""

    def answer(route):
        path = urlsplit(route.request.url).path
        file = _file_at(path, folders)
        if path.endswith("/"):
            route.fulfill(body="<!doctype html><title>test</title>", content_type="text/html")
        elif file is not None:
            route.fulfill(body=file.read_bytes(), content_type=MEDIA[file.suffix])
        else:
            route.fulfill(status=404)

    page.route("**/*", answer)
    page.goto(f"{ORIGIN}/")


def serve_modules(page):
    """Answer a page's requests with the worker's modules, and with those that test them."""
    serve(page, {"": Path(__file__).parent, "/worker": WORKER})


def _file_at(path, folders):
    """Return the file at a path: below the longest path that has a folder; None for none."""
    for start in sorted(folders, key=len, reverse=True):
        if path.startswith(f"{start}/"):
            file = Path(folders[start]) / path.removeprefix(f"{start}/")
            return file if file.is_file() else None
    return None
