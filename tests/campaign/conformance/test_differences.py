"""Differences between the two clients: the table of the requirements, and tests of its rows."""

import re
from pathlib import Path

import pytest
from tests.campaign.conformance.cases import (
    ASKED,
    CAMPAIGN,
    LABELS,
    RENAMED,
    RIDGE,
    campaign_of,
    tampered,
    with_earlier_members,
)
from tests.campaign.conformance.plays import BOTH, LIKE_IT, ONE, OTHER, REFUSED
from tests.campaign.conformance.server import ORIGIN, OTHER_ORIGIN, Server
from tests.campaign.mechanisms import MECHANISMS

import quietcrowd as qc

PAGE = Path(__file__).parents[3] / "research" / "docs" / "client-differences.md"

DIFFERENCES = {
    "other servers": (
        "one ledger and one store of questions for all servers of a directory",
        "one origin: questions and losses on other servers are unknown, and the page says so",
    ),
    "storage": (
        "files that only their owner can read, which remain",
        "the browser's storage: a private window, or a browser that needs space, deletes "
        "budget, questions and credential; the page says so",
    ),
    "time of the noise": (
        "before the first answer, in a memo, if the mechanism supports it; destroyed when "
        "reports are stored",
        "when the answers are sent; nothing of it is stored",
    ),
    "time of the request": (
        "immediately: the noise existed before the answers",
        "a fixed time after the click, a multiple of four seconds",
    ),
    "source of random words": (
        "SHAKE-256 of a key of 256 bits from the system, if there is a memo; otherwise the system",
        "the browser's generator",
    ),
    "budget": (
        "a budget with a delta uses a filter; before the first question the client shows how "
        "many answers fit, and asks no more",
        "losses are summed; each question shows how many answers fit, and accepts no more; "
        "reports beyond the budget are rejected at sending",
    ),
    "mechanisms": (
        "known ones: the channel must follow from the mechanism's parameters",
        "any valid channel, except sketches that solve a ridge regression; parameters are not read",
    ),
    "channels of earlier campaigns": (
        "read, with the kinds laplace and bounded, without a secret weight per worker, or in "
        "earlier words",
        "rejected",
    ),
    "answers as texts": (
        '"7" is the number 7, as in files',
        "no: answers have the type of their domain",
    ),
    "configuration and tasks": (
        "read again in each process, and rejected if they have changed",
        "stored when the worker joins",
    ),
    "before sending": (
        "joins once more, with the same bytes, and takes the place",
        "takes the place",
    ),
    "after losing the device": (
        "the credential is a file to copy",
        "a withdrawal key to write down, which works anywhere",
    ),
    "data on the server": (
        "can be shown, and is compared with the sent data",
        "only sent data are shown",
    ),
    "user agent": (
        "a constant",
        "that of the browser, as on every page",
    ),
    "compressed responses": (
        "rejected, as are responses beyond a length",
        "decompressed by the browser",
    ),
    "source of the code": (
        "the wheel",
        "the server, unless the page was saved and compared",
    ),
    "languages": (
        "English",
        "English and German",
    ),
    "rounds": (
        "`worker answer` prints when the next one begins",
        "shows when the next one begins; installable, so that browsers keep its data and it opens "
        "offline. It cannot remind the worker: a push service would learn who takes part",
    ),
}


def test_the_page_on_clients_has_this_table():
    text = PAGE.read_text("utf-8").partition("# Differences between the two clients")[2]
    rows = re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \|$", text, re.MULTILINE)
    assert {what: (python, page) for what, python, page in rows[1:]} == DIFFERENCES


def outcomes(client, steps, *campaigns):
    """Return what steps of a device give."""
    with client.device(Server(list(campaigns)), ORIGIN) as device:
        return [device.take(step, *given) for step, *given in steps]


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "again", "spent"),
    [("python", [[], ["t0", "t1"]], 2), ("page", [[], []], 0)],
)
def test_other_servers(request, kind, again, spent):
    client = request.getfixturevalue(kind)
    with client.device(Server([ONE, LIKE_IT]), ORIGIN) as device:
        assert device.take("answer", CAMPAIGN, BOTH) == 2
        device.move(OTHER_ORIGIN)
        device.take("join", OTHER)
        assert device.take("again", OTHER) == again
        assert device.take("spent", OTHER) == pytest.approx(spent)


@pytest.mark.nightly
@pytest.mark.slow
def test_a_memo_is_there_before_the_first_answer(python, page):
    with python.device(Server([ONE]), ORIGIN) as device:
        device.take("join", CAMPAIGN)
        memos = list(device.folder.rglob("memo"))
        assert len(memos) == 1
        device.take("answer", CAMPAIGN, BOTH)
        assert not memos[0].exists()
    with page.device(Server([ONE]), ORIGIN) as device:
        device.take("join", CAMPAIGN)
        [kept] = device.kept()
        members = {"name", "origin", "credential", "configHash", "invite", "state"}
        assert kept.keys() <= members


@pytest.mark.nightly
@pytest.mark.parametrize(("kind", "given"), [("python", None), ("page", REFUSED)])
def test_the_sketch_that_solves(request, kind, given):
    ridge = campaign_of(MECHANISMS[RIDGE])
    assert outcomes(request.getfixturevalue(kind), [("join", CAMPAIGN)], ridge) == [given]


@pytest.mark.slow
@pytest.mark.parametrize("name", RENAMED)
def test_parameters_of_a_mechanism(python, page, name):
    assert python.read(tampered(name)) == REFUSED
    assert page.read(tampered(name)) != REFUSED


@pytest.mark.slow
@pytest.mark.parametrize("name", ["two-layer", "laplace", "duchi"])
def test_channels_of_earlier_campaigns(python, page, name):
    assert python.read(with_earlier_members(name)) != REFUSED
    assert page.read(with_earlier_members(name)) == REFUSED


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "given"), [("python", 1), ("page", REFUSED)])
def test_answers_as_texts(request, kind, given):
    numbers = campaign_of(MECHANISMS["laplace"])
    steps = [("answer", CAMPAIGN, {"t0": "7"})]
    assert outcomes(request.getfixturevalue(kind), steps, numbers) == [given]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "given"), [("python", REFUSED), ("page", 2)])
def test_a_configuration_that_changes_after_joining(request, kind, given):
    other = campaign_of(qc.RandomizedResponse(domain=LABELS, epsilon=4.0), ASKED)
    server = Server([ONE])
    with request.getfixturevalue(kind).device(server, ORIGIN) as device:
        device.take("join", CAMPAIGN)
        server.campaigns[0] = other
        device.take("reload")
        assert device.take("answer", CAMPAIGN, BOTH) == given
    assert all(f'"config_hash":"{ONE.hash}"' in body for _, body in server.uploads)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "asked"), [("python", ["PUT", "PUT"]), ("page", ["PUT"])])
def test_before_sending(request, kind, asked):
    server = Server([ONE])
    with request.getfixturevalue(kind).device(server, ORIGIN) as device:
        device.take("join", CAMPAIGN)
        before = len(server.requests)
        assert server.requests[before - 1][:2] == ("GET", "/api/v1/me/tasks")
        device.take("answer", CAMPAIGN, BOTH)
    *first, last = server.requests[before:]
    assert [method for method, _, _ in first] == asked
    assert first[-1] == ("PUT", "/api/v1/me/place", "")
    assert last[:2] == ("POST", "/api/v1/me/reports")
    joins = {body for _, path, body in server.requests if "/participants/" in path}
    assert joins == {f'{{"config_hash":"{ONE.hash}"}}'}


def test_languages():
    folder = PAGE.parents[2] / "src" / "quietcrowd" / "campaign" / "web" / "worker" / "messages"
    assert sorted(file.stem for file in folder.iterdir()) == ["de", "en"]
