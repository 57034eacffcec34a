"""Numbers of the page that are exact ratios round as Python's do."""

from fractions import Fraction

import numpy as np
import pytest
from tests.campaign.web.browser import serve
from tests.campaign.web.test_worker import WORKER
from tests.campaign.web.write_vectors import FOLDER

from quietcrowd.privacy.rounding import as_entered, decimal_up

pytestmark = pytest.mark.slow

DECIMALS_UP = """async (ratios) => {
  const { decimalUp } = await import("/worker/channels/rational.js");
  return ratios.map(([over, under]) => decimalUp({ over: BigInt(over), under: BigInt(under) }));
}"""


@pytest.fixture(scope="module")
def page(browser):
    with browser.new_page() as page:
        serve(page, {"": FOLDER.parent, "/worker": WORKER})
        yield page


@pytest.mark.nightly
def test_a_loss_is_rounded_up_to_a_decimal(page):
    drawn = np.random.default_rng(1).integers(1, 2**50, (200, 2)).tolist()
    ratios = [Fraction(over, under) for over, under in drawn]
    found = page.evaluate(
        DECIMALS_UP, [[str(one.numerator), str(one.denominator)] for one in ratios]
    )
    assert found == [decimal_up(one) for one in ratios]
    assert all(as_entered(up) >= one for up, one in zip(found, ratios, strict=True))
    assert any(up > float(one) for up, one in zip(found, ratios, strict=True))
