"""What a browser keeps of a visit: no requester's key, no token; a credential in IndexedDB alone.

A browser of its own visits a page and is closed as people close it; then all files of its profile
folder are searched.
"""

import struct
from contextlib import contextmanager

import pytest
from tests.campaign.waiting import in_time
from tests.campaign.web.browser import own_chromium
from tests.campaign.web.people_in_browsers import RequesterInBrowser, WorkerInBrowser, new_person

import quietcrowd as qc
from quietcrowd.campaign.results.inference_process import Inferrer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.QuietcrowdWarning"),
]

NUMBERS = qc.LaplaceMechanism(
    domain=qc.Interval(low=0.0, high=10.0), epsilon=1.0, participation="released"
)
ANSWER = 7.8125
ENGLISH = "--lang=en-US"


@contextmanager
def visit(browser, profile, kind, last):
    """Give a person at a new page; at the end the browser is closed, and has written all files.

    `last` is of the last address: Chromium writes its history as it ends.
    """
    with own_chromium(browser, profile, ENGLISH) as (context, _):
        yield new_person(context, None, kind, quick=kind is WorkerInBrowser)
        context.browser.new_browser_cdp_session().send("Browser.close")
        assert in_time(lambda: not (profile / "SingletonLock").is_symlink())
        history = profile / "Default" / "History"
        assert in_time(lambda: last.encode() in history.read_bytes())


def spellings(text):
    """Return how a text may lie in a file: also the end of it, if that is long enough."""
    return [part.encode(code) for part in (text, text[-32:]) for code in ("utf-8", "utf-16-le")]


def holders(profile, *spelled):
    """Return the files of a folder that hold one of some byte strings, by where they lie."""
    files = [file for file in profile.rglob("*") if file.is_file()]
    contents = {file.relative_to(profile).as_posix(): file.read_bytes() for file in files}
    assert len(contents) > 20
    return sorted(
        name for name, content in contents.items() if any(one in content for one in spelled)
    )


@pytest.fixture
def campaign(desk):
    """Return a campaign with results."""
    made = desk.campaign(at_least=3, title="Birds in a profile")
    for _ in range(3):
        desk.worker(made).send_values(1, 0, 1)
    Inferrer(desk.server.database).infer(bytes.fromhex(made))
    return made


@pytest.mark.nightly
def test_a_key_in_an_address_would_be_found(browser, desk, tmp_path):
    """That is why no key is taken from there."""
    with visit(browser, tmp_path, RequesterInBrowser, desk.key) as requester:
        requester.page.goto(f"{desk.server.url}/dashboard/#k={desk.key}")
        requester.alert()
    found = holders(tmp_path, *spellings(desk.key))
    assert "Default/History" in found
    assert any(name.startswith("Default/Sessions/") for name in found)


@pytest.mark.nightly
def test_a_requester_leaves_no_key_and_no_token(browser, desk, campaign, tmp_path):
    tokens, link = [], desk.dashboard(campaign)
    code = link.partition("#c=")[2]

    def note(response):
        if response.url.endswith("/dashboard-tokens"):
            tokens.append(response.json()["token"])

    with visit(browser, tmp_path, RequesterInBrowser, code) as requester:
        page = requester.page
        requester.open(desk.server.url, "", desk.key)
        requester.go("Birds in a profile", "Results")
        page.get_by_text("Is it 1?").wait_for()
        with page.expect_download():
            requester.press("Truths, CSV")
        page.reload()
        requester.field.fill(desk.key)  # typed, and then left
        page.on("response", note)
        requester.follow(link)
        page.get_by_text("Is it 1?").wait_for()
        assert len(tokens) == 1
    assert holders(tmp_path, *spellings(campaign)) != []
    assert holders(tmp_path, *spellings(desk.key)) == []
    assert holders(tmp_path, *spellings(tokens[0])) == []
    spent = desk.server.client(code).post(f"/campaigns/{campaign}/dashboard-tokens")
    assert spent.status_code == 401


@pytest.mark.nightly
@pytest.mark.parametrize("drafts", [False, True])
def test_a_worker_leaves_a_credential_in_indexeddb_alone(browser, desk, tmp_path, drafts):
    """Where drafts are kept, bytes of a deleted one may stay until the browser overwrites them."""
    campaign = desk.campaign(NUMBERS, about="a number in a profile", drafts=drafts)
    with visit(browser, tmp_path, WorkerInBrowser, f"/j/{campaign}") as worker:
        worker.play(desk.link(campaign), [ANSWER, None, ANSWER]).send()
        credential = worker.arrive()
    found = holders(tmp_path, *spellings(credential))
    assert found != []
    assert all("/IndexedDB/" in name for name in found)
    double = struct.pack("<d", ANSWER)
    answers = holders(tmp_path, double, *spellings(str(ANSWER)))
    assert all(drafts and "/IndexedDB/" in name for name in answers)
