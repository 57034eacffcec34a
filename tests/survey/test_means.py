import math

import numpy as np
import pandas as pd
import pytest

import quietcrowd as qc
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.survey import estimate_means
from quietcrowd.survey.means import UnbiasedNumbers

LEVELS = qc.Ordinal(range(5))


def reports_of(labels, mechanism, seed=0):
    frame = pd.DataFrame({"task": "q", "worker": range(len(labels)), "label": labels})
    return mechanism.simulate(qc.Answers.from_frame(frame, domain=LEVELS), random_state=seed)


MECHANISMS = {
    "plain": lambda _: None,
    "labels": lambda domain: qc.RandomizedResponse(domain=domain, epsilon=2.0),
    "sets": lambda domain: qc.SubsetSelection(domain=domain, epsilon=0.7),
    "laplace": lambda domain: qc.LaplaceMechanism(domain=domain, epsilon=1.0, fill=None),
    "piecewise": lambda domain: qc.PiecewiseMechanism(domain=domain, epsilon=2.0),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_intervals_of_a_mean_hold_it(name):
    surveys, people = 4000, 20
    rng = np.random.default_rng(0)
    shares = [0.9, 0.025, 0.025, 0.025, 0.025]
    frame = pd.DataFrame(
        {
            "task": np.repeat(np.arange(surveys), people),
            "worker": np.tile(np.arange(people), surveys),
            "label": rng.choice(5, surveys * people, p=shares),
        }
    )
    answers = qc.Answers.from_frame(frame, domain=LEVELS)
    mechanism = MECHANISMS[name](LEVELS)
    reports = answers if mechanism is None else mechanism.simulate(answers, random_state=rng)
    found = estimate_means(reports)
    held = ((found["low"] <= 0.25) & (found["high"] >= 0.25)).mean()
    assert held > 0.93  # .95 or more is held; six standard errors are .02
    spread = found["mean"].std() / math.sqrt(surveys)
    assert abs(found["mean"].mean() - 0.25) < 6 * spread


def test_variances_of_sets_are_those_of_all_sets():
    mechanism = qc.SubsetSelection(domain=LEVELS, epsilon=0.7)
    labels = np.repeat(np.arange(5), 40_000)
    for level in (0, 4):
        reports = reports_of(labels[labels == level], mechanism, seed=level)
        found = UnbiasedNumbers.of(mechanism)
        numbers = found.numbers(reports.table.values)
        mean_square = found.ends[0 if level == 0 else 1]
        error = (numbers**2).std() / math.sqrt(len(numbers))
        assert abs((numbers**2).mean() - mean_square) < 6 * error


def test_a_question_without_answers_may_have_any_mean():
    frame = pd.DataFrame({"task": ["a"], "worker": [1], "label": [3]})
    means = estimate_means(qc.Answers.from_frame(frame, domain=LEVELS, tasks=["a", "b"]))
    assert math.isnan(means["mean"][1])
    assert (means["low"][1], means["high"][1]) == pytest.approx((0.0, 4.0))


def test_other_answers_are_refused():
    frame = pd.DataFrame({"task": ["a"], "worker": [1], "label": ["yes"]})
    labels = qc.Answers.from_frame(frame, domain=qc.Categorical(["no", "yes"]))
    with pytest.raises(AnswerError) as error:
        estimate_means(labels)
    assert error.value.code == "survey.answers-have-no-mean"
    with_filled_gaps = qc.LaplaceMechanism(domain=LEVELS, epsilon=1.0)
    with pytest.raises(AnswerError) as error:
        estimate_means(reports_of([3], with_filled_gaps))
    assert error.value.code == "survey.means-unsupported"


@pytest.mark.parametrize("confidence", [0.0, 1.0, math.nan, "much"])
def test_the_confidence_must_be_a_proportion(confidence):
    with pytest.raises(ParameterError):
        estimate_means(
            reports_of([3], qc.RandomizedResponse(domain=LEVELS, epsilon=1.0)),
            confidence=confidence,
        )


def test_numbers_of_several_mechanisms_are_weighted_by_people():
    domain, rng = qc.Interval(low=0, high=10), np.random.default_rng(2)
    parts = []
    for place, (count, middle, epsilon) in enumerate([(14_000, 6.0, 0.5), (6_000, 3.0, 4.0)]):
        numbers = np.clip(rng.normal(middle, 1.0, count), 0, 10)
        workers = np.arange(count) + 20_000 * place
        frame = pd.DataFrame({"task": "q", "worker": workers, "label": numbers})
        mechanism = qc.LaplaceMechanism(domain=domain, epsilon=epsilon, fill=None)
        answers = qc.Answers.from_frame(frame, domain)
        parts.append(mechanism.simulate(answers, random_state=rng))
    found = estimate_means(qc.join_reports(*parts)).iloc[0]
    # The standard error of .7 times the mean of 14,000 with a noise of 28 is .17.
    assert found["mean"] == pytest.approx(0.7 * 6 + 0.3 * 3, abs=0.9)
    assert 0.5 < found["high"] - found["low"] < 0.9
    assert found["reports"] == 20_000
