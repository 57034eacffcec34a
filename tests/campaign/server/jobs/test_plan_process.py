import io
import json
import sys

import pytest

import quietcrowd as qc
from quietcrowd.campaign.server.api.plans import PlanDocument, PlanOrder
from quietcrowd.campaign.server.jobs import plan_process
from quietcrowd.campaign.server.jobs.plan_process import RejectedOrderError, planned
from quietcrowd.campaign.terms.chosen_mechanism import LABELS, NUMBERS
from quietcrowd.mechanisms import Mechanism
from quietcrowd.planning import expected_error, plan

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.QuietcrowdWarning"),
]

ORDER = {
    "labels": ["no", "yes"],
    "tasks": 40,
    "workers": [10],
    "answers": [8],
    "total_epsilon": [8],
}
YES_NO = qc.Categorical(["no", "yes"])
NUMERIC = {**ORDER, "labels": None, "between": [0, 10]}


def ordered(**changes):
    """Return what is asked for, as the route hands it on."""
    return PlanOrder.model_validate({**ORDER, **changes}).model_dump()


@pytest.mark.nightly
def test_a_plan_is_that_of_the_library():
    crowd = {"accuracy": 0.9, "guessers": 0, "truths": [0.7, 0.3]}
    found = planned(ordered(workers=[10, 20], total_epsilon=[32, 8], target=0.3, crowd=crowd))
    same = plan(
        tasks=40,
        workers=[10, 20],
        answers=8,
        domain=qc.Categorical(["no", "yes"]),
        quality=crowd,
        total_epsilon=[8, 32],
        target=0.3,
    )
    document = PlanDocument.model_validate(found)
    assert [(one.error, one.low, one.high) for one in document.rows] == [
        (one.error, one.low, one.high) for one in same.rows
    ]
    assert (document.assumed, document.draws) == (same.assumed, same.draws)
    assert [one.meets for one in document.rows] == [one in same.meeting for one in same.rows]
    assert [one.verdict for one in document.rows] == [one.verdict for one in same.rows]
    assert [one.useless for one in document.rows] == [
        one.private and one.useless for one in same.rows
    ]
    assert {one.meets for one in document.rows} == {True, False}


@pytest.mark.nightly
@pytest.mark.parametrize("least", ["people", "questions", "total"])
def test_a_search_finds_a_row_that_a_plan_gives_again(least):
    [row] = planned(ordered(workers=[200], answers=None, total_epsilon=[5], least=least))["rows"]
    assert (row["standing"], row["heading"]) == ("good", "Better than guessing")
    assert not row["useless"]
    sizes = {"workers": [row["workers"]], "answers": [row["answers"]]}
    again = planned(ordered(**sizes, total_epsilon=[round(row["total_epsilon"], 3)]))["rows"][0]
    assert again == row
    assert PlanDocument.model_validate(planned(ordered(workers=None, least="people"))).rows


@pytest.mark.parametrize(
    ("order", "score"), [(ORDER, "share"), ({**NUMERIC, "mechanisms": ["duchi"]}, "mean")]
)
def test_a_survey_is_planned_without_a_simulation(order, score):
    survey = ordered(**order | {"goal": "shares", "workers": [50, 9_000_000], "answers": [2]})
    found = PlanDocument.model_validate(planned(survey))
    assert (found.score, found.draws, found.skipped) == (score, 0, [])
    assert "everyone answers" in found.assumed
    few, many = found.rows
    assert few.error == few.low == few.high > many.error
    assert few.private
    assert many.standing == "good"
    assert f"each {score} will be known to about ±" in few.verdict
    least = planned({**survey, "workers": [50], "least": "people"})
    assert least["rows"][0]["workers"] > 50
    assert least["rows"][0]["standing"] == "good"


@pytest.mark.nightly
def test_mechanisms_that_are_offered_are_those_that_can_be_planned_with():
    for order, offered in ((ORDER, LABELS), (NUMERIC, NUMBERS)):
        every = sorted({*Mechanism.registry(), *offered})
        found = {}
        for place in range(0, len(every), 8):
            asked = {**order, "mechanisms": every[place : place + 8], "total_epsilon": [64]}
            try:
                rows = planned(ordered(**asked))["rows"]
            except RejectedOrderError:
                rows = []
            found |= {row["mechanism"]: row for row in rows if row["private"]}
        assert found.keys() == set(offered)
        assert planned(ordered(**order))["rows"][0]["mechanism"] == offered[0]


@pytest.mark.parametrize(
    ("changes", "pointer", "told"),
    [
        ({"labels": None}, "/labels", "got none of them"),
        ({"levels": [1, 2]}, "/levels", "got labels and levels"),
        ({"labels": ["a", "a"]}, "/labels", "'a' is repeated"),
        ({"labels": None, "levels": [2, 1]}, "/levels", "must increase; got [2, 1]"),
        ({"labels": None, "between": [2, 1]}, "/between", "low must be below high"),
        ({"tasks": 0}, "/tasks", "at least 1; got 0"),
        ({"workers": [5, 0]}, "/workers", "at least 1; got 0"),
        ({"answers": [41]}, "/answers", "got answers=41, tasks=40"),
        ({"mechanisms": ["laplce"]}, "/mechanisms", "did you mean"),
        ({"mechanisms": ["laplace"]}, "/mechanisms", "laplace was dropped"),
        ({"total_epsilon": [1, 0]}, "/total_epsilon", "epsilon must be above 0"),
        ({"total_epsilon": [-1]}, "/total_epsilon", "epsilon must be a finite number, at least 0"),
        ({"total_epsilon": None, "epsilon": [0]}, "/epsilon", "epsilon must be above 0"),
        ({"epsilon": [1]}, "/epsilon", "use total_epsilon or epsilon, not both"),
        ({"workers": None}, "/workers", "required unless least is people"),
        ({"workers": None, "least": "total"}, "/workers", "required unless least is people"),
        ({"workers": [5, 9], "least": "total"}, "/workers", "must be one number"),
        ({"total_epsilon": [1, 2], "least": "people"}, "/total_epsilon", "must be one number"),
        ({"total_epsilon": [0.001], "least": "people"}, "/least", "no number of people suffices"),
        ({"least": "people", "target": 0.01}, "/mechanisms", "about 0.1 remains"),
        ({"target": -1}, "/target", "target must be a finite number, at least 0; got -1"),
        (
            {"crowd": {"accuracy": 2}},
            "/crowd/accuracy",
            "accuracy must be a number from 0 to 1; got 2",
        ),
        ({"crowd": {"truths": [1]}}, "/crowd/truths", "2 probabilities that sum to 1"),
        ({"crowd": {"spread": 1}}, "/crowd/guessers", "spread"),
        (
            {"tasks": 50, "workers": [10_000], "answers": [50]},
            "/workers",
            "The limit of a server is 200,000",
        ),
        (
            {"tasks": 1000, "workers": [100], "answers": [900], "total_epsilon": [*range(1, 13)]}
            | {"mechanisms": ["one-layer", "subset-selection", "optimal", "two-layer"]},
            "/epsilon",
            "The limit of a server is 4,000,000",
        ),
    ],
)
def test_what_cannot_be_planned_says_where_and_why(changes, pointer, told):
    with pytest.raises(RejectedOrderError) as caught:
        planned(ordered(**changes))
    assert caught.value.pointer == pointer
    assert told in caught.value.message


def test_the_process_answers_each_line_with_a_line(monkeypatch, capsys):
    lines = [json.dumps(ordered(workers=[0])), "no document", json.dumps(ordered())]
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(lines)))
    monkeypatch.setattr(plan_process.os, "nice", lambda _: None)
    plan_process.main()
    refused, failed, done = map(json.loads, capsys.readouterr().out.splitlines())
    assert refused["refused"][0] == "/workers"
    assert failed == {"failed": "JSONDecodeError"}
    assert len(done["plan"]["rows"]) == 2


MENU = {
    **{"menu": [{"total_epsilon": 8, "share": 0.7}, {"total_epsilon": 32, "share": 0.3}]},
    "total_epsilon": None,
}


def test_a_menu_has_a_row_per_size():
    found = PlanDocument.model_validate(planned(ordered(workers=[10, 40], **MENU)))
    mechanisms = [qc.RandomizedResponse(domain=YES_NO, epsilon=epsilon) for epsilon in (1, 4)]
    same = expected_error(mechanisms, [0.7, 0.3], tasks=40, workers=40, answers=8)
    assert [row.workers for row in found.rows] == [10, 40]
    assert found.rows[1].error == pytest.approx(same.error, abs=1e-6)
    assert found.rows[1].total_epsilon == pytest.approx(32, rel=1e-6)
    assert "a total of at most ε = 32 per person" in found.rows[1].verdict


@pytest.mark.parametrize("kind", [{}, {"labels": None, "between": [0, 10]}])
def test_a_survey_of_a_menu_lies_between_those_of_its_entries(kind):
    def width(**changes):
        [row] = planned(ordered(goal="shares", **kind, **changes))["rows"]
        return row["error"]

    alone = [width(total_epsilon=[total]) for total in (8, 32)]
    assert alone[0] > width(**MENU) > alone[1]


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"total_epsilon": [8]}, "/total_epsilon"),
        ({"mechanisms": ["optimal"]}, "/mechanisms"),
        ({"least": "people"}, "/least"),
        ({"menu": [{"total_epsilon": 8, "share": 0.7}] * 2}, "/menu"),
    ],
)
def test_what_does_not_fit_a_menu_is_refused(changes, pointer):
    with pytest.raises(RejectedOrderError) as caught:
        planned(ordered(**{**MENU, **changes}))
    assert caught.value.pointer == pointer
