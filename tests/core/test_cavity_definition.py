from itertools import pairwise

import numpy as np
import pytest
from scipy.special import softmax
from tests.core.read_only import read_only

from quietcrowd._core import coin_cavities, table_cavities
from quietcrowd.inference.labels.accuracies import SPREAD
from quietcrowd.inference.labels.reports import REPORT_ONE, CavityVotes, ReportDistributions

LABELS, WORKERS, TASKS = 3, 6, 40
KEEP, OTHER = 0.6, 0.2
CHANNEL = np.array([[0.7, 0.2, 0.1], [0.15, 0.6, 0.25], [0.1, 0.3, 0.6]])


def nodes_to(span):
    return SPREAD * np.sinh(np.linspace(-1, 1, 32) * np.arcsinh(span / SPREAD))


def rows(seed=0, known=-1):
    """Return answers of all workers but one to each task."""
    rng = np.random.default_rng(seed)
    offsets = np.arange(TASKS + 1) * (WORKERS - 1)
    codes = np.concatenate([rng.permutation(WORKERS)[:-1] for _ in range(TASKS)])
    values = rng.integers(0, LABELS, len(codes)).astype(np.uint8)
    draws = np.zeros(TASKS, np.uint64)
    stored = read_only(offsets, codes.astype(np.uint32), values, draws)
    return *stored, np.full(TASKS, known, np.int32)


def table_votes(seed=1):
    rng = np.random.default_rng(seed)
    tables = np.log(rng.dirichlet([2.0] * LABELS, (WORKERS, LABELS)).swapaxes(1, 2))
    return CavityVotes(
        coins=np.zeros(0, np.int64),
        tables=np.rint(tables * 2**24).astype(np.int32).reshape(-1),
        nats=2.0**-24,
        most=0.9,
        trust=rng.random(WORKERS),
        crowd=np.log(rng.dirichlet([2.0] * LABELS, (2, LABELS))),
        log_priors=np.log(np.array([0.5, 0.3, 0.2])),
    )


def table_distributions(channel, answering=1.0):
    right = channel[None]
    wrong = (channel.sum(axis=0) - right) / (LABELS - 1)
    silent = np.array([[0.3, 0.3, 0.2]])
    return ReportDistributions(right, wrong, silent, np.full(WORKERS, answering), nodes_to(3.0))


def histograms_of(kernel, data, votes, distributions):
    histograms = np.zeros((WORKERS, 2, len(distributions.silent), 33), np.int64)
    kernel(data, votes, distributions, 0, histograms)
    return histograms


def expected(data, votes, distributions):
    """Return the same from the definition, one report after the other."""
    offsets, codes, values, _, known = data
    histograms = np.zeros((WORKERS, 2, 33))
    own = votes.tables.reshape(WORKERS, LABELS, LABELS) * votes.nats
    own = np.maximum(own - own.max(axis=2, keepdims=True), -votes.most)
    for task in range(TASKS):
        mine = range(offsets[task], offsets[task + 1])
        for row in mine:
            worker, report = codes[row], values[row]
            for crowd in range(2):
                odds = votes.log_priors.copy()
                for other in set(mine) - {row}:
                    trust = votes.trust[codes[other]]
                    odds += trust * own[codes[other], values[other]]
                    odds += (1 - trust) * votes.crowd[crowd, :, values[other]]
                shares = softmax(odds) if known[task] < 0 else np.eye(LABELS)[known[task]]
                share = distributions.answering[worker]
                silent = (1 - share) * distributions.silent[0, report]
                right = share * shares @ distributions.right[0, :, report] + silent
                wrong = share * shares @ distributions.wrong[0, :, report] + silent
                v = np.log(right / wrong)
                histograms[worker, crowd, :32] += [
                    np.interp(v, distributions.nodes, one) for one in np.eye(32)
                ]
                histograms[worker, crowd, 32] += np.log(wrong)
    return histograms


@pytest.mark.parametrize("known", [-1, 2])
@pytest.mark.parametrize("answering", [1.0, 0.4])
def test_reports_tell_what_the_definition_says(known, answering):
    data, votes, distributions = (
        rows(known=known),
        table_votes(),
        table_distributions(CHANNEL, answering),
    )
    found = histograms_of(table_cavities, data, votes, distributions)[:, :, 0] / REPORT_ONE
    np.testing.assert_allclose(found, expected(data, votes, distributions), atol=1e-5)


def coin_votes(own, most):
    return CavityVotes(
        coins=np.rint(own * 2**24).astype(np.int64),
        tables=np.zeros(0, np.int32),
        nats=2.0**-24,
        most=most,
        trust=np.linspace(0, 1, WORKERS),
        crowd=np.array([0.5, 1.2]),
        log_priors=np.log(np.array([0.5, 0.3, 0.2])),
    )


@pytest.mark.parametrize("known", [-1, 0])
def test_one_number_per_worker_tells_what_its_table_does(known):
    data, own = rows(known=known), np.linspace(-1, 3, WORKERS)
    coins = coin_votes(own, 2.0)
    rates = np.array([[KEEP, OTHER]])
    as_table = table_distributions(
        np.full((LABELS, LABELS), OTHER) + (KEEP - OTHER) * np.eye(LABELS), 0.7
    )
    distributions = as_table._replace(right=rates, wrong=np.zeros((1, 1)))
    crowd = np.array([np.eye(LABELS) * one for one in coins.crowd])
    found = histograms_of(coin_cavities, data, coins, distributions) / REPORT_ONE
    tables = histograms_of(table_cavities, data, coins._replace(crowd=crowd), as_table) / REPORT_ONE
    np.testing.assert_allclose(found, tables, atol=1e-5)


def test_no_order_of_rows_and_no_split_changes_a_bit():
    votes, distributions = table_votes(), table_distributions(CHANNEL)
    offsets, codes, values, draws, known = rows()
    whole = histograms_of(
        table_cavities, (offsets, codes, values, draws, known), votes, distributions
    )
    turned = np.concatenate([np.arange(*pair)[::-1] for pair in pairwise(offsets)])
    others = read_only(codes[turned], values[turned])
    again = histograms_of(table_cavities, (offsets, *others, draws, known), votes, distributions)
    assert (again == whole).all()
    for first, end in ((0, 20), (20, TASKS)):
        part = (offsets[first : end + 1], codes, values, draws[first:end], known[first:end])
        whole -= histograms_of(table_cavities, part, votes, distributions)
    assert (whole == 0).all()


def test_a_report_that_decides_counts_at_the_last_node():
    """Plain answers to known truths: right ones at one end, wrong ones at the other."""
    data = rows(known=1)
    distributions = ReportDistributions(
        np.array([[1.0, 0.0]]),
        np.zeros((1, 1)),
        np.zeros((1, LABELS)),
        np.ones(WORKERS),
        nodes_to(10.0),
    )
    found = histograms_of(coin_cavities, data, coin_votes(np.ones(WORKERS), 12.0), distributions)[
        :, 0, 0
    ]
    right = np.bincount(data[1], data[2] == 1, WORKERS)
    np.testing.assert_array_equal(found[:, 31] / REPORT_ONE, right)
    np.testing.assert_array_equal(found[:, 0] / REPORT_ONE, np.bincount(data[1]) - right)
    assert (found[:, 1:31] == 0).all()
    np.testing.assert_allclose(
        found[:, 32] / REPORT_ONE,
        -10.0 * right + np.log(0.5) * (np.bincount(data[1]) - right),
        atol=1e-6,
    )
