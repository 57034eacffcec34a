"""Screens of campaigns with a menu or rounds, and what makes the page installable."""

import json

import pytest
from tests.campaign.terms.test_rounds import rounds
from tests.campaign.web.screen_pages import arrive, calls, choose, given, press, screens

from quietcrowd.accounting.consent import show_most_sure
from quietcrowd.campaign.web.worker_page import (
    APP,
    ICON,
    SAVED_TEMPLATE,
    SERVED,
    WORKER_PAGE,
    WORKER_POLICY,
)

pytestmark = pytest.mark.slow

SHARE = {"share": 0.7, "expected": {"error": 0.2375, "guess": 0.5}}
NEXT = {"number": 9, "begin": rounds().begin(9) * 1_000}
SPENT = {"within": 1.0, "all": 2.0, "most": 5.0}


def with_menu():
    """Return a state with two choices, of which the first loses less."""
    terms = given(tasks=2)["terms"]
    losses = [{**terms["guarantee"], "workerEpsilon": epsilon} for epsilon in (0.5, 4.0)]
    menu = [
        {**terms, **SHARE, "guarantee": loss, "choice": place} for place, loss in enumerate(losses)
    ]
    return {**given(tasks=2), "menu": menu, "terms": menu[0]}


def in_rounds(**changed):
    terms = {"rounds": rounds().to_dict(), "losses": rounds().losses(1.0).to_dict()}
    state = given(tasks=2)
    return {
        **state,
        "terms": {**state["terms"], **terms, "choice": None},
        "nextRound": NEXT,
        "roundsSpent": SPENT,
        **changed,
    }


@pytest.mark.parametrize("place", [0, 1])
def test_a_worker_chooses_before_anything_else(browser, place):
    with screens(browser, with_menu(), locale="en-US") as page:
        page.get_by_role("group", name="Choose your protection").wait_for()
        shown = page.locator("main").inner_text()
        for loss in (0.5, 4.0):
            assert f"at most {show_most_sure(loss)} sure" in shown
        assert shown.count("70 of 100 people choose this") == 2
        assert "expects an error of 0.2375 with these shares, and of 0.5 without" in shown
        assert "Choose before you know the questions." in shown
        assert page.locator("input:checked").get_attribute("id") == "choice-0"
        page.locator(f"#choice-{place}").check()
        press(page, "Continue")
        page.locator(".picture, figure").first.wait_for()
        press(page, "Continue")
        arrive(page, "Before you start")
        assert show_most_sure((0.5, 4.0)[place]) in page.locator("main").inner_text()
        press(page, "Take part")
        page.locator("#count").get_by_text("1 of 2").wait_for()
        assert calls(page, "choose") == [[place]]
        assert page.told == []


def test_a_worker_is_asked_again_about_the_choice_of_an_invite(browser):
    state = {**with_menu(), "refuses": {"join": ["refusal.choice-bound", {"choice": 1}]}}
    with screens(browser, state, locale="en-US") as page:
        press(page, "Continue")
        press(page, "Continue")
        arrive(page, "Before you start")
        press(page, "Take part")
        page.get_by_text("belongs to another choice of protection").wait_for()
        assert show_most_sure(4.0) in page.locator("main").inner_text()
        assert calls(page, "choose") == [[0], [1]]


@pytest.mark.parametrize("language", ["en", "de"])
def test_between_rounds_the_page_says_when_the_next_begins(browser, language):
    state = in_rounds(state="joined")
    with screens(browser, state, locale=language, timezone_id="UTC") as page:
        page.locator(".main").click()
        page.get_by_text("2026").wait_for()
        text = page.locator("main").inner_text()
        assert {"en": "December 10, 2026", "de": "10. Dezember 2026"}[language] in text
        assert {"en": "at most 5 in the end", "de": "am Ende höchstens 5"}[language] in text
        assert {"en": "cannot remind you", "de": "nicht erinnern"}[language] in text
        assert page.told == []


def test_a_receipt_says_when_the_next_round_begins(browser):
    state = in_rounds(state="joined", round=2)
    with screens(browser, state, locale="en-US", timezone_id="UTC") as page:
        press(page, "Go on")
        for _ in range(2):
            choose(page, "no")
        press(page, "Send")
        arrive(page, "Sent. Thank you!")
        text = page.locator("main").inner_text()
        assert "Your next round begins on December 10, 2026" in text
        assert "1 in any 3 rounds so far, 2 in all rounds so far, at most 5 in the end" in text


def test_a_missed_round_is_told(browser):
    state = in_rounds(state="late", nextRound=None)
    with screens(browser, state, locale="en-US") as page:
        arrive(page, "A round was missed")
        press(page, "Go on")
        arrive(page, "Until your next round")
        page.get_by_text("You have no further round").wait_for()


def test_the_page_is_installable():
    """Without a start_url, a browser installs the address of the campaign, without its invite."""
    app = json.loads(SERVED["worker/app.webmanifest"].text)
    assert app["display"] == "standalone"
    assert app["icons"] == [{"src": ICON, "sizes": "any", "type": "image/svg+xml"}]
    assert f"worker/{ICON}" in SERVED
    assert not {"start_url", "scope", "id"} & app.keys()
    link = f'<link rel="manifest" href="../worker/{APP}">'
    assert link in WORKER_PAGE.text
    assert link not in SAVED_TEMPLATE.text
    assert "manifest-src 'self'" in WORKER_POLICY
