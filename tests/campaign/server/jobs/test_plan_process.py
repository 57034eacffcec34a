import io
import json
import sys

import pytest

import quietcrowd as qc
from quietcrowd.campaign.server.api.plans import EPSILONS, LABELS, NUMBERS, PlanDocument, PlanOrder
from quietcrowd.campaign.server.jobs import plan_process
from quietcrowd.campaign.server.jobs.plan_process import RejectedOrderError, planned
from quietcrowd.mechanisms import Mechanism
from quietcrowd.planning import plan
from quietcrowd.planning.planner import DEFAULT_EPSILONS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.QuietcrowdWarning"),
]

ORDER = {"labels": ["no", "yes"], "tasks": 40, "workers": [10], "answers": [8], "epsilon": [1.0]}
NUMERIC = {**ORDER, "labels": None, "between": [0, 10]}


def ordered(**changes):
    """Return what is asked for, as the route hands it on."""
    return PlanOrder.model_validate({**ORDER, **changes}).model_dump()


@pytest.mark.nightly
def test_a_plan_is_that_of_the_library():
    crowd = {"accuracy": 0.9, "guessers": 0, "truths": [0.7, 0.3]}
    found = planned(ordered(workers=[10, 20], epsilon=[4.0, 1.0], target=0.3, crowd=crowd))
    same = plan(
        tasks=40,
        workers=[10, 20],
        answers=8,
        domain=qc.Categorical(["no", "yes"]),
        quality=crowd,
        epsilon=[1.0, 4.0],
        target=0.3,
    )
    document = PlanDocument.model_validate(found)
    assert [(one.error, one.low, one.high) for one in document.rows] == [
        (one.error, one.low, one.high) for one in same.rows
    ]
    assert (document.assumed, document.draws) == (same.assumed, same.draws)
    assert [one.meets for one in document.rows] == [one in same.meeting for one in same.rows]
    assert [one.claimed_epsilon for one in document.rows] == [1.0, 4.0, None] * 2
    assert {one.meets for one in document.rows} == {True, False}


@pytest.mark.grid
@pytest.mark.parametrize("per", ["answer", "worker"])
def test_the_epsilon_to_create_a_campaign_with_gives_the_mechanism_of_the_row(per):
    found = planned(ordered(mechanisms=["two-layer", "one-layer"], epsilon=[16.0], per=per))
    rows = [one for one in found["rows"] if one["private"]]
    assert {one["mechanism"] for one in rows} == {"two-layer", "one-layer"}
    for row in rows:
        kind = Mechanism.registry()[row["mechanism"]]
        domain = qc.Categorical(["no", "yes"])
        made = kind.from_claimed_epsilon(domain=domain, epsilon=row["claimed_epsilon"])
        guarantee = made.guarantee(answers=8, tasks=40)
        assert (guarantee.epsilon, guarantee.total_epsilon) == (
            row["epsilon"],
            row["total_epsilon"],
        )


@pytest.mark.nightly
def test_mechanisms_that_are_offered_are_those_that_can_be_planned_with():
    for order, offered in ((ORDER, LABELS), (NUMERIC, NUMBERS)):
        every = sorted({*Mechanism.registry(), *offered})
        found = {}
        for place in range(0, len(every), 8):
            asked = {**order, "mechanisms": every[place : place + 8], "epsilon": [8.0]}
            try:
                rows = planned(ordered(**asked))["rows"]
            except RejectedOrderError:
                rows = []
            found |= {row["mechanism"]: row for row in rows if row["private"]}
        assert found.keys() == set(offered)
        assert planned(ordered(**order))["rows"][0]["mechanism"] == offered[0]
    assert EPSILONS == DEFAULT_EPSILONS


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
        ({"epsilon": [1, 0]}, "/epsilon", "epsilon must be above 0"),
        ({"target": -1}, "/target", "target must be a finite number, at least 0; got -1"),
        (
            {"crowd": {"accuracy": 2}},
            "/crowd/accuracy",
            "accuracy must be a number from 0 to 1; got 2",
        ),
        ({"crowd": {"truths": [1]}}, "/crowd/truths", "2 probabilities that sum to 1"),
        ({"crowd": {"spread": 1}}, "/crowd/guessers", "spread"),
        ({"tasks": 2000, "workers": [200_000]}, "/workers", "The limit of a server is 200,000"),
        (
            {"tasks": 1000, "workers": [100], "answers": [900], "epsilon": [*range(1, 13)]}
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
