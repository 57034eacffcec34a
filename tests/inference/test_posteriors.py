import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from quietcrowd.inference import fixed_point
from quietcrowd.inference.posteriors import believe, log_counts, settle


def posterior(votes, known=-1):
    """Return probabilities and the log of what they are normalised by."""
    shares = np.zeros(len(votes))
    return shares, believe(fixed_point.to_fixed(np.array(votes)), known, shares)


@pytest.mark.parametrize("votes", [[0.0, 0.0], [-3.0, 1.5, 0.25], [-2000.0, -2001.0], [5.0]])
def test_probabilities_are_the_softmax(votes):
    shares, evidence = posterior(votes)
    np.testing.assert_allclose(shares, softmax(votes), atol=1e-12)
    assert evidence == pytest.approx(logsumexp(votes), abs=1e-12)
    mirrored, same = posterior(votes[::-1])
    assert (mirrored[::-1] == shares).all()
    assert same == evidence


def test_what_is_known_is_certain():
    shares, evidence = posterior([0.5, -2.0, 0.0], known=1)
    assert shares.tolist() == [0, 1, 0]
    assert evidence == -2.0


def test_shares_of_votes():
    votes = np.array([3, 0, 1])
    log_counts(votes)
    shares = np.zeros(3)
    believe(votes, -1, shares)
    np.testing.assert_allclose(shares, [0.75, 0, 0.25], atol=1e-9)


@pytest.mark.parametrize(
    ("votes", "known", "truths", "tied", "credit"),
    [
        ([7, 9, 3], -1, {1}, False, [0, 60, 0]),
        ([9, 3, 9], -1, {0, 2}, True, [30, 0, 30]),
        ([9, 9, 3], 2, {2}, False, [0, 0, 60]),
    ],
)
def test_the_best_label_wins_and_ties_are_drawn(votes, known, truths, tied, credit):
    even = np.array([0, 60, 30, 20])
    found = set()
    for seed in range(20):
        shares, credited = np.array([0.5, 0.3, 0.2]), np.zeros(3, np.int64)
        truth, confidence, ties = np.zeros(1, np.uint8), np.zeros(1), np.zeros(1, bool)
        settle(
            0,
            np.array(votes),
            shares,
            known,
            np.uint64(99),
            np.uint64(seed),
            even,
            credited,
            truth,
            confidence,
            ties,
        )
        found.add(int(truth[0]))
        assert confidence[0] == shares[truth[0]]
        assert ties[0] == tied
        assert credited.tolist() == credit
    assert found == truths
