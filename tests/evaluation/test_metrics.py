import numpy as np
import pandas as pd
import pytest

import quietcrowd as qc
from quietcrowd.evaluation.metrics import (
    KnownLabels,
    KnownNumbers,
    centred_error,
    constant_error_rate,
    correlation,
)
from quietcrowd.exceptions import AnswerError, ParameterError

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


def test_an_estimate_of_tasks_in_another_order_is_refused():
    known = KnownLabels(ANSWERS, TRUTHS)
    assert known.error_rate(qc.MajorityVote().fit(ANSWERS)) == pytest.approx(1 / 3)
    other = qc.Answers.from_frame(FRAME.iloc[::-1], ANSWERS.domain)
    with pytest.raises(AnswerError, match="different tasks"):
        known.error_rate(qc.MajorityVote().fit(other))


def test_constant_guess():
    assert constant_error_rate(ANSWERS, TRUTHS) == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("truths", "message"),
    [
        (TRUTHS.assign(task=["7", "8", "9"]), "row 0: task '7' is not in the answers"),
        (TRUTHS.assign(task=["3", "3", "2"]), "task 3 occurs 2 times"),
        (
            TRUTHS.assign(label=["a", "b", "c"]),
            "row 2: the truth of task 2, 'c', is outside the domain",
        ),
        (TRUTHS.iloc[:0], "there are no known truths"),
        (TRUTHS.drop(columns="label"), "column 'label' is missing"),
    ],
)
def test_truths_that_do_not_fit(truths, message):
    with pytest.raises(AnswerError, match=message):
        KnownLabels(ANSWERS, truths)


def test_numbers_have_no_error_rate():
    frame = FRAME.assign(label=[1.0, 2.0, 3.0])
    answers = qc.Answers.from_frame(frame, qc.Interval(low=0, high=5))
    with pytest.raises(AnswerError, match="an error rate needs labels"):
        KnownLabels(answers, TRUTHS)


NUMBERS = pd.DataFrame({"task": [1, 2, 3, 3], "worker": [*"uuuv"], "label": [2.0, 4.0, 8.0, 9.0]})
TRUE_NUMBERS = pd.DataFrame({"task": ["1", "2", "3"], "label": [1.0, 5.0, 12.5]})


def test_errors_of_numbers():
    estimate = qc.Mean().fit(NUMBERS, non_private=True)  # 2, 4, 8.5
    known = KnownNumbers(estimate.answers, TRUE_NUMBERS)
    assert qc.mean_absolute_error(estimate, TRUE_NUMBERS) == pytest.approx((1 + 1 + 4) / 3)
    assert known.centred_error(estimate) == pytest.approx(np.std([1.0, -1.0, -4.0]))
    assert known.correlation(estimate) == pytest.approx(
        np.corrcoef([2, 4, 8.5], [1, 5, 12.5])[0, 1]
    )
    absolute, *centred = known.of_constant()[:3]
    assert absolute == pytest.approx((4 + 0 + 7.5) / 3)
    assert centred == pytest.approx([np.std([1.0, 5.0, 12.5])] * 2)


def test_a_shift_of_all_estimates_does_not_show_after_centring():
    estimate = qc.Mean().fit(NUMBERS, non_private=True)
    moved = qc.Mean().fit(NUMBERS.assign(label=NUMBERS["label"] + 100), non_private=True)
    assert centred_error(moved, TRUE_NUMBERS) == pytest.approx(
        centred_error(estimate, TRUE_NUMBERS)
    )
    assert correlation(moved, TRUE_NUMBERS) == pytest.approx(correlation(estimate, TRUE_NUMBERS))
    errors = (qc.mean_absolute_error(found, TRUE_NUMBERS) for found in (moved, estimate))
    change = next(errors) - next(errors)
    assert change == pytest.approx(296 / 3 - 2, abs=1e-6)


def test_a_task_that_nobody_answered_counts_as_the_mean_of_the_others():
    answers = qc.Answers.from_frame(
        NUMBERS, qc.Interval(low=0, high=10), tasks=[1, 2, 3, 4], workers=["u", "v"]
    )
    truths = pd.DataFrame({"task": [4], "label": [0.0]})
    assert qc.mean_absolute_error(qc.Mean().fit(answers), truths) == pytest.approx(14.5 / 3)


def test_levels_are_numbers_and_labels_are_not():
    stars = qc.Answers.from_frame(NUMBERS, qc.Ordinal(range(10)))
    vote = qc.MajorityVote(random_state=1).fit(stars)
    assert qc.mean_absolute_error(vote, TRUE_NUMBERS) in (
        pytest.approx((1 + 1 + 4.5) / 3),
        pytest.approx((1 + 1 + 3.5) / 3),
    )
    with pytest.raises(AnswerError, match="needs numbers"):
        qc.mean_absolute_error(qc.MajorityVote().fit(ANSWERS), TRUE_NUMBERS)
    with pytest.raises(AnswerError, match="got numbers"):
        qc.error_rate(qc.Mean().fit(stars), pd.DataFrame({"task": [1], "label": [2]}))


def test_a_constant_has_no_correlation():
    flat = qc.Mean().fit(NUMBERS.assign(label=3.0), non_private=True)
    assert np.isnan(correlation(flat, TRUE_NUMBERS))


@pytest.mark.parametrize(
    ("label", "told"),
    [
        (None, "the truth of task 2 is missing. Delete the row"),
        (float("nan"), "the truth of task 2 is missing, because 'nan' marks a missing value"),
        *((label, ".* not a finite number") for label in ("x", float("inf"))),
    ],
)
def test_truths_that_are_no_numbers(label, told):
    truths = pd.DataFrame({"task": [1, 2], "label": ["1.0", label and str(label)]})
    with pytest.raises(AnswerError, match=f"truths, row 1: {told}"):
        qc.mean_absolute_error(qc.Mean().fit(NUMBERS, non_private=True), truths)


def test_only_estimates_have_errors():
    for metric in (qc.mean_absolute_error, centred_error, correlation):
        with pytest.raises(ParameterError, match="estimate must be a TruthEstimate"):
            metric(NUMBERS, TRUE_NUMBERS)


def test_truths_may_be_a_series_as_crowd_kit_has_it():
    crowd = qc.make_crowd(tasks=40, workers=12, accuracy=(0.4, 0.6), random_state=4)
    series = crowd.truths.to_pandas().set_index("task")["label"].rename_axis(None)
    estimate = qc.MajorityVote().fit(crowd.answers)
    assert qc.error_rate(estimate, series) == qc.error_rate(estimate, crowd.truths) > 0
    known = qc.MajorityVote().fit(crowd.answers, gold=series[:30])
    assert qc.error_rate(known, series[:30]) == 0
    with pytest.raises(AnswerError, match="'nobody' is not in the answers"):
        qc.error_rate(estimate, pd.Series({"nobody": 1}))


SERIES = pd.Series({1: "a", 2: "b", 3: "a"}).rename_axis("task")


def test_series_have_an_error_rate():
    truths = TRUTHS.set_index("task")["label"]
    assert qc.error_rate(SERIES, truths) == qc.error_rate(SERIES, TRUTHS) == pytest.approx(1 / 3)
    assert qc.error_rate(SERIES, qc.MajorityVote().fit(ANSWERS)) == 0
    assert qc.error_rate(
        qc.MajorityVote().fit_predict(FRAME, non_private=True), truths
    ) == pytest.approx(1 / 3)
    assert qc.error_rate(SERIES, truths[:1]) == 0


def test_series_match_as_numbers_or_as_text():
    numbers = pd.Series([1, 0, 1], index=["x", "y", "z"])
    assert qc.error_rate(numbers, numbers.astype(str)) == 0
    assert qc.error_rate(numbers.astype(float), numbers) == 0
    assert qc.error_rate(numbers.map({1: "1", 0: "no"}), numbers) == pytest.approx(1 / 3)


def test_a_missing_label_of_a_series_is_wrong():
    found = SERIES.where(SERIES.index != 2)
    assert qc.error_rate(found, SERIES) == pytest.approx(1 / 3)
    assert qc.error_rate(SERIES.where(SERIES == 0), SERIES) == 1


@pytest.mark.parametrize(
    ("found", "truths", "message"),
    [
        (SERIES, SERIES.where(SERIES == "a"), "truths, row 1"),
        (SERIES, pd.Series({7: "a"}), "task 7 is not in the answers"),
        (pd.concat([SERIES, SERIES]), SERIES, "occurs 2 times"),
        (SERIES, pd.concat([SERIES, SERIES]), "occurs 2 times"),
    ],
)
def test_series_that_do_not_fit(found, truths, message):
    with pytest.raises(AnswerError, match=message):
        qc.error_rate(found, truths)


def test_series_have_an_error_of_numbers():
    found = qc.Mean().fit_predict(NUMBERS, non_private=True)  # 2, 4, 8.5
    truths = TRUE_NUMBERS.set_index("task")["label"]
    assert qc.mean_absolute_error(found, truths) == pytest.approx((1 + 1 + 4) / 3)
    alone = found.where(found.index != 3)  # the missing one counts as the mean of the others
    assert qc.mean_absolute_error(alone, truths) == pytest.approx((1 + 1 + 9.5) / 3)
    with pytest.raises(AnswerError, match="not a finite number"):
        qc.mean_absolute_error(found, truths.replace(5.0, np.inf))
