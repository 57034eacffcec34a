"""The page's modules that work out losses: they say what Python says."""

import json
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from scipy.special import log_ndtr
from tests.campaign.web.browser import serve
from tests.campaign.web.loss_vectors import (
    LOSS_GIVES,
    LOSS_INPUTS,
    NEAR,
    ROUNDING,
    numbers_of,
)
from tests.campaign.web.write_vectors import FOLDER
from tests.nightly import nightly

WORKER = Path(str(files("quietcrowd.campaign.web") / "worker"))

RUN = """async ([kind, cases]) => (await import("./run_vectors.js")).run(kind, cases)"""
TAILS = """async (numbers) => {
  const { logNormalTail } = await import("./worker/terms/numerics.js");
  return numbers.map(logNormalTail);
}"""


@pytest.fixture(scope="module")
def page(browser):
    with browser.new_page() as page:
        serve(page, {"": FOLDER.parent, "/worker": WORKER})
        yield page


def cases_of(kind):
    return json.loads((FOLDER / f"{kind}.json").read_text("utf-8"))


def assert_near(given, cases):
    for one, case in zip(given, cases, strict=True):
        here, there = numbers_of(one), numbers_of(case["gives"])
        assert [name for name, _ in here] == [name for name, _ in there]
        losses, wanted = ([number for _, number in numbers] for numbers in (here, there))
        np.testing.assert_allclose(losses, wanted, rtol=NEAR, atol=ROUNDING, err_msg=str(case))


BY_DAY = 4
"""Of so many cases one is worked out by day."""


@pytest.mark.slow
@pytest.mark.parametrize("every", [BY_DAY, nightly(1)])
@pytest.mark.parametrize("kind", LOSS_INPUTS)
def test_python_finds_what_the_vectors_say(kind, every):
    cases, inputs = cases_of(kind), LOSS_INPUTS[kind]()
    assert [{**case, "gives": None} for case in cases] == [{**one, "gives": None} for one in inputs]
    assert_near([LOSS_GIVES[kind](one) for one in inputs[::every]], cases[::every])


@pytest.mark.slow
@pytest.mark.parametrize("every", [BY_DAY, nightly(1)])
@pytest.mark.parametrize("kind", LOSS_INPUTS)
def test_a_browser_finds_the_same_losses(page, kind, every):
    cases = cases_of(kind)[::every]
    assert_near(page.evaluate(RUN, [kind, cases]), cases)


@pytest.mark.slow
def test_a_browser_knows_the_tail_of_the_normal_law(page):
    """Relative errors of the chance itself: also of the rounding of logarithms that are large."""
    places = [*np.linspace(-12, 12, 997).tolist(), 0.1, -0.1, 20.0, 35.9, 36.1, 400.0, 1e6]
    found, wanted = np.array(page.evaluate(TAILS, places)), log_ndtr(-np.array(places))
    assert np.abs(found - wanted).max(where=np.abs(places) < 8, initial=0) < 3e-14
    np.testing.assert_allclose(found, wanted, rtol=2e-15, atol=2e-15)


def test_vectors_hold_every_law_null_and_both_kinds_of_loss():
    shared, sampled = cases_of("shared_losses"), cases_of("variance_losses")
    drawn = {(c["terms"]["mechanism"]["law"], c["terms"]["mechanism"]["null"]) for c in shared}
    assert drawn == {("flip", None), ("beta", None), ("epsilon", None), ("epsilon", "category")}
    assert {len(case["terms"]["channel"]["weights"]) for case in shared} >= {2, 3, 10, 11}
    assert {case["gives"]["tail"] is None for case in sampled} == {True, False}
    assert {case["answers"] for case in sampled} >= {1, 2, 401, 5000}
