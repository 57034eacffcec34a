import pytest
from tests.nightly import nightly

import quietcrowd as qc
from quietcrowd.accounting.equal_loss import usual_makers
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms import MatrixFactorization
from quietcrowd.planning import CrowdSize, LabelCrowd, NumberCrowd, plan
from quietcrowd.planning.case import (
    Case,
    best_questions,
    case_of,
    fewest_people,
    fewest_people_of_best_questions,
    in_theory,
    least_total,
    make_case,
)

LABELS = qc.Categorical(["no", "yes"])
CROWD = LabelCrowd(domain=LABELS)
MAKER = qc.RandomizedResponse.from_claimed_epsilon


def case(people=20, tasks=100, answers=100, total=5.0, **more):
    """Return a campaign with a small crowd."""
    size = CrowdSize(tasks=tasks, workers=people, answers=answers)
    made = {"assumption": CROWD, "maker": MAKER, "name": "one-layer", **more}
    return Case(size=size, total=total, **made)


@pytest.mark.parametrize("per", ["total_epsilon", "epsilon"])
def test_a_row_is_that_of_a_plan(per):
    asked = {"tasks": 60, "workers": [20], "answers": [9], "domain": LABELS, "quality": CROWD}
    losses = {"total_epsilon": None, "epsilon": None, per: [3.0]}
    [row] = plan(**asked, **losses, draws=4).private
    assert case_of(**asked, **losses, target=None, draws=4).row() == row


def test_of_few_questions_chance_is_not_held_against_the_reports():
    row = case(people=300, tasks=3, answers=3, draws=12).row()
    assert row.high > row.constant > 0.4
    assert row.standing == "good"
    assert row.verdict.endswith("better than guessing, but so few questions leave much to chance.")
    assert case(people=3, tasks=3, answers=3, total=0.1, draws=12).row().useless


def test_few_questions_are_simulated_more_often():
    found = [case(50, tasks, tasks).crowds for tasks in (1, 5, 10, 40, 200)]
    assert found == [150, 150, 100, 25, 12]
    assert case(50, 5, 5, draws=7).crowds == 7
    [maker] = usual_makers(qc.Interval(low=0, high=10)).values()
    numbers = NumberCrowd(domain=qc.Interval(low=0, high=10))
    found = [case(50, tasks, tasks, assumption=numbers, maker=maker).crowds for tasks in (1, 5, 40)]
    assert found == [40, 40, 8]


@pytest.mark.nightly
@pytest.mark.parametrize(("people", "tasks", "total"), [(30, 1, 3.0), (50, 5, 5.0)])
def test_the_verdict_on_few_questions_does_not_depend_on_the_seed(people, tasks, total):
    # Both errors are some standard errors below the largest good one.
    rows = [case(people, tasks, tasks, total, seed=seed).row() for seed in range(10)]
    assert len({(row.standing, row.heading) for row in rows}) == 1


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("tasks", "total", "draws"),
    [(12, 5.0, 12), nightly(12, 5.0, None), nightly(100, 20.0, None)],
)
def test_what_is_found_suffices_when_it_is_planned_again(tasks, total, draws):
    start = case(people=8, tasks=tasks, answers=tasks, total=total, draws=draws)
    assert start.row().useless
    for search in (fewest_people, fewest_people_of_best_questions, least_total):
        told = []
        found = search(start, told.append)
        assert found.suffices
        size, total = found.case.size, found.case.total
        [again] = plan(
            tasks=tasks,
            workers=size.workers,
            answers=size.answers,
            domain=LABELS,
            total_epsilon=total,
            draws=draws,
        ).private
        assert again.standing == "good"
        assert again == found.row
        assert told


@pytest.mark.nightly
@pytest.mark.slow
def test_fewer_questions_per_person_are_better_at_a_total():
    start = case(people=300, tasks=100, answers=100)
    found = best_questions(start)
    assert found.row.answers < 20
    assert found.row.error < start.row().error - 0.1
    assert found.row.total_epsilon <= 5


@pytest.mark.slow
def test_theory_names_about_the_people_that_a_search_finds():
    start = case(people=1, tasks=100, answers=5, total=6.0)
    found = fewest_people(start).row.workers
    assert found / 1.6 < in_theory(start) < found * 1.6


@pytest.mark.nightly
def test_a_target_is_reached():
    start = case(people=10, tasks=60, answers=3, target=0.3)
    found = fewest_people(start)
    assert found.row.error <= 0.3
    assert found.row.workers > 10


def test_a_question_without_an_answer_is_wrong_in_theory_too():
    assert case(people=10, tasks=100, answers=1).theory() > 0.9
    assert case(people=10, tasks=100, answers=100, total=0.01).theory() == pytest.approx(
        0.5, abs=0.1
    )


@pytest.mark.parametrize(
    ("search", "changed"),
    [
        (fewest_people, {"total": 0.01}),
        (least_total, {"people": 1, "tasks": 400, "answers": 1}),
    ],
)
def test_what_no_number_reaches_is_none(search, changed):
    assert search(case(**changed)) is None
    assert in_theory(case(total=0.01)) is None


@pytest.mark.nightly
@pytest.mark.slow
def test_without_a_theory_all_is_simulated(monkeypatch):
    monkeypatch.setattr("quietcrowd.planning.case.theory_error", lambda *_: None)
    start = case(people=4, tasks=30, answers=30, total=8.0)
    assert in_theory(start) is None
    assert fewest_people(start).suffices
    assert best_questions(start).row.answers <= 30


@pytest.mark.nightly
@pytest.mark.slow
def test_numbers_are_searched_too():
    numbers = qc.Interval(low=0, high=10)
    [maker] = usual_makers(numbers).values()
    start = case(5, 50, 50, 20.0, assumption=NumberCrowd(domain=numbers), maker=maker)
    assert start.row().useless
    assert fewest_people(start).suffices
    assert best_questions(start).row.score == "mae"


def test_a_case_that_cannot_be_planned_is_refused():
    size = CrowdSize(tasks=5, workers=5, answers=5)
    asked = {"kind": Case, "assumption": CROWD, "name": "m", "maker": MAKER, "size": size}
    with pytest.raises(ParameterError, match="not both"):
        make_case(**asked, total=1.0, epsilon=1.0)
    with pytest.raises(ParameterError, match="epsilon must be a finite number above 0"):
        make_case(**asked, total=-1.0, epsilon=None)
    with pytest.raises(ParameterError, match=r"about 0\.1 remains, because"):
        make_case(**asked, total=1.0, epsilon=None, target=0.01)
    numbers = qc.Interval(low=0, high=10)
    sketch = MatrixFactorization.from_claimed_epsilon
    with pytest.raises(ParameterError, match="cannot read it"):
        make_case(
            **{**asked, "assumption": NumberCrowd(domain=numbers), "maker": sketch},
            total=1.0,
            epsilon=None,
        )
    nothing = qc.RandomizedResponse(domain=LABELS, epsilon=0.0)
    assert make_case(**asked, total=None, epsilon=None, given=nothing).total == 5.0
    for epsilon in (0.2, 0.5, 1.0):
        assert make_case(**asked, total=None, epsilon=epsilon).total == 5 * epsilon
