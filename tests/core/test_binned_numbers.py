import itertools
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.kernels import assert_recorded_bits, run

from quietcrowd import _core

UNIT = 2.0**40
PARTS = 2


class Given(NamedTuple):
    """The arguments of `infer_by_bins`."""

    partition: tuple
    reports: tuple
    priors: tuple
    distributions: tuple
    distances: tuple
    line: tuple
    densities: np.ndarray
    weights: np.ndarray
    borne: np.ndarray
    levels: np.ndarray
    ends: np.ndarray
    units: tuple
    tally: tuple
    messages: np.ndarray
    quantiles: np.ndarray
    estimates: tuple


def table_of(beliefs, by_distribution):
    table = np.zeros((len(beliefs), by_distribution.shape[1]), np.int32)
    _core.blend_distributions(beliefs, by_distribution, table)
    return table


def given_of(
    rng,
    *,
    bins=64,
    distributions=12,
    tasks=12,
    workers=9,
    per=4,
    filling=False,
    supporting=False,
    capping=True,
    priors=5,
    last=True,
    measuring=True,
    comparing=True,
    predicting=False,
):
    """Return random arguments: empty tasks, known truths, workers with and without rows."""
    sizes = rng.integers(0, 2 * per + 1, tasks)
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    rows, columns = int(offsets[-1]), 5 * bins + 7
    known = np.where(rng.random(tasks) < 0.2, rng.uniform(-1, bins, tasks), np.nan)
    by_column = np.maximum(-((rng.normal(size=(columns, distributions)) * 3) ** 2), -290.0)
    by_column = np.cumsum(by_column[::-1], axis=0)[::-1] / 40.0
    beliefs = rng.dirichlet(np.ones(distributions), workers)
    by_distribution = np.ascontiguousarray(by_column.T)
    many = rng.random(workers) < 0.6
    table = table_of(beliefs[many], by_distribution)
    weights = rng.uniform(0.01, 1.0, (workers, PARTS)) ** 3
    spread = np.geomspace(0.3, 500.0, distributions)
    room = tasks if last else 0
    integers = np.int64
    return Given(
        partition=(
            offsets,
            rng.integers(0, workers, rows, dtype=np.uint32),
            rng.uniform(-0.5, 0.5, rows),
            known / bins - 0.5,
        ),
        reports=(
            rng.integers(0, columns - bins + 1, rows),
            np.where(rng.random(rows) < 0.3, rng.integers(0, columns - bins + 1, rows), -1),
            rng.uniform(-0.5, 0.5, rows),
            rng.normal(-8.0, 6.0, rows) if filling else np.zeros(0),
            known,
            rng.integers(0, PARTS, rows),
        ),
        priors=(
            np.log(rng.dirichlet(np.ones(bins), tasks if predicting else 1)),
            rng.dirichlet(np.ones(bins), priors) if priors else np.zeros((0, bins)),
        ),
        distributions=(
            beliefs,
            by_distribution,
            by_column,
            np.where(many, np.cumsum(many) - 1, -1),
            table,
        ),
        distances=(
            np.stack([spread, spread + 2.0]),
            0.4,
            np.array([0.75, 0.5]) if measuring else np.zeros(PARTS),
        ),
        line=(0.01, 0.95, np.zeros((tasks if comparing else 0, 2))),
        densities=np.exp(by_column) if supporting else np.zeros((0, 0)),
        weights=weights,
        borne=np.where(rng.random((workers, 1)) < 0.5, weights * 0.2, 0.0)
        if capping
        else np.zeros((0, PARTS)),
        levels=np.array([0.0, 0.05, 0.5, 1.0]),
        ends=np.array([-0.45, 0.48]),
        units=(UNIT, UNIT / 2, UNIT / 1024, UNIT * 4, UNIT / 8),
        tally=(
            np.zeros(table.shape, integers),
            np.zeros(bins, integers),
            np.zeros(workers if filling else 0, integers),
            np.zeros((workers, distributions), integers),
            np.zeros((workers, distributions) if supporting else (0, 0), integers),
            np.zeros(1, integers),
            np.zeros(priors, integers),
            np.zeros(workers, integers),
        ),
        messages=np.zeros((tasks if predicting else 0, bins)),
        quantiles=np.zeros((room, 4)),
        estimates=(np.zeros(room), np.zeros(room), np.zeros(room)),
    )


OPTIONS = st.fixed_dictionaries(
    {
        "bins": st.sampled_from([32, 64, 192]),
        "distributions": st.sampled_from([1, 3, 12, 20]),
        "tasks": st.integers(0, 12),
        "workers": st.integers(1, 9),
        "per": st.integers(0, 4),
        "filling": st.booleans(),
        "supporting": st.booleans(),
        "capping": st.booleans(),
        "priors": st.sampled_from([0, 1, 4, 9]),
        "last": st.booleans(),
        "measuring": st.booleans(),
        "comparing": st.booleans(),
        "predicting": st.booleans(),
    }
)


@given(options=OPTIONS, seed=st.integers(0, 2**32 - 1))
def test_every_bit_of_a_pass(options, seed):
    arguments = given_of(np.random.default_rng(seed), **options)
    assert_recorded_bits("infer_by_bins", *arguments)


@pytest.mark.parametrize("filling", [False, True])
@pytest.mark.parametrize("supporting", [False, True])
def test_every_bit_of_a_large_pass(filling, supporting):
    arguments = given_of(
        np.random.default_rng(3),
        bins=192,
        distributions=20,
        tasks=60,
        workers=50,
        per=10,
        filling=filling,
        supporting=supporting,
    )
    assert_recorded_bits("infer_by_bins", *arguments)


@pytest.mark.parametrize("measuring", [False, True])
def test_every_bit_of_tasks_with_a_prior_each(measuring):
    arguments = given_of(np.random.default_rng(3), tasks=30, predicting=True, measuring=measuring)
    assert_recorded_bits("infer_by_bins", *arguments)


def test_equal_priors_of_all_tasks_give_what_one_prior_gives():
    one = given_of(np.random.default_rng(3), measuring=False)
    tasks = len(one.partition[0]) - 1
    each = one._replace(
        priors=(np.repeat(one.priors[0], tasks, axis=0), one.priors[1]),
        messages=np.zeros((tasks, 64)),
    )
    (*first, _, quantiles, estimates), (*same, _, others, found) = (
        run(_core.infer_by_bins, *arguments).arguments for arguments in (one, each)
    )
    assert first[-1] == same[-1]
    assert (quantiles, estimates) == (others, found)


def test_messages_are_log_densities_of_the_reports():
    given = given_of(np.random.default_rng(3), predicting=True, capping=False)
    flat = given._replace(priors=(np.full_like(given.priors[0], -np.log(64)), given.priors[1]))
    for arguments in (given, flat):
        _core.infer_by_bins(*arguments)
    np.testing.assert_array_equal(given.messages, flat.messages)
    offsets, workers, *_ = given.partition
    beliefs, by_distribution, *_ = given.distributions
    places, ratios, *_ = given.reports
    expected = np.zeros((len(offsets) - 1, 64))
    for task, (start, end) in enumerate(itertools.pairwise(offsets)):
        for report in range(start, end):
            mean = beliefs[workers[report]] @ by_distribution
            expected[task] += mean[places[report] :][:64]
            if ratios[report] >= 0:
                expected[task] += mean[ratios[report] :][:64]
    np.testing.assert_allclose(given.messages, expected, atol=1e-4)


@pytest.mark.parametrize("filling", [False, True])
@pytest.mark.parametrize("worst", [np.nan, np.inf, -np.inf, -1e6, 1e300])
def test_every_bit_of_what_is_not_finite(filling, worst):
    for place in range(13):
        arguments = given_of(np.random.default_rng(4), filling=filling, supporting=True)
        partition, reports, priors, distributions = arguments[:4]
        (
            distributions[2][40:90],
            distributions[1][:, 60:90],
            distributions[0][::2, 1],
            priors[0][0, 2:9],
            priors[1][1:3, :5],
            partition[2][3:5],
            arguments.densities[100:150],
            arguments.borne[:2],
            arguments.weights[4:5],
            reports[2][:2],
            reports[3][1:3],
            partition[3][1:2],
            arguments.distances[0][:1],
        )[place][...] = worst
        reports[4][np.isnan(reports[4])] = 7.0
        assert_recorded_bits("infer_by_bins", *arguments)


@pytest.mark.parametrize("seed", range(3))
def test_every_bit_where_nothing_is_rounded(seed):
    arguments = given_of(np.random.default_rng(seed), bins=192, tasks=30)
    places, ratios, _, *rest = arguments.reports
    changed = arguments._replace(reports=(places, ratios, np.zeros(0), *rest))
    assert_recorded_bits("infer_by_bins", *changed)


def test_every_bit_of_known_truths_beyond_the_ends():
    arguments = given_of(np.random.default_rng(5), tasks=6)
    arguments.reports[4][:] = [-np.inf, np.inf, -1.0, 62.5, 63.0, 1e300]
    arguments.partition[3][:] = 0.25
    assert_recorded_bits("infer_by_bins", *arguments)


@pytest.mark.parametrize(
    ("group", "place", "value", "message"),
    [
        ("partition", 0, 10**6, "offsets"),
        ("partition", 0, -1, "offsets"),
        ("partition", 1, 9, "worker code"),
        ("partition", 1, 2**32 - 1, "worker code"),
        ("reports", 0, -1, "columns"),
        ("reports", 0, 5 * 64 + 7 - 63, "columns"),
        ("reports", 0, 2**63 - 1, "columns"),
        ("reports", 1, 5 * 64 + 7 - 63, "columns"),
        ("reports", 4, np.nan, "known truth"),
        ("reports", 5, 2, "no such part"),
        ("reports", 5, -1, "no such part"),
        ("distributions", 3, 9, "row"),
    ],
)
def test_what_lies_outside_is_refused(group, place, value, message):
    arguments = given_of(np.random.default_rng(3))
    arguments.partition[3][:] = 0.1
    arguments.reports[4][:] = 10.0
    array = getattr(arguments, group)[place]
    array[len(array) // 2] = value
    with pytest.raises(ValueError, match=message):
        _core.infer_by_bins(*arguments)


SHORTER = [
    *[("partition", place) for place in range(4)],
    *[("reports", place) for place in range(6)],
    *[("priors", place) for place in range(2)],
    *[("distributions", place) for place in range(5)],
    ("distances", 0),
    ("distances", 2),
    ("line", 2),
    *[("tally", place) for place in range(8)],
    *[("estimates", place) for place in range(3)],
    *[(name, None) for name in ("densities", "weights", "borne", "ends", "messages", "quantiles")],
]


@pytest.mark.parametrize(("group", "place"), SHORTER)
@pytest.mark.parametrize("axis", [0, 1])
def test_sizes_that_do_not_fit_are_refused(group, place, axis):
    arguments = given_of(np.random.default_rng(4), filling=True, supporting=True, predicting=True)

    def shorter(array):
        return np.delete(array, 0, axis=axis % array.ndim)

    part = getattr(arguments, group)
    if place is None:
        changed = shorter(part)
    else:
        changed = (*part[:place], shorter(part[place]), *part[place + 1 :])
    with pytest.raises(ValueError, match=r"must|are|offsets|no such row"):
        _core.infer_by_bins(*arguments._replace(**{group: changed}))


@pytest.mark.parametrize(("group", "place"), SHORTER)
def test_arrays_of_other_types_are_never_converted(group, place):
    arguments = given_of(np.random.default_rng(5), filling=True, supporting=True)
    part = getattr(arguments, group)
    if place is None:
        changed = part.astype(np.float32)
    else:
        changed = (*part[:place], part[place].astype(np.float32), *part[place + 1 :])
    with pytest.raises(TypeError):
        _core.infer_by_bins(*arguments._replace(**{group: changed}))


@pytest.mark.parametrize("wrong", [0, 33])
def test_bins_that_are_no_whole_blocks_are_refused(wrong):
    arguments = given_of(np.random.default_rng(6))
    priors = (np.zeros((1, wrong)), np.zeros((5, wrong)))
    with pytest.raises(ValueError, match="multiple of 32"):
        _core.infer_by_bins(*arguments._replace(priors=priors))
