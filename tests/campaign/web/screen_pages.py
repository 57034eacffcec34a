"""The worker's page with a device that keeps and sends nothing: its screens alone."""

import json
import re
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from tests.campaign.promises import PROMISES
from tests.campaign.web.browser import MEDIA, ORIGIN

import quietcrowd as qc
from quietcrowd.campaign.terms.channels import report_rule
from quietcrowd.campaign.web.files import PAGE, WORKER, fill
from quietcrowd.campaign.web.worker_page import (
    MESSAGES,
    WORKER_POLICY,
    messages_blocks,
)
from quietcrowd.privacy.guarantee import finite_loss

CAMPAIGN = "0123456789abcdef" * 2
INVITE = f"qci_{'a' * 43}"
KEY = f"qcw_{'b' * 43}"
LINK = f"{ORIGIN}/j/{CAMPAIGN}"
FAKE_DEVICE = Path(__file__).parent / "screens" / "device.js"

BIRDS = qc.RandomizedResponse(domain=qc.Categorical(["no", "yes", "cannot tell"]), epsilon=1.0)


def numbered_tasks(count, data=None):
    return [
        {
            "id": f"{place:032x}",
            "name": f"t{place}",
            "data": data or {"question": f"Is it {place}?"},
        }
        for place in range(1, count + 1)
    ]


def guarantee_of(mechanism, answers, tasks):
    """Return what is lost, as the page's modules say it."""
    guarantee = mechanism.guarantee(answers=answers, tasks=tasks)
    tail = guarantee.tail

    def losses(one):
        return {
            "epsilon": finite_loss(one.epsilon),
            "linkedEpsilon": finite_loss(one.linked_epsilon),
            "workerEpsilon": finite_loss(one.total_epsilon),
        }

    return {
        "answers": guarantee.answers,
        "tasks": guarantee.tasks,
        "linked": guarantee.linked,
        **losses(guarantee),
        "delta": guarantee.delta,
        "participationProtected": guarantee.participation_protected,
        "tail": tail and {"probability": tail.probability, **losses(tail)},
    }


def given(mechanism=BIRDS, tasks=3, answers=None, **changes):
    """Return what a device says of a campaign; `changes` go to the terms, or beside them."""
    listed = numbered_tasks(tasks) if isinstance(tasks, int) else tasks
    most = answers or len(listed)
    terms = {
        "campaign": CAMPAIGN,
        "title": "Birds",
        "description": "You hear a song.\nSay what you think.",
        "mechanism": mechanism.to_dict(),
        "channel": mechanism.channel.describe(),
        "report": report_rule(mechanism, len(listed)).to_dict(),
        "answers": most,
        "linked": 1,
        "tasks": len(listed),
        "guarantee": guarantee_of(mechanism, most, len(listed)),
        "promises": PROMISES,
        "allotment": None,
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


def document(more_messages=None, server=None):
    """Return the page; `server` is that of a saved one."""
    blocks = [messages_blocks()]
    for language, catalog in (more_messages or {}).items():
        data = json.dumps(catalog).replace("<", r"\u003c")
        blocks.append(f'<script type="application/json" data-messages="{language}">{data}</script>')
    page = fill(WORKER[PAGE].text, {MESSAGES: "\n".join(blocks)})
    return page if server is None else page.replace("<html", f'<html data-server="{server}"', 1)


@contextmanager
def screens(browser, state, *, address=f"{LINK}#i={INVITE}", page_text=None, **options):
    """Give the page as it opens.

    What the device is asked for is `calls` in the page. What should not be is in `page.told`:
    dialogs, what the console says, requests to elsewhere.
    """
    context = browser.new_context(**{"locale": "en-US", **options})
    page = context.new_page()
    page.told = []
    page.on("console", lambda message: page.told.append(message.text))
    page.on("pageerror", lambda error: page.told.append(str(error)))
    page.on("dialog", lambda dialog: (page.told.append(dialog.type), dialog.accept()))
    page.add_init_script(f"window.given = {json.dumps(state)}; window.calls = [];")
    text = page_text or document()

    def answer(route):
        path = urlsplit(route.request.url).path
        if path == "/j/service_worker.js":
            route.fulfill(body="", content_type=MEDIA[".js"])
        elif path.startswith("/j/"):
            headers = {"content-security-policy": WORKER_POLICY}
            route.fulfill(body=text, content_type=MEDIA[".html"], headers=headers)
        elif path == "/worker/device/device.js":
            route.fulfill(body=FAKE_DEVICE.read_bytes(), content_type=MEDIA[".js"])
        elif (file := WORKER.get(path.removeprefix("/worker/"))) is not None:
            route.fulfill(body=file.content, content_type=MEDIA[Path(path).suffix])
        else:
            page.told.append(f"request: {route.request.url}")
            route.fulfill(status=404)

    context.route("**/*", answer)
    page.goto(address)
    page.locator("h1[tabindex]").wait_for()
    yield page
    context.close()


def press(page, name):
    """Press a button by its whole name."""
    page.get_by_role("button", name=name, exact=True).click()


def arrive(page, heading):
    """Wait for the screen of a heading: it has the focus, and the title is its."""
    page.get_by_role("heading", level=1, name=heading, exact=True).wait_for()
    page.locator("h1:focus").wait_for()
    page.locator("[inert]").first.wait_for(state="detached")
    assert page.title().startswith(heading)


def asked(page, place):
    """Wait for a question: its heading has the focus, and the title does not name it."""
    page.locator("#count").get_by_text(re.compile(rf"^{place} (of|von) ")).wait_for()
    page.locator("h1:focus").wait_for()
    page.locator("[inert]").first.wait_for(state="detached")
    assert re.match(rf"(Question|Frage) {place} · ", page.title())


def consider(page, go="Continue", heading="Before you start"):
    """Go from the first screen to that of consent."""
    press(page, go)
    arrive(page, heading)


def unfold(page):
    """Open all details."""
    page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")


def joined(page):
    """Take part, and wait for the first question."""
    consider(page)
    press(page, "Take part")
    asked(page, 1)


def resumed(page, place=1):
    """Go on after coming back."""
    press(page, "Go on")
    asked(page, place)


def choose(page, answer):
    """Give an answer by its button."""
    page.get_by_role("group").get_by_role("button", name=answer, exact=True).click()


def calls(page, name):
    """Return what the device was asked for under a name."""
    return [values for one, *values in page.evaluate("calls") if one == name]


def keys_used():
    """Return the keys of messages that the page's screens name."""
    text = "\n".join(
        file.text for path, file in WORKER.items() if path == PAGE or path.startswith("page/")
    )
    return set(
        re.findall(r"[\"`]((?:screen|page|refusal|distribution|consent)\.[a-z.-]*[a-z])[\"`]", text)
    )
