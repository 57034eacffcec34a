import math

import attrs
import numpy as np
import pandas as pd
import pytest

import quietcrowd as qc
from quietcrowd.accounting.consent import consent_sentences
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.mechanisms import TwoLayerRandomizedResponse
from quietcrowd.polls import (
    PollResult,
    fewest_honest,
    poll,
    shuffled_assumption,
    shuffled_guarantee,
)
from quietcrowd.privacy.shuffling import shuffled_loss

YES_NO = qc.Categorical(["no", "yes"])


def response(**parameters):
    return qc.RandomizedResponse(domain=YES_NO, **parameters)


def test_the_local_guarantee_stands_first_and_the_assumption_beside_the_second_number():
    found = shuffled_guarantee(response(epsilon=1.0), honest=500, delta=1e-6)
    assert found.local == response(epsilon=1.0).guarantee(answers=1, tasks=1)
    assert 0.1 < found.epsilon < 0.2
    assert found.epsilon < found.tail < 1
    assert found.delta == 1e-6
    first, _, second = str(found).partition("\nAnyone who sees only this output ")
    assert first == str(found.local)
    assert f"This assumes that {shuffled_assumption(500)}. " in " ".join(second.split())
    assert "at least 500 of the reports" in found.assumption
    assert "honest" in found.assumption


def test_honest_counts_ones_own():
    found = shuffled_guarantee(response(epsilon=1.0), honest=1, delta=1e-6)
    assert found.epsilon == found.tail == found.local.epsilon
    assert "without a proven benefit" in found.source
    pair = shuffled_guarantee(response(epsilon=1.0), honest=41, delta=0.01)
    keep = response(epsilon=1.0).channel.keep_and_other[0]
    from quietcrowd.privacy.shuffling import exact_delta

    assert exact_delta(keep, 40, pair.epsilon) <= 0.01 < exact_delta(keep, 40, 0.99 * pair.epsilon)


def test_labels_with_other_names_lose_the_same():
    usual = shuffled_guarantee(response(flip_probability=0.25), honest=100, delta=1e-4)
    turned = shuffled_guarantee(response(flip_probability=0.75), honest=100, delta=1e-4)
    assert turned.epsilon == pytest.approx(usual.epsilon, rel=1e-3)
    assert "exact" not in turned.source


@pytest.mark.parametrize(
    "mechanism",
    [
        pytest.param(
            qc.LaplaceMechanism(domain=qc.Interval(low=0, high=1), epsilon=1.0), id="laplace"
        ),
        pytest.param(
            TwoLayerRandomizedResponse.from_claimed_epsilon(domain=YES_NO, epsilon=1.0),
            id="two-layer",
        ),
    ],
)
def test_other_mechanisms_count_by_their_loss_alone(mechanism):
    found = shuffled_guarantee(mechanism, honest=2000, delta=1e-6)
    local = mechanism.guarantee(answers=1, tasks=1).total_epsilon
    assert found.epsilon == shuffled_loss(local, 1999, 1e-6).epsilon
    assert found.epsilon < local


@pytest.mark.nightly
def test_sets_count_by_their_loss_and_of_one_label_as_randomised_response():
    domain = qc.Ordinal(range(6))
    sets = qc.SubsetSelection(domain=domain, epsilon=1.0)
    found = shuffled_guarantee(sets, honest=2000, delta=1e-6)
    assert sets.channel.distribution.members > 1
    assert found.epsilon == shuffled_loss(found.local.total_epsilon, 1999, 1e-6).epsilon
    single = qc.SubsetSelection(domain=domain, epsilon=1.0, set_size=1)
    labels = qc.RandomizedResponse(domain=domain, epsilon=1.0)
    blanket, same = (shuffled_guarantee(one, honest=2000, delta=1e-6) for one in (single, labels))
    assert "Balle" in blanket.source
    assert blanket.epsilon == pytest.approx(same.epsilon, rel=1e-3)
    assert blanket.epsilon < found.epsilon


@pytest.mark.nightly
@pytest.mark.parametrize(
    "mechanism",
    [
        pytest.param(response(epsilon=1.0), id="two-labels"),
        pytest.param(qc.RandomizedResponse(domain=qc.Ordinal(range(9)), epsilon=4.0), id="labels"),
        pytest.param(qc.SubsetSelection(domain=qc.Ordinal(range(9)), epsilon=2.0), id="sets"),
        pytest.param(
            qc.SubsetSelection(domain=qc.Ordinal(range(9)), epsilon=9.0, set_size=3), id="large"
        ),
    ],
)
def test_from_so_many_honest_reports_on_shuffling_adds(mechanism):
    number = fewest_honest(mechanism, delta=1e-6)
    losses = [
        shuffled_guarantee(mechanism, honest=honest, delta=1e-6)
        for honest in (number // 2, number, 10 * number)
    ]
    assert losses[0].epsilon == losses[0].local.total_epsilon
    assert losses[2].epsilon < losses[1].epsilon < losses[1].local.total_epsilon


def test_where_no_number_is_large_enough_none_is_said():
    mechanism = qc.SubsetSelection(domain=qc.Ordinal(range(9)), epsilon=16.0, set_size=3)
    assert fewest_honest(mechanism, delta=1e-6) is None
    assert fewest_honest(response(epsilon=0.0), delta=1e-6) is None


@pytest.mark.slow
def test_null_is_a_label():
    found = shuffled_guarantee(response(epsilon=1.0, missing="category"), honest=300, delta=1e-4)
    assert "Balle" in found.source
    assert found.local.participation_protected


class Leaky(qc.RandomizedResponse):
    """Its guarantee says that it may fail, with a small probability."""

    def guarantee(self, answers=1, tasks=None, *, linked=1):
        pure = super().guarantee(answers, tasks, linked=linked)
        return attrs.evolve(pure, delta=0.01, tail=None)


def test_what_has_a_delta_is_refused():
    mechanism = Leaky(domain=YES_NO, epsilon=1.0)
    with pytest.raises(ParameterError, match="a bounded loss and no delta"):
        shuffled_guarantee(mechanism, honest=100, delta=1e-6)


@pytest.mark.parametrize(
    ("honest", "delta", "name"),
    [(0, 0.1, "honest"), (2.5, 0.1, "honest"), (5, 0.0, "delta"), (5, 1.0, "delta")],
    ids=["nobody", "broken", "no-delta", "all-delta"],
)
def test_numbers_out_of_range_are_refused(honest, delta, name):
    with pytest.raises(ParameterError, match=name):
        shuffled_guarantee(response(epsilon=1.0), honest=honest, delta=delta)


def test_consent_says_the_assumption_last():
    told = shuffled_guarantee(response(epsilon=1.0), honest=500, delta=1e-6)
    *local, last = consent_sentences(told.local, shuffled=told)
    assert tuple(local) == consent_sentences(told.local)
    assert told.assumption in last
    assert last.startswith("In addition, but only if ")
    assert "one of 1,000,000 draws" in last
    assert "rely only on the figures above" in last
    sure = float(last.partition("at most ")[2].partition(" %")[0]) if "at most " in last else 0
    assert 50 < sure < 60


def test_consent_wants_the_same_guarantee():
    told = shuffled_guarantee(response(epsilon=1.0), honest=500, delta=1e-6)
    other = attrs.evolve(told, local=response(epsilon=2.0).guarantee(answers=1, tasks=1))
    with pytest.raises(ParameterError, match="another local guarantee"):
        consent_sentences(told.local, shuffled=other)


COLOURS = qc.Categorical(["blue", "green", "red"])


def reports_of(labels, mechanism, task="one"):
    frame = pd.DataFrame({"task": task, "worker": range(len(labels)), "label": labels})
    return mechanism.randomize(qc.Answers.from_frame(frame, domain=mechanism.domain))


def test_shares_are_the_counts_through_the_inverse_of_the_distribution():
    mechanism = qc.RandomizedResponse(domain=COLOURS, epsilon=1.0)
    reports = reports_of(["red"] * 50 + ["blue"] * 30, mechanism)
    found = poll(reports)
    assert found.counts.tolist() == np.bincount(reports.table.values, minlength=3).tolist()
    keep, other = mechanism.channel.keep_and_other
    assert found.shares == pytest.approx((found.counts / 80 - other) / (keep - other))
    assert found.workers == 80
    assert not found.simulated


def test_nothing_of_the_workers_is_left():
    mechanism = qc.RandomizedResponse(domain=YES_NO, epsilon=1.0)
    found = poll(reports_of(["yes"] * 5 + ["no"] * 4, mechanism))
    assert "worker" not in repr(found).replace("workers", "")
    assert set(vars(found)) <= {
        "counts",
        "mechanism",
        "simulated",
        "_decoder",
        "shares",
    }
    assert list(found.to_frame().columns) == ["label", "share", "standard_error", "low", "high"]


def distribution_of_counts(yes, workers, mechanism):
    """Return the exact distribution of the number of reports "yes"."""
    keep, other = mechanism.channel.keep_and_other
    distribution = np.ones(1)
    for place in range(workers):
        chance = keep if place < yes else other
        distribution = np.convolve(distribution, [1 - chance, chance])
    return distribution


def coverage_of(yes, workers, mechanism):
    """Return the exact chance that the interval holds the share of "yes"."""
    distribution = distribution_of_counts(yes, workers, mechanism)
    held = 0.0
    for count in np.flatnonzero(distribution > 1e-9):
        found = PollResult(counts=np.array([workers - count, count]), mechanism=mechanism)
        row = found.to_frame().iloc[1]
        held += distribution[count] * (row["low"] <= yes / workers <= row["high"])
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
    """By the exact distribution of the counts: no chance is in it."""
    mechanism = qc.RandomizedResponse(domain=YES_NO, epsilon=2.0)
    distribution = distribution_of_counts(yes, workers, mechanism)
    polls = [
        PollResult(counts=np.array([workers - count, count]), mechanism=mechanism)
        for count in range(workers + 1)
    ]
    shares = np.array([found.shares[1] for found in polls])
    assert distribution @ shares == pytest.approx(yes / workers)
    spread = math.sqrt(distribution @ (shares - yes / workers) ** 2)
    assert distribution @ [found.standard_errors[1] for found in polls] == pytest.approx(
        spread, rel=0.02
    )
    assert 0.95 < coverage_of(yes, workers, mechanism) < 0.97


def exact_moments_of_sets(truths, mechanism):
    """Return means and covariances of the shares, going through all sets of each worker."""
    sets = mechanism.report_domain
    ranks = np.arange(sets.size)
    mean, covariance = np.zeros(sets.domain.size), np.zeros((sets.domain.size,) * 2)
    polls = [reports_of_ranks([rank], mechanism) for rank in ranks]
    shares = np.array([found.shares for found in polls])
    for truth in truths:
        chances = np.exp(mechanism.channel.log_likelihood(ranks, np.full(len(ranks), truth)))
        own = chances @ shares
        mean += own / len(truths)
        covariance += ((shares - own).T * chances @ (shares - own)) / len(truths) ** 2
    return mean, covariance


def reports_of_ranks(ranks, mechanism):
    frame = pd.DataFrame({"task": "one", "worker": range(len(ranks)), "label": ranks})
    table = qc.Answers.from_frame(frame, domain=mechanism.report_domain)
    return poll(qc.Reports(table=table, mechanism=mechanism))


@pytest.mark.parametrize("set_size", [1, 2, 4])
def test_shares_of_sets_are_unbiased_and_their_errors_as_said(set_size):
    """By the exact distribution of one report: no chance is in it."""
    domain = qc.Ordinal(range(5))
    mechanism = qc.SubsetSelection(domain=domain, epsilon=1.5, set_size=set_size)
    truths = [0, 0, 0, 3, 4]
    frequencies = np.bincount(truths, minlength=5) / 5
    mean, covariance = exact_moments_of_sets(truths, mechanism)
    assert mean == pytest.approx(frequencies)
    held, other = (
        float(mechanism.channel.distribution.held),
        float(mechanism.channel.distribution.held_other),
    )
    chances = np.where(np.eye(5, dtype=bool), held, other)
    counts = 10**9 * frequencies @ chances
    found = PollResult(counts=np.rint(counts).astype(np.int64), mechanism=mechanism)
    assert found.shares == pytest.approx(frequencies, abs=1e-6)
    assert found.standard_errors**2 * found.workers == pytest.approx(
        np.diag(covariance) * len(truths), rel=1e-5
    )


def test_sets_of_one_label_are_a_poll_of_labels():
    of_labels = qc.RandomizedResponse(domain=COLOURS, epsilon=1.0)
    of_sets = qc.SubsetSelection(domain=COLOURS, epsilon=1.0, set_size=1)
    counts = np.array([50, 20, 30])
    labels, sets = (PollResult(counts=counts, mechanism=one) for one in (of_labels, of_sets))
    assert sets.shares == pytest.approx(labels.shares, abs=1e-6)
    assert sets.standard_errors == pytest.approx(labels.standard_errors, rel=1e-5)


def test_of_sets_is_kept_how_many_hold_each_label():
    mechanism = qc.SubsetSelection(domain=qc.Ordinal(range(5)), epsilon=1.0, set_size=2)
    found = reports_of_ranks([0, 1, 0], mechanism)  # sets 01, 02, 01
    assert found.counts.tolist() == [3, 2, 1, 0, 0]
    assert found.workers == 3
    assert found.shares.sum() == pytest.approx(1)
    nothing = qc.SubsetSelection(domain=qc.Ordinal(range(5)), epsilon=0.0, set_size=2)
    with pytest.raises(AnswerError, match="do not distinguish answers"):
        reports_of_ranks([0, 1], nothing)


def test_null_is_a_label_of_its_own():
    mechanism = qc.RandomizedResponse(domain=YES_NO, epsilon=3.0, missing="category")
    frame = pd.DataFrame({"task": ["one"] * 40, "worker": range(40), "label": ["yes"] * 40})
    answers = qc.Answers.from_frame(frame, domain=YES_NO, tasks=["one"], workers=range(100))
    found = poll(mechanism.randomize(answers))
    assert found.workers == 100
    assert found.to_frame("pyarrow")["label"].to_pylist() == ["no", "yes", None]
    assert found.shares.sum() == pytest.approx(1)


def test_other_tables_than_square_ones_do():
    mechanism = qc.RandomizedResponse(domain=YES_NO, epsilon=1.0)
    counts = np.array([300, 300])
    found = PollResult(counts=counts, mechanism=mechanism)
    assert found.shares == pytest.approx([0.5, 0.5])
    assert found.standard_errors[0] == pytest.approx(found.standard_errors[1])


def test_more_than_one_question_is_refused():
    mechanism = qc.RandomizedResponse(domain=YES_NO, epsilon=1.0)
    frame = pd.DataFrame({"task": ["a", "b"], "worker": [1, 2], "label": ["no", "yes"]})
    reports = mechanism.randomize(qc.Answers.from_frame(frame, domain=YES_NO))
    with pytest.raises(AnswerError, match="has one question; these reports have 2"):
        poll(reports)


def test_distributions_that_are_no_tables_are_refused():
    mechanism = qc.LaplaceMechanism(domain=qc.Interval(low=0, high=1), epsilon=1.0)
    frame = pd.DataFrame({"task": ["a"], "worker": [1], "label": [0.5]})
    with pytest.raises(AnswerError, match="those of 'laplace' have neither"):
        poll(mechanism.randomize(qc.Answers.from_frame(frame, domain=mechanism.domain)))


def test_reports_that_tell_nothing_are_refused():
    mechanism = qc.RandomizedResponse(domain=YES_NO, epsilon=0.0)
    with pytest.raises(AnswerError, match="do not distinguish answers"):
        poll(reports_of(["yes", "no"], mechanism))


def test_no_reports_are_refused():
    with pytest.raises(ParameterError, match="reports must be Reports"):
        poll([1, 2])
