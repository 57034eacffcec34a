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
    assert set(vars(poll)) <= {"counts", "mechanism", "simulated", "_chances", "_inverse", "shares"}
    assert list(poll.to_frame().columns) == ["label", "share", "standard_error", "low", "high"]


def law_of_counts(yes, workers, mechanism):
    """Return the exact law of the number of reports "yes"."""
    keep, other = mechanism.channel.keep_and_other
    law = np.ones(1)
    for place in range(workers):
        chance = keep if place < yes else other
        law = np.convolve(law, [1 - chance, chance])
    return law


def coverage_of(yes, workers, mechanism):
    """Return the exact chance that the interval holds the share of "yes"."""
    law = law_of_counts(yes, workers, mechanism)
    held = 0.0
    for count in np.flatnonzero(law > 1e-9):
        poll = ShuffledPoll(counts=np.array([workers - count, count]), mechanism=mechanism)
        row = poll.to_frame().iloc[1]
        held += law[count] * (row["low"] <= yes / workers <= row["high"])
    return held


@pytest.mark.parametrize(
    ("workers", "epsilon"), [(10, 3.6), (10, 5.05), (50, 5.25), (50, 6.65), (20, 1.0), (5, 0.1)]
)
def test_the_interval_holds_also_where_next_to_no_report_is_flipped(workers, epsilon):
    """Without half a report on both sides it held in .78 of the draws at (10, 3.6), (50, 5.25)."""
    mechanism = qc.RandomizedResponse(domain=YES_NO, epsilon=epsilon)
    assert coverage_of(workers // 2, workers, mechanism) > 0.935


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
    assert 0.95 < coverage_of(yes, workers, mechanism) < 0.97


def exact_moments_of_sets(truths, mechanism):
    """Return means and covariances of the shares, going through all sets of each worker."""
    sets = mechanism.report_domain
    ranks = np.arange(sets.size)
    mean, covariance = np.zeros(sets.domain.size), np.zeros((sets.domain.size,) * 2)
    polls = [reports_of_ranks([rank], mechanism) for rank in ranks]
    shares = np.array([poll.shares for poll in polls])
    for truth in truths:
        chances = np.exp(mechanism.channel.log_likelihood(ranks, np.full(len(ranks), truth)))
        own = chances @ shares
        mean += own / len(truths)
        covariance += ((shares - own).T * chances @ (shares - own)) / len(truths) ** 2
    return mean, covariance


def reports_of_ranks(ranks, mechanism):
    frame = pd.DataFrame({"task": "one", "worker": range(len(ranks)), "label": ranks})
    table = qc.Answers.from_frame(frame, domain=mechanism.report_domain)
    return qc.shuffled_poll(qc.Reports(table=table, mechanism=mechanism))


@pytest.mark.parametrize("set_size", [1, 2, 4])
def test_shares_of_sets_are_unbiased_and_their_errors_as_said(set_size):
    """By the exact law of one report: no chance is in it."""
    domain = qc.Ordinal(range(5))
    mechanism = qc.SubsetSelection(domain=domain, epsilon=1.5, set_size=set_size)
    truths = [0, 0, 0, 3, 4]
    frequencies = np.bincount(truths, minlength=5) / 5
    mean, covariance = exact_moments_of_sets(truths, mechanism)
    assert mean == pytest.approx(frequencies)
    held, other = float(mechanism.channel.law.held), float(mechanism.channel.law.held_other)
    chances = np.where(np.eye(5, dtype=bool), held, other)
    counts = 10**9 * frequencies @ chances
    poll = ShuffledPoll(counts=np.rint(counts).astype(np.int64), mechanism=mechanism)
    assert poll.shares == pytest.approx(frequencies, abs=1e-6)
    assert poll.standard_errors**2 * poll.workers == pytest.approx(
        np.diag(covariance) * len(truths), rel=1e-5
    )


def test_sets_of_one_label_are_a_poll_of_labels():
    of_labels = qc.RandomizedResponse(domain=COLOURS, epsilon=1.0)
    of_sets = qc.SubsetSelection(domain=COLOURS, epsilon=1.0, set_size=1)
    counts = np.array([50, 20, 30])
    labels, sets = (ShuffledPoll(counts=counts, mechanism=one) for one in (of_labels, of_sets))
    assert sets.shares == pytest.approx(labels.shares, abs=1e-6)
    assert sets.standard_errors == pytest.approx(labels.standard_errors, rel=1e-5)


def test_of_sets_is_kept_how_many_hold_each_label():
    mechanism = qc.SubsetSelection(domain=qc.Ordinal(range(5)), epsilon=1.0, set_size=2)
    poll = reports_of_ranks([0, 1, 0], mechanism)  # sets 01, 02, 01
    assert poll.counts.tolist() == [3, 2, 1, 0, 0]
    assert poll.workers == 3
    assert poll.shares.sum() == pytest.approx(1)
    nothing = qc.SubsetSelection(domain=qc.Ordinal(range(5)), epsilon=0.0, set_size=2)
    with pytest.raises(qc.AnswerError, match="do not tell answers apart"):
        reports_of_ranks([0, 1], nothing)


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
    with pytest.raises(qc.AnswerError, match="those of 'laplace' are not"):
        qc.shuffled_poll(mechanism.randomize(qc.Answers.from_frame(frame, domain=mechanism.domain)))


def test_reports_that_tell_nothing_are_refused():
    mechanism = qc.RandomizedResponse(domain=YES_NO, epsilon=0.0)
    with pytest.raises(qc.AnswerError, match="do not tell answers apart"):
        qc.shuffled_poll(reports_of(["yes", "no"], mechanism))


def test_no_reports_are_refused():
    with pytest.raises(qc.ParameterError, match="reports must be Reports"):
        qc.shuffled_poll([1, 2])
