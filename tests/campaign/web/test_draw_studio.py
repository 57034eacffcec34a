"""The campaign whose screens the page on 50 people shows can be played as it says."""

import pytest
from tests.campaign.people import new_desk
from tests.campaign.web.draw_studio import FIGURES, NARROW, PHONE, ask
from tests.campaign.web.people_in_browsers import RequesterInBrowser
from tests.campaign.web.test_studio_screens import planned


def forecast(order):
    """Return a plan that no server simulates, with a verdict that names the total."""
    plan = planned(order)
    (total,) = order["total_epsilon"]
    for row in plan["rows"]:
        row["verdict"] = f"With 50 people and a total of ε = {total:g} per person."
    return plan


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.QuietcrowdWarning")
def test_every_picture_has_a_screen(person, server):
    requester = person(RequesterInBrowser, viewport=NARROW)
    requester.page.route(
        "**/api/v1/plans",
        lambda route: (
            route.fulfill(json=forecast(route.request.post_data_json))
            if route.request.method == "POST"
            else route.continue_()
        ),
    )
    shown = set()
    for name, page, first, last in ask(requester, person(viewport=PHONE), new_desk(server)):
        assert page.locator(last).first.is_visible()
        assert first is None or page.locator(first).first.is_visible()
        shown.add(f"ask-{name}.png")
    assert shown == {path.name for path in FIGURES.glob("ask-*.png")}
