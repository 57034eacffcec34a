"""The page's modules that work out losses: they say what Python says."""

import json
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
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


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("every", [BY_DAY, nightly(1)])
@pytest.mark.parametrize("kind", LOSS_INPUTS)
def test_python_finds_what_the_vectors_say(kind, every):
    cases, inputs = cases_of(kind), LOSS_INPUTS[kind]()
    assert [{**case, "gives": None} for case in cases] == [{**one, "gives": None} for one in inputs]
    assert_near([LOSS_GIVES[kind](one) for one in inputs[::every]], cases[::every])


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("every", [BY_DAY, nightly(1)])
@pytest.mark.parametrize("kind", LOSS_INPUTS)
def test_a_browser_finds_the_same_losses(page, kind, every):
    cases = cases_of(kind)[::every]
    assert_near(page.evaluate(RUN, [kind, cases]), cases)


def test_vectors_hold_every_distribution_and_null():
    shared = cases_of("shared_losses")
    drawn = {(c["terms"]["mechanism"]["law"], c["terms"]["mechanism"]["null"]) for c in shared}
    assert drawn == {("flip", None), ("beta", None), ("epsilon", None), ("epsilon", "category")}
    assert {len(case["terms"]["channel"]["weights"]) for case in shared} >= {2, 3, 10, 11}
