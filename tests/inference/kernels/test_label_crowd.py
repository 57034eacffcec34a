"""Posteriors of workers on a grid, against plain NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

from quietcrowd.inference.kernels.label_crowd import (
    LANES,
    Crowd,
    CrowdSums,
    bound_votes,
    weigh_workers,
)

ONE, UNIT = 2.0**24, 2.0**30
COUNT_UNIT = 2.0**40


def draw_crowd(rng, channels, labels, places, reports, communities):
    """Return a crowd of any laws; some are steep."""
    return Crowd(
        rng.dirichlet(np.full(reports, 0.4), (channels, labels, places)).clip(1e-27),
        rng.dirichlet(np.full(reports, 0.4), (channels, labels)).clip(1e-27),
        rng.dirichlet(np.ones(channels)),
        0.9 * rng.dirichlet(np.ones(communities)),
        0.1 * rng.dirichlet(np.ones(labels)),
        rng.dirichlet(np.ones(places), (communities, labels)),
    )


def draw_counts(rng, workers, reports, labels):
    """Return expected reports, from none to some hundreds a worker."""
    scale = rng.choice([0.0, 0.3, 3.0, 100.0], (workers, 1, 1))
    counts = rng.exponential(size=(workers, reports, labels)) * scale
    return np.rint(counts * COUNT_UNIT).astype(np.int64)


def run(members, counts, crowd, asked=True):
    """Return what the kernel fills in and adds."""
    channels, labels, places, reports = crowd.laws.shape
    communities, workers = len(crowd.communities), len(counts)
    log_odds = np.full(counts.size, 7, np.int32)
    votes, constancy = log_odds.copy(), np.full(workers, -1.0)
    sums = CrowdSums(
        np.zeros(communities, np.int64),
        np.zeros(labels, np.int64),
        np.zeros((communities, labels, places), np.int64),
        np.zeros((channels, labels, places, reports), np.int64),
    )
    evidence = weigh_workers(
        members,
        counts.reshape(-1),
        COUNT_UNIT,
        crowd,
        np.log(crowd.laws),
        np.log(crowd.constant_laws),
        ONE,
        UNIT,
        UNIT,
        UNIT,
        asked,
        log_odds,
        votes,
        constancy,
        sums,
    )
    return log_odds.reshape(counts.shape), votes.reshape(counts.shape), constancy, sums, evidence


def slow(record, crowd):
    """Weigh one worker by its expected reports, shape (reports, labels), in logarithms."""
    channels, labels, places, _ = crowd.laws.shape
    communities = len(crowd.communities)
    fits = np.einsum("lk,mkgl->mkg", record, np.log(crowd.laws))
    joint = np.log(crowd.accuracies) + fits[:, np.newaxis]  # channel, community, label, place
    each = logsumexp(joint, axis=3)
    known = np.log(crowd.channels)[:, np.newaxis] + np.log(crowd.communities) + each.sum(axis=2)
    constant = (
        np.log(crowd.channels)[:, np.newaxis]
        + np.log(crowd.constants)
        + np.log(crowd.constant_laws) @ record.sum(axis=1)
    )
    evidence = logsumexp(np.concatenate([known, constant], axis=1))
    known, constant = np.exp(known - evidence), np.exp(constant - evidence)
    accuracies = known[:, :, np.newaxis, np.newaxis] * np.exp(joint - each[..., np.newaxis])
    places_of = accuracies.sum(axis=1)
    odds = np.einsum("mkg,mkgl->lk", places_of, np.log(crowd.laws))
    odds += np.einsum("ms,msl->l", constant, np.log(crowd.constant_laws))[:, np.newaxis]
    means = np.einsum("mkg,mkgl->lk", places_of, crowd.laws)
    means += np.einsum("ms,msl->l", constant, crowd.constant_laws)[:, np.newaxis]
    assert known.shape == (channels, communities)
    assert places_of.shape == (channels, labels, places)
    return {
        "odds": odds,
        "votes": np.log(means),
        "constancy": constant.sum(),
        "communities": known.sum(axis=0),
        "constants": constant.sum(axis=0),
        "accuracies": accuracies.sum(axis=0),
        "reports": np.einsum("mkg,lk->mkgl", places_of, record),
        "evidence": evidence,
    }


SHAPES = st.tuples(
    st.integers(1, 3),  # channels
    st.integers(1, 5),  # labels
    st.integers(2, 7),  # places
    st.integers(1, 6),  # reports
    st.integers(1, 4),  # communities
)


@pytest.mark.slow
@given(SHAPES, st.integers(1, 2 * LANES + 3), st.integers(0, 2**32 - 1))
def test_against_plain_numpy(shape, workers, seed):
    rng = np.random.default_rng(seed)
    crowd = draw_crowd(rng, *shape)
    _, labels, _, reports, _ = shape
    counts = draw_counts(rng, workers, reports, labels)
    members = np.sort(rng.permutation(workers)[: rng.integers(0, workers + 1)])
    log_odds, votes, constancy, sums, evidence = run(members, counts, crowd)
    expected = [slow(counts[worker] / COUNT_UNIT, crowd) for worker in members]
    others = np.setdiff1d(np.arange(workers), members)
    assert (log_odds[others] == 7).all()
    assert (votes[others] == 7).all()
    assert (constancy[others] == -1.0).all()
    if not expected:
        assert evidence == 0
        assert not any(part.any() for part in sums)
        return

    def gather(name):
        return np.array([one[name] for one in expected])

    loose = {"rtol": 1e-9, "atol": 2e-7}  # of logarithms: half a unit of 2^-24, and some rounding
    np.testing.assert_allclose(log_odds[members] / ONE, gather("odds"), **loose)
    np.testing.assert_allclose(votes[members] / ONE, gather("votes"), **loose)
    np.testing.assert_allclose(constancy[members], gather("constancy"), rtol=1e-8, atol=1e-12)
    half = len(members) / UNIT  # each worker's part is rounded, per channel
    for name in ("communities", "constants", "accuracies"):
        found = getattr(sums, name) / UNIT
        np.testing.assert_allclose(found, gather(name).sum(axis=0), rtol=1e-8, atol=3 * half)
    found = sums.reports / UNIT
    np.testing.assert_allclose(found, gather("reports").sum(axis=0), rtol=1e-8, atol=half)
    np.testing.assert_allclose(evidence / UNIT, gather("evidence").sum(), rtol=1e-9, atol=half)


def test_reports_are_counted_only_where_they_are_asked_for():
    rng = np.random.default_rng(1)
    crowd = draw_crowd(rng, 2, 3, 5, 3, 2)
    counts = draw_counts(rng, 10, 3, 3)
    asked, not_asked = (run(np.arange(10), counts, crowd, flag) for flag in (True, False))
    assert asked[3].reports.any()
    assert not not_asked[3].reports.any()
    for first, second in zip(asked[:3], not_asked[:3], strict=True):
        np.testing.assert_array_equal(first, second)
    assert asked[4] == not_asked[4]


def test_neither_order_nor_neighbours_change_a_bit():
    rng = np.random.default_rng(2)
    crowd = draw_crowd(rng, 2, 3, 24, 3, 4)
    counts = draw_counts(rng, 3 * LANES + 1, 3, 3)
    members = np.arange(len(counts))
    whole = run(members, counts, crowd)
    shuffled = run(rng.permutation(members), counts, crowd)
    for first, second in zip(whole[:3], shuffled[:3], strict=True):
        np.testing.assert_array_equal(first, second)
    parts = [run(half, counts, crowd) for half in (members[::2].copy(), members[1::2].copy())]
    for name in CrowdSums._fields:
        total = sum(getattr(part[3], name) for part in parts)
        np.testing.assert_array_equal(getattr(whole[3], name), total)
        np.testing.assert_array_equal(getattr(whole[3], name), getattr(shuffled[3], name))
    assert whole[4] == shuffled[4] == sum(part[4] for part in parts)


def test_a_worker_without_reports_is_as_the_crowd():
    rng = np.random.default_rng(3)
    crowd = draw_crowd(rng, 2, 3, 5, 4, 2)
    counts = np.zeros((1, 4, 3), np.int64)
    log_odds, votes, constancy, _, evidence = run(np.arange(1), counts, crowd)
    assert abs(evidence) <= 1
    np.testing.assert_allclose(constancy, crowd.constants.sum(), rtol=1e-9)
    chances = crowd.communities @ crowd.accuracies.reshape(2, -1)
    law = np.einsum("m,kg,mkgl->lk", crowd.channels, chances.reshape(3, 5), crowd.laws)
    constant = np.einsum("m,s,msl->l", crowd.channels, crowd.constants, crowd.constant_laws)
    np.testing.assert_allclose(np.exp(votes[0] / ONE), law + constant[:, None], rtol=3e-7)
    assert (log_odds <= votes).all()


def test_thousands_of_reports_overflow_nothing():
    crowd = draw_crowd(np.random.default_rng(4), 2, 2, 24, 2, 3)
    counts = np.rint(np.full((LANES, 2, 2), 3e4) * 2.0**30).astype(np.int64)
    counts[::2, 0] = 0
    found = run(np.arange(LANES), counts * 2**10, crowd)
    assert np.isfinite(found[2]).all()
    assert 0.999 < found[3].communities.sum() / UNIT / LANES + found[2].mean() < 1.001


def test_votes_are_scaled_to_what_a_report_may_tell():
    votes = np.array([[[0, -10, -40], [5, 5, 6]], [[0, -10, -40], [5, 5, 6]]], np.int32)
    bound_votes(votes, np.array([20.0, np.inf]))
    np.testing.assert_array_equal(votes[0], [[-20, -25, -40], [5, 5, 6]])
    np.testing.assert_array_equal(votes[1], [[0, -10, -40], [5, 5, 6]])
