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
    asked,
    calls,
    choose,
    consider,
    document,
    given,
    joined,
    keys_used,
    numbered_tasks,
    press,
    resumed,
    screens,
    unfold,
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

CODE = "ABCD-EFGH-IJKL-MNOP"

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


@pytest.mark.nightly
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


@pytest.mark.nightly
def test_messages_of_screens_are_there_and_used():
    used = keys_used()
    assert used <= CATALOGS["en"].keys()
    built = {"screen.true", "screen.false", "page.title"}
    built |= {f"screen.receipt.{column}" for column in ("question", "report", "bit")}
    built |= {f"screen.{state}" for state in ("joined", "committed", "sent", "late")}
    built |= {f"screen.questions{kind}" for kind in ("", ".some", ".most")}
    built |= {f"screen.picture.{kind}" for kind in ("with", "without")}
    screens_say = {key for key in CATALOGS["en"] if key.startswith(("screen.", "page."))}
    left = {
        key
        for key in screens_say - used - built
        if key.removesuffix(".one").removesuffix(".heading") not in used | built
    }
    assert left == set()


def test_a_worker_is_told_what_to_decide_on(browser):
    with screens(browser, given(tasks=20)) as page:
        consider(page)
        unfold(page)
        text = page.locator("main").inner_text()
        promises = Promises(**PROMISES)
        guarantee = BIRDS.guarantee(answers=20)
        for sentence in (
            *agreed_sentences(guarantee, promises),
            *noise_sentences(BIRDS, 20),
            *("ε = 1.5; after this survey at most 21.5", "a program that does the same"),
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


@pytest.mark.nightly
@pytest.mark.parametrize(
    "kind", [nightly(kind) if place else kind for place, kind in enumerate(ALLOTMENTS)]
)
def test_that_some_of_the_questions_are_handed_out_is_told(browser, kind):
    handed_out = {"kind": kind, "answers": 5, "tasks": 1_200}
    sentence = Allotment(**handed_out).sentence
    with screens(browser, given(tasks=1_200, answers=5, allotment=handed_out)) as page:
        page.get_by_text("5 of 1,200 questions").wait_for()
        consider(page)
        unfold(page)
        text = page.locator("main").inner_text()
        assert sentence in text
        assert page.told == []


@pytest.mark.nightly
def test_a_last_day_is_told_where_there_is_one(browser):
    for closes in ("2099-12-31", None):
        with screens(browser, given(closes=closes)) as page:
            arrive(page, "Birds")
            told = page.get_by_text("Open until December 31, 2099").count()
            assert told == (closes is not None)


@pytest.mark.nightly
def test_consent_says_how_often_which_answer_becomes_which_report(browser):
    mechanism = MECHANISMS["one-layer"]
    with screens(browser, given(mechanism)) as page:
        consider(page)
        unfold(page)
        text = page.locator("main").inner_text()
        for sentence in noise_sentences(mechanism, 3):
            assert sentence in text


@pytest.mark.nightly
def test_a_limit_is_a_number_or_nothing(browser):
    with screens(browser, given()) as page:
        consider(page)
        for text in ("much", "-1", "1,000"):
            limit(page, text)
            press(page, "Take part")
            page.get_by_text("Write a number of at least 0, such as 1.5.").wait_for()
        limit(page, "2.5")
        press(page, "Take part")
        asked(page, 1)
        assert calls(page, "setBudget") == [[2.5]]
        assert calls(page, "join") == [[INVITE]]
        page.get_by_text("Your limit leaves one answer here.").wait_for()


def limit(page, text):
    """Type a limit, which lies in a fold."""
    unfold(page)
    page.locator("#budget").fill(text)


@pytest.mark.nightly
@pytest.mark.grid
@pytest.mark.parametrize(
    ("typed", "written"), [(None, []), ("3", [[3]]), ("", [[None]])], ids=["left", "other", "none"]
)
def test_a_kept_limit_is_shown_and_changed_only_by_the_worker(browser, typed, written):
    with screens(browser, given(budget=2.5), locale="de-DE") as page:
        consider(page, "Weiter", "Bevor Sie anfangen")
        assert page.locator("#budget").input_value() == "2,5"
        if typed is not None:
            limit(page, typed)
        press(page, "Teilnehmen")
        asked(page, 1)
        assert calls(page, "setBudget") == written


@pytest.mark.nightly
def test_a_limit_says_how_many_answers_it_allows(browser):
    none, one = "This limit leaves no answer here.", "Your limit leaves one answer here."
    with screens(browser, given()) as page:  # 1.5 are spent, and an answer costs 1
        consider(page)
        limit(page, "2.49")
        press(page, "Take part")
        page.get_by_text(none).wait_for()
        assert calls(page, "join") == calls(page, "setBudget") == []
        limit(page, "2.5")
        press(page, "Take part")
        asked(page, 1)
        page.get_by_text(one).wait_for()
        choose(page, "no")
        arrive(page, "Your answer")  # no other question is open
        page.get_by_text("2 skipped").click()
        page.locator(".review").get_by_role("button", name="Is it 2?").click()
        asked(page, 2)
        assert "You have given your one answer" in page.locator("#screen .note").last.inner_text()
        assert page.get_by_role("button", name="no", exact=True).is_disabled()
    known = {"reused": ["t2"], "repeated": []}
    with screens(browser, given(budget=2.5, asked=known)) as page:
        joined(page)
        choose(page, "no")
        asked(page, 2)  # which the same report answers again
        choose(page, "no")
        arrive(page, "Your 2 answers")
        press(page, "Back")
        asked(page, 3)
        assert page.get_by_role("button", name="no", exact=True).is_disabled()
    with screens(browser, given(state="joined", budget=1)) as page:  # spent elsewhere meanwhile
        resumed(page)
        assert page.locator("#screen .note").all_inner_texts() == [
            "This limit leaves no answer here. Raise it, or do not take part."
        ]
        assert page.get_by_role("button", name="no", exact=True).is_disabled()


@pytest.mark.nightly
def test_a_limit_that_is_typed_stays_where_the_language_changes(browser):
    with screens(browser, given()) as page:
        consider(page)
        limit(page, "4")
        page.get_by_label("Language").select_option("Deutsch")
        page.get_by_role("heading", name="Bevor Sie anfangen").wait_for()
        assert page.locator("#budget").input_value() == "4"
        press(page, "Teilnehmen")
        asked(page, 1)
        assert calls(page, "setBudget") == [[4]]


@pytest.mark.nightly
def test_the_first_screen_says_who_asks_what_for_and_how_long(browser):
    state = given(YES_NO, tasks=10, closes="2099-12-31")
    with screens(browser, state) as page:
        arrive(page, "Birds")
        text = page.locator("main").inner_text()
        for told in (
            *("You hear a song.\nSay what you think.", "A map of birds."),
            *("The bird group · birds@example.org", "10 questions", "About 2 minutes"),
            *("Open until December 31, 2099", "No name, no account", "73 of 100", "27 of 100"),
        ):
            assert told in text
        picture = page.get_by_role("img")
        assert picture.get_attribute("aria-label") == (
            "Example: you answer Yes. Your device throws a die. "
            "It sends Yes (73 of 100) or No (27 of 100)."
        )
        assert page.url == LINK
        press(page, "No, thank you")
        arrive(page, "You are not taking part")
        assert calls(page, "join") == []


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("laplace", ["5", "-1.93 to 11.9", "50 of 100", "further off", "50 of 100"]),
        nightly("sets of labels", None),
        nightly("optimal", []),
        nightly("piecewise", []),
        nightly("matrix factorisation", []),
    ],
)
def test_the_picture_shows_the_odds_where_there_are_simple_ones(browser, name, shown):
    with screens(browser, given(MECHANISMS[name])) as page:
        told = page.locator(".picture :is(b, .outs small)").all_inner_texts()
        assert told == shown if shown is not None else len(told) == 5, told
        page.get_by_text("nothing that it sends is proof of your answer").wait_for()
        assert page.told == []


@pytest.mark.nightly
@pytest.mark.grid
@pytest.mark.parametrize("app", ["Instagram 300.0", "[FBAN/FBIOS]", "WhatsApp/2", "MicroMessenger"])
def test_inside_another_app_a_browser_is_asked_for_before_joining(browser, app):
    options = {
        "user_agent": f"Mozilla/5.0 {app}",
        "permissions": ["clipboard-read", "clipboard-write"],
    }
    with screens(browser, given(), **options) as page:
        page.get_by_text("You are inside another app").wait_for()
        assert page.url == f"{LINK}#i={INVITE}"  # for the app's own way to a browser
        press(page, "Copy the link")
        wait_for_async(
            page, "async (link) => (await navigator.clipboard.readText()) === link", page.url
        )
        consider(page, "Continue here all the same")
        press(page, "Take part")
        asked(page, 1)
        assert page.url == LINK
        assert page.told == []


@pytest.mark.nightly
def test_a_code_continues_what_was_opened_in_another_browser(browser):
    with screens(browser, given(code=CODE)) as page:
        page.get_by_text("Opened this link before?").click()
        page.get_by_label("In another browser? Enter the code").fill(f" {CODE} ")
        consider(page)
        press(page, "Take part")
        arrive(page, "If you are interrupted")
        assert calls(page, "join") == [[INVITE, CODE]]
        page.get_by_text(CODE, exact=True).wait_for()
        assert page.get_by_role("img", name="Code for another browser").is_visible()
        press(page, "Start")
        asked(page, 1)
        press(page, "Menu")
        arrive(page, "Menu")
        page.get_by_text("Go on later").click()
        page.get_by_text(CODE, exact=True).wait_for()
        assert page.told == []


def test_pictures_are_got_before_joining_and_counted(browser):
    with screens(browser, given(pictures=3)) as page:
        consider(page)
        press(page, "Take part")
        for got in range(3):
            page.get_by_text(f"{got} of 3").wait_for()
            assert page.locator("#pictures").evaluate("one => one.value") == got
            assert calls(page, "join") == []
            page.evaluate("nextPicture()")
        asked(page, 1)
    wrong = given(pictures=1, refuses={"join": ["refusal.image"]})
    with screens(browser, wrong) as page:
        consider(page)
        press(page, "Take part")
        arrive(page, "Getting the pictures")
        page.evaluate("nextPicture()")
        page.get_by_text("A picture is missing").wait_for()
        arrive(page, "Before you start")


@pytest.mark.nightly
def test_who_looks_over_the_answers_sees_all_questions_and_comes_back(browser):
    with screens(browser, given()) as page:
        joined(page)
        press(page, "Skip this question")
        asked(page, 2)
        choose(page, "yes")
        asked(page, 3)
        look_over(page)
        arrive(page, "Your answer")
        assert page.locator("ol").first.locator("li").all_inner_texts() == ["Is it 2?\nyes"]
        page.get_by_text("2 skipped").click()
        assert page.locator("ol").last.locator("b").all_inner_texts() == ["Skipped"] * 2
        page.get_by_role("button", name="Is it 1?").click()
        asked(page, 1)
        choose(page, "no")
        arrive(page, "Your 2 answers")
        page.get_by_text("1 skipped").wait_for()
        press(page, "Back")
        asked(page, 3)
        choose(page, "no")
        arrive(page, "Your 3 answers")
        assert page.get_by_text("skipped").count() == 0


def look_over(page):
    press(page, "Menu")
    arrive(page, "Menu")
    press(page, "Look over my answers")


YES_NO = qc.RandomizedResponse(domain=qc.Categorical([False, True]), epsilon=1.0)
FIVE = qc.LaplaceMechanism(domain=LEVELS, epsilon=1.0)
NUMBERS = qc.LaplaceMechanism(domain=RANGE, epsilon=1.0, fill=None)
TOWNS = qc.RandomizedResponse(
    domain=qc.Categorical([f"Town {place}" for place in range(16)]), epsilon=1.0
)


@pytest.mark.grid
@pytest.mark.parametrize(
    ("mechanism", "answer", "written"),
    [
        (BIRDS, "cannot tell", "cannot tell"),
        nightly(YES_NO, True, "Yes"),
        nightly(FIVE, 3, "3"),
        nightly(TOWNS, "Town 11", "Town 11"),
        (NUMBERS, 2.25, "2.25"),
    ],
    ids=["one of many", "yes or no", "levels", "a list", "number"],
)
def test_answers_of_every_kind(browser, mechanism, answer, written):
    with screens(browser, given(mechanism)) as page:
        joined(page)
        if mechanism is NUMBERS:
            press(page, "Next")
            assert "Write a number" in page.locator("#problem").inner_text()
            page.locator("#number").fill(written)
            page.keyboard.press("Enter")
        else:
            choose(page, written)
        asked(page, 2)
        assert page.locator("#told").inner_text() == f"Question 1: {written}"
        press(page, "Skip this question")
        asked(page, 3)
        press(page, "Back")
        asked(page, 2)
        press(page, "Back")
        asked(page, 1)
        look_over(page)
        arrive(page, "Your answer")
        assert page.locator(".review").first.locator("li").all_inner_texts() == [
            f"Is it 1?\n{written}"
        ]
        press(page, "Send")
        arrive(page, "Sent. Thank you!")
        assert calls(page, "commit") == [[[["t1", answer]]]]
        assert page.told == []


@pytest.mark.nightly
def test_an_answer_is_undone_as_long_as_the_next_question_is_open(browser):
    with screens(browser, given()) as page:
        joined(page)
        assert not page.get_by_role("button", name="Undo").is_visible()
        choose(page, "yes")
        asked(page, 2)
        page.clock.install()
        page.clock.fast_forward(3_600_000)  # it has no end
        press(page, "Undo")
        asked(page, 1)
        assert page.locator("[aria-pressed]").count() == 0
        choose(page, "no")
        asked(page, 2)
        press(page, "Back")
        asked(page, 1)
        assert not page.get_by_role("button", name="Undo").is_visible()
        pressed = page.get_by_role("button", name="no", exact=True)
        assert pressed.get_attribute("aria-pressed") == "true"
        choose(page, "yes")
        asked(page, 2)
        press(page, "Undo")
        asked(page, 1)
        assert pressed.get_attribute("aria-pressed") == "true"
        assert calls(page, "keepDrafts")[-1] == [[["t1", "no"]]]


@pytest.mark.nightly
def test_a_second_tap_does_not_answer_the_next_question(browser):
    with screens(browser, given()) as page:
        joined(page)
        place = page.get_by_role("button", name="yes", exact=True).bounding_box()
        page.mouse.dblclick(place["x"] + 20, place["y"] + 20)
        page.locator("[inert]").first.wait_for(state="detached")
        assert page.locator("#count").inner_text() == "2 of 3"
        assert calls(page, "keepDrafts") == [[[["t1", "yes"]]]]


@pytest.mark.nightly
def test_many_answers_are_searched(browser):
    with screens(browser, given(TOWNS), locale="de-DE") as page:
        consider(page, "Weiter", "Bevor Sie anfangen")
        press(page, "Teilnehmen")
        asked(page, 1)
        field = page.get_by_label("16 Antworten durchsuchen")
        field.fill("tówn 1")  # with accents or without
        page.get_by_text("7 passen.").wait_for()
        field.press("Enter")
        field.fill("x")
        page.get_by_text("Keine passt. Versuchen Sie weniger Buchstaben.").wait_for()
        field.fill("15")
        page.get_by_text("Eine passt.").wait_for()
        field.press("Enter")
        asked(page, 2)
        assert calls(page, "keepDrafts") == [[[["t1", "Town 15"]]]]


@pytest.mark.nightly
def test_the_ends_of_a_scale_are_named_by_columns(browser):
    data = {"question": "How loud was it?", "0": "not at all", "4": "very"}
    with screens(browser, given(FIVE, numbered_tasks(1, data), state="joined")) as page:
        resumed(page)
        assert page.locator("h1").inner_text() == "How loud was it?"
        assert page.locator(".ends").inner_text().split("\n") == ["not at all", "very"]
        group = page.get_by_role("group", name="0: not at all. 4: very.")
        assert group.get_by_role("button").all_inner_texts() == ["0", "1", "2", "3", "4"]
        choose(page, "2")
        arrive(page, "Your answer")
        assert page.locator(".review li").inner_text() == "How loud was it?\n2"


@pytest.mark.nightly
def test_numbers_are_checked_in_words(browser):
    with screens(browser, given(NUMBERS), locale="de-DE") as page:
        consider(page, "Weiter", "Bevor Sie anfangen")
        press(page, "Teilnehmen")
        asked(page, 1)
        for text in ("elf", "10,1", "-0,1", "1e0", "", "1.000"):
            page.locator("#number").fill(text)
            press(page, "Weiter")
            assert "eine Zahl von 0 bis 10, etwa 5" in page.locator("#problem").inner_text()
        page.locator("#number").fill(" 2,5 ")
        press(page, "Weiter")
        asked(page, 2)
        press(page, "Zurück")
        asked(page, 1)
        assert page.locator("#number").input_value() == "2,5"


@pytest.mark.nightly
def test_no_more_answers_than_are_taken(browser):
    with screens(browser, given(answers=1)) as page:
        page.get_by_text("Up to 1 of 3 questions").wait_for()
        joined(page)
        choose(page, "no")
        arrive(page, "Your answer")
        page.get_by_text("2 skipped").click()
        page.get_by_role("button", name="Is it 2?").or_(page.get_by_role("button", name="Is it 1?"))
        page.locator("ol").last.get_by_role("button").first.click()
        page.locator("h1:focus").wait_for()
        assert "You have given your one answer" in page.locator("#screen .note").inner_text()
        assert page.get_by_role("button", name="no", exact=True).is_disabled()
        look_over(page)
        page.locator("ol").first.get_by_role("button").click()
        page.get_by_role("button", name="Skip this question").click()
        arrive(page, "No answer yet")
        assert page.get_by_role("button", name="Send").is_disabled()
        page.get_by_text("There is no answer yet.").wait_for()


@pytest.mark.nightly
@pytest.mark.parametrize(
    "name", ["one-layer", nightly("laplace, filled"), nightly("matrix factorisation")]
)
def test_what_no_answer_shows_is_told_once(browser, name):
    mechanism = MECHANISMS[name]
    with screens(browser, given(mechanism)) as page:
        joined(page)
        protected = mechanism.guarantee(answers=3, tasks=3).participation_protected
        may = "Skip: that is hidden" if protected else "Skip before you think of an answer."
        hint = page.locator(".foot").get_by_text(f"No idea? {may}")
        assert hint.is_visible()
        press(page, "Skip this question")
        asked(page, 2)
        assert not hint.count()
        told = "hidden like an answer" if protected else "Others can see which questions you skip"
        assert told in page.locator("#told").inner_text()
        press(page, "Skip this question")
        asked(page, 3)
        assert page.locator("#told").inner_text() == "Question 2: Skipped"
        look_over(page)
        arrive(page, "No answer yet")
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
        consider(page)
        press(page, "Take part")
        for place in range(1, 1 + len(tasks)):
            asked(page, place)
            choose(page, XSS[1])
        arrive(page, f"Your {len(tasks)} answers")
        press(page, "Send")
        arrive(page, "Sent. Thank you!")
        page.locator("#sent summary").click()
        assert page.locator("#completion-code").inner_text() == XSS[2]
        foreign = ":is(script, style, iframe, svg, img, a[href^='java'])"
        assert page.locator(f"main {foreign}").count() == 1
        assert page.locator("main .qr > svg[role='img']").count() == 1
        assert page.told == []


def focused(page):
    return page.evaluate("document.activeElement.textContent || document.activeElement.id")


def test_a_keyboard_is_enough(browser):
    with screens(browser, given(tasks=3)) as page:
        keys = page.keyboard

        def go(name):
            page.locator("[inert]").first.wait_for(state="detached")
            for _ in range(30):
                keys.press("Tab")
                if focused(page) == name:
                    return keys.press("Enter")
            raise AssertionError(f"no way leads to {name!r}")

        go("Continue")
        arrive(page, "Before you start")
        go("Take part")
        asked(page, 1)
        keys.press("Control+2")
        keys.press("9")
        keys.press("2")
        asked(page, 2)
        go("Skip this question")
        asked(page, 3)
        go("Undo")
        asked(page, 2)
        keys.press("1")
        asked(page, 3)
        go("•••")
        arrive(page, "Menu")
        go("‹ Back")  # noqa: RUF001
        asked(page, 3)
        keys.press("Escape")
        keys.press("3")
        arrive(page, "Your 3 answers")
        go("Send")
        arrive(page, "Sent. Thank you!")
        assert calls(page, "commit") == [[[["t1", "yes"], ["t2", "no"], ["t3", "cannot tell"]]]]
        assert page.told == []


@pytest.mark.nightly
def test_digits_choose_levels_by_their_number(browser):
    with screens(browser, given(FIVE, state="joined")) as page:
        resumed(page)
        page.keyboard.press("9")
        page.keyboard.press("4")
        asked(page, 2)
        assert calls(page, "keepDrafts") == [[[["t1", 4]]]]


def walk(page):  # noqa: PLR0915
    """Go through all screens of a worker; give the name of each that is open."""
    yield "landing"
    consider(page)
    page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    yield "consent"
    press(page, "Take part")
    arrive(page, "If you are interrupted")
    yield "started"
    press(page, "Start")
    asked(page, 1)
    yield "question"
    choose(page, "yes")
    asked(page, 2)
    yield "toast"
    press(page, "Back")
    asked(page, 1)
    page.evaluate("dispatchEvent(new Event('offline'))")
    yield "answered"
    press(page, "Menu")
    arrive(page, "Menu")
    page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    yield "menu"
    press(page, "Look over my answers")
    arrive(page, "Your answer")
    page.locator("summary").click()
    yield "review"
    press(page, "Send")
    arrive(page, "Sending")
    page.get_by_text("No connection. Your reports are safe").wait_for()
    yield "sending"
    page.evaluate("goOnline()")
    arrive(page, "Sent. Thank you!")
    page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    yield "receipt"
    press(page, "Delete this site's data from this device")
    arrive(page, "Delete this site's data from this device")
    yield "forget"
    press(page, "Keep it")
    arrive(page, "Sent. Thank you!")
    page.evaluate("given.state = 'sent'")
    page.evaluate(f"location.hash = '#i={INVITE}'")
    arrive(page, "Answered in this browser")
    yield "resume"
    press(page, "That was not me")
    arrive(page, "This browser is taken")
    yield "other"
    press(page, "Back")
    arrive(page, "Answered in this browser")
    press(page, "Go on")
    arrive(page, "Sent. Thank you!")
    press(page, "Withdraw")
    arrive(page, "Withdraw")
    yield "withdrawal"
    press(page, "Withdraw permanently")
    arrive(page, "You have withdrawn")
    yield "end"


def violations(axe, page):
    return [(one["id"], one["nodes"][0]["html"]) for one in axe.run(page).response["violations"]]


SIZES = {"phone": (360, 740), "computer": (1280, 800)}


@pytest.mark.parametrize(
    ("size", "scheme"),
    [
        ("phone", "light"),
        nightly("phone", "dark"),
        nightly("computer", "light"),
        nightly("computer", "dark"),
    ],
)
def test_axe_finds_nothing(browser, size, scheme):
    axe = Axe()
    state = given(offline=True, code=CODE, asked={"reused": ["t1"], "repeated": ["t2"]})
    width, height = SIZES[size]
    options = {"viewport": {"width": width, "height": height}, "bypass_csp": True}
    found = {}
    with screens(browser, state, color_scheme=scheme, **options) as page:
        for screen in walk(page):
            found[screen] = violations(axe, page)
    kinds = {
        "number": (given(NUMBERS, state="joined"), {}),
        "list": (given(TOWNS, state="joined"), {}),
        "scale": (given(FIVE, state="joined"), {}),
        "inside": (given(), {"user_agent": "Instagram"}),
    }
    for screen, (one, more) in kinds.items():
        with screens(browser, one, color_scheme=scheme, **options, **more) as page:
            if screen == "inside":
                page.get_by_text("You are inside another app").wait_for()
            else:
                resumed(page)
            found[screen] = violations(axe, page)
    assert {screen: list_ for screen, list_ in found.items() if list_} == {}
    assert len(found) == 19


SMALL = """() =>
  [...document.querySelectorAll("button, .button, select, summary, .choice, input:not([type])")]
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
    with screens(browser, given(mechanism, tasks, offline=True, code=CODE), **options) as page:
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


@pytest.mark.nightly
def test_a_touch_chooses(browser):
    options = {"viewport": {"width": 320, "height": 568}, "has_touch": True}
    with screens(browser, given(tasks=1), **options) as page:
        for name in ("Continue", "Take part", "cannot tell", "Send"):
            page.get_by_role("button", name=name, exact=True).tap()
        arrive(page, "Sent. Thank you!")
        assert calls(page, "commit") == [[[["t1", "cannot tell"]]]]


@pytest.mark.nightly
def test_a_language_from_right_to_left(browser):
    catalog = {**CATALOGS["en"], "language": "Test", "direction": "rtl"}
    state = given(state="joined")
    options = {"viewport": {"width": 360, "height": 740}, "locale": "he-IL"}
    with screens(browser, state, page_text=document({"he": catalog}), **options) as page:
        resumed(page)
        assert page.locator("html").get_attribute("lang") == "he"
        assert page.locator("html").get_attribute("dir") == "rtl"
        choose(page, "yes")
        asked(page, 2)
        back, menu, undo = (
            page.get_by_role("button", name=name, exact=True).bounding_box()["x"]
            for name in ("Back", "Menu", "Undo")
        )
        assert back > 180 > menu
        assert undo < 180
        text = page.locator(".answers span").first.bounding_box()
        assert text["x"] + text["width"] > 300
        assert not page.evaluate(WIDE)


@pytest.mark.nightly
def test_languages_can_be_switched_on_the_way(browser):
    with screens(browser, given(), locale="fr-FR") as page:
        joined(page)
        choose(page, "yes")
        asked(page, 2)
        press(page, "Menu")
        arrive(page, "Menu")
        page.get_by_label("Language").select_option("Deutsch")
        page.get_by_role("heading", name="Menü").wait_for()
        assert page.locator("html").get_attribute("lang") == "de"
        press(page, "Zurück")
        asked(page, 2)
        assert page.locator("#count").inner_text() == "2 von 3"
        assert page.locator("#told").inner_text() == "Frage 1: yes"


@pytest.mark.nightly
def test_answers_are_not_lost_on_the_way(browser):
    with screens(browser, given(keepsDrafts=False)) as page:
        joined(page)
        choose(page, "yes")
        asked(page, 2)
        page.go_back()
        asked(page, 1)
        assert page.locator("[aria-pressed=true]").inner_text().startswith("yes")
        assert page.told == []
        page.reload()
        assert page.told == ["beforeunload"]
        assert calls(page, "keepDrafts") == []


@pytest.mark.parametrize(
    ("leave", "stay"),
    [
        ("Withdraw", "Do not withdraw"),
        nightly("Delete this site's data from this device", "Keep it"),
    ],
)
def test_who_stays_comes_back_to_the_answers(browser, leave, stay):
    with screens(browser, given()) as page:
        joined(page)
        choose(page, "yes")
        asked(page, 2)
        press(page, "Menu")
        arrive(page, "Menu")
        press(page, leave)
        arrive(page, leave)
        press(page, stay)
        arrive(page, "Menu")
        press(page, "Back")
        asked(page, 2)
        press(page, "Undo")
        asked(page, 1)
        assert len(calls(page, "open")) == len(calls(page, "load")) - 1 == 1


@pytest.mark.nightly
def test_a_link_that_is_opened_again_leaves_no_invite_in_the_address(browser):
    with screens(browser, given(), address=LINK) as page:
        arrive(page, "Open your whole link")
        page.evaluate(f"location.href = '{LINK}#i={INVITE}'")
        arrive(page, "Birds")
        assert page.url == LINK
        joined(page)
        assert calls(page, "join") == [[INVITE]]
        choose(page, "yes")
        asked(page, 2)
        page.evaluate("given.state = 'joined'")
        page.evaluate("location.hash = '#i'")
        page.get_by_text("This link is not complete.").wait_for()
        assert page.url == LINK
        page.evaluate(f"location.hash = '#i={INVITE}'")
        arrive(page, "Go on where you stopped?")
        assert page.url == LINK
        resumed(page, 2)
        press(page, "Back")
        asked(page, 1)
        assert page.locator("[aria-pressed=true]").inner_text().startswith("yes")


def test_answers_are_kept_unless_the_worker_turns_that_off(browser):
    with screens(browser, given()) as page:
        joined(page)
        choose(page, "yes")
        asked(page, 2)
        assert calls(page, "keepDrafts") == [[[["t1", "yes"]]]]
        press(page, "Menu")
        arrive(page, "Menu")
        switch = page.get_by_role("checkbox", name="Keep my answers on this device")
        assert switch.is_checked()
        switch.uncheck()
        press(page, "Back")
        asked(page, 2)
        choose(page, "no")
        asked(page, 3)
        assert calls(page, "setKeepsDrafts") == [[False]]
        assert len(calls(page, "keepDrafts")) == 1
        press(page, "Menu")
        arrive(page, "Menu")
        assert not switch.is_checked()
        switch.check()
        page.wait_for_function("() => calls.at(-1)[0] === 'keepDrafts'")
        assert calls(page, "keepDrafts")[-1] == [[["t1", "yes"], ["t2", "no"]]]
        page.reload()
        assert page.told == []


@pytest.mark.nightly
def test_who_comes_back_goes_on_with_the_first_open_question(browser):
    kept = [["t1", "no"], ["t2", "yes"]]
    with screens(browser, given(state="joined", drafts=kept), address=LINK) as page:
        arrive(page, "Go on where you stopped?")
        page.get_by_text("2 answers are kept on this device. None has been sent.").wait_for()
        resumed(page, 3)
        press(page, "Back")
        asked(page, 2)
        assert page.locator("[aria-pressed=true]").inner_text().startswith("yes")
    with screens(browser, given(state="joined", drafts=kept), address=LINK) as page:
        press(page, "Delete the answers")
        arrive(page, "Your answers are deleted")
        assert calls(page, "dropDrafts") == [[]]
        assert calls(page, "load") == []


@pytest.mark.nightly
def test_another_link_in_the_same_browser_starts_without_the_answers(browser):
    kept = [["t1", "no"]]
    with screens(browser, given(state="joined", drafts=kept, isOther=True)) as page:
        arrive(page, "Go on where you stopped?")
        press(page, "Start with this link instead")
        arrive(page, "Birds")
        page.evaluate("device.dropDrafts()")  # as joining does
        joined(page)
        assert calls(page, "join") == [[INVITE]]
        assert page.locator("[aria-pressed]").count() == 0


@pytest.mark.nightly
def test_answers_are_deleted_from_the_menu(browser):
    with screens(browser, given()) as page:
        joined(page)
        choose(page, "yes")
        asked(page, 2)
        press(page, "Menu")
        arrive(page, "Menu")
        press(page, "Delete my answers and stop")
        arrive(page, "Your answers are deleted")
        assert calls(page, "dropDrafts") == [[]]
        page.reload()
        assert page.told == []


@pytest.mark.nightly
def test_a_question_says_that_there_is_no_connection(browser):
    with screens(browser, given()) as page:
        joined(page)
        page.context.set_offline(True)
        page.get_by_text("No connection. Go on").wait_for()
        page.context.set_offline(False)
        page.locator("#connection:empty").wait_for(state="attached")


@pytest.mark.nightly
@pytest.mark.grid
@pytest.mark.parametrize(
    ("state", "heading"),
    [
        ("joined", "Go on where you stopped?"),
        ("committed", "Reports wait to be sent"),
        ("sent", "Answered in this browser"),
    ],
)
def test_a_second_visit_shows_nothing_of_the_first(browser, state, heading):
    with screens(browser, given(state=state, drafts=[["t1", "cannot tell"]]), address=LINK) as page:
        arrive(page, heading)
        shown = page.locator("body").inner_text()
        assert not re.search(r"Birds|cannot tell|Is it|qcw_", shown)
        assert calls(page, "load") == calls(page, "send") == []
        press(page, "Go on")
        asked(page, 2) if state == "joined" else arrive(page, "Sent. Thank you!")
        assert len(calls(page, "send")) == (state == "committed")


def test_no_answer_is_on_the_page_once_it_is_sent(browser):
    with screens(browser, given()) as page:
        joined(page)
        choose(page, "cannot tell")
        asked(page, 2)
        look_over(page)
        press(page, "Send")
        arrive(page, "Sent. Thank you!")
        assert "cannot tell" not in page.content()
        page.go_back()
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        assert page.get_by_role("heading", level=1).inner_text() == "Sent. Thank you!"


def test_a_receipt_says_what_left_and_how_to_take_it_back(browser):
    state = given(MECHANISMS["laplace with a bit"], state="sent")
    reports = [
        {"task": "t2", "value": -1, "participation": 1.25},
        {"task": "t1", "value": 3.25, "participation": 0.5},
    ]
    state["receipt"]["reports"] = reports
    permissions = ["clipboard-read", "clipboard-write"]
    with screens(browser, state, permissions=permissions, accept_downloads=True) as page:
        press(page, "Go on")
        arrive(page, "Sent. Thank you!")
        assert not page.locator("table").is_visible()
        page.locator("#sent summary").click()
        rows = [row.split("\t") for row in page.locator("tr").all_inner_texts()]
        assert rows == [
            ["Question", "Sent", "Noisy sign of an answer"],
            ["Is it 1?", "3.25", "0.5"],
            ["Is it 2?", "-1", "1.25"],
        ]
        assert page.locator("#withdrawal-key").inner_text() == KEY
        page.get_by_role("img", name="Address and withdrawal key as a QR code").wait_for()
        press(page, "Copy the key")
        page.locator("#told").get_by_text("Copied").wait_for()
        assert page.get_by_role("button", name="Copied").inner_text() == "Copied"
        assert page.evaluate("navigator.clipboard.readText()") == KEY
        with page.expect_download() as download:
            page.get_by_role("link", name="Save as a file").click()
        text = download.value.path().read_text("utf-8")
        assert text.splitlines()[-2:] == [LINK, KEY]
        page.get_by_text("Memory of this device").click()
        assert "Safari deletes this after seven days" in page.locator("#ledger").inner_text()
        with page.expect_download() as download:
            page.get_by_role("link", name="Save the count as a file").click()
        assert json.loads(download.value.path().read_text("utf-8")) == {"spent": 1}
        press(page, "Copy the completion code")
        wait_for_async(page, "async () => (await navigator.clipboard.readText()) === 'BIRD-77'")
        press(page, "Withdraw")
        assert "because of the sent reports" in page.locator("main").inner_text()
        press(page, "Withdraw permanently")
        arrive(page, "You have withdrawn")
        assert calls(page, "withdraw") == [[None]]
        assert page.told == []


@pytest.mark.nightly
def test_a_receipt_says_what_reports_without_a_name_point_to(browser):
    state = given(MECHANISMS["optimal"], state="sent")
    for place, labels in enumerate((["no"], ["maybe", "yes"], [])):
        state["receipt"]["reports"][place]["value"] = labels
    with screens(browser, state) as page:
        press(page, "Go on")
        arrive(page, "Sent. Thank you!")
        page.locator("#sent summary").click()
        rows = [row.split("\t")[1] for row in page.locator("tr").all_inner_texts()]
        assert rows == ["Sent", "points to: no", "points to: maybe, yes", "no information"]
        assert page.told == []


@pytest.mark.nightly
def test_a_receipt_of_a_sketch(browser):
    state = given(MECHANISMS["matrix factorisation"], state="sent")
    state["receipt"].update(reports=[], sketch=1234, completionCode=None, epsilon=None)
    with screens(browser, state) as page:
        press(page, "Go on")
        arrive(page, "Sent. Thank you!")
        page.locator("#sent summary").click()
        page.get_by_text("1,234 noisy numbers were sent").wait_for()
        page.get_by_text("at most ε = without limit").wait_for()
        assert page.get_by_text("Completion code").count() == 0


@pytest.mark.nightly
def test_a_key_withdraws_from_another_device(browser):
    for changes in ({}, {"open": False}, {"state": "sent"}):
        with screens(browser, given(**changes), address=LINK) as page:
            if "state" in changes:  # of somebody else
                press(page, "That was not me")
            press(page, "Withdraw with a key")
            arrive(page, "Withdraw")
            page.get_by_label("Withdrawal key").fill(f" {KEY} ")
            press(page, "Withdraw permanently")
            arrive(page, "The reports are deleted")
            assert calls(page, "withdraw") == [[KEY]]
    refusal = {"withdraw": ["refusal.unanswered"]}
    with screens(browser, given(refuses=refusal)) as page:
        page.get_by_text("Opened this link before?").click()
        press(page, "Withdraw with a key")
        page.get_by_label("Withdrawal key").fill(KEY)
        press(page, "Withdraw permanently")
        page.get_by_text("The server cannot be reached.").wait_for()
        assert calls(page, "withdraw") == [[KEY]]
        press(page, "Do not withdraw")
        arrive(page, "Birds")


@pytest.mark.nightly
def test_a_device_forgets(browser):
    with screens(browser, given(state="joined")) as page:
        press(page, "That was not me")
        press(page, "Delete this site's data from this device")
        arrive(page, "Delete this site's data from this device")
        assert "starts again from 0" in page.locator("main").inner_text()
        press(page, "Delete everything")
        arrive(page, "Everything is deleted from this device")
        assert calls(page, "forget") == [[]]


@pytest.mark.nightly
@pytest.mark.grid
@pytest.mark.parametrize(
    ("address", "changes", "heading", "sentence"),
    [
        (f"{LINK}?PROLIFIC_PID=5#i={INVITE}", {}, None, "after a question mark"),
        nightly(f"{ORIGIN}/j/0123#i={INVITE}", {}, None, "link is not complete"),
        (f"{LINK}#w={KEY}", {}, None, "link is not complete"),
        (LINK, {}, "Open your whole link", "including the part after #"),
        (None, {"open": False}, "This survey is closed", "Nothing was sent"),
        (None, {"whyNot": "refusal.insecure"}, None, "This connection is not protected"),
        nightly(
            None, {"refuses": {"open": ["refusal.storage"]}}, None, "could not store something"
        ),
        nightly(None, {"refuses": {"load": ["refusal.unanswered"]}}, None, "cannot be reached"),
        (None, {"terms": None}, None, "Something went wrong on this page"),
    ],
)
def test_what_cannot_start_says_why(browser, address, changes, heading, sentence):
    state = {**given(), **changes}
    address = address or f"{LINK}#i={INVITE}"
    with screens(browser, state, address=address) as page:
        arrive(page, heading or "You cannot answer here")
        assert sentence in page.locator("main").inner_text()
        assert calls(page, "join") == []


@pytest.mark.nightly
def test_what_is_refused_is_told_where_it_was_tried(browser):
    options = {"viewport": {"width": 320, "height": 568}, "has_touch": True, "is_mobile": True}
    budget = {"budget": 1, "spent": 1.5, "after": 2.50001}
    state = given(refuses={"commit": ["refusal.budget", budget]})
    with screens(browser, state, **options) as page:
        joined(page)
        choose(page, "yes")
        asked(page, 2)
        look_over(page)
        press(page, "Send")
        alert = page.locator("#alert")
        page.get_by_text("Nothing was sent. Raise the limit").wait_for()
        assert "your limit of 1. You have used 1.5" in alert.inner_text()
        assert "would make it 2.501" in alert.inner_text()
        assert alert.evaluate("one => one.getBoundingClientRect().bottom <= innerHeight")
        arrive(page, "Your answer")
        assert page.locator(".review").first.locator("li").count() == 1
        page.get_by_role("button", name="Is it 1?").click()
        asked(page, 1)
        assert alert.inner_text() == ""


@pytest.mark.nightly
@pytest.mark.parametrize("key", ["refusal.place", nightly("refusal.credential")])
def test_who_has_lost_the_place_is_told_so_and_may_delete_the_answers(browser, key):
    with screens(browser, given(refuses={"commit": [key]})) as page:
        joined(page)
        choose(page, "yes")
        asked(page, 2)
        look_over(page)
        press(page, "Send")
        arrive(page, "You cannot answer here")
        assert "Nothing was sent from here" in page.locator("main").inner_text()
        write = page.get_by_role("link", name="Write to birds@example.org")
        assert write.get_attribute("href") == "mailto:birds@example.org"
        press(page, "Delete the answers")
        arrive(page, "Your answers are deleted")
        assert calls(page, "dropDrafts") == [[]]


@pytest.mark.nightly
def test_every_refusal_says_what_happened_whether_anything_was_sent_and_what_to_do():
    sent = re.compile(
        r"\b(sent|accepted|deleted|rejects|kept|stay|gesendet|angenommen|gelöscht|aufbewahrt|bleibt)\b"
    )
    for catalog in CATALOGS.values():
        for key, text in catalog.items():
            if key.startswith("refusal.") and key != "refusal.heading":
                sentences = re.split(r"(?<=[.!]) ", text)
                assert 2 <= len(sentences) <= 5, key
                assert sent.search(text), key


@pytest.mark.nightly
def test_numbers_of_a_refusal_are_written_in_the_language(browser):
    values = {"budget": 2.5, "spent": 0, "after": 8.25}
    with screens(
        browser, given(refuses={"join": ["refusal.budget", values]}), locale="de-DE"
    ) as page:
        consider(page, "Weiter", "Bevor Sie anfangen")
        press(page, "Teilnehmen")
        page.get_by_text("Ihre Grenze von 2,5. Verbraucht haben Sie 0").wait_for()
        assert "wären es 8,25." in page.locator("#alert").inner_text()


@pytest.mark.nightly
def test_tasks_show_their_columns_in_order_and_their_images(browser):
    hash_ = "ab" * 32
    picture = {"image": hash_, "alt": "A bird"}
    data = {"song": "di-da", "picture": picture, "loud": 3, "x": None}
    tasks = [
        *numbered_tasks(1, data),
        {"id": "e" * 32, "name": "t2", "data": {"question": "A robin?", "picture": picture}},
        {"id": "f" * 32, "name": "alone", "data": {}},
    ]
    dot = "GIF89a\x01\0\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\0;"
    with screens(browser, given(tasks=tasks, images={hash_: dot}, state="joined")) as page:
        resumed(page)
        assert page.locator("h1").inner_text() == "alone"
        press(page, "Skip this question")
        asked(page, 2)
        assert page.locator("h1").inner_text() == "Question 2"
        assert page.locator("#asked dt").all_inner_texts() == ["song", "picture", "loud", "x"]
        image = page.get_by_role("img", name="A bird")
        assert image.get_attribute("src").startswith("blob:")
        page.wait_for_function("() => document.images[0].naturalWidth === 1")
        press(page, "Skip this question")
        asked(page, 3)
        assert page.locator("h1").inner_text() == "A robin?"
        assert page.get_by_role("img", name="A bird").is_visible()
        assert page.told == []


@pytest.mark.nightly
def test_tasks_are_asked_in_reading_order(browser):
    names = ("t10", "t9", "s")
    tasks = [{**one, "name": name} for one, name in zip(numbered_tasks(3), names, strict=True)]
    with screens(browser, given(tasks=tasks, state="joined")) as page:
        press(page, "Go on")
        seen = []
        for place in (1, 2, 3):
            asked(page, place)
            seen.append(page.locator("h1").inner_text())
            press(page, "Skip this question")
        assert seen == ["Is it 3?", "Is it 2?", "Is it 1?"]


@pytest.mark.nightly
def test_a_saved_page_asks_for_the_link(browser):
    text = document(server=ORIGIN)
    with screens(browser, given(), address=f"{ORIGIN}/j/saved", page_text=text) as page:
        arrive(page, "Open a survey")
        assert "may be able to read" in page.locator("#screen .note").inner_text()
        field = page.get_by_label("Your link")
        for wrong in ("", "birds", f"https://elsewhere.example/j/{'0' * 32}#i={INVITE}"):
            field.fill(wrong)
            press(page, "Next")
            assert f"not a whole link to a survey of {ORIGIN}" in page.locator("main").inner_text()
        field.fill(f"{LINK}#i={INVITE}")
        page.keyboard.press("Enter")
        joined(page)
        assert calls(page, "open") == [[f"{ORIGIN}/", CAMPAIGN]]
        assert calls(page, "setKeepsDrafts") == [[False]]
        assert page.get_by_role("link").count() == 0
        assert page.told == []


@pytest.mark.nightly
def test_a_page_without_its_program_says_so(browser):
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        text = document()
        context.route("**/*", lambda route: route.fulfill(body=text, content_type="text/html"))
        page.goto(LINK)
        page.get_by_text("This page has not started.").wait_for()
        page.get_by_text("Diese Seite ist nicht gestartet.").wait_for()


@pytest.mark.nightly
def test_moves_are_not_made_where_they_are_not_wanted(browser):
    with screens(browser, given(), reduced_motion="reduce") as page:
        seconds = page.locator("button").first.evaluate(
            "one => getComputedStyle(one).transitionDuration"
        )
        assert seconds == "0s"
