import hashlib
import json

import pytest
from tests.campaign.people import new_desk

import quietcrowd as qc
from quietcrowd.campaign.web import pages
from quietcrowd.campaign.web.worker_page import WORKER_PAGE, saved_page

INVITE = f"qci_{'x' * 43}"


@pytest.fixture
def page(server):
    """Return the path of the page of a campaign."""
    return f"j/{new_desk(server).campaign()}"


@pytest.mark.grid
@pytest.mark.parametrize("behind", ["", "/", "/PAGE", f"/PAGE#i={INVITE}"])
def test_a_server_of_this_release_passes(run, server, page, behind):
    status, output, errors = run("worker", "verify", f"{server.url}{behind.replace('PAGE', page)}")
    digest = hashlib.sha384(saved_page(server.url).content).hexdigest()
    assert (status, output) == (0, f"saved page: SHA-384 {digest}\n")
    assert f"are those of quietcrowd {qc.__version__}" in errors
    assert INVITE not in errors


def test_a_campaign_that_there_is_not_is_one_sentence(run, server):
    status, output, errors = run("worker", "verify", f"{server.url}/j/{'1' * 32}")
    assert (status, output) == (2, "")
    assert "has no such campaign" in errors


def test_a_changed_page_is_told_in_a_line(run, server, page, monkeypatch):
    changed = pages.PageFile(content=WORKER_PAGE.content + b" ", media_type=WORKER_PAGE.media_type)
    monkeypatch.setattr(pages, "WORKER_PAGE", changed)
    status, output, errors = run("worker", "verify", f"{server.url}/{page}")
    assert status == 1
    told, saved = output.splitlines()
    assert told == (
        f"{page}: differs: {changed.integrity}, in this release {WORKER_PAGE.integrity}"
    )
    assert saved.startswith("saved page: SHA-384 ")
    assert "1 difference. Do not answer there." in errors
    status, output, _ = run("worker", "verify", server.url, "--json")
    document = json.loads(output)
    assert (status, document["same"], len(document["differences"])) == (1, False, 1)
    assert document["server"] == server.url


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://crowd.example", "without encryption"),
        ("https://[", "must have the form"),
        ("https://crowd.example/?secret", "without ? or #"),
        (f"https://crowd.example/j/{'1' * 32}?PROLIFIC_PID=secret", "must have the form"),
        ("http://127.0.0.1:1", "cannot be reached"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(run, url, told):
    status, output, errors = run("worker", "verify", url)
    assert (status, output) == (2, "")
    assert told in errors
    assert errors.count("\n") == 1
