"""The form of a plan in a browser: from what is asked to the command line of the campaign."""

import re
import shlex

import pytest
from tests.campaign.people import new_desk
from tests.campaign.waiting import LONG
from tests.campaign.web.people_in_browsers import RequesterInBrowser

import quietcrowd as qc
from quietcrowd.commands.app import run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.QuietcrowdWarning"),
]

WIDE = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
LIKE = "Plan the error at another ε"


@pytest.fixture(scope="module")
def desk(server):
    """Return a requester of a server that ends no plan for being slow."""
    server.service.plans.longest = LONG
    return new_desk(server)


def planning(person, desk, **options):
    requester = person(RequesterInBrowser, **options).open(desk.server.url, "plan", desk.key)
    requester.heading("Plan a campaign")
    return requester


def chosen_command(requester, name, place):
    """Return the words of the command line of a row."""
    requester.page.get_by_role("button", name=name, exact=True).nth(place).click()
    return shlex.split(requester.page.locator("#plan-command").inner_text())


@pytest.mark.nightly
def test_a_form_leads_to_the_command_line_that_makes_the_campaign(
    person, desk, tmp_path, monkeypatch, capsys
):
    requester = planning(person, desk, viewport={"width": 320, "height": 568})
    page = requester.page
    fields = {
        "Labels": 'no, "it\'s, perhaps", yes',
        "Tasks": "40",
        "Workers": "10, 20",
        "Answers per worker": "8",
        "Total ε of a person": "8, 32",
        "Target error": "0.6",
    }
    for name, text in fields.items():
        requester.fill(name, text)
    page.get_by_role("checkbox", name="subset-selection").check()
    requester.make_plan()
    head, *rows = requester.table("Rows of the plan")
    assert head[1:4] == ["Total ε", "Expected error", "Range of 9 in 10"]
    assert len(rows) == 10  # 2 mechanisms, 2 epsilons and 2 sizes; and 2 in plain
    assert any("reaches the target" in row[0] for row in rows)
    assert page.locator("#plan-plot polyline").count() == 2
    assert page.locator("#plan-plot").get_by_text("total ε of a person").count() == 1
    assert not page.evaluate(WIDE)
    words = chosen_command(requester, "subset-selection", 1)
    told = page.locator("#plan-loss").inner_text()
    assert "With 10 people, 40 questions (8 for each person) and a total of ε = 32" in told
    assert "at most ε = 4; δ = 0" in told
    (tmp_path / "tasks.csv").write_text("task,a\n" + "".join(f"t{n},{n}\n" for n in range(40)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("QUIETCROWD_KEY", desk.key)
    assert run(words[1:]) == 0
    made = capsys.readouterr().out.strip()
    draft = desk.client.get(f"/campaigns/{made}").raise_for_status().json()
    domain = qc.Categorical(["no", "it's, perhaps", "yes"])
    wanted = qc.SubsetSelection.from_claimed_epsilon(domain=domain, epsilon=4.0)
    assert draft["mechanism"] == wanted.to_dict()
    assert (draft["max_participants"], draft["answers_per_participant"]) == (10, 8)
    assert (draft["allotment"], draft["tasks"]) == ("random", 40)
    assert requester.told == []


@pytest.mark.nightly
def test_a_mistake_is_told_at_its_field(person, desk):
    requester = planning(person, desk)
    page = requester.page
    requester.fill("Workers", "10, many")
    requester.press("Plan")
    assert "got “10, many”" in requester.alert()
    requester.fill("Workers", "10")
    page.get_by_text("Assumptions about the crowd").click()
    requester.fill("Mean accuracy of the others", "2")
    page.get_by_text("Assumptions about the crowd").click()
    requester.press("Plan")
    field = page.get_by_role("textbox", name="Mean accuracy of the others")
    field.wait_for(timeout=1_000 * LONG)  # it was folded away
    assert requester.alert() == "Accuracy must be a number from 0 to 1; got 2."
    assert field.get_attribute("aria-invalid") == "true"
    assert field.evaluate("one => one === document.activeElement")


@pytest.mark.nightly
def test_a_campaign_fills_the_form(person, desk):
    domain = qc.Interval(low=-5.0, high=5.0)
    mechanism = qc.LaplaceMechanism(domain=domain, epsilon=3.0, participation="released")
    made = desk.campaign(mechanism, tasks=4, answers_per_participant=2, max_participants=30)
    requester = person(RequesterInBrowser).open(desk.server.url, made, desk.key)
    requester.page.get_by_role("button", name=LIKE).click()
    requester.heading("Plan a campaign")
    assert "defaults for others" in requester.page.locator("#plan-status").inner_text()
    shown = {
        name: requester.page.get_by_role("textbox", name=name, exact=True).input_value()
        for name in ("Lowest answer", "Highest answer", "Tasks", "Workers", "Total ε of a person")
    }
    assert list(shown.values()) == ["-5", "5", "4", "30", "2,5,10,12,20"]
    checked = requester.page.get_by_role("checkbox", checked=True)
    assert [one.get_attribute("value") for one in checked.all()] == ["laplace"]
    requester.make_plan()
    words = chosen_command(requester, "laplace", 3)
    assert words[3] == "Birds"
    assert "--between=-5,5" in words
    requester.press("All campaigns")
    requester.heading("Campaigns")
    by_link = person(RequesterInBrowser).follow(desk.dashboard(made))
    by_link.heading("Birds")
    assert not by_link.page.get_by_role("button", name=LIKE).is_visible()


def test_leaving_stops_a_plan(person, desk):
    requester = planning(person, desk)

    def keep(route):
        """Let no plan come."""
        if route.request.method != "POST":
            route.continue_()

    requester.page.route(re.compile("/plans$"), keep)
    requester.press("Plan")
    requester.page.get_by_text("Simulating crowds").wait_for()
    requester.press("Stop")
    requester.page.get_by_text("Stopped.").wait_for()
    requester.press("Plan")
    requester.page.get_by_text("Simulating crowds").wait_for()
    requester.press("All campaigns")
    requester.heading("Campaigns")
    requester.page.go_back()
    requester.heading("Plan a campaign")
    assert requester.page.get_by_role("button", name="Plan", exact=True).is_enabled()
