"""The inner loop of a model of numbers on bins."""

import numpy as np
import pytest
from tests.core.read_only import read_only

from quietcrowd._core import blend_distributions, infer_by_bins, weigh_distributions
from quietcrowd.inference.numbers.report_bins import (
    BINS,
    CENTRE,
    DISTANCES,
    NormalTruths,
    answer_distributions,
    filling_distribution,
)
from quietcrowd.inference.numbers.sweep import WorkerDistributions
from quietcrowd.inference.numbers.trials import GRID, first_truths

UNIT = 2.0**40
TABLE_ONE = 2.0**22


def run(
    places,
    missing=None,
    known=np.nan,
    scale=0.1,
    weights=None,
    borne=None,
    ratios=None,
    few=False,
    share=0.0,
    line=(0.0, 1.0),
    exact=False,
):
    """Pass over one task, that workers 0, 1, ... report on; return all that is filled in."""
    workers = len(places)
    distributions = answer_distributions(scale)
    distances = len(distributions.logs)
    beliefs, by_distribution = (
        np.tile(distributions.share, (workers, 1)),
        np.ascontiguousarray(distributions.logs.T),
    )
    table = np.empty((workers, distances), np.int32)
    blend_distributions(beliefs, by_distribution, table)
    rows = np.full(workers, -1) if few else np.arange(workers)
    kept = table[: rows.max() + 1]
    worker_distributions = WorkerDistributions(
        beliefs, by_distribution, distributions.logs, rows, kept
    )
    places = np.array(places, np.float64)
    found = {
        "residuals": np.zeros(kept.shape, np.int64),
        "counts": np.zeros(BINS, np.int64),
        "answered": np.zeros(workers, np.int64),
        "evidence": np.zeros((workers, distributions.logs.shape[1]), np.int64),
        "supported": np.zeros((workers, distributions.logs.shape[1]), np.int64),
        "likely": np.zeros(1, np.int64),
        "tried": np.zeros(2, np.int64),
        "squared": np.zeros(workers, np.int64),
    }
    estimates = {
        "apparent": np.zeros((1, 2)),
        "quantiles": np.zeros((1, 2)),
        "truths": np.zeros(1),
        "errors": np.zeros(1),
        "spreads": np.zeros(1),
    }
    prior = first_truths().shares
    infer_by_bins(
        (
            np.array([0, workers]),
            *read_only(np.arange(workers, dtype=np.uint32)),
            places / (BINS - 1) - 0.5,
            np.array([known / (BINS - 1) - 0.5]),
        ),
        (
            CENTRE - np.rint(places).astype(np.int64),
            np.full(workers, -1) if ratios is None else np.array(ratios),
            np.zeros(0) if exact else places - np.rint(places),
            np.zeros(0) if missing is None else np.array(missing),
            np.array([known]),
            np.zeros(0, np.int64),
        ),
        (np.log(prior)[np.newaxis], np.array([prior, np.full(BINS, 1.0 / BINS)])),
        worker_distributions,
        (distributions.variance * (BINS - 1) ** 2, 1.0 / 40.0, np.array([share])),
        (*line, estimates["apparent"]),
        np.exp(distributions.logs),
        np.ones((workers, 1)) if weights is None else np.array(weights)[:, np.newaxis],
        np.zeros((0, 1)) if borne is None else np.array(borne)[:, np.newaxis],
        np.array([0.25, 0.75]),
        np.array([-0.5, 0.5]),
        (UNIT,) * 5,
        tuple(found.values()),
        np.zeros((0, BINS)),
        estimates["quantiles"],
        (estimates["truths"], estimates["errors"], estimates["spreads"]),
    )
    found |= estimates
    return found, table / TABLE_ONE, prior


def row_of(table, place, ratio=-1):
    """Return a report's log density given each bin."""
    row = table[CENTRE - round(place) :][:BINS]
    return row if ratio < 0 else row + table[ratio:][:BINS]


def posterior_of(places, table, prior, missing=None, ratios=None):
    logs = np.log(prior)
    for worker, place in enumerate(places):
        row = row_of(table[worker], place, -1 if ratios is None else ratios[worker])
        logs = logs + (row if missing is None else np.logaddexp(row, missing[worker]))
    shares = np.exp(logs - logs.max())
    return shares / shares.sum(), logs.max() + np.log(np.sum(np.exp(logs - logs.max())))


@pytest.mark.slow
def test_posteriors_are_those_that_are_written_out():
    places = [40, 60, 300]
    rounded = len(places) / TABLE_ONE  # a report's log density, to the nearest unit
    for missing in (None, [-3.0, -9.0, -5.0]):
        found, table, prior = run(places, missing)
        posterior, evidence = posterior_of(places, table, prior, missing)
        np.testing.assert_allclose(found["counts"] / UNIT, posterior, rtol=rounded, atol=1e-12)
        assert found["likely"][0] / UNIT == pytest.approx(evidence, abs=1e-6)
        assert found["tried"][0] == pytest.approx(found["likely"][0], rel=1e-9)
        for worker, place in enumerate(places):
            begins = CENTRE - place
            share = posterior
            if missing is not None:
                row = table[worker, begins : begins + BINS]
                share = posterior / (1.0 + np.exp(missing[worker] - row))
                assert found["answered"][worker] / UNIT == pytest.approx(share.sum(), rel=rounded)
            tallied = found["residuals"][worker] / UNIT
            np.testing.assert_allclose(
                tallied[begins : begins + BINS], share, rtol=rounded, atol=1e-12
            )
            assert tallied.sum() == pytest.approx(share.sum(), rel=rounded)


@pytest.mark.slow
def test_support_is_the_density_given_all_other_reports():
    places, distributions = [40, 60, 150], answer_distributions(0.1).logs
    for missing in (None, [-3.0, -9.0, -5.0]):
        found, table, prior = run(places, missing)
        for worker, place in enumerate(places):
            others = [i for i in range(3) if i != worker]
            filled = None if missing is None else [missing[i] for i in others]
            without, _ = posterior_of([places[i] for i in others], table[others], prior, filled)
            densities = without @ np.exp(distributions[CENTRE - place :][:BINS])
            if missing is not None:
                densities += np.exp(missing[worker])
            expected = found["supported"][worker] / UNIT
            np.testing.assert_allclose(expected, np.log(densities), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("missing", [None, [-3.0, -9.0, -5.0]])
def test_what_the_ends_add_is_part_of_a_reports_density(missing):
    places, ratios = [40, 60, 5], [-1, DISTANCES + 3 * BINS, DISTANCES + 2 * BINS]
    found, table, prior = run(places, missing, ratios=ratios)
    posterior, evidence = posterior_of(places, table, prior, missing, ratios)
    np.testing.assert_allclose(found["counts"] / UNIT, posterior, rtol=1e-5, atol=1e-12)
    assert found["likely"][0] / UNIT == pytest.approx(evidence, abs=1e-6)
    tallied = found["residuals"][2] / UNIT
    added = tallied[ratios[2] :][:BINS]
    np.testing.assert_array_equal(added, tallied[CENTRE - 5 :][:BINS])
    if missing is None:
        np.testing.assert_allclose(added, posterior, rtol=1e-5, atol=1e-12)
    distributions = answer_distributions(0.1).logs
    others = None if missing is None else missing[:2]
    without, _ = posterior_of(places[:2], table[:2], prior, others, ratios[:2])
    densities = without @ np.exp(row_of(distributions, 5, ratios[2]))
    if missing is not None:
        densities += np.exp(missing[2])
    np.testing.assert_allclose(found["supported"][2] / UNIT, np.log(densities), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("missing", [None, [-3.0, -9.0, -5.0]])
def test_few_reports_and_many_say_the_same(missing):
    places, ratios = [40, 60, 5], [-1, DISTANCES + 3 * BINS, DISTANCES + 2 * BINS]
    many, _, _ = run(places, missing, ratios=ratios)
    few, _, _ = run(places, missing, ratios=ratios, few=True)
    for name in ("counts", "answered", "supported", "likely", "tried", "quantiles", "truths"):
        np.testing.assert_array_equal(few[name], many[name])
    distributions = answer_distributions(0.1).logs
    evidence = np.empty((3, distributions.shape[1]))
    weigh_distributions(many["residuals"], UNIT, distributions, evidence)
    np.testing.assert_allclose(few["evidence"] / UNIT, evidence, rtol=1e-9)
    assert not few["residuals"].any()
    assert not many["evidence"].any()


@pytest.mark.slow
def test_a_known_truth_is_part_of_what_priors_are_tried_by():
    found, table, prior = run([40, 60], known=50.25)
    rows = sum(row_of(table[worker], place) for worker, place in enumerate([40, 60]))
    for tried, distribution in zip(found["tried"], (prior, np.full(BINS, 1 / BINS)), strict=True):
        expected = np.array([0.75, 0.25]) @ (rows + np.log(distribution))[50:52]
        assert tried / UNIT == pytest.approx(expected, abs=1e-5)


@pytest.mark.slow
def test_a_report_that_is_not_borne_out_counts_less():
    places, weights = [40, 60, 61, 62, 63], [1.0, 0.1, 0.1, 0.1, 0.1]
    for missing in (None, [-3.0] * 5):
        found, table, prior = run(places, missing, weights=weights, borne=[0.0] * 5)
        row = table[0, CENTRE - places[0] :][:BINS]
        mine = row if missing is None else np.logaddexp(row, missing[0])
        posterior, _ = posterior_of(places, table, prior, missing)
        expected = posterior * np.exp(
            -0.6 * mine
        )  # the others' weights, .4, are as much as its own
        np.testing.assert_allclose(found["counts"] / UNIT, expected / expected.sum(), atol=1e-5)
        free, _, _ = run(places, missing, weights=weights, borne=[1.0] * 5)
        np.testing.assert_allclose(free["counts"] / UNIT, posterior, atol=1e-5)


@pytest.mark.slow
def test_a_known_truth_is_spread_over_two_bins_and_kept():
    found, _, _ = run([40, 60], known=50.25)
    counts = found["counts"] / UNIT
    np.testing.assert_allclose(counts[[50, 51]], [0.75, 0.25])
    assert counts.sum() == pytest.approx(1.0)
    assert found["truths"][0] == 50.25 / (BINS - 1) - 0.5
    assert found["errors"][0] == 0.0
    assert (found["quantiles"] == found["truths"][0]).all()


@pytest.mark.slow
def test_what_rounding_takes_comes_back():
    found, _, _ = run([40.3] * 40, scale=0.0)
    assert (found["truths"][0] + 0.5) * (BINS - 1) == pytest.approx(40.3, abs=0.01)
    assert found["quantiles"][0, 0] < found["truths"][0] < found["quantiles"][0, 1]


def test_where_nothing_is_rounded_the_log_posterior_is_a_parabola_about_each_bin():
    places = [40] * 8 + [41] * 4
    found, table, prior = run(places, scale=0.0, exact=True)
    logs = np.log(prior) + sum(row_of(table[0], place) for place in places)
    bend = np.pad(np.diff(logs, 2), 1)
    apart = (np.arange(8) + 0.5) / 8 - 0.5
    parts = logs[:, None] + np.gradient(logs)[:, None] * apart + bend[:, None] / 2 * apart**2
    shares = np.exp(parts - parts.max()).ravel()
    below = np.concatenate([[0.0], np.cumsum(shares / shares.sum())])
    expected = np.interp([0.5, 0.25, 0.75], below, np.arange(8 * BINS + 1) / 8 - 0.5)
    ends = (np.array([*found["truths"], *found["quantiles"][0]]) + 0.5) * (BINS - 1)
    np.testing.assert_allclose(ends, expected, atol=1e-4)
    assert 40.2 < ends[0] < 40.5


def test_what_a_worker_tells_is_the_sum_over_distances():
    distributions = answer_distributions(0.2).logs
    residuals = np.zeros((2, len(distributions)), np.int64)
    residuals[0, CENTRE + 3], residuals[1, [5, 7]] = 3 * 2**40, 2**39
    evidence = np.empty((2, distributions.shape[1]))
    weigh_distributions(residuals, UNIT, distributions, evidence)
    np.testing.assert_allclose(evidence[0], 3 * distributions[CENTRE + 3])
    np.testing.assert_allclose(evidence[1], (distributions[5] + distributions[7]) / 2)


def test_distributions_are_symmetric_and_hold_all_probability():
    for scale in (0.0, 0.05):
        logs = answer_distributions(scale).logs[:DISTANCES]
        np.testing.assert_allclose(logs, logs[::-1], rtol=1e-9)
        narrow = np.exp(logs)[:, answer_distributions(scale).sigma < 0.2]
        np.testing.assert_allclose(narrow.sum(axis=0), 1.0, atol=0.01)
    fillings = filling_distribution(np.array([0.5]), 0.05)
    assert np.exp(fillings).sum() == pytest.approx(1.0, abs=0.01)
    assert int(np.argmax(fillings)) in (BINS + BINS // 2 - 1, BINS + BINS // 2)


def test_the_search_for_a_distribution_of_truths_never_gets_worse():
    rng = np.random.default_rng(0)
    counts = np.bincount(np.clip(rng.normal(60, 20, 500), 0, BINS - 1).astype(int), minlength=BINS)
    counts = counts.astype(np.float64)
    first = first_truths()
    found = first.climbed(counts).climbed(counts)
    assert found.value(counts) > first.climbed(counts).value(counts) - 1e-12
    assert found.value(counts) >= max(distribution.value(counts) for distribution in GRID) - 1e-9
    assert found.mean * (BINS - 1) == pytest.approx(60, abs=5)
    assert first.with_counts(counts).sum() == pytest.approx(1.0)
    assert isinstance(found, NormalTruths)


def test_what_others_say_is_evidence_of_a_workers_errors():
    """The others' median and variance, taken as normal, and a report: one log density for each."""
    places, share = [40, 60, 55, 90], 0.75
    found, _, _ = run(places, share=share, few=True)
    plain, _, _ = run(places, few=True)
    variance = (found["errors"][0] * (BINS - 1)) ** 2
    posterior, _ = posterior_of(places, run(places)[1], run(places)[2])
    bins = np.arange(BINS)
    mean = posterior @ bins
    assert posterior @ (bins - mean) ** 2 + 1 / 12 == pytest.approx(variance)
    sizes = answer_distributions(0.1).variance[0] * (BINS - 1) ** 2
    for worker, place in enumerate(places):
        others = max(1.0 / variance - 1.0 / 40.0, 1.0 / (5.0 * (BINS - 1) ** 2))
        middle = np.clip(mean + (mean - place) / 40.0 / others, 0, BINS - 1)
        total = sizes + 1.0 / others
        squares = np.minimum((place - middle) ** 2 / total, 1800.0)
        expected = -0.5 * share * (np.log(total) + squares)
        expected = expected + (1.0 - share) * plain["evidence"][worker] / UNIT
        np.testing.assert_allclose(found["evidence"][worker] / UNIT, expected, atol=1e-9)


def test_a_known_truth_is_what_others_say_and_has_an_apparent_truth():
    found, _, _ = run([40, 60, 55], known=70.0, share=1.0)
    free, _, _ = run([40, 60, 55])
    np.testing.assert_array_equal(found["apparent"][0, 0], free["truths"][0])
    assert found["apparent"][0, 1] == pytest.approx(free["errors"][0] ** 2)
    np.testing.assert_array_equal(free["apparent"], 0.0)
    sizes = answer_distributions(0.1).variance[0] * (BINS - 1) ** 2
    expected = -0.5 * (np.log(sizes) + np.minimum(30.0**2 / sizes, 1800.0))
    np.testing.assert_allclose(found["evidence"][0] / UNIT, expected, atol=1e-9)


def test_truths_and_quantiles_are_on_the_line_within_the_range():
    free, _, _ = run([40, 60, 55])
    moved, _, _ = run([40, 60, 55], line=(0.1, 0.5))
    np.testing.assert_allclose(moved["truths"], 0.1 + 0.5 * free["truths"])
    np.testing.assert_allclose(moved["quantiles"], 0.1 + 0.5 * free["quantiles"])
    np.testing.assert_array_equal(moved["errors"], free["errors"])
    assert run([40, 60, 55], line=(3.0, 0.5))[0]["truths"] == 0.5
