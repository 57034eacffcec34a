"""Ten yes/no questions from the link to the receipt: taps, words, and a browser that is killed."""

import re

import pytest
from tests.campaign.web.browser import own_chromium
from tests.campaign.web.people_in_browsers import new_person
from tests.campaign.web.test_interruptions import through
from tests.campaign.web.wire import wire
from tests.nightly import nightly

import quietcrowd as qc

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.QuietcrowdWarning"),
]

MOST_TAPS, MOST_WORDS, MOST_WORDS_OF_CONSENT = 14, 650, 120

QUESTIONS = (
    "Is the bird at the pond a robin?",
    "Does the bus stop on Mill Lane have a shelter?",
    "Have you felt unsafe at the station this year?",
    "Have you heard a robin from your window this week?",
    "Is there a nest box in your garden?",
    "Do you feed birds in winter?",
    "Is the river smelly near your home?",
    "Have you seen a fox on your street?",
    "Do cats hunt birds where you live?",
    "Would you help to count birds?",
)
ABOUT = {
    "title": "Robins in town",
    "description": "Ten yes-or-no questions about birds and your street.",
    "requester": "Bird group of the town library",
    "purpose": "A map of where robins breed.",
    "closes_on": "2099-05-31",
    "at_least": 5,
    "retention_days": 90,
    "completion_code": "ROBIN-7K2M",
}
YES_NO = qc.RandomizedResponse(domain=qc.Categorical([False, True]), epsilon=0.5)

ON_THE_WAY = {
    "en-US": ("Continue", "Take part", "Start", "Yes", "No", "Send", "Sent. Thank you!"),
    "de-DE": ("Weiter", "Teilnehmen", "Anfangen", "Ja", "Nein", "Senden", "Gesendet. Danke!"),
}
SIZES = {
    "phone": {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True},
    "computer": {"viewport": {"width": 1280, "height": 800}},
}

VISIBLE = """() => {
  const shown = document.body.innerText;
  const languages = [...document.querySelectorAll("option")].map((one) => one.text);
  const words = shown.split(/\\s+/).filter((one) => /[\\p{L}\\p{N}]/u.test(one));
  return words.filter((one) => !languages.includes(one)).length;
}"""


def ten_questions(desk):
    """Return a campaign of ten yes/no questions."""
    campaign = desk.draft(YES_NO, **ABOUT)["id"]
    rows = "".join(f"t{place},{text}\n" for place, text in enumerate(QUESTIONS))
    desk.import_csv(campaign, f"task,question\n{rows}")
    desk.client.post(f"/campaigns/{campaign}/open").raise_for_status()
    return campaign


@pytest.mark.nightly
@pytest.mark.grid
@pytest.mark.parametrize(
    ("size", "language", "scheme"),
    [
        ("phone", "en-US", "light"),
        nightly("phone", "de-DE", "dark"),
        nightly("computer", "en-US", "dark"),
        nightly("computer", "de-DE", "light"),
    ],
)
def test_ten_questions_take_few_taps_and_words(person, desk, size, language, scheme):
    options = {**SIZES[size], "locale": language, "color_scheme": scheme}
    worker = person(quick=True, service_workers="block", **options)
    page = worker.page
    go, join, start, yes, no, send, sent = ON_THE_WAY[language]
    words, taps = {}, 0
    worker.open(desk.link(ten_questions(desk)))

    def press(name):
        nonlocal taps
        page.get_by_role("button", name=name, exact=True).wait_for()
        words[f"{taps:02} before {name}"] = page.evaluate(VISIBLE)
        worker.press(name)
        taps += 1

    press(go)
    page.get_by_role("button", name=join, exact=True).wait_for()
    consent = page.evaluate(VISIBLE)
    press(join)
    press(start)
    for place in range(10):
        page.locator("#count").get_by_text(re.compile(rf"^{place + 1} ")).wait_for()
        press((yes, no)[place % 2])
    page.locator("#send").wait_for()
    assert worker.wire.uploads == []
    press(send)
    page.get_by_role("heading", level=1).filter(has_not_text=send).wait_for()
    words["sending"] = page.evaluate(VISIBLE)
    worker.arrive(sent)
    words["receipt"] = page.evaluate(VISIBLE)
    assert worker.told == []
    assert len(worker.upload()["reports"]) == 10
    print(f"{size}, {language}: {taps} taps, {sum(words.values())} words, {consent} of consent")
    assert taps <= MOST_TAPS, words
    assert consent <= MOST_WORDS_OF_CONSENT, words
    assert sum(words.values()) <= MOST_WORDS, words


@pytest.mark.nightly
def test_a_browser_that_is_killed_after_nine_of_ten_answers_loses_none(browser, desk, tmp_path):
    link = desk.link(ten_questions(desk))
    answers = ["Yes", "No", "Yes", "Yes", "No", "Yes", "No", "No", "Yes"]
    with wire() as opened:
        with own_chromium(browser, tmp_path, *through(opened)) as (context, kill):
            worker = new_person(context, opened)
            worker.open(link).join()
            for place, answer in enumerate(answers):
                worker.question(place + 1)
                worker.choose(answer)
            worker.question(10)
            with worker.page.expect_event("close"):
                kill()
        assert opened.uploads == []
        with own_chromium(browser, tmp_path, *through(opened)) as (context, _):
            worker = new_person(context, opened)
            worker.open(link.partition("#")[0])
            worker.heading("Go on where you stopped?")
            assert "9 answers are kept on this device. None has been sent." in worker.text()
            worker.press("Go on")
            worker.question(10)
            for place, answer in reversed(list(enumerate(answers))):
                worker.press("Back")
                worker.question(place + 1)
                pressed = worker.page.locator("[aria-pressed=true] span")
                assert pressed.inner_text() == answer
            assert opened.uploads == []
