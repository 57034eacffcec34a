import numpy as np
import pytest
from scipy.special import entr, logsumexp, softmax

from quietcrowd.inference.kernels.posteriors import (
    Beliefs,
    _unit_for,
    believe,
    block_of,
    leave_out,
    log_counts,
    no_beliefs,
    settle,
    to_units,
)

FINE = 2.0**-40


def beliefs_of(votes, known=None):
    """Return what is believed of tasks; `votes` has one row per task."""
    votes = np.array(votes, float)
    beliefs = no_beliefs(votes.shape[1], 8)
    beliefs.votes[:, : len(votes)] = np.round(votes.T / FINE) * FINE
    believe(beliefs, np.full(len(votes), -1, np.int32) if known is None else np.int32(known))
    return Beliefs(*(np.array(part[..., : len(votes)]) for part in beliefs))


VOTES = [[0.0, 0.0, 0.0], [-3.0, 1.5, 0.25], [-2000.0, -2001.0, -3001.0], [5.0, 5.0, 4.0]]


def test_probabilities_are_the_softmax():
    beliefs = beliefs_of(VOTES)
    np.testing.assert_allclose(beliefs.shares.T, softmax(VOTES, axis=1), atol=1e-12)
    evidence = beliefs.best + beliefs.rest
    np.testing.assert_allclose(evidence, logsumexp(VOTES, axis=1), rtol=1e-14, atol=1e-12)


def test_neither_names_of_labels_nor_neighbours_change_a_bit():
    rng = np.random.default_rng(0)
    votes = rng.normal(0, 10, (8, 5))
    whole = beliefs_of(votes)
    turned = beliefs_of(votes[:, ::-1])
    assert (turned.shares[::-1] == whole.shares).all()
    assert (turned.rest == whole.rest).all()
    for task in range(8):
        alone = beliefs_of(votes[task : task + 1])
        assert (alone.shares[:, 0] == whole.shares[:, task]).all()
        assert alone.rest[0] == whole.rest[task]


@pytest.mark.parametrize("labels", [5, 8, 9, 16])
def test_the_order_of_many_likely_labels_changes_no_bit(labels):
    """Their shares add up to almost as many as there are labels."""
    rng = np.random.default_rng(1)
    votes = rng.normal(0, 0.1, (8, labels))
    whole = beliefs_of(votes)
    for _ in range(20):
        order = rng.permutation(labels)
        turned = beliefs_of(votes[:, order])
        assert (turned.rest == whole.rest).all()
        assert (turned.shares == whole.shares[order]).all()


@pytest.mark.parametrize(
    ("labels", "bits"), [(1, 50), (4, 50), (5, 49), (8, 49), (9, 48), (16, 48), (17, 47)]
)
def test_what_is_added_up_is_whole_and_below_two_to_the_52(labels, bits):
    assert _unit_for(labels) == 2.0**bits


def test_one_label_is_certain():
    beliefs = beliefs_of([[5.0]])
    assert (beliefs.shares[0, 0], beliefs.best[0], beliefs.rest[0]) == (1, 5, 0)


def test_what_is_known_is_certain():
    beliefs = beliefs_of([[0.5, -2.0, 0.0], [1.0, 1.0, 1.0]], known=[1, -1])
    assert beliefs.shares[:, 0].tolist() == [0, 1, 0]
    assert (beliefs.best[0], beliefs.rest[0]) == (-2, 0)
    np.testing.assert_allclose(beliefs.shares[:, 1], 1 / 3)


def test_shares_of_votes():
    counts = np.array([[3.0, 2.0], [0.0, 2.0], [1.0, 0.0]])
    log_counts(counts, 2)
    expected = [[0.75, 0, 0.25], [0.5, 0.5, 0]]
    np.testing.assert_allclose(beliefs_of(counts.T).shares.T, expected, atol=1e-12)


def test_tasks_of_which_nothing_is_known_are_left_out():
    beliefs = beliefs_of(VOTES[:3])
    leave_out(beliefs, np.array([0, 2, 2, 2]), np.array([-1, -1, 1], np.int32))
    assert (beliefs.shares.sum(axis=0) > 0.5).tolist() == [True, False, True]


def test_units_and_entropy():
    unit = 2.0**44
    beliefs = beliefs_of(VOTES, known=[-1, -1, -1, 0])
    credit, classes = np.zeros((3, 4), np.int64), np.zeros(3, np.int64)
    entropy = to_units(beliefs, 4, unit, credit, classes)
    np.testing.assert_allclose(credit / unit, beliefs.shares, atol=2.0**-44)
    assert classes.tolist() == credit.sum(axis=1).tolist()
    assert entropy / unit == pytest.approx(entr(beliefs.shares).sum(), abs=1e-12)


@pytest.mark.parametrize("labels", [1, 4, 1000, 65_000])
def test_blocks_are_neither_tiny_nor_huge(labels):
    assert 8 <= block_of(labels) <= 64
    assert labels * block_of(labels) <= max(2048, 8 * labels)


@pytest.mark.parametrize(
    ("votes", "known", "truths", "tied", "credit"),
    [
        ([7, 9, 3], -1, {1}, False, [0, 60, 0]),
        ([9, 3, 9], -1, {0, 2}, True, [30, 0, 30]),
        ([9, 9, 3], 2, {2}, False, [0, 0, 60]),
        ([9, 9 - FINE, 3], -1, {0}, False, [60, 0, 0]),
    ],
)
def test_the_best_label_wins_and_ties_are_drawn(votes, known, truths, tied, credit):
    known = np.array([-1, known, -1], np.int32)
    beliefs = beliefs_of([[0, 0, 0], votes, [0, 0, 1]], known=known)
    found = set()
    for seed in range(20):
        agreed, truth, confidence = np.zeros(3, np.int64), np.zeros(3, np.uint8), np.zeros(3)
        ties = np.zeros(3, bool)
        settle(
            beliefs,
            np.array([2, 2, 5, 6]),
            np.array([0, 0, 0, 1, 2, 2], np.uint32),
            np.array([0, 0, 0, 1, 2, 0], np.uint8),
            known,
            np.full(3, 99, np.uint64),
            np.uint64(seed),
            np.array([0, 60, 30, 20]),
            np.zeros(3, np.int64),
            agreed,
            truth,
            confidence,
            ties,
        )
        found.add(int(truth[1]))
        assert truth[[0, 2]].tolist() == [0, 2]
        assert confidence[1] == beliefs.shares[truth[1], 1]
        assert confidence[0] == 0, "a task without answers is left out"
        assert ties.tolist() == [False, tied, False]
        assert agreed.tolist() == credit
    assert found == truths
