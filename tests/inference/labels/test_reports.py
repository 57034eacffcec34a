import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

import quietcrowd as qc
from quietcrowd.inference.labels import reports as worker_reports
from quietcrowd.inference.labels.reports import KINDS, WorkerReports
from quietcrowd.inference.partition import Summary
from quietcrowd.mechanisms import Mixture, TwoLayerRandomizedResponse
from quietcrowd.mechanisms.channels.table import TableChannel

ABC = qc.Categorical(["a", "b", "c"])
FLIPS = TwoLayerRandomizedResponse(domain=ABC, low=0.0, high=0.6)
NULL = qc.RandomizedResponse(domain=ABC, epsilon=2.0, missing="category")
SECRET_NULL = TwoLayerRandomizedResponse(
    domain=ABC, epsilon=1.0, distribution="epsilon", missing="category"
)


def summary_of(counts, mechanism=None, tasks=100):
    """Return a summary of workers with so many reports that say a label."""
    return Summary(
        domain=ABC,
        answers_per_worker=np.array(counts, np.int64),
        tasks=tasks,
        longest_task=len(counts),
        channel=None if mechanism is None else mechanism.channel,
        report_distribution=None if mechanism is None else mechanism.report_distribution,
    )


def test_plain_answers_are_kept_as_they_are():
    reports = WorkerReports.of(summary_of([3, 0]))
    np.testing.assert_array_equal(reports.tables, np.eye(3)[np.newaxis, np.newaxis])
    np.testing.assert_array_equal(reports.mean_table, np.eye(3))
    assert reports.kind.tolist() == [0, 0]


def test_reports_without_null_are_by_their_distribution():
    reports = WorkerReports.of(summary_of([3, 50], FLIPS))
    np.testing.assert_array_equal(reports.tables[0], FLIPS.report_distribution.tables)
    np.testing.assert_allclose(reports.mean_table, FLIPS.channel.probabilities, atol=1e-9)


@pytest.mark.parametrize("mechanism", [NULL, SECRET_NULL])
def test_with_null_a_label_may_come_from_no_answer(mechanism):
    distribution = mechanism.report_distribution
    reports = WorkerReports.of(summary_of([60] * 5 + [90] * 5, mechanism))
    tables = np.stack(reports.tables)
    assert tables.shape == (KINDS, len(distribution.chances), 3, 3)
    np.testing.assert_allclose(tables.sum(axis=3), 1.0, rtol=1e-12)
    share = 2.5 / KINDS  # of the label reports comes from answers
    answered, silent = (
        table / table.sum(axis=2, keepdims=True)
        for table in (distribution.tables[:, :3, :3], distribution.tables[:, 3:, :3])
    )
    expected = share * answered + (1.0 - share) * silent
    np.testing.assert_allclose(tables[2], expected, rtol=1e-12)
    apart = np.log(tables.max(axis=2) / tables.min(axis=2)).max(axis=(1, 2))
    assert (np.diff(apart) > 0).all()  # who answers more says more by a label
    assert apart[-1] < 2.0 if mechanism is NULL else 2.0 * 1.0


def test_a_worker_who_reports_more_labels_answers_more():
    told, made = 1.0 - NULL.channel.probabilities[[0, 3], 3]
    rates = np.array([0.1, 0.5, 0.9])
    counts = np.rint(100_000 * (rates * told + (1.0 - rates) * made)).astype(int)
    reports = WorkerReports.of(summary_of(np.tile(counts, 20), NULL, tasks=100_000))
    from_answers = rates * told / (rates * told + (1.0 - rates) * made)
    np.testing.assert_allclose((reports.kind[:3] + 0.5) / KINDS, from_answers, atol=1.0 / KINDS)
    assert reports.usual_kind == reports.kind[1]


@pytest.mark.parametrize("counts", [[0] * 6, [100] * 6, [0, 100], [0], [100], [0, 0, 7]])
@pytest.mark.parametrize("mechanism", [NULL, SECRET_NULL])
def test_all_workers_may_be_silent_or_none(mechanism, counts):
    reports = WorkerReports.of(summary_of(counts, mechanism))
    assert ((reports.kind >= 0) & (reports.kind < KINDS)).all()
    assert np.isfinite(reports.mean_table).all()
    members = np.concatenate(reports.members)
    assert len(reports.members) == KINDS
    assert sorted(members) == list(range(len(counts)))


def test_the_order_of_workers_changes_no_kind():
    rng = np.random.default_rng(1)
    counts, order = rng.integers(0, 101, 5000), rng.permutation(5000)
    kinds = [WorkerReports.of(summary_of(c, NULL)).kind for c in (counts, counts[order])]
    np.testing.assert_array_equal(kinds[0][order], kinds[1])


def table_of(draw, answers, reports):
    weights = st.lists(st.integers(1, 50), min_size=reports, max_size=reports)
    table = np.array(draw(st.lists(weights, min_size=answers, max_size=answers)), np.float64)
    return TableChannel.rounded(table / table.sum(axis=1, keepdims=True))


def test_each_set_of_secret_mechanisms_is_a_kind():
    other = TwoLayerRandomizedResponse(domain=ABC, low=0.2, high=0.4)
    known = qc.RandomizedResponse(domain=ABC, epsilon=1.0)
    mixture = Mixture.of([FLIPS, other, known])
    counts = np.array([[5, 0, 0], [0, 5, 0], [0, 0, 5], [3, 3, 0], [3, 0, 3], [0, 0, 0]])
    order = [mixture.parts.index(one) for one in (FLIPS, other, known)]
    by_part = np.empty_like(counts)
    by_part[:, order] = counts
    summary = evolve(
        summary_of(counts.sum(axis=1), mixture), answers_per_part=by_part, channel=None
    )
    reports = WorkerReports.of(summary)
    draws = len(FLIPS.report_distribution.chances)
    assert [len(reports.chances[kind]) for kind in reports.kind] == [
        draws,
        draws,
        1,
        draws**2,
        draws,
        1,
    ]
    for chances, tables in zip(reports.chances, reports.tables, strict=True):
        assert chances.sum() == pytest.approx(1.0)
        np.testing.assert_allclose(tables.sum(axis=2), 3.0)
        mean = np.tensordot(chances, tables, 1)
        np.testing.assert_allclose(mean, reports.mean_table, atol=1e-12)


@pytest.mark.slow
@given(st.data())
def test_no_vote_says_more_than_a_report_may_tell(data):
    channel = table_of(data.draw, 3, 4)
    summary = Summary(
        domain=ABC,
        answers_per_worker=np.array([1, 8, 100]),
        tasks=100,
        longest_task=3,
        channel=channel,
        report_distribution=worker_reports.ReportDistribution.of(channel),
    )
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    votes = rng.integers(-(20 << 24), 0, (4, 4, 3), dtype=np.int32)
    before = votes.copy()
    bounded = WorkerReports.of(summary).bounded(votes, 24)
    spread = np.ptp(bounded.astype(np.int64), axis=2) * 2.0**-24
    assert spread.max() <= channel.epsilon + 2.0**-23
    best = before.argmax(axis=2)[..., np.newaxis]
    np.testing.assert_array_equal(np.take_along_axis(bounded, best, 2)[..., 0], bounded.max(axis=2))
    over = np.ptp(before.astype(np.int64), axis=2) * 2.0**-24 > channel.epsilon
    np.testing.assert_array_equal(bounded[~over], before[~over])
    assert (spread[over] > channel.epsilon - 2.0**-22).all()  # no more is taken than has to be


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [FLIPS, SECRET_NULL])
def test_where_a_secret_is_shared_the_bound_is_that_of_all_answers_of_a_worker(mechanism):
    counts = np.arange(1, 101)
    summary = summary_of(counts, mechanism)
    votes = np.zeros((101, 3, 3), np.int32)
    votes[:, :, 1] = -(60 << 24)
    bounded = WorkerReports.of(summary).bounded(votes, 24)
    spread = np.ptp(bounded.astype(np.int64), axis=2).max(axis=1) * 2.0**-24
    answers = np.append(counts, 1)
    if mechanism is SECRET_NULL:  # every worker reports all tasks
        answers = np.full(101, 100)
    exact = np.array([mechanism.worker_distribution.cell_epsilon(int(count)) for count in answers])
    assert (spread <= exact + 2.0**-23).all()
    assert (spread > 0.9 * exact).all()


def test_equal_losses_are_looked_up_once():
    asked = []

    def loss(answers):
        asked.append(answers)
        return 1.0

    distribution = worker_reports.ReportDistribution(
        chances=np.ones(1), tables=np.eye(3)[np.newaxis], loss=loss
    )
    summary = Summary(
        domain=ABC,
        answers_per_worker=np.arange(10_000),
        tasks=10_000,
        longest_task=3,
        report_distribution=distribution,
    )
    votes = np.zeros((10_001, 3, 3), np.int32)
    reports = WorkerReports.of(summary)
    reports.bounded(reports.bounded(votes, 24), 24)
    assert len(asked) < 60
    assert sorted(set(asked)) == sorted(asked)
    assert max(asked) < 10_000


def test_two_secret_draws_are_summed_out():
    """Workers whose NULL draws made up many labels are not thought to answer more.

    The share of label reports that come from answers is wrong by less than by the mean channel.
    """
    rng, distribution, rate, tasks = (
        np.random.default_rng(1),
        SECRET_NULL.report_distribution,
        0.2,
        2_000,
    )
    assert distribution.made_up is not None
    told = rng.choice(1.0 - distribution.tables[:, 0, -1], 400)
    made = rng.choice(distribution.made_up, 400)
    chance = rate * told + (1.0 - rate) * made
    counts = rng.binomial(tasks, chance)
    kind = WorkerReports.of(summary_of(counts, SECRET_NULL, tasks=tasks)).kind
    off = np.abs((kind + 0.5) / KINDS - rate * told / chance)
    assert off.mean() < 0.12
