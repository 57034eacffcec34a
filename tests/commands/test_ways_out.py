"""Ways to a better result, as sentences and commands."""

import pytest

import quietcrowd as qc
from quietcrowd.commands.ways_out import ways_out
from quietcrowd.planning import case as searches
from quietcrowd.planning.case import Found, case_of


@pytest.fixture
def campaign():
    labels = qc.Categorical(["no", "yes"])
    losses = {"total_epsilon": [5.0], "epsilon": None, "target": None}
    size = {"tasks": 30, "workers": [8], "answers": [10]}
    return case_of(**size, **losses, domain=labels, quality=None, draws=3)


def told(campaign, monkeypatch, found):
    """Return the three sentences, where each search finds the same."""
    for name in ("fewest_people", "best_questions", "least_total"):
        monkeypatch.setattr(searches, name, lambda *_: found)
    monkeypatch.setattr(searches, "fewest_people_of_best_questions", lambda *_: found)
    ways = list(ways_out(campaign, lambda **_: "command"))
    assert {line for _, line in ways} == {None}
    return [sentence for sentence, _ in ways]


def test_a_search_that_ended_says_where(campaign, monkeypatch):
    assert told(campaign, monkeypatch, None) == [
        "More people: the search ended at 15,000 people, which does not suffice.",
        "Fewer questions per person: the search ended at 150,000 people, which does not suffice.",
        "A larger total, with less privacy: the search ended at ε = 150, which does not suffice.",
    ]


def test_what_changes_nothing_does_not_help(campaign, monkeypatch):
    found = Found(case=campaign, row=campaign.row())
    assert all(
        one.endswith(": this does not help here.") for one in told(campaign, monkeypatch, found)
    )
