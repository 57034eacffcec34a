"""From log-odds to probabilities of labels, by kernels whose tables give the log-odds."""

from typing import NamedTuple

import numpy as np
import pytest
from scipy.special import entr, logsumexp, softmax
from tests.core.test_noisy_labels import Map, empty_told

from quietcrowd import _core
from quietcrowd.inference.integer_sums import shares

NATS, UNIT = 2.0**-16, 2.0**50
VOTES = [[0.0, 0.0, 0.0], [-3.0, 1.5, 0.25], [-2000.0, -2001.0, -3001.0], [5.0, 5.0, 4.0]]


class Beliefs(NamedTuple):
    """What a last pass finds; sums in units."""

    entropy: int
    counts: np.ndarray
    classes: np.ndarray
    agreed: np.ndarray
    truths: np.ndarray
    confidence: np.ndarray
    tied: np.ndarray
    posterior: np.ndarray


def infer(offsets, codes, values, known, odds, log_priors, *, unit=UNIT, seed=0):
    """Run a last pass whose reports have the same votes as while the crowd is learnt.

    Log-odds are at [worker, report, label].
    """
    workers, reports, labels = odds.shape
    tasks = len(offsets) - 1
    counts, classes = np.zeros(odds.size, np.int64), np.zeros(labels, np.int64)
    agreed = np.zeros(workers, np.int64)
    estimates = np.zeros(tasks, np.uint8), np.zeros(tasks), np.zeros(tasks, bool)
    posterior = np.zeros((tasks, labels))
    table = np.rint(odds / NATS).astype(np.int32).reshape(-1)
    entropy = _core.infer_noisy_labels(
        (
            np.asarray(offsets),
            np.asarray(codes, np.uint32),
            np.asarray(values, np.uint8),
            np.full(tasks, 99, np.uint64),
            np.asarray(known, np.int32),
        ),
        reports,
        table,
        table,
        NATS,
        np.asarray(log_priors, float),
        Map(),
        unit,
        2.0**32,
        shares(labels),
        seed,
        counts,
        classes,
        empty_told(0, labels),
        agreed,
        np.zeros((0, labels)),
        np.zeros((0, labels)),
        estimates,
        posterior,
    )
    return Beliefs(entropy, counts.reshape(odds.shape), classes, agreed, *estimates, posterior)


def beliefs_of(votes, known=None, *, unit=UNIT):
    """Return what is believed of tasks with one report each; `votes` has one row per task."""
    votes = np.array(votes, float)
    tasks, labels = votes.shape
    known = np.full(tasks, -1) if known is None else known
    rows = np.arange(tasks + 1), np.arange(tasks), np.zeros(tasks)
    return infer(*rows, known, votes[:, np.newaxis], np.zeros(labels), unit=unit)


def test_probabilities_are_the_softmax():
    beliefs = beliefs_of(VOTES)
    np.testing.assert_allclose(beliefs.posterior, softmax(VOTES, axis=1), atol=1e-12)
    for votes in VOTES:
        expected = logsumexp(votes) - softmax(votes) @ votes
        assert beliefs_of([votes]).entropy / UNIT == pytest.approx(expected, rel=1e-12)


def test_neither_names_of_labels_nor_neighbours_change_a_bit():
    votes = np.random.default_rng(0).normal(0, 10, (8, 5))
    whole, turned = beliefs_of(votes), beliefs_of(votes[:, ::-1])
    assert (turned.posterior[:, ::-1] == whole.posterior).all()
    assert (turned.counts[..., ::-1] == whole.counts).all()
    assert turned.entropy == whole.entropy
    entropy = 0
    for task in range(8):
        alone = beliefs_of(votes[task : task + 1])
        assert (alone.posterior[0] == whole.posterior[task]).all()
        entropy += alone.entropy
    assert entropy == whole.entropy


@pytest.mark.parametrize("labels", [5, 8, 9, 16])
def test_the_order_of_many_likely_labels_changes_no_bit(labels):
    """Their shares add up to almost as many as there are labels."""
    rng = np.random.default_rng(1)
    votes = rng.normal(0, 0.1, (8, labels))
    whole = beliefs_of(votes, unit=UNIT / 2)
    for _ in range(20):
        order = rng.permutation(labels)
        turned = beliefs_of(votes[:, order], unit=UNIT / 2)
        assert (turned.posterior == whole.posterior[:, order]).all()
        assert turned.entropy == whole.entropy


@pytest.mark.parametrize(
    ("labels", "bits"), [(4, 50), (5, 49), (8, 49), (9, 48), (16, 48), (17, 47)]
)
def test_what_is_added_up_is_whole_and_below_two_to_the_52(labels, bits):
    """A share is rounded to a whole number of units: more than half of one counts as one."""
    votes = np.full((2, labels), -20_000.0)
    votes[:, 0], votes[:, 1] = 0.0, np.log([0.6, 0.4]) - bits * np.log(2.0)
    assert beliefs_of(votes).posterior[:, 0].tolist() == [1.0 - 2.0**-bits, 1.0]
    even = beliefs_of(np.zeros((1, labels)), unit=2.0**44)
    assert even.posterior[0].tolist() == [1.0 / labels] * labels
    assert even.entropy / 2.0**44 == pytest.approx(np.log(labels), rel=1e-12)


def test_one_label_is_certain():
    beliefs = beliefs_of([[5.0]])
    assert (beliefs.posterior[0, 0], beliefs.confidence[0], beliefs.entropy) == (1, 1, 0)
    assert not beliefs.tied[0]


def test_what_is_known_is_certain():
    beliefs = beliefs_of([[0.5, -2.0, 0.0], [1.0, 1.0, 1.0]], known=[1, -1])
    assert beliefs.posterior[0].tolist() == [0, 1, 0]
    assert beliefs.counts[0, 0].tolist() == [0, UNIT, 0]
    np.testing.assert_allclose(beliefs.posterior[1], 1 / 3)
    assert beliefs.entropy / UNIT == pytest.approx(np.log(3))


@pytest.mark.parametrize(
    ("answers", "expected"), [([0, 0, 0, 2], [0.75, 0, 0.25]), ([0, 1, 0, 1], [0.5, 0.5, 0])]
)
def test_shares_of_votes(answers, expected):
    classes, unit = np.zeros(3, np.int64), 2.0**44
    nothing = np.zeros(0, np.uint8), np.zeros(0), np.zeros(0, bool)
    rows = np.array([0, 4]), np.arange(4, dtype=np.uint32), np.array(answers, np.uint8)
    _core.infer_by_confusion(
        (*rows, np.zeros(1, np.uint64), np.full(1, -1, np.int32)),
        np.zeros(0, np.int32),
        1.0,
        np.zeros(3),
        unit,
        shares(3),
        0,
        np.zeros(4 * 9, np.int64),
        classes,
        np.zeros(4, np.int64),
        nothing,
    )
    np.testing.assert_allclose(classes / unit, expected, atol=1e-12)


def test_tasks_of_which_nothing_is_known_are_left_out():
    odds = np.array(VOTES[:1])[:, np.newaxis]
    rows = np.array([0, 1, 1, 1]), np.zeros(1), np.zeros(1)
    beliefs = infer(*rows, [-1, -1, 1], odds, np.zeros(3), unit=2.0**44)
    np.testing.assert_allclose(beliefs.classes / 2.0**44, [1 / 3, 4 / 3, 1 / 3], atol=1e-12)
    assert beliefs.entropy / 2.0**44 == pytest.approx(np.log(3), abs=1e-12)
    assert beliefs.confidence[[0, 2]].tolist() == [beliefs.posterior[0, 0], 1.0]
    assert beliefs.confidence[1] == 0.0


def test_units_and_entropy():
    unit = 2.0**44
    beliefs = beliefs_of(VOTES, known=[-1, -1, -1, 0], unit=unit)
    np.testing.assert_allclose(beliefs.counts[:, 0] / unit, beliefs.posterior, atol=2.0**-44)
    assert beliefs.classes.tolist() == beliefs.counts.sum(axis=(0, 1)).tolist()
    assert beliefs.entropy / unit == pytest.approx(entr(beliefs.posterior).sum(), abs=1e-12)


@pytest.mark.parametrize(
    ("votes", "known", "truths", "tied", "credit"),
    [
        ([7, 9, 3], -1, {1}, False, [0, 1, 0]),
        ([9, 3, 9], -1, {0, 2}, True, [1 / 2, 0, 1 / 2]),
        ([9, 9, 3], 2, {2}, False, [0, 0, 1]),
        ([9, 9 - 2.0**-40, 3], -1, {0}, False, [1, 0, 0]),
    ],
)
def test_the_best_label_wins_and_ties_are_drawn(votes, known, truths, tied, credit):
    """The task in the middle has the votes; the first has no answer, the last another truth."""
    odds = np.zeros((3, 3, 3))
    odds[2, 0, 2] = 100.0
    rows = np.array([2, 2, 5, 6]), [0, 0, 0, 1, 2, 2], [0, 0, 0, 1, 2, 0]
    found = set()
    for seed in range(20):
        beliefs = infer(*rows, [-1, known, -1], odds, votes, seed=seed)
        found.add(int(beliefs.truths[1]))
        assert beliefs.truths[[0, 2]].tolist() == [0, 2]
        assert beliefs.confidence[1] == beliefs.posterior[1, beliefs.truths[1]]
        assert beliefs.confidence[0] == 0, "a task without answers is left out"
        assert beliefs.tied.tolist() == [False, tied, False]
        np.testing.assert_allclose(beliefs.agreed / shares(3)[1], credit)
    assert found == truths
