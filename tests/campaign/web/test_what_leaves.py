"""What leaves a browser in a whole session: reports, and nothing else of an answer."""

import base64
import math
import re
from itertools import groupby, takewhile
from urllib.parse import quote

import pytest
from tests.campaign.mechanisms import MECHANISMS
from tests.campaign.web.people_in_browsers import SAME_WORDS

import quietcrowd as qc

pytestmark = pytest.mark.slow

OPPOSITE = {"raw-oui-7Q": "raw-non-8Z", "raw-non-8Z": "raw-oui-7Q"}

LOSS = 15.9
"""A table may lose 16 at most: of answers flipped by this one 10^-7 are sent as they are."""


def spellings(text):
    """Return a text as bytes could hold it."""
    raw = text.encode()
    shifted = [base64.b64encode(b"\0" * shift + raw)[4:-4] for shift in range(3)]
    return [
        raw,
        quote(text, safe="").encode(),
        raw.hex().encode(),
        *shifted,
        text.encode("utf-16-le"),
    ]


def session(person, desk, campaign, answers, **options):
    """Let somebody join, answer, send and look at what was sent; return them."""
    worker = person(quick=True, **options)
    worker.play(desk.link(campaign), answers).send()
    worker.arrive()
    worker.page.get_by_text("Sent reports").click()
    worker.page.wait_for_function("navigator.serviceWorker.ready.then(() => true)")
    assert worker.told == []
    return worker


def of_interface(worker):
    """Return the requests that are not for files of the page, in the order in which they came.

    The public documents are preloaded at once, before anything is answered: they are sorted.
    """
    asked = [one for one in worker.wire.sent if "/api/" in one.path]
    public = list(takewhile(lambda one: "/public/" in one.path and one.method == "GET", asked))
    return sorted(public, key=lambda one: len(one.path)) + asked[len(public) :]


def shape(worker):
    """Return the sequence of requests with the length of all that each sends.

    What is sent once more, since no answer came in time, counts once: that is up to the network.
    """
    asked = [
        (one.method, re.sub("[0-9a-f]{32}", "ID", one.path), len(one.everything))
        for one in of_interface(worker)
    ]
    return [request for request, _ in groupby(asked)]


def files(worker):
    """Return which files were asked for; several at once come in in any order."""
    rest = [one for one in worker.wire.sent if "/api/" not in one.path]
    return sorted((one.method, re.sub("[0-9a-f]{32}", "ID", one.path)) for one in rest)


def test_no_byte_holds_an_answer_where_noise_flips_every_one(person, desk):
    """With a chance of 10^-6 one of six answers is sent as it is."""
    flips = qc.RandomizedResponse(
        domain=qc.Categorical(list(OPPOSITE)), flip_probability=1 / (1 + math.exp(-LOSS))
    )
    sessions = []
    for place, answers in enumerate((["raw-oui-7Q"] * 3, ["raw-non-8Z"] * 3)):
        campaign = desk.campaign(flips, about=f"flipped {place}")
        worker = session(person, desk, campaign, answers)
        sent = b"\n".join(one.everything for one in worker.wire.sent)
        assert [form for text in OPPOSITE for form in spellings(text) if form in sent] == []
        code = [*OPPOSITE].index(answers[0])
        assert [one["value"] for one in worker.upload()["reports"]] == [1 - code] * 3
        assert {one.origin for one in worker.wire.sent} == {desk.server.url}
        sessions.append(worker)
    one, other = sessions
    assert one.words == other.words
    assert shape(one) == shape(other)
    assert files(one) == files(other)


@pytest.mark.nightly
def test_with_the_same_words_sessions_differ_in_reports_alone(person, desk):
    """Each byte of each request is compared, but for the names of campaigns and their tasks."""
    mechanism = qc.RandomizedResponse(domain=qc.Categorical(["no", "yes"]), epsilon=1.0)
    heard = []
    for place, answers in enumerate((["yes", "no", "yes"], ["no", "yes", "no"])):
        campaign = desk.campaign(mechanism, about=f"words {place}")
        worker = session(person, desk, campaign, answers, words=SAME_WORDS)
        heard.append([masked(one) for one in of_interface(worker)])
    one, other = heard
    assert one == other


def masked(sent):
    """Return a request without what the server chose, and without what was reported."""
    text = re.sub(rb"qc[iw]_[\w-]{43}|participants/[0-9a-f]{32}", b"WHO", sent.everything)
    text = re.sub(rb'"(config_hash|task_id)":"[0-9a-f]+"', b"CHOSEN", text)
    text = re.sub(rb"campaigns/[0-9a-f]{32}|127.0.0.1:\d+|/j/[0-9a-f]{32}", b"CHOSEN", text)
    return re.sub(rb'"value":\d', b"VALUE", text)


DRAWN = {
    "one-layer with NULL": (["yes", None, "no"], ["no", "yes", None]),
    "two-layer": (["no", "maybe", "yes"], ["maybe", "yes", "no"]),
    "laplace, filled": (["4", None, "0"], ["0", "3", None]),
    "laplace with a bit": ([9.5, None, 0.0], [0.25, 10.0, None]),
    "matrix factorisation": (["4", None, "0"], [None, "3", "1"]),
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", DRAWN)
def test_opposite_answers_draw_equally_many_words(person, desk, name):
    sessions = [
        session(person, desk, desk.campaign(MECHANISMS[name]), answers, words=SAME_WORDS)
        for answers in DRAWN[name]
    ]
    one, other = sessions
    assert one.words == other.words
    assert [step[:2] for step in shape(one)] == [step[:2] for step in shape(other)]
    if name in ("one-layer with NULL", "two-layer"):  # numbers of noise have more or fewer digits
        assert shape(one) == shape(other)
    uploads = [worker.upload() for worker in sessions]
    assert len({len(one.get("reports", one.get("sketch"))) for one in uploads}) == 1
