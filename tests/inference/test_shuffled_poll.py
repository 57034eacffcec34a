import math

import numpy as np
import pandas as pd
import pytest

import quietcrowd as qc
from quietcrowd.inference.shuffled_poll import ShuffledPoll

YES_NO = qc.Categorical(["no", "yes"])
COLOURS = qc.Categorical(["blue", "green", "red"])


def reports_of(labels, mechanism, task="one"):
    frame = pd.DataFrame({"task": task, "worker": range(len(labels)), "label": labels})
    return mechanism.randomize(qc.Answers.from_frame(frame, domain=mechanism.domain))


def test_shares_are_the_counts_through_the_inverse_of_the_law():
    mechanism = qc.RandomizedResponse(domain=COLOURS, epsilon=1.0)
    reports = reports_of(["red"] * 50 + ["blue"] * 30, mechanism)
    poll = qc.shuffled_poll(reports)
    assert poll.counts.tolist() == np.bincount(reports.table.values, minlength=3).tolist()
    keep, other = mechanism.channel.keep_and_other
    assert poll.shares == pytest.approx((poll.counts / 80 - other) / (keep - other))
    assert poll.workers == 80
    assert not poll.simulated


def test_nothing_of_the_workers_is_left():
    mechanism = qc.RandomizedResponse(domain=YES_NO, epsilon=1.0)
    poll = qc.shuffled_poll(reports_of(["yes"] * 5 + ["no"] * 4, mechanism))
    assert "worker" not in repr(poll).replace("workers", "")
    assert set(vars(poll)) <= {"counts", "mechanism", "simulated", "_inverse", "shares"}
    assert list(poll.to_frame().columns) == ["label", "share", "standard_error", "low", "high"]


def law_of_counts(yes, workers, mechanism):
    """Return the exact law of the number of reports "yes"."""
    keep, other = mechanism.channel.keep_and_other
    law = np.ones(1)
    for place in range(workers):
        chance = keep if place < yes else other
        law = np.convolve(law, [1 - chance, chance])
    return law


@pytest.mark.parametrize(("yes", "workers"), [(60, 200), (100, 200), (10, 150)])
def test_mean_error_and_coverage_are_as_said(yes, workers):
    """By the exact law of the counts: no chance is in it."""
    mechanism = qc.RandomizedResponse(domain=YES_NO, epsilon=2.0)
    law = law_of_counts(yes, workers, mechanism)
    polls = [
        ShuffledPoll(counts=np.array([workers - count, count]), mechanism=mechanism)
        for count in range(workers + 1)
    ]
    shares = np.array([poll.shares[1] for poll in polls])
    assert law @ shares == pytest.approx(yes / workers)
    spread = math.sqrt(law @ (shares - yes / workers) ** 2)
    assert law @ [poll.standard_errors[1] for poll in polls] == pytest.approx(spread, rel=0.02)
    frames = [
        poll.to_frame().iloc[1] for poll, chance in zip(polls, law, strict=True) if chance > 1e-9
    ]
    weights = law[law > 1e-9]
    covered = np.array([row["low"] <= yes / workers <= row["high"] for row in frames])
    assert 0.93 < weights @ covered < 0.97


def test_null_is_a_label_of_its_own():
    mechanism = qc.RandomizedResponse(domain=YES_NO, epsilon=3.0, null="category")
    frame = pd.DataFrame({"task": ["one"] * 40, "worker": range(40), "label": ["yes"] * 40})
    answers = qc.Answers.from_frame(frame, domain=YES_NO, tasks=["one"], workers=range(100))
    poll = qc.shuffled_poll(mechanism.randomize(answers))
    assert poll.workers == 100
    assert poll.to_frame("pyarrow")["label"].to_pylist() == ["no", "yes", None]
    assert poll.shares.sum() == pytest.approx(1)


def test_other_tables_than_square_ones_do():
    mechanism = qc.RandomizedResponse(domain=YES_NO, epsilon=1.0)
    counts = np.array([300, 300])
    poll = ShuffledPoll(counts=counts, mechanism=mechanism)
    assert poll.shares == pytest.approx([0.5, 0.5])
    assert poll.standard_errors[0] == pytest.approx(poll.standard_errors[1])


def test_more_than_one_question_is_refused():
    mechanism = qc.RandomizedResponse(domain=YES_NO, epsilon=1.0)
    frame = pd.DataFrame({"task": ["a", "b"], "worker": [1, 2], "label": ["no", "yes"]})
    reports = mechanism.randomize(qc.Answers.from_frame(frame, domain=YES_NO))
    with pytest.raises(qc.AnswerError, match="has one question; these reports are of 2"):
        qc.shuffled_poll(reports)


def test_laws_that_are_no_tables_are_refused():
    mechanism = qc.LaplacePerturbation(domain=qc.Interval(low=0, high=1), epsilon=1.0)
    frame = pd.DataFrame({"task": ["a"], "worker": [1], "label": [0.5]})
    with pytest.raises(qc.AnswerError, match="'laplace' is none"):
        qc.shuffled_poll(mechanism.randomize(qc.Answers.from_frame(frame, domain=mechanism.domain)))


def test_reports_that_tell_nothing_are_refused():
    mechanism = qc.RandomizedResponse(domain=YES_NO, epsilon=0.0)
    with pytest.raises(qc.AnswerError, match="do not tell answers apart"):
        qc.shuffled_poll(reports_of(["yes", "no"], mechanism))


def test_no_reports_are_refused():
    with pytest.raises(qc.ParameterError, match="reports must be Reports"):
        qc.shuffled_poll([1, 2])
