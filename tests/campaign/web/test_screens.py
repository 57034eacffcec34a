"""The screens of the worker's page, in Chromium, with a device that keeps and sends nothing."""

import json
import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from tests.campaign.mechanisms import LEVELS, MECHANISMS, RANGE
from tests.campaign.promises import PROMISES
from tests.campaign.web.browser import ORIGIN, wait_for_async
from tests.campaign.web.screen_pages import (
    BIRDS,
    CAMPAIGN,
    INVITE,
    KEY,
    LINK,
    arrive,
    calls,
    document,
    given,
    joined,
    keys_used,
    numbered_tasks,
    press,
    screens,
)
from tests.nightly import nightly

import quietcrowd as qc
from quietcrowd.campaign.device.noise_text import noise_sentences
from quietcrowd.campaign.terms.configuration import agreed_sentences
from quietcrowd.campaign.terms.promises import ALLOTMENTS, Allotment, Promises
from quietcrowd.campaign.web.files import WORKER

CATALOGS = {
    language: json.loads(WORKER[f"messages/{language}.json"].text) for language in ("en", "de")
}

FORBIDDEN = re.compile(r"anonym|\bpip\b|install", re.IGNORECASE)

XSS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "javascript:alert(1)",
    "{{messages}} ${alert(1)} </template><script>alert(1)</script>",
    "<a href='javascript:alert(1)'>press</a>",
    "<iframe srcdoc='<script>parent.alert(1)</script>'></iframe>",
    "<style>*{display:none}</style><form action='//evil.example'><button>Send</button>",
)

pytestmark = pytest.mark.slow


def test_languages_say_the_same():
    keys = [set(catalog) for catalog in CATALOGS.values()]
    assert keys[0] == keys[1]
    places = [
        {key: set(re.findall(r"\{\w+\}", text)) for key, text in catalog.items()}
        for catalog in CATALOGS.values()
    ]
    assert {key: value for key, value in places[0].items() if not key.endswith(".one")} == {
        key: value for key, value in places[1].items() if not key.endswith(".one")
    }
    for catalog in CATALOGS.values():
        assert not [text for text in catalog.values() if FORBIDDEN.search(text)]


def test_messages_of_screens_are_there_and_used():
    used = keys_used()
    assert used <= CATALOGS["en"].keys()
    built = {"screen.true", "screen.false", "page.title"}
    built |= {f"screen.receipt.{column}" for column in ("question", "report", "bit")}
    screens_say = {key for key in CATALOGS["en"] if key.startswith(("screen.", "page."))}
    left = {
        key
        for key in screens_say - used - built
        if key.removesuffix(".one").removesuffix(".heading") not in used
    }
    assert left == set()


def test_a_worker_is_told_what_to_decide_on(browser):
    with screens(browser, given(tasks=20)) as page:
        arrive(page, "Do you want to take part?")
        text = page.locator("main").inner_text()
        promises = Promises(**PROMISES)
        guarantee = BIRDS.guarantee(answers=20)
        for sentence in (
            *agreed_sentences(guarantee, promises),
            *noise_sentences(BIRDS, 20),
            *("Birds", "You hear a song.\nSay what you think.", "There are 20 questions."),
            *(PROMISES["requester"], PROMISES["contact"], PROMISES["purpose"]),
            *("1.5 so far, and at most 21.5 after", "a program that does the same"),
        ):
            assert sentence in text
        assert page.locator("table tr").count() == 4
        link = page.get_by_role("link", name="Save this page as one file")
        assert link.get_attribute("href") == "../worker/saved.html"
        yes, no = (
            page.get_by_role("button", name=name, exact=True)
            for name in ("Take part", "No, thank you")
        )
        assert yes.bounding_box()["width"] == no.bounding_box()["width"]
        assert yes.evaluate("one => getComputedStyle(one).background") == no.evaluate(
            "one => getComputedStyle(one).background"
        )
        assert page.url == LINK
        assert page.evaluate("navigator.serviceWorker.getRegistrations()") == []
        no.click()
        arrive(page, "You are not taking part")
        assert calls(page, "join") == []
        assert page.told == []


@pytest.mark.parametrize(
    "kind", [nightly(kind) if place else kind for place, kind in enumerate(ALLOTMENTS)]
)
def test_that_some_of_the_questions_are_handed_out_is_told(browser, kind):
    handed_out = {"kind": kind, "answers": 5, "tasks": 1_200}
    sentence = Allotment(**handed_out).sentence
    with screens(browser, given(tasks=1_200, answers=5, allotment=handed_out)) as page:
        arrive(page, "Do you want to take part?")
        text = page.locator("main").inner_text()
        assert "There are 1,200 questions. You are asked 5 of them." in text
        assert sentence in text
        assert page.told == []


def test_a_last_day_is_told_where_there_is_one(browser):
    for closes in ("2099-12-31", None):
        with screens(browser, given(closes=closes)) as page:
            arrive(page, "Do you want to take part?")
            told = page.get_by_text("until the end of 2099-12-31 (UTC)").count()
            assert told == (closes is not None)


def test_consent_says_how_often_which_answer_becomes_which_report(browser):
    mechanism = MECHANISMS["one-layer"]
    with screens(browser, given(mechanism)) as page:
        text = page.locator("main").inner_text()
        for sentence in noise_sentences(mechanism, 3):
            assert sentence in text


def test_a_limit_is_a_number_or_nothing(browser):
    with screens(browser, given()) as page:
        for text in ("much", "-1", "1,000"):
            page.locator("#budget").fill(text)
            press(page, "Take part")
            page.get_by_text("The limit must be a number of at least 0, such as 1.5.").wait_for()
        page.locator("#budget").fill("2.5")
        joined(page)
        assert calls(page, "setBudget") == [[2.5]]
        assert calls(page, "join") == [[INVITE]]
        press(page, "Look over your answers")
        page.get_by_text("Your limit is 2.5.").wait_for()


@pytest.mark.grid
@pytest.mark.parametrize(
    ("typed", "written"), [(None, []), ("3", [[3]]), ("", [[None]])], ids=["left", "other", "none"]
)
def test_a_kept_limit_is_shown_and_changed_only_by_the_worker(browser, typed, written):
    with screens(browser, given(budget=2.5), locale="de-DE") as page:
        assert page.locator("#budget").input_value() == "2,5"
        if typed is not None:
            page.locator("#budget").fill(typed)
        press(page, "Teilnehmen")
        arrive(page, "Frage 1")
        assert calls(page, "setBudget") == written


@pytest.mark.nightly
def test_a_limit_says_how_many_answers_it_allows(browser):
    none, one = "This limit allows no answer", "Your limit allows one answer"
    with screens(browser, given()) as page:  # 1.5 are spent, and an answer costs 1
        page.locator("#budget").fill("2.49")
        press(page, "Take part")
        page.get_by_text(none).wait_for()
        assert calls(page, "join") == calls(page, "setBudget") == []
        page.locator("#budget").fill("2.5")
        joined(page)
        page.get_by_text(one).wait_for()
        page.get_by_role("radio", name="no", exact=True).check()
        press(page, "Next")
        arrive(page, "Question 2")
        assert "You have given the one answer" in page.locator(".note").last.inner_text()
        assert page.get_by_role("radio", name="no", exact=True).is_disabled()
    asked = {"reused": ["t2"], "repeated": []}
    with screens(browser, given(budget=2.5, asked=asked)) as page:
        joined(page)
        page.get_by_role("radio", name="no", exact=True).check()
        press(page, "Next")
        arrive(page, "Question 2")  # which the same report answers again
        page.get_by_role("radio", name="no", exact=True).check()
        press(page, "Next")
        arrive(page, "Question 3")
        assert page.get_by_role("radio", name="no", exact=True).is_disabled()
    with screens(browser, given(state="joined", budget=1)) as page:  # spent elsewhere meanwhile
        press(page, "Yes, go on")
        arrive(page, "Question 1")
        assert page.locator(".note").all_inner_texts() == [
            "This limit allows no answer in this campaign. Raise it, or do not take part."
        ]
        assert page.get_by_role("radio", name="no", exact=True).is_disabled()


def test_a_limit_that_is_typed_stays_where_the_language_changes(browser):
    with screens(browser, given()) as page:
        page.locator("#budget").fill("4")
        page.get_by_label("Language").select_option("Deutsch")
        page.get_by_role("heading", name="Möchten Sie teilnehmen?").wait_for()
        assert page.locator("#budget").input_value() == "4"
        press(page, "Teilnehmen")
        arrive(page, "Frage 1")
        assert calls(page, "setBudget") == [[4]]


def test_who_looks_over_the_answers_sees_all_questions_and_comes_back(browser):
    with screens(browser, given()) as page:
        joined(page)
        press(page, "No answer")
        arrive(page, "Question 2")
        page.get_by_role("radio", name="yes", exact=True).check()
        press(page, "Look over your answers")
        arrive(page, "Look over your answers")
        assert "Is it 2?" in page.locator("ol").first.inner_text()
        page.get_by_text("Without an answer: 2 questions").click()
        assert page.locator("ol").last.locator("b").all_inner_texts() == ["No answer"] * 2
        press(page, "Change the answer to question 1")
        arrive(page, "Question 1")
        page.get_by_role("radio", name="no", exact=True).check()
        press(page, "Next")
        arrive(page, "Look over your answers")
        page.get_by_text("Without an answer: one question").wait_for()
        press(page, "Back")
        arrive(page, "Question 3")
        page.get_by_role("radio", name="no", exact=True).check()
        press(page, "Next")
        arrive(page, "Look over your answers")
        assert page.get_by_text("Without an answer").count() == 0


YES_NO = qc.RandomizedResponse(domain=qc.Categorical([False, True]), epsilon=1.0)
FIVE = qc.LaplaceMechanism(domain=LEVELS, epsilon=1.0)
NUMBERS = qc.LaplaceMechanism(domain=RANGE, epsilon=1.0, fill=None)


@pytest.mark.grid
@pytest.mark.parametrize(
    ("mechanism", "choose", "answer", "written"),
    [
        (BIRDS, "cannot tell", "cannot tell", "cannot tell"),
        nightly(YES_NO, "Yes (true)", True, "Yes (true)"),
        nightly(FIVE, "3", 3, "3"),
        (NUMBERS, "2.25", 2.25, "2.25"),
    ],
    ids=["one of many", "yes or no", "levels", "number"],
)
def test_answers_of_every_kind(browser, mechanism, choose, answer, written):
    with screens(browser, given(mechanism)) as page:
        joined(page)
        press(page, "Next")
        assert page.locator("#problem").inner_text() != ""
        if mechanism is NUMBERS:
            page.locator("#number").fill(choose)
        else:
            page.get_by_role("radio", name=choose, exact=True).check()
        press(page, "Next")
        arrive(page, "Question 2")
        press(page, "No answer")
        arrive(page, "Question 3")
        press(page, "Back")
        press(page, "Back")
        arrive(page, "Question 1")
        press(page, "Look over your answers")
        arrive(page, "Look over your answers")
        assert page.locator(".answers").first.locator("li").all_inner_texts() == [
            f"Is it 1?\n{written} Change"
        ]
        press(page, "Send")
        arrive(page, "Sent. Thank you")
        assert calls(page, "commit") == [[[["t1", answer]]]]
        assert page.told == []


def test_numbers_are_checked_in_words(browser):
    with screens(browser, given(NUMBERS), locale="de-DE") as page:
        press(page, "Teilnehmen")
        arrive(page, "Frage 1")
        for text in ("elf", "10,1", "-0,1", "1e0", "", "1.000"):
            page.locator("#number").fill(text)
            press(page, "Weiter")
            assert "eine Zahl von 0 bis 10, etwa 5" in page.locator("#problem").inner_text()
        page.locator("#number").fill(" 2,5 ")
        press(page, "Weiter")
        arrive(page, "Frage 2")
        press(page, "Zurück")
        assert page.locator("#number").input_value() == "2,5"


def test_no_more_answers_than_are_taken(browser):
    with screens(browser, given(answers=1)) as page:
        joined(page)
        page.get_by_role("radio", name="no", exact=True).check()
        press(page, "Next")
        arrive(page, "Question 2")
        assert "You have given the one answer" in page.locator(".note").inner_text()
        assert page.get_by_role("radio", name="no", exact=True).is_disabled()
        press(page, "Back")
        press(page, "No answer")
        arrive(page, "Question 2")
        assert page.get_by_role("radio", name="no", exact=True).is_enabled()
        press(page, "Look over your answers")
        assert page.get_by_role("button", name="Send").is_disabled()
        page.get_by_text("There is no answer yet. Give at least one.").wait_for()


@pytest.mark.parametrize(
    "name", ["one-layer", nightly("laplace, filled"), nightly("matrix factorisation")]
)
def test_what_no_answer_shows_is_told(browser, name):
    mechanism = MECHANISMS[name]
    with screens(browser, given(mechanism)) as page:
        joined(page)
        protected = mechanism.guarantee(answers=3, tasks=3).participation_protected
        told = "“No answer” is not visible" if protected else "“No answer” is visible"
        assert told in page.locator("form").inner_text()
        press(page, "Look over your answers")
        assert page.get_by_role("button", name="Send").is_enabled() == protected


@pytest.mark.nightly
def test_what_comes_from_outside_stays_text(browser):
    everything = " ".join(XSS)
    tasks = [
        {"id": f"{place:032x}", "name": text, "data": {"a": text, text: everything}}
        for place, text in enumerate(XSS)
    ]
    tasks[-1]["data"] = {}
    mechanism = qc.RandomizedResponse(domain=qc.Categorical(XSS[:4]), epsilon=1.0)
    promises = {**PROMISES, **dict.fromkeys(("requester", "contact", "purpose"), everything)}
    state = given(mechanism, tasks, title=XSS[0], description=everything, promises=promises)
    names = [task["name"] for task in tasks]
    state["asked"] = {"reused": names[:3], "repeated": names[3:]}
    state["receipt"]["completionCode"] = XSS[2]
    for report in state["receipt"]["reports"]:
        report["value"] = XSS[1]
    with screens(browser, state) as page:
        for text in (XSS[0], everything):
            page.get_by_text(text, exact=True).first.wait_for()
        press(page, "Take part")
        for place in range(1, 1 + len(tasks)):
            arrive(page, f"Question {place}")
            page.get_by_role("radio", name=XSS[1], exact=True).check()
            press(page, "Next")
        arrive(page, "Look over your answers")
        press(page, "Send")
        arrive(page, "Sent. Thank you")
        page.locator("summary").click()
        assert page.get_by_label("Completion code", exact=True).input_value() == XSS[2]
        assert (
            page.locator("main :is(script, style, iframe, svg, img, a[href^='java'])").count() == 0
        )
        assert page.told == []


def focused(page):
    return page.evaluate("document.activeElement.textContent || document.activeElement.id")


def test_a_keyboard_is_enough(browser):
    with screens(browser, given(tasks=2)) as page:
        keys = page.keyboard
        while focused(page) != "Take part":
            keys.press("Tab")
        keys.press("Enter")
        arrive(page, "Question 1")
        keys.press("2")
        keys.press("Enter")
        arrive(page, "Question 2")
        keys.press("Enter")  # without an answer
        page.get_by_text("Choose an answer").wait_for()
        keys.press("3")
        keys.press("1")
        keys.press("Control+2")
        keys.press("Escape")
        keys.press("Enter")
        arrive(page, "Look over your answers")
        while focused(page) != "Send":
            keys.press("Tab")
        keys.press("Space")
        arrive(page, "Sent. Thank you")
        assert calls(page, "commit") == [[[["t1", "yes"], ["t2", "no"]]]]
        assert page.told == []


def test_digits_choose_levels_by_their_number(browser):
    with screens(browser, given(FIVE, state="joined")) as page:
        press(page, "Yes, go on")
        arrive(page, "Question 1")
        page.keyboard.press("4")
        assert page.get_by_role("radio", name="4", exact=True).is_checked()
        page.keyboard.press("9")
        assert page.get_by_role("radio", name="4", exact=True).is_checked()


def walk(page):
    """Go through all screens of a worker; give the name of each that is open."""
    yield "consent"
    joined(page)
    page.locator("summary").click()
    yield "question"
    press(page, "Next")
    yield "problem"
    page.get_by_role("radio", name="yes", exact=True).check()
    yield "answer"
    press(page, "Look over your answers")
    arrive(page, "Look over your answers")
    yield "review"
    press(page, "Send")
    arrive(page, "Your reports are on their way")
    page.get_by_text("The server cannot be reached.").wait_for()
    yield "sending"
    page.evaluate("goOnline()")
    arrive(page, "Sent. Thank you")
    page.locator("summary").click()
    yield "receipt"
    press(page, "Forget me on this device")
    arrive(page, "Forget me on this device")
    yield "forget"
    press(page, "Forget nothing")
    arrive(page, "Sent. Thank you")
    page.evaluate("given.state = 'sent'")
    page.evaluate(f"location.hash = '#i={INVITE}'")
    arrive(page, "Are you the person who joined on this device?")
    yield "return"
    press(page, "No")
    arrive(page, "This device is taken")
    yield "other"
    press(page, "Back")
    press(page, "Yes, go on")
    press(page, "Withdraw")
    arrive(page, "Withdraw")
    yield "withdrawal"
    press(page, "Withdraw permanently")
    arrive(page, "You have withdrawn")
    yield "end"


@pytest.mark.parametrize("scheme", ["light", nightly("dark")])
def test_axe_finds_nothing_serious(browser, scheme):
    axe = Axe()
    state = given(offline=True, asked={"reused": ["t1"], "repeated": ["t2"]})
    found = {}
    with screens(browser, state, color_scheme=scheme, bypass_csp=True) as page:
        for screen in walk(page):
            found[screen] = [
                (one["id"], one["nodes"][0]["html"])
                for one in axe.run(page).response["violations"]
                if one["impact"] in ("serious", "critical")
            ]
    assert {screen: list_ for screen, list_ in found.items() if list_} == {}
    assert len(found) == 12


SMALL = """() =>
  [...document.querySelectorAll("button, select, summary, .choice, input:not([type])")]
  .filter((one) => one.offsetParent !== null && one.getBoundingClientRect().height < 44)
  .map((one) => one.outerHTML)"""
WIDE = "document.documentElement.scrollWidth > innerWidth"
LONG = "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz"


@pytest.mark.nightly
@pytest.mark.parametrize("zoomed", [nightly(False), True])
def test_a_small_screen_by_touch(browser, zoomed):
    tasks = numbered_tasks(2, {"question": f"Have you read the {LONG}?", LONG: "x" * 200})
    labels = ["no", "yes", LONG]
    mechanism = qc.RandomizedResponse(domain=qc.Categorical(labels), epsilon=1.0)
    options = {"viewport": {"width": 320, "height": 568}, "has_touch": True, "is_mobile": True}
    with screens(browser, given(mechanism, tasks, offline=True), **options) as page:
        if zoomed:  # as text is made larger: what is given in rem grows
            page.evaluate("document.documentElement.setAttribute('class', 'zoomed')")
            page.evaluate(
                """() => {
                  const sheet = new CSSStyleSheet();
                  sheet.replaceSync(":root { font-size: 200% }");
                  document.adoptedStyleSheets = [sheet];
                }"""
            )
        for screen in walk(page):
            assert not page.evaluate(WIDE), screen
            assert page.evaluate(SMALL) == [], screen
        assert page.told == []


def test_a_touch_chooses(browser):
    options = {"viewport": {"width": 320, "height": 568}, "has_touch": True}
    with screens(browser, given(tasks=1), **options) as page:
        page.get_by_role("button", name="Take part").tap()
        arrive(page, "Question 1")
        page.locator(".choice", has_text="cannot tell").tap()
        page.get_by_role("button", name="Next").tap()
        arrive(page, "Look over your answers")
        page.get_by_role("button", name="Send").tap()
        arrive(page, "Sent. Thank you")
        assert calls(page, "commit") == [[[["t1", "cannot tell"]]]]


def test_a_language_from_right_to_left(browser):
    catalog = {**CATALOGS["en"], "language": "Test", "direction": "rtl", "screen.next": "Onwards"}
    state = given(state="joined")
    with screens(browser, state, page_text=document({"he": catalog}), locale="he-IL") as page:
        press(page, "Yes, go on")
        arrive(page, "Question 1")
        assert page.locator("html").get_attribute("lang") == "he"
        assert page.locator("html").get_attribute("dir") == "rtl"
        radio = page.get_by_role("radio", name="yes", exact=True).bounding_box()
        assert radio["x"] > page.viewport_size["width"] / 2
        next_, skip = (
            page.get_by_role("button", name=name, exact=True).bounding_box()
            for name in ("Onwards", "No answer")
        )
        assert next_["x"] > skip["x"]
        assert not page.evaluate(WIDE)


def test_languages_can_be_switched_on_the_way(browser):
    with screens(browser, given(), locale="fr-FR") as page:
        joined(page)
        page.get_by_role("radio", name="yes", exact=True).check()
        press(page, "Next")
        arrive(page, "Question 2")
        page.get_by_label("Language").select_option("Deutsch")
        page.get_by_role("heading", name="Frage 2").wait_for()
        assert page.locator("html").get_attribute("lang") == "de"
        assert page.locator("#told").inner_text() == "2 von 3"
        press(page, "Zurück")
        assert page.get_by_role("radio", name="yes", exact=True).is_checked()


def test_answers_are_not_lost_on_the_way(browser):
    with screens(browser, given()) as page:
        joined(page)
        page.get_by_role("radio", name="yes", exact=True).check()
        press(page, "Next")
        arrive(page, "Question 2")
        page.go_back()
        arrive(page, "Question 1")
        assert page.get_by_role("radio", name="yes", exact=True).is_checked()
        assert page.told == []
        page.reload()
        assert page.told == ["beforeunload"]
        assert calls(page, "keepDrafts") == []


@pytest.mark.parametrize(
    ("leave", "stay"),
    [("Withdraw", "Do not withdraw"), nightly("Forget me on this device", "Forget nothing")],
)
def test_who_stays_comes_back_to_the_answers(browser, leave, stay):
    with screens(browser, given()) as page:
        joined(page)
        page.get_by_role("radio", name="yes", exact=True).check()
        press(page, "Next")
        arrive(page, "Question 2")
        press(page, leave)
        arrive(page, leave)
        press(page, stay)
        arrive(page, "Question 2")
        press(page, "Back")
        arrive(page, "Question 1")
        assert page.get_by_role("radio", name="yes", exact=True).is_checked()
        assert len(calls(page, "open")) == len(calls(page, "load")) - 1 == 1


def test_a_link_that_is_opened_again_leaves_no_invite_in_the_address(browser):
    with screens(browser, given(), address=LINK) as page:
        arrive(page, "An invitation is needed")
        page.evaluate(f"location.href = '{LINK}#i={INVITE}'")
        arrive(page, "Do you want to take part?")
        assert page.url == LINK
        joined(page)
        assert calls(page, "join") == [[INVITE]]
        page.get_by_role("radio", name="yes", exact=True).check()
        page.evaluate("given.state = 'joined'")
        page.evaluate("location.hash = '#i'")
        page.get_by_text("This is not a complete link to a campaign.").wait_for()
        assert page.url == LINK
        page.evaluate(f"location.hash = '#i={INVITE}'")
        arrive(page, "Are you the person who joined on this device?")
        assert page.url == LINK
        press(page, "Yes, go on")
        arrive(page, "Question 1")
        assert page.get_by_role("radio", name="yes", exact=True).is_checked()


@pytest.mark.nightly
def test_answers_are_kept_where_the_worker_wants_it(browser):
    with screens(browser, given()) as page:
        joined(page)
        page.locator("summary").click()
        page.get_by_role("checkbox").check()
        page.get_by_role("radio", name="yes", exact=True).check()
        page.wait_for_function("calls.at(-1)[0] === 'keepDrafts' && calls.at(-1)[1].length")
        assert calls(page, "keepDrafts") == [[[]], [[["t1", "yes"]]]]
        page.get_by_role("checkbox").uncheck()
        page.wait_for_function("calls.at(-1)[0] === 'dropDrafts'")
        page.get_by_role("checkbox").check()
        page.reload()
        assert page.told == []
    with screens(browser, given(state="joined", drafts=[["t1", "no"]])) as page:
        press(page, "Yes, go on")
        arrive(page, "Question 1")
        assert page.get_by_role("radio", name="no", exact=True).is_checked()
        assert page.get_by_role("checkbox", include_hidden=True).is_checked()


@pytest.mark.grid
@pytest.mark.parametrize("state", ["joined", "committed", "sent"])
def test_a_second_visit_shows_nothing_of_the_first(browser, state):
    with screens(browser, given(state=state, drafts=[["t1", "cannot tell"]]), address=LINK) as page:
        arrive(page, "Are you the person who joined on this device?")
        shown = page.locator("body").inner_text()
        assert not re.search(r"Birds|cannot tell|Is it|qcw_", shown)
        assert calls(page, "load") == calls(page, "send") == []
        press(page, "Yes, go on")
        arrive(page, "Question 1" if state == "joined" else "Sent. Thank you")
        assert len(calls(page, "send")) == (state == "committed")


def test_no_answer_is_on_the_page_once_it_is_sent(browser):
    with screens(browser, given()) as page:
        joined(page)
        page.get_by_role("radio", name="cannot tell", exact=True).check()
        press(page, "Look over your answers")
        press(page, "Send")
        arrive(page, "Sent. Thank you")
        assert "cannot tell" not in page.content()
        page.go_back()
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        assert page.get_by_role("heading", level=1).inner_text() == "Sent. Thank you"


def test_a_receipt_says_what_left_and_how_to_take_it_back(browser):
    state = given(MECHANISMS["laplace with a bit"], state="sent")
    reports = [
        {"task": "t2", "value": -1, "participation": 1.25},
        {"task": "t1", "value": 3.25, "participation": 0.5},
    ]
    state["receipt"]["reports"] = reports
    permissions = ["clipboard-read", "clipboard-write"]
    with screens(browser, state, permissions=permissions, accept_downloads=True) as page:
        press(page, "Yes, go on")
        arrive(page, "Sent. Thank you")
        assert not page.locator("table").is_visible()
        page.locator("summary").click()
        rows = [row.split("\t") for row in page.locator("tr").all_inner_texts()]
        assert rows == [
            ["Question", "Report", "Noisy sign of an answer"],
            ["Is it 1?", "3.25", "0.5"],
            ["Is it 2?", "-1", "1.25"],
        ]
        press(page, "Copy the withdrawal key")
        page.locator("#told").get_by_text("Copied.").wait_for()
        assert page.get_by_label("Copy the withdrawal key").inner_text() == "Copied."
        assert page.evaluate("navigator.clipboard.readText()") == KEY
        with page.expect_download() as download:
            page.get_by_role("link", name="Save the key as a file").click()
        text = download.value.path().read_text("utf-8")
        assert text.splitlines()[-2:] == [LINK, KEY]
        press(page, "Copy the completion code")
        wait_for_async(page, "async () => (await navigator.clipboard.readText()) === 'BIRD-77'")
        press(page, "Withdraw")
        assert "because of the drawn noise" in page.locator("main").inner_text()
        press(page, "Withdraw permanently")
        arrive(page, "You have withdrawn")
        assert calls(page, "withdraw") == [[None]]
        assert page.told == []


def test_a_receipt_says_what_reports_without_a_name_point_to(browser):
    state = given(MECHANISMS["optimal"], state="sent")
    for place, labels in enumerate((["no"], ["maybe", "yes"], [])):
        state["receipt"]["reports"][place]["value"] = labels
    with screens(browser, state) as page:
        press(page, "Yes, go on")
        arrive(page, "Sent. Thank you")
        page.locator("summary").click()
        rows = [row.split("\t")[1] for row in page.locator("tr").all_inner_texts()]
        assert rows == ["Report", "points to: no", "points to: maybe, yes", "no information"]
        assert page.told == []


def test_a_receipt_of_a_sketch(browser):
    state = given(MECHANISMS["matrix factorisation"], state="sent")
    state["receipt"].update(reports=[], sketch=1234, completionCode=None, epsilon=None)
    with screens(browser, state) as page:
        press(page, "Yes, go on")
        arrive(page, "Sent. Thank you")
        page.locator("summary").click()
        page.get_by_text("Your device sent 1,234 noisy numbers").wait_for()
        page.get_by_text("at most without a limit").wait_for()
        assert page.get_by_text("Completion code").count() == 0


@pytest.mark.nightly
def test_a_key_withdraws_from_another_device(browser):
    for changes in ({}, {"open": False}, {"state": "sent"}):
        with screens(browser, given(**changes), address=LINK) as page:
            if "state" in changes:  # of somebody else
                press(page, "No")
            press(page, "Withdraw with a key")
            arrive(page, "Withdraw")
            page.get_by_label("Withdrawal key").fill(f" {KEY} ")
            press(page, "Withdraw permanently")
            arrive(page, "The reports of this key are deleted")
            assert calls(page, "withdraw") == [[KEY]]
    refusal = {"withdraw": ["refusal.unanswered"]}
    with screens(browser, given(refuses=refusal)) as page:
        press(page, "Withdraw with a key")
        page.get_by_label("Withdrawal key").fill(KEY)
        press(page, "Withdraw permanently")
        page.get_by_text("The server cannot be reached right now.").wait_for()
        assert calls(page, "withdraw") == [[KEY]]
        press(page, "Do not withdraw")
        arrive(page, "Do you want to take part?")


def test_a_device_forgets(browser):
    with screens(browser, given(state="joined")) as page:
        press(page, "No")
        press(page, "Forget me on this device")
        assert "counts from 0" in page.locator("main").inner_text()
        press(page, "Forget all")
        arrive(page, "Nothing is kept here now")
        assert calls(page, "forget") == [[]]


@pytest.mark.grid
@pytest.mark.parametrize(
    ("address", "changes", "heading", "sentence"),
    [
        (f"{LINK}?PROLIFIC_PID=5#i={INVITE}", {}, None, "after a question mark"),
        nightly(f"{ORIGIN}/j/0123#i={INVITE}", {}, None, "not a complete link"),
        (f"{LINK}#w={KEY}", {}, None, "not a complete link"),
        (LINK, {}, "An invitation is needed", "Open the complete link"),
        (None, {"open": False}, "This campaign is closed", "Nothing was sent"),
        (None, {"whyNot": "refusal.insecure"}, None, "an unprotected connection"),
        nightly(None, {"refuses": {"open": ["refusal.storage"]}}, None, "could not store data"),
        nightly(None, {"refuses": {"load": ["refusal.unanswered"]}}, None, "cannot be reached"),
        (None, {"terms": None}, None, "Something went wrong on this page"),
    ],
)
def test_what_cannot_start_says_why(browser, address, changes, heading, sentence):
    state = {**given(), **changes}
    address = address or f"{LINK}#i={INVITE}"
    with screens(browser, state, address=address) as page:
        arrive(page, heading or "This campaign cannot be answered")
        assert sentence in page.locator("main").inner_text()
        assert calls(page, "join") == []


def test_what_is_refused_is_told_where_it_was_tried(browser):
    options = {"viewport": {"width": 320, "height": 568}, "has_touch": True, "is_mobile": True}
    budget = {"budget": 1, "spent": 1.5, "after": 2.50001}
    state = given(refuses={"commit": ["refusal.budget", budget]})
    with screens(browser, state, **options) as page:
        joined(page)
        page.get_by_role("radio", name="yes", exact=True).check()
        press(page, "Look over your answers")
        press(page, "Send")
        alert = page.locator("#alert")
        page.get_by_text("Nothing was drawn or sent").wait_for()
        assert "epsilon = 1.5 of your limit of 1" in alert.inner_text()
        assert "would make it 2.501" in alert.inner_text()
        assert alert.evaluate("one => one.getBoundingClientRect().bottom <= innerHeight")
        arrive(page, "Look over your answers")
        assert page.locator(".answers").first.locator("li").count() == 1
        press(page, "Change the answer to question 1")
        arrive(page, "Question 1")
        assert alert.inner_text() == ""


def test_numbers_of_a_refusal_are_written_in_the_language(browser):
    values = {"budget": 2.5, "spent": 0, "after": 8.25}
    with screens(
        browser, given(refuses={"join": ["refusal.budget", values]}), locale="de-DE"
    ) as page:
        press(page, "Teilnehmen")
        page.get_by_text("Epsilon = 0 von Ihrer Grenze 2,5 ").wait_for()
        assert "wären es 8,25." in page.locator("#alert").inner_text()


def test_tasks_show_their_columns_in_order_and_their_images(browser):
    hash_ = "ab" * 32
    data = {"song": "di-da", "picture": {"image": hash_, "alt": "A bird"}, "loud": 3, "x": None}
    tasks = [*numbered_tasks(1, data), {"id": "f" * 32, "name": "alone", "data": {}}]
    dot = "GIF89a\x01\0\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\0;"
    with screens(browser, given(tasks=tasks, images={hash_: dot}, state="joined")) as page:
        press(page, "Yes, go on")
        arrive(page, "Question 1")
        page.get_by_text("alone", exact=True).wait_for()
        press(page, "No answer")
        arrive(page, "Question 2")
        assert page.locator("#asked dt").all_inner_texts() == ["song", "picture", "loud", "x"]
        image = page.get_by_role("img", name="A bird")
        assert image.get_attribute("src").startswith("blob:")
        page.wait_for_function("document.images[0].naturalWidth === 1")
        assert page.told == []


def test_tasks_are_asked_in_reading_order(browser):
    names = ("t10", "t9", "s")
    tasks = [{**one, "name": name} for one, name in zip(numbered_tasks(3), names, strict=True)]
    with screens(browser, given(tasks=tasks, state="joined")) as page:
        press(page, "Yes, go on")
        seen = []
        for place in (1, 2, 3):
            arrive(page, f"Question {place}")
            seen.append(page.locator("#asked").inner_text())
            press(page, "No answer")
        assert seen == ["Is it 3?", "Is it 2?", "Is it 1?"]


def test_a_saved_page_asks_for_the_link(browser):
    text = document(server=ORIGIN)
    with screens(browser, given(), address=f"{ORIGIN}/j/saved", page_text=text) as page:
        arrive(page, "Open a campaign")
        assert "may share this page's storage" in page.locator(".note").inner_text()
        field = page.get_by_label("The link that you were given")
        for wrong in ("", "birds", f"https://elsewhere.example/j/{'0' * 32}#i={INVITE}"):
            field.fill(wrong)
            press(page, "Next")
            assert (
                f"not a complete link to a campaign of {ORIGIN}"
                in page.locator("main").inner_text()
            )
        field.fill(f"{LINK}#i={INVITE}")
        page.keyboard.press("Enter")
        arrive(page, "Do you want to take part?")
        assert calls(page, "open") == [[f"{ORIGIN}/", CAMPAIGN]]
        assert page.get_by_role("link").count() == 0
        assert page.told == []


def test_a_page_without_its_program_says_so(browser):
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        text = document()
        context.route("**/*", lambda route: route.fulfill(body=text, content_type="text/html"))
        page.goto(LINK)
        page.get_by_text("This page has not started.").wait_for()
        page.get_by_text("Diese Seite ist nicht gestartet.").wait_for()


def test_moves_are_not_made_where_they_are_not_wanted(browser):
    with screens(browser, given(), reduced_motion="reduce") as page:
        seconds = page.locator("button").first.evaluate(
            "one => getComputedStyle(one).transitionDuration"
        )
        assert seconds == "0s"
