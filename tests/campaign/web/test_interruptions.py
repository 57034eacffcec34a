"""Whatever comes between: a worker's reports are drawn once, and the server gets them once."""

import json

import pytest
from tests.campaign.waiting import in_time
from tests.campaign.web.browser import own_chromium
from tests.campaign.web.people_in_browsers import new_person
from tests.campaign.web.wire import wire

pytestmark = pytest.mark.slow

WAY = "Sending"


def held(desk, key):
    """Return what the server holds of a worker."""
    return desk.server.client(key).get("/me/reports").raise_for_status().json()["reports"]


def check_one_report_each(desk, key, uploads):
    """Check that all uploads are one and the same, and that the server holds what it says."""
    [upload] = {*uploads}
    sent = {one["report_id"] for one in json.loads(upload)["reports"]}
    assert len(sent) == 3
    assert {one["report_id"] for one in held(desk, key)} == sent


def draws(*workers):
    """Return how often random words were asked for in whole draws: of three words each."""
    return sum(words == ["Uint32Array", 3] for worker in workers for words in worker.words)


def told_off(*workers):
    """Return the worker who is told that another tab was faster."""
    found = []

    def is_told():
        found.extend(one for one in workers if one.page.locator("#alert").inner_text())
        return found

    assert in_time(is_told)
    return found[0]


@pytest.mark.nightly
def test_fifty_edits_a_reload_and_two_tabs_draw_once(person, desk):
    worker = person(quick=True)
    worker.open(desk.link(desk.campaign(about="edited in a browser"))).join()
    for place in range(50):
        worker.press(["no", "yes"][place % 2])
        worker.question(2)
        worker.press(["Undo", "Back"][place // 2 % 2])
        worker.question(1)
    worker.answer(["yes", "no", "no"])
    worker.come_back()
    worker.go_back(3)
    worker.answer(["no", "yes", "yes"])
    other = new_person(worker.page.context, worker.wire, quick=True)
    other.open(worker.page.url)
    other.press("Go on")
    other.go_back(3)
    other.answer(["yes", "yes", "no"])
    for tab in (worker, other):
        tab.page.get_by_role("button", name="Send", exact=True).dispatch_event("click")
    late = told_off(worker, other)
    first = other if late is worker else worker
    key = first.arrive()
    late.page.locator("#send").wait_for()
    assert "were already sent, or wait to be sent" in late.alert()
    drawn = draws(worker, other)
    late.come_back()
    assert late.arrive() == key
    assert drawn + draws(late) == 1
    assert len(worker.wire.uploads) == 1
    check_one_report_each(desk, key, worker.wire.uploads)


@pytest.mark.nightly
def test_twenty_lost_answers_and_a_network_that_goes_and_comes_back(person, desk):
    worker = person(quick=True)
    worker.wire.losses["/me/reports"] = 20
    worker.play(desk.link(desk.campaign(about="lost in a browser")), ["yes", "no", "yes"]).send()
    worker.heading(WAY)

    def are_lost():
        worker.page.clock.fast_forward(35_000)
        return worker.wire.losses["/me/reports"] <= 10

    assert in_time(are_lost)
    worker.page.get_by_text("No connection. Your reports are safe").wait_for()
    worker.wire.cut = True
    before = worker.words
    worker.come_back()
    worker.heading(WAY)
    worker.page.get_by_text("No connection. Your reports are safe").wait_for()
    worker.wire.cut = False
    key = worker.arrive()
    assert len(worker.wire.uploads) > 20
    assert [kind for kind, _ in worker.words if kind != "Uint8Array"] == []  # since the reload
    assert before.count(["Uint32Array", 3]) == 1
    check_one_report_each(desk, key, worker.wire.uploads)


def through(opened):
    """Return the arguments of a browser whose requests all go through a wire."""
    return (f"--proxy-server={opened.url}", "--proxy-bypass-list=<-loopback>", "--lang=en-US")


@pytest.mark.nightly
def test_a_browser_that_is_killed_before_the_acknowledgement_sends_the_same(
    browser, desk, tmp_path
):
    """By day a browser is killed with the modules alone, which send: see `worker/device`."""
    link = desk.link(desk.campaign(about="killed in a browser"))
    with wire() as opened:
        with own_chromium(browser, tmp_path, *through(opened)) as (context, kill):
            worker = new_person(context, opened)
            worker.play(link, ["yes", "no", "yes"])
            opened.afterwards["/me/reports"] = kill
            worker.send()
            worker.page.wait_for_event("close")
            assert len(opened.uploads) == 1
        opened.afterwards.clear()
        with own_chromium(browser, tmp_path, *through(opened)) as (context, _):
            worker = new_person(context, opened)
            worker.open(link.partition("#")[0])
            worker.press("Go on")
            key = worker.arrive()
        assert len(opened.uploads) == 2
        check_one_report_each(desk, key, opened.uploads)
