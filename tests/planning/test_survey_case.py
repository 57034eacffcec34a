import pytest

import quietcrowd as qc
from quietcrowd.exceptions import ParameterError
from quietcrowd.planning import CrowdSize
from quietcrowd.planning.case import (
    best_questions,
    fewest_people,
    fewest_people_of_best_questions,
    in_theory,
    least_total,
)
from quietcrowd.planning.survey_case import survey_cases, survey_plan
from quietcrowd.survey.precision import half_width

YES_NO = qc.Categorical(["no", "yes"])


def cases(people=(30,), tasks=12, answers=None, total=(5.0,), domain=YES_NO, **more):
    asked = {"mechanisms": None, "epsilon": None, "target": None, **more}
    losses = None if total is None else list(total)
    return survey_cases(
        tasks=tasks,
        workers=list(people),
        answers=answers,
        domain=domain,
        total_epsilon=losses,
        **asked,
    )


def case(**changes):
    [found] = cases(**changes)
    return found


def test_a_row_has_the_half_width_of_the_mechanism():
    start = case(people=[340], answers=[2])
    row = start.row()
    assert start.size == CrowdSize(tasks=12, workers=340, answers=2)
    assert row.error == row.low == row.high == half_width(start.mechanism, 340 * 2 / 12)
    assert (row.score, row.constant, row.standard_error, row.standing) == ("share", 0.5, 0, "good")
    assert row.total_epsilon == pytest.approx(5, rel=1e-6)
    assert "each share will be known to about ± 15 points (95 %)" in row.verdict


@pytest.mark.parametrize(
    "search", [fewest_people, fewest_people_of_best_questions, least_total, best_questions]
)
def test_each_way_out_is_good_and_the_least_of_its_grid(search):
    start = case(people=[50])
    assert start.row().standing == "useless"
    found = search(start)
    if search is best_questions:
        widths = [start.with_answers(one).theory() for one in range(1, 13)]
        assert found.row.error == pytest.approx(min(widths))
        assert found.row.answers == 2
        return
    assert found.suffices
    assert found.row.standing == "good"
    less = found.case
    less = (
        less.with_total(less.total / 1.2)
        if search is least_total
        else less.with_people(int(found.row.workers / 1.2))
    )
    assert less.row().standing != "good"


def test_a_target_is_a_half_width_and_nothing_suffices_for_few_people():
    assert fewest_people(case(answers=[2], target=0.05)).row.error <= 0.05
    assert least_total(case()) is None
    assert in_theory(case()) == fewest_people(case()).row.workers


@pytest.mark.parametrize(
    ("domain", "score", "constant"),
    [
        (qc.Ordinal([1, 2, 3, 4, 5]), "mean", 2.0),
        (qc.Interval(low=-10, high=10), "mean", 10.0),
        (qc.Categorical(["a", "b", "c"]), "share", 0.5),
    ],
)
def test_levels_and_numbers_have_means(domain, score, constant):
    row = case(domain=domain, people=[5_000], answers=[2]).row()
    assert (row.score, row.constant, row.standing) == (score, constant, "good")
    assert fewest_people(case(domain=domain, answers=[2])).suffices


def test_a_plan_has_all_combinations():
    found = survey_plan(cases(people=[30, 60], answers=[2, 4], total=[2.0, 5.0]))
    sizes = {(row.workers, row.answers, round(row.total_epsilon)) for row in found.rows}
    assert len(found.rows) == len(sizes) == 8
    assert found.private == found.rows
    assert found.score == "share"
    assert found.to_dict()["rows"][0]["standing"] == found.rows[0].standing
    assert case(total=None, answers=[1]).total == 2.2
    assert case(total=None, epsilon=[0.5], answers=[2]).total == 1.0


def test_what_has_no_estimates_cannot_be_planned():
    sketch = {"matrix-factorization": qc.mechanisms.MatrixFactorization.from_claimed_epsilon}
    with pytest.raises(ParameterError, match="matrix-factorization was dropped: means need"):
        cases(domain=qc.Interval(low=0, high=1), mechanisms=sketch)
    with pytest.raises(ParameterError, match="not both"):
        cases(epsilon=[1.0])
