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


def people(seed, epsilons=(0.5, 4.0), size=20_000):
    """Return reports of 70 % at a small epsilon, of whom 30 % say yes, and 30 % at 4, of 10 %."""
    rng = np.random.default_rng(seed)
    parts = []
    for place, (part, share) in enumerate([(0.7, 0.3), (0.3, 0.1)]):
        count = round(part * size)
        frame = pd.DataFrame({"task": "q", "worker": np.arange(count) + place * size})
        frame["label"] = np.where(rng.random(count) < share, "yes", "no")
        mechanism = qc.RandomizedResponse(domain=YES_NO, epsilon=epsilons[place])
        answers = qc.Answers.from_frame(frame, domain=YES_NO)
        parts.append(mechanism.simulate(answers, random_state=rng))
    return parts


def test_shares_of_several_mechanisms_are_weighted_by_people():
    """By precision the share would be about .126."""
    found = estimate_shares(qc.join_reports(*people(seed=1))).set_index("label").loc["yes"]
    # The standard error is .7 times that of 14,000 reports at .5, .017, so .012.
    assert found["share"] == pytest.approx(0.24, abs=0.05)
    assert found["reports"] == 20_000
    assert 0.03 < found["high"] - found["low"] < 0.08
    means = [estimate_shares(one).set_index("label").loc["yes", "share"] for one in people(seed=1)]
    assert found["share"] == pytest.approx(0.7 * means[0] + 0.3 * means[1])


@pytest.mark.nightly
def test_intervals_of_several_mechanisms_hold_the_share():
    """Of 200 surveys 95 % contain it; 17 fewer, with five standard deviations, 1e-6."""
    inside = 0
    for seed in range(200):
        found = estimate_shares(qc.join_reports(*people(seed, (1.0, 4.0), size=1_000)))
        low, high = found.set_index("label").loc["yes", ["low", "high"]]
        inside += low <= 0.24 <= high
    assert inside >= 170


def test_equal_mechanisms_of_a_survey_are_as_one():
    rng = np.random.default_rng(1)
    domain = qc.Categorical(["a", "b", "c"])
    labels = rng.choice([*"abc"], 600, p=[0.6, 0.3, 0.1])
    mechanism = qc.RandomizedResponse(domain=domain, epsilon=1.0)
    reports = reports_of(labels, domain, mechanism)
    half = np.arange(600) % 2 == 0
    flip = 2 * mechanism.channel.weights[0, 1] / 2**32
    same = qc.RandomizedResponse(domain=domain, flip_probability=flip)
    both = [
        qc.Reports(table=reports.table.of_rows(rows), mechanism=one, simulated=True)
        for one, rows in [(mechanism, half), (same, ~half)]
    ]
    one, two = (estimate_shares(data) for data in (reports, qc.join_reports(*both)))
    assert one["share"].to_numpy() == pytest.approx(two["share"].to_numpy())
    assert one["low"].to_numpy() == pytest.approx(two["low"].to_numpy(), abs=0.01)
    assert one["high"].to_numpy() == pytest.approx(two["high"].to_numpy(), abs=0.01)


def test_sets_and_non_private_answers_are_pooled():
    domain = qc.Categorical(["a", "b", "c"])
    rng = np.random.default_rng(1)
    labels = rng.choice([*"abc"], 3000, p=[0.6, 0.3, 0.1])
    frame = pd.DataFrame({"task": "q", "worker": range(3000), "label": labels})
    sets = qc.SubsetSelection(domain=domain, epsilon=2.0, set_size=2)
    first, second = (qc.Answers.from_frame(rows, domain) for rows in (frame[:2000], frame[2000:]))
    found = estimate_shares(qc.join_reports(sets.simulate(first, random_state=1), second))
    assert found["share"].to_numpy() == pytest.approx([0.6, 0.3, 0.1], abs=0.08)
    assert found["reports"].tolist() == [3000] * 3
