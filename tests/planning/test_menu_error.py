import math

import numpy as np
import pytest

import quietcrowd as qc
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.planning import expected_error, expected_half_width, plan
from quietcrowd.planning.menu_error import Choices
from quietcrowd.survey.precision import half_width

YES_NO = qc.Categorical(["no", "yes"])
LOW, HIGH = (qc.RandomizedResponse(domain=YES_NO, epsilon=epsilon) for epsilon in (0.5, 4.0))
SIZE = {"tasks": 200, "workers": 100, "answers": 20}


def test_workers_choose_by_their_shares():
    crowd = qc.make_crowd(tasks=50, workers=200, answers_per_task=100, random_state=1)
    reports = Choices(mechanisms=(HIGH, LOW), shares=(0.3, 0.7)).simulate(
        crowd.answers, random_state=1
    )
    sizes = {part.mechanism: len(part.table.workers) for part in reports.split()}
    assert sizes == {LOW: 140, HIGH: 60}
    assert len(reports) == len(crowd.answers)
    again = Choices(mechanisms=(HIGH, LOW), shares=(0.3, 0.7)).simulate(
        crowd.answers, random_state=1
    )
    assert np.array_equal(reports.table.values, again.table.values)


def test_the_error_of_a_menu_lies_between_those_of_its_mechanisms():
    quality = {"accuracy": 0.8}
    errors = [
        expected_error([LOW, HIGH], shares, quality=quality, draws=6, **SIZE).error
        for shares in [(0.99, 0.01), (0.7, 0.3), (0.01, 0.99)]
    ]
    assert errors[0] > errors[1] + 0.02 > errors[2] + 0.04


def test_a_menu_of_equal_noise_errs_like_one_mechanism():
    flip = LOW.channel.weights[0, 1] / 2**32
    same = qc.RandomizedResponse(domain=YES_NO, flip_probability=flip)
    found = expected_error([LOW, same], [0.5, 0.5], draws=8, **SIZE)
    [row] = plan(domain=YES_NO, epsilon=0.5, draws=8, **SIZE).private
    assert found.constant == row.constant
    assert found.error == pytest.approx(row.error, abs=0.06)
    assert found.total_epsilon == row.total_epsilon
    assert found.mechanism == "one-layer or one-layer"


def test_numbers_of_a_menu():
    domain = qc.Interval(low=0, high=10)
    menu = [
        qc.LaplaceMechanism(domain=domain, epsilon=0.5, fill=None),
        qc.PiecewiseMechanism(domain=domain, epsilon=4.0),
    ]
    found = expected_error(menu, [0.5, 0.5], draws=4, **SIZE)
    assert 0 < found.error < found.constant
    assert found.epsilon == menu[1].guarantee().epsilon


def test_people_of_a_survey_count_equally():
    width = expected_half_width([LOW, HIGH], [0.7, 0.3], 1000)
    squares = [half_width(one, 1000) ** 2 for one in (LOW, HIGH)]
    assert width == pytest.approx(math.sqrt(0.7 * squares[0] + 0.3 * squares[1]))


@pytest.mark.parametrize("shares", [(0.5,), (0.5, 0.6), (1.0, 0.0), (1.5, -0.5), (math.nan, 0.5)])
def test_invalid_shares(shares):
    with pytest.raises(ParameterError, match="shares must be 2 numbers"):
        expected_error([LOW, HIGH], shares, **SIZE)


def test_mechanisms_that_cannot_be_joined():
    other = qc.RandomizedResponse(domain=qc.Categorical(["a", "b"]), epsilon=1.0)
    with pytest.raises(AnswerError, match="domain"):
        expected_error([LOW, other], [0.5, 0.5], **SIZE)
    null = qc.RandomizedResponse(domain=YES_NO, epsilon=1.0, missing="category")
    with pytest.raises(ParameterError, match="cannot be joined"):
        expected_error([LOW, null], [0.5, 0.5], **SIZE)
