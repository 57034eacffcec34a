import math

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln

import quietcrowd as qc
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.survey import estimate_shares
from quietcrowd.survey.shares import Decoder
from quietcrowd.task_options import TaskOptions

LEVELS = qc.Ordinal(range(5))
YES_NO = qc.Categorical(["no", "yes"])


def reports_of(labels, domain, mechanism=None, seed=0):
    frame = pd.DataFrame({"task": "q", "worker": range(len(labels)), "label": labels})
    answers = qc.Answers.from_frame(frame, domain=domain)
    return answers if mechanism is None else mechanism.simulate(answers, random_state=seed)


def binomial(people, chance):
    count = np.arange(people + 1)
    ways = gammaln(people + 1) - gammaln(count + 1) - gammaln(people - count + 1)
    return np.exp(ways + count * math.log(chance) + (people - count) * math.log1p(-chance))


def coverage(people, options, epsilon, share):
    """Return the exact probability that the interval of one label's share contains it."""
    domain = qc.Categorical([str(label) for label in range(options)])
    mechanism = qc.RandomizedResponse(domain=domain, epsilon=epsilon)
    decoder = Decoder.of(mechanism.channel)
    count = np.arange(people + 1)
    rest = np.zeros((people + 1, options - 2), np.int64)
    counts = np.column_stack([count, people - count, rest])
    low, high = (ends[:, 0] for ends in decoder.intervals(counts, 0.95))
    keep, other = mechanism.channel.keep_and_other
    reported = other + (keep - other) * share
    return float(binomial(people, reported)[(low <= share) & (share <= high)].sum())


def mean_and_least_coverage(sizes, options, epsilons, shares):
    found = [
        coverage(people, count, epsilon, share)
        for people in sizes
        for count in options
        for epsilon in epsilons
        for share in shares
    ]
    return float(np.mean(found)), min(found)


def test_intervals_of_a_share_hold_it_in_19_of_20_surveys():
    mean, least = mean_and_least_coverage(
        (20, 50, 200, 1000), (2, 4, 7), (0.2, 1.0, 2.5, 4.0), (0.01, 0.1, 0.5, 0.9, 0.99)
    )
    assert least >= 0.89
    assert 0.94 <= mean <= 0.97


@pytest.mark.nightly
def test_intervals_of_a_share_hold_it_for_every_size_and_epsilon():
    epsilons, shares = (0.2, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4), (0.01, 0.02, 0.05, 0.1, 0.2, 0.3)
    shares += (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)
    sizes = (20, 30, 50, 100, 200, 500, 1000, 2000, 5000)
    mean, least = mean_and_least_coverage(sizes, range(2, 8), epsilons, shares)
    assert least >= 0.89
    assert 0.94 <= mean <= 0.97
    assert mean_and_least_coverage((10,), range(2, 8), epsilons, shares)[1] >= 0.88


def test_intervals_hold_for_channels_with_rows_of_several_kinds():
    chances = np.array([[0.7, 0.2, 0.1], [0.15, 0.8, 0.05], [0.3, 0.1, 0.6]])
    decoder = Decoder(chances=chances)
    counts = np.array([(a, b, 30 - a - b) for a in range(31) for b in range(31 - a)])
    ways = gammaln(31) - gammaln(counts + 1).sum(axis=1)
    low, high = decoder.intervals(counts, 0.95)
    for shares in ([0.9, 0.05, 0.05], [0.1, 0.3, 0.6], [0.02, 0.9, 0.08]):
        chance = np.exp(ways + counts @ np.log(np.array(shares) @ chances))
        held = ((low <= shares) & (shares <= high)).T @ chance
        assert (held > 0.91).all()


def test_without_noise_the_interval_is_wilsons():
    frame = estimate_shares(reports_of(["yes"] * 3 + ["no"] * 7, YES_NO))
    assert frame["share"].tolist() == [0.7, 0.3]
    z, share, people = 1.959963984540054, 0.3, 10
    middle = (share + z * z / (2 * people)) / (1 + z * z / people)
    half = z * math.sqrt(share * (1 - share) / people + z * z / (4 * people**2))
    half /= 1 + z * z / people
    assert frame["low"][1] == pytest.approx(middle - half)
    assert frame["high"][1] == pytest.approx(middle + half)


def test_sets_and_labels_estimate_the_same_shares():
    labels = [0] * 9000 + [4] * 3000
    for mechanism in (
        qc.RandomizedResponse(domain=LEVELS, epsilon=2.0),
        qc.SubsetSelection(domain=LEVELS, epsilon=0.7),
    ):
        frame = estimate_shares(reports_of(labels, LEVELS, mechanism))
        # ten standard errors or more
        assert frame["share"].tolist() == pytest.approx([0.75, 0, 0, 0, 0.25], abs=0.2)
        assert frame["share"].sum() == pytest.approx(1.0)
        assert (frame["low"] <= frame["high"]).all()
        assert frame["low"].between(0, 1).all()
        assert (frame["reports"] == 12000).all()


def test_each_task_has_the_shares_of_its_options():
    options = TaskOptions.read({"q1": ["cat", "dog"], "q2": ["oak", "elm", "fir"], "q3": ["yes"]})
    frame = pd.DataFrame(
        {
            "task": ["q1"] * 4 + ["q2"] * 4 + ["q3"],
            "worker": [*range(4), *range(4), 0],
            "label": ["cat", "dog", "dog", "dog", "oak", "fir", "fir", "fir", "yes"],
        }
    )
    answers = qc.Answers.from_frame(frame, options=options)
    found = estimate_shares(answers)
    told = {
        (task, label): share for task, label, share in found.iloc[:, :3].itertuples(index=False)
    }
    assert told == {
        ("q1", "cat"): 0.25,
        ("q1", "dog"): 0.75,
        ("q2", "oak"): 0.25,
        ("q2", "elm"): 0.0,
        ("q2", "fir"): 0.75,
        ("q3", "yes"): 1.0,
    }
    mechanism = qc.RandomizedResponse(domain=options.domain, epsilon=1.0)
    reports = mechanism.simulate(answers, random_state=0)
    noisy = estimate_shares(reports)
    assert noisy["label"].tolist() == found["label"].tolist()
    assert noisy.groupby("task")["share"].sum().tolist() == pytest.approx([1.0, 1.0, 1.0])


def test_a_question_without_answers_may_have_any_share():
    frame = pd.DataFrame({"task": ["a"], "worker": [1], "label": ["yes"]})
    answers = qc.Answers.from_frame(frame, domain=YES_NO, tasks=["a", "b"])
    found = estimate_shares(answers)
    assert math.isnan(found["share"][2])
    assert (found["low"][2], found["high"][2]) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("reports", "code"),
    [
        (reports_of([0.5], qc.Interval(low=0, high=1)), "survey.numbers-have-no-shares"),
        (
            reports_of([3], LEVELS, qc.LaplaceMechanism(domain=LEVELS, epsilon=1.0)),
            "survey.shares-unsupported",
        ),
        (
            reports_of(["no"], YES_NO, qc.RandomizedResponse(domain=YES_NO, epsilon=0.0)),
            "survey.shares-unsupported",
        ),
    ],
)
def test_other_reports_are_refused(reports, code):
    with pytest.raises(AnswerError) as error:
        estimate_shares(reports)
    assert error.value.code == code


@pytest.mark.parametrize("confidence", [0.0, 1.0, math.nan, "much"])
def test_the_confidence_must_be_a_proportion(confidence):
    with pytest.raises(ParameterError):
        estimate_shares(reports_of([3], LEVELS), confidence=confidence)
