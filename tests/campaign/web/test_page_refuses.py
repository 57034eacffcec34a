"""What a page refuses, and in which words: a server, or somebody between, that is not honest."""

import json
import re

import pytest
from tests.campaign.web.screen_pages import unfold

from quietcrowd.campaign.terms.canonical import canonical_hash, canonical_json

pytestmark = pytest.mark.slow


def configuration(desk, campaign):
    """Return what workers of a campaign agree to."""
    public = desk.server.client().get(f"/public/campaigns/{campaign}").raise_for_status()
    return public.json()["config"]


def forge(wire, campaign, config):
    """Let a page see another configuration than the server's, with the hash that it has."""

    def public(content, _):
        forged = {"config": config, "config_hash": canonical_hash(config).hex()}
        return json.dumps({**json.loads(content), **forged}).encode()

    wire.changes[f"/campaigns/{campaign}$"] = public
    wire.changes["/config$"] = lambda *_: canonical_json(config)


def check_nothing_was_drawn_or_sent(worker):
    assert worker.wire.uploads == []
    assert [kind for kind, _ in worker.words if kind == "Uint32Array"] == []


def check_never_joined(worker):
    check_nothing_was_drawn_or_sent(worker)
    assert {one.method for one in worker.wire.sent} == {"GET"}


@pytest.mark.nightly
def test_a_bundle_with_one_more_byte_starts_nothing(person, desk):
    worker = person(service_workers="block")
    worker.wire.changes["/worker/page.js"] = lambda content, _: content + b" "
    with worker.page.expect_event("console"):
        worker.page.goto(desk.link(desk.campaign(about="bundle changed")))
    worker.page.get_by_text("This page has not started.").wait_for()
    assert "or a file of the page is not what" in worker.text()
    assert any("integrity" in line for line in worker.told)
    asked = [one for one in worker.wire.sent if "/api/" in one.path]  # by the page's headers
    assert all(one.fits(r"^GET /api/v1/public/campaigns/\w+(/config)?$") for one in asked)


@pytest.mark.nightly
def test_a_configuration_of_another_hash_is_refused(person, desk):
    campaign = desk.campaign(about="config changed")
    worker = person(service_workers="block")
    worker.wire.changes["/config$"] = lambda content, _: content.replace(b"Birds", b"Words")
    worker.open(desk.link(campaign))
    worker.heading("You cannot answer here")
    assert "The survey arrived damaged or altered" in worker.text()
    check_never_joined(worker)


@pytest.mark.grid
@pytest.mark.parametrize("told", ["guarantee", "consent"])
def test_a_server_that_tells_of_less_loss_is_refused(person, desk, told):
    campaign = desk.campaign(about="loss changed")
    config = configuration(desk, campaign)
    if told == "guarantee":
        config["guarantee"]["worker_epsilon"] = 0.3
    else:
        config["consent"] = [re.sub("[1-9]", "0", one) for one in config["consent"]]
    worker = person(service_workers="block")
    forge(worker.wire, campaign, config)
    worker.open(desk.link(campaign))
    worker.heading("You cannot answer here")
    assert "it can be ε = 3." in worker.text()
    check_never_joined(worker)


@pytest.mark.nightly
def test_copies_of_a_question_that_were_not_told_of_are_refused(person, desk):
    campaign = desk.draft()["id"]
    desk.import_csv(campaign, "task,question\na,Is it red?\nb,Does it sing at night?")
    desk.client.post(f"/campaigns/{campaign}/open").raise_for_status()
    tasks = desk.worker(campaign).tasks()
    for place, task in enumerate(tasks):
        task["data"] = {
            "question": ["Is it red?", "is it RED?"][place]
        }  # equal ones share a report
    config = {**configuration(desk, campaign), "tasks_hash": canonical_hash(tasks).hex()}
    assert config["linked"] == 1
    document = {"config_hash": canonical_hash(config).hex(), "tasks": tasks}

    def answering(document):
        def change(_, headers):
            headers[":status"] = "200"
            return json.dumps(document).encode()

        return change

    worker = person(service_workers="block")
    forge(worker.wire, campaign, config)
    worker.wire.changes["PUT .*/participants/"] = answering({})
    worker.wire.changes["/me/tasks"] = answering(document)
    worker.open(desk.link(campaign))
    worker.consider()
    worker.press("Take part")
    assert "2 questions ask the same or almost the same" in worker.alert()
    check_nothing_was_drawn_or_sent(worker)


@pytest.mark.nightly
def test_a_budget_is_not_exceeded(person, desk):
    """Of three answers, epsilon 1 each, a limit of 2 allows two."""
    worker = person(quick=True, service_workers="block")
    worker.open(desk.link(desk.campaign(about="budget in a browser")))
    worker.consider()
    unfold(worker.page)
    worker.page.get_by_label("Your limit for all surveys on this site").fill("2")
    worker.press("Take part")
    worker.start()
    assert "Your limit leaves 2 answers here." in worker.text()
    worker.choose("yes")
    worker.question(2)
    worker.choose("no")
    worker.heading("Your 2 answers")
    worker.press("Back")
    worker.question(3)
    assert "You have given all 2 answers." in worker.text()
    assert worker.page.get_by_role("button", name="yes").is_disabled()
    check_nothing_was_drawn_or_sent(worker)
    worker.choose(None)
    worker.heading("Your 2 answers")
    worker.send()
    worker.arrive()
    assert len(worker.upload()["reports"]) == 2


@pytest.mark.nightly
def test_a_question_that_was_asked_before_is_told_of_and_gets_the_same_report(person, desk):
    worker = person(quick=True, service_workers="block")
    worker.play(desk.link(desk.campaign(about="asked twice")), ["yes", "no", "yes"]).send()
    worker.arrive()
    first = worker.upload()["reports"]
    worker.wire.sent.clear()
    worker.open(desk.link(desk.campaign(about="asked twice")))
    worker.join()
    assert "You were asked this before. The same report is sent again" in worker.text()
    worker.answer(["no", "yes", "no"])
    assert "You were asked 3 of these questions before" in worker.text()
    worker.send()
    worker.arrive()
    again = worker.upload()["reports"]
    assert sorted(one["value"] for one in again) == sorted(one["value"] for one in first)
    assert [kind for kind, _ in worker.words if kind == "Uint32Array"] == []
