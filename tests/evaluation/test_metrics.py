import pandas as pd
import pytest

import quietcrowd as qc
from quietcrowd.evaluation.metrics import KnownTruths, constant_error_rate
from quietcrowd.exceptions import AnswerError

FRAME = pd.DataFrame({"task": [1, 2, 3], "worker": "u", "label": ["a", "b", "a"]})
ANSWERS = qc.Answers.from_frame(FRAME, qc.Categorical(["a", "b"]), tasks=[1, 2, 3, 4])
TRUTHS = pd.DataFrame({"task": ["3", "1", "2"], "label": ["a", "b", "b"]})


def test_error_rate_counts_what_differs():
    estimate = qc.MajorityVote().fit(ANSWERS)
    assert qc.error_rate(estimate, TRUTHS) == pytest.approx(1 / 3)
    assert qc.error_rate(estimate, TRUTHS.iloc[[0, 2]]) == 0


def test_a_task_that_nobody_answered_is_wrong():
    truths = pd.DataFrame({"task": [4], "label": ["a"]})
    assert qc.error_rate(qc.MajorityVote().fit(ANSWERS), truths) == 1


def test_change_is_private_minus_plain():
    plain = qc.MajorityVote().fit(ANSWERS)
    worse = qc.MajorityVote().fit(ANSWERS.with_values(ANSWERS.domain, 1 - ANSWERS.values))
    assert qc.error_rate_change(worse, plain, TRUTHS) == pytest.approx(1 / 3)


def test_an_estimate_of_tasks_in_another_order_is_refused():
    known = KnownTruths(ANSWERS, TRUTHS)
    assert known.error_rate(qc.MajorityVote().fit(ANSWERS)) == pytest.approx(1 / 3)
    other = qc.Answers.from_frame(FRAME.iloc[::-1], ANSWERS.domain)
    with pytest.raises(AnswerError, match="different tasks"):
        known.error_rate(qc.MajorityVote().fit(other))


def test_constant_guess():
    assert constant_error_rate(ANSWERS, TRUTHS) == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("truths", "message"),
    [
        (TRUTHS.assign(task=["3", "9", "2"]), "row 1: task '9' is no task of the answers"),
        (TRUTHS.assign(task=["3", "3", "2"]), "task 3 occurs 2 times"),
        (TRUTHS.assign(label=["a", "b", "c"]), "row 2: 'c' is outside the domain"),
        (TRUTHS.iloc[:0], "there is no known truth"),
        (TRUTHS.drop(columns="label"), "column 'label' is missing"),
    ],
)
def test_truths_that_do_not_fit(truths, message):
    with pytest.raises(AnswerError, match=message):
        KnownTruths(ANSWERS, truths)


def test_numbers_have_no_error_rate():
    frame = FRAME.assign(label=[1.0, 2.0, 3.0])
    answers = qc.Answers.from_frame(frame, qc.Interval(low=0, high=5))
    with pytest.raises(AnswerError, match="an error rate needs labels"):
        KnownTruths(answers, TRUTHS)
