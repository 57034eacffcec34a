"""The consent screen: at most 120 words are visible, and folds contain everything else."""

import re
from itertools import product

import pytest
from tests.campaign.promises import PROMISES
from tests.campaign.web.browser import WORKER
from tests.campaign.web.screen_pages import INVITE, arrive, calls, given, press, screens, unfold
from tests.campaign.web.test_terms import CATALOGS

import quietcrowd as qc
from quietcrowd.campaign.device.noise_text import noise_sentences
from quietcrowd.campaign.terms.configuration import agreed_sentences, agreed_summary
from quietcrowd.campaign.terms.promises import Allotment, Promises
from quietcrowd.mechanisms import (
    LaplaceMechanism,
    MatrixFactorization,
    OptimalMechanism,
    PiecewiseMechanism,
    RandomizedResponse,
    SubsetSelection,
)

pytestmark = pytest.mark.slow

MOST_WORDS = 120
WORD = re.compile(r"[^\W_]+(?:['.,-][^\W_]+)*")

YES_NO, SIX = qc.Categorical(["yes", "no"]), qc.Categorical([f"kind {i}" for i in range(6)])
RANGE, AT_ONCE = qc.Interval(low=0.0, high=10.0), {**PROMISES, "at_least": 1}
LATE = {**PROMISES, "at_least": 1_000, "retention_days": 3_650}
HALF = RandomizedResponse(domain=YES_NO, epsilon=0.5)


def drawn(answers, tasks):
    return {"answers": answers, "tasks": tasks, "allotment": allotted(answers, tasks)}


def allotted(answers, tasks):
    return {"kind": "random", "answers": answers, "tasks": tasks}


VARIANTS = {
    "yes or no": (HALF, {"tasks": 10}),
    "six labels": (RandomizedResponse(domain=SIX, epsilon=1.0), {"tasks": 5}),
    "numbers": (LaplaceMechanism(domain=RANGE, epsilon=1.0, fill=None), {"tasks": 5}),
    "some of the questions": (
        RandomizedResponse(domain=YES_NO, epsilon=2.5),
        {**drawn(2, 200)},
    ),
    "participation is hidden": (
        RandomizedResponse(domain=YES_NO, epsilon=0.5, missing="category"),
        {"tasks": 10},
    ),
    "shown at once, and a large total": (
        RandomizedResponse(domain=YES_NO, epsilon=1.0),
        {"tasks": 10, "promises": AT_ONCE},
    ),
    "one question": (HALF, {"tasks": 1}),
    "linked": (HALF, {"tasks": 10, "linked": 3}),
    "the first version": (HALF, {"tasks": 10, "promises": None}),
    "sets": (SubsetSelection(domain=SIX, epsilon=1.0), {"tasks": 5}),
    "options per task": (
        RandomizedResponse(domain=SIX, epsilon=1.0).among(SIX, [2, 3]),
        {**drawn(12, 200), "linked": 3},
    ),
    "listed reports": (OptimalMechanism(domain=SIX, epsilon=1.0), {"tasks": 5}),
    "bounded numbers": (PiecewiseMechanism(domain=RANGE, epsilon=1.0), {"tasks": 5}),
    "sums": (MatrixFactorization(domain=RANGE, epsilon=1.0, rank=2), {"tasks": 5}),
    "a long one": (
        PiecewiseMechanism(domain=RANGE, epsilon=8.0),
        {**drawn(1_999, 19_999), "linked": 1_998, "promises": LATE},
    ),
}


def consented(mechanism, changes):
    """Return a device's state, as `given` does, and the objects that it is about."""
    changes = {"promises": PROMISES, "linked": 1, **changes}
    state = given(mechanism, **changes)
    terms = state["terms"]
    answers, tasks, linked = terms["answers"], terms["tasks"], terms["linked"]
    guarantee = mechanism.guarantee(answers=answers, tasks=tasks, linked=linked)
    terms["guarantee"] |= {"linked": linked, "linkedEpsilon": guarantee.linked_epsilon}
    promises = None if changes["promises"] is None else Promises(**changes["promises"])
    allotment = terms["allotment"] and Allotment(**terms["allotment"])
    return state, guarantee, promises, allotment


def words(page):
    return WORD.findall(page.locator("body").inner_text())


def to_consent(page):
    """Go on from the first screen, where that is not consent."""
    if page.locator("#continue").count():
        page.locator("#continue").click()
    page.locator(".learn").wait_for()


@pytest.mark.grid
@pytest.mark.parametrize(("name", "language"), [*product(VARIANTS, ("en", "de"))])
def test_no_more_words_are_visible_than_people_read(browser, name, language):
    mechanism, changes = VARIANTS[name]
    state, guarantee, promises, allotment = consented(mechanism, changes)
    with screens(browser, state, locale=language) as page:
        to_consent(page)
        assert len(words(page)) <= MOST_WORDS
        assert page.get_by_role(
            "button", name=CATALOGS[language]["screen.consent.yes"]
        ).is_visible()
        assert (
            page.locator("#screen").inner_text().endswith(CATALOGS[language]["screen.consent.yes"])
        )
        if language == "en":
            shown = " ".join(page.locator("main").inner_text().split())
            for line in agreed_summary(mechanism, guarantee, promises, allotment):
                assert " ".join(line.split()) in shown
            assert noise_sentences(mechanism, state["terms"]["tasks"])[0] in shown
        assert page.told == []


@pytest.mark.grid
@pytest.mark.parametrize("name", VARIANTS)
def test_folds_contain_all_that_a_worker_agrees_to(browser, name):
    mechanism, changes = VARIANTS[name]
    state, guarantee, promises, allotment = consented(mechanism, changes)
    english = CATALOGS["en"]
    with screens(browser, state) as page:
        to_consent(page)
        unfold(page)
        text = page.locator("main").inner_text()
        for sentence in (
            *agreed_sentences(guarantee, promises, allotment),
            *noise_sentences(mechanism, state["terms"]["tasks"]),
            *(english[f"screen.limits.{one}"] for one in ("sites", "private", "code", "seen")),
            *(english["screen.cost"], english["screen.consent.free"], english["screen.budget"]),
        ):
            assert sentence in text
        assert page.get_by_role("link", name=english["screen.limits.save"]).is_visible()


def test_no_campaign_has_a_delta():
    """A page has no words for one; `short_consent` has them, for Python's callers."""
    for mechanism in qc.mechanisms.Mechanism.registry().values():
        built = mechanism.from_claimed_epsilon(domain=qc.Ordinal(range(3)), epsilon=1.0)
        assert built.guarantee(answers=3, tasks=5).delta == 0
    assert " delta: 0," in (WORKER / "channels" / "index.js").read_text()


@pytest.mark.nightly
def test_a_limit_that_allows_nothing_is_seen(browser):
    with screens(browser, given()) as page:
        to_consent(page)
        assert not page.locator("#budget").is_visible()
        page.get_by_text(CATALOGS["en"]["consent.fold.limit"], exact=True).click()
        page.locator("#budget").fill("1.5")
        page.get_by_text(CATALOGS["en"]["consent.fold.limit"], exact=True).click()
        press(page, "Take part")
        page.get_by_text(CATALOGS["en"]["screen.budget.none"]).wait_for()
        assert page.locator("#budget").is_visible()
        assert calls(page, "join") == []
        page.locator("#budget").fill("")
        press(page, "Take part")
        page.locator(".learn").wait_for(state="detached")
        assert calls(page, "join")[0][:1] == [INVITE]


@pytest.mark.nightly
def test_either_choice_looks_alike(browser):
    with screens(browser, given()) as page:
        to_consent(page)
        boxes = [page.get_by_role("button", name=CATALOGS["en"][f"screen.consent.{one}"])
                 for one in ("yes", "no")]  # fmt: skip
        yes, no = (
            (one.bounding_box()["width"], one.evaluate("one => getComputedStyle(one).background"))
            for one in boxes
        )
        assert yes == no
        boxes[1].click()
        arrive(page, CATALOGS["en"]["screen.declined.heading"])
        assert calls(page, "join") == []
