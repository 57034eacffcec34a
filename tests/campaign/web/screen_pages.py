"""The worker's page with a device that keeps and sends nothing: its screens alone."""

import json
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from tests.campaign.web.browser import MEDIA, ORIGIN

from quietcrowd.campaign.web.files import PAGE, WORKER, fill
from quietcrowd.campaign.web.worker_page import (
    IMPORT_MAP,
    MESSAGES,
    WORKER_POLICY,
    messages_blocks,
)

CAMPAIGN = "0123456789abcdef" * 2
INVITE = f"qci_{'a' * 43}"
KEY = f"qcw_{'b' * 43}"
LINK = f"{ORIGIN}/j/{CAMPAIGN}"
FAKE_DEVICE = Path(__file__).parent / "screens" / "device.js"

PROMISES = {
    "requester": "Institute of Birds",
    "contact": "birds@example.org",
    "purpose": "To learn how well people tell birds apart by their songs.",
    "retention_days": 90,
    "at_least": 5,
}
LABELS = {"kind": "categorical", "labels": ["yes", "no", "cannot tell"]}
LEVELS = {"kind": "ordinal", "levels": [1, 2, 3, 4, 5]}
RANGE = {"kind": "interval", "low": 0.0, "high": 10.0}


def numbered_tasks(count):
    return [
        {"id": f"{place:032x}", "name": f"t{place}", "data": {"question": f"Is bird {place} red?"}}
        for place in range(1, count + 1)
    ]


def given(domain=LABELS, tasks=3, answers=None, **changes):
    """Return what a device says of a campaign; `changes` go to the terms or beside them."""
    listed = numbered_tasks(tasks) if isinstance(tasks, int) else tasks
    terms = {
        "campaign": CAMPAIGN,
        "title": "Birds",
        "description": "You hear a song.\nSay what you think.",
        "mechanism": {"mechanism": "one-layer", "version": 1, "domain": domain},
        "channel": {},
        "report": {"kind": "value", "every_task": False},
        "answers": answers or len(listed),
        "linked": 1,
        "tasks": len(listed),
        "guarantee": {},
        "promises": PROMISES,
    }
    reports = [{"task": one["name"], "value": "no", "participation": None} for one in listed]
    state = {
        "terms": terms,
        "tasks": listed,
        "images": {},
        "spent": 1.5,
        "epsilon": 1.0,
        "asked": {"reused": [], "repeated": []},
        "receipt": {
            "reports": reports,
            "sketch": None,
            "epsilon": float(len(listed)),
            "withdrawalKey": KEY,
            "completionCode": "BIRD-77",
        },
    }
    for name, value in changes.items():
        (terms if name in terms else state)[name] = value
    return state


def _document(more_messages):
    blocks = [messages_blocks()]
    for language, catalog in more_messages.items():
        data = json.dumps(catalog).replace("<", r"\u003c")
        blocks.append(
            f'<script type="application/json" data-messages="{language}">{data}</script>'
        )
    return fill(WORKER[PAGE].text, {IMPORT_MAP: "", MESSAGES: "\n".join(blocks)})


@contextmanager
def screens(browser, state, *, address=f"{LINK}#i={INVITE}", messages=None, **options):
    """Give the page as it opens; what the device was asked for is `calls` in it."""
    context = browser.new_context(**{"locale": "en-US", **options})
    page = context.new_page()
    page.told = []
    page.on("dialog", lambda dialog: (page.told.append(dialog.type), dialog.dismiss()))
    page.on("console", lambda message: page.told.append(message.text))
    page.on("pageerror", lambda error: page.told.append(str(error)))
    page.add_init_script(f"window.given = {json.dumps(state)}; window.calls = [];")
    document = _document(messages or {})

    def answer(route):
        path = urlsplit(route.request.url).path
        if path.startswith("/j/") and not path.endswith(".js"):
            headers = {"content-security-policy": WORKER_POLICY}
            route.fulfill(body=document, content_type=MEDIA[".html"], headers=headers)
        elif path == "/worker/device/device.js":
            route.fulfill(body=FAKE_DEVICE.read_bytes(), content_type=MEDIA[".js"])
        elif (file := WORKER.get(path.removeprefix("/worker/"))) is not None:
            route.fulfill(body=file.content, content_type=MEDIA[Path(path).suffix])
        else:
            route.fulfill(status=404)

    context.route("**/*", answer)
    page.goto(address)
    page.locator("h1[tabindex]").wait_for()
    yield page
    context.close()


def calls(page, name):
    """Return what the device was asked for under a name."""
    return [values for one, *values in page.evaluate("calls") if one == name]
