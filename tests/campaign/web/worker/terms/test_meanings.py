"""A report means the same in the page and in Python, and in whatever order labels are listed."""

import json

import numpy as np
import pytest
from tests.campaign.mechanisms import MECHANISMS, relabelled
from tests.campaign.web.browser import serve
from tests.campaign.web.in_page import terms_of
from tests.campaign.web.terms_vectors import IN_A_PAGE, more_mechanisms
from tests.campaign.web.test_worker import CALL, WORKER
from tests.campaign.web.write_vectors import FOLDER
from tests.nightly import by_day

from quietcrowd.campaign.device.questions import channel_hash, readable_values
from quietcrowd.campaign.terms.canonical import canonical_json

pytestmark = pytest.mark.slow

CASES = [*(MECHANISMS[name] for name in IN_A_PAGE), *more_mechanisms()]
PER_TASK = [one for one in CASES if one.sketch_bounds(1) is None]
SEEDS = by_day([0], range(20))


@pytest.fixture(scope="module")
def page(browser):
    with browser.new_page() as page:
        serve(page, {"": FOLDER.parent, "/worker": WORKER})
        yield page


def described(mechanism):
    return json.loads(canonical_json(terms_of(mechanism, 3)))


def some_values(mechanism, seed):
    """Return values that a device can send: all if they are few, both ends, and random ones."""
    low, high = described(mechanism)["report"]["value"]
    drawn = np.random.default_rng(seed).integers(low, high, 40, endpoint=True)
    return sorted({low, high, *drawn.tolist(), *range(low, min(high, low + 64) + 1)})


def test_all_mechanisms_are_tried():
    assert {one.name for one in CASES} == {one.name for one in MECHANISMS.values()}


@pytest.mark.nightly
@pytest.mark.parametrize("seed", SEEDS)
def test_a_report_means_the_same_in_python_and_in_the_page(page, seed):
    for mechanism in PER_TASK:
        turned = relabelled(mechanism, seed)
        here, there = mechanism.report_meanings, turned.report_meanings
        values = some_values(mechanism, seed)
        found = page.evaluate(CALL, ["meanings", described(mechanism), described(turned), values])
        shown = readable_values(mechanism, values)
        for value, text, (meaning, read, back, other) in zip(values, shown, found, strict=True):
            assert meaning == json.loads(canonical_json(here.meaning(value)))
            assert read == (pytest.approx(text, rel=1e-12) if isinstance(text, float) else text)
            assert back == here.code(meaning)
            assert other == there.code(meaning)
            assert there.meaning(other) == here.meaning(value) == here.meaning(back)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_channel_has_one_hash_in_python_and_in_the_page(page, seed):
    both = [other for one in CASES for other in (one, relabelled(one, seed))]
    hashes = page.evaluate(CALL, ["channelHashes", [described(one) for one in both]])
    assert hashes == [channel_hash(one) for one in both]


DAMAGED = ["x", 7.5, None, True, "", ["no", "no"], ["no", "x"], [["no", 1]], [], {"no": 1}]


def code_of(mechanism, meaning):
    try:
        return mechanism.report_meanings.code(meaning)
    except (ValueError, TypeError):
        return None


def test_what_no_report_means_has_no_value(page):
    for mechanism in PER_TASK:
        found = page.evaluate(CALL, ["valuesOf", described(mechanism), DAMAGED])
        assert found == [code_of(mechanism, one) for one in DAMAGED]
    assert code_of(MECHANISMS["one-layer with NULL"], None) == 2
    assert code_of(MECHANISMS["one-layer"], None) is None
