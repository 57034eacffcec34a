"""Posteriors of workers on a grid, against NumPy and the bits on record."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp
from tests.core.kernels import assert_recorded_bits

from quietcrowd import _core
from quietcrowd.inference.labels.learning import Crowd, CrowdSums

ONE, UNIT = 2.0**24, 2.0**30
COUNT_UNIT = 2.0**40
ABREAST = 32
"""So many workers are done side by side."""


class Weighed(NamedTuple):
    log_odds: np.ndarray
    votes: np.ndarray
    constancy: np.ndarray
    sums: CrowdSums
    evidence: int


def draw_crowd(rng, channels, labels, places, reports, communities):
    """Return a crowd of any distributions; some are steep."""
    right = rng.random(places)
    opposed = rng.random(places) < 0.3
    parts = rng.dirichlet(np.full(reports, 0.4), (3, channels, labels)).clip(1e-27)
    return Crowd(
        np.ascontiguousarray(np.swapaxes(parts, 2, 3)),
        np.stack([right, (1.0 - right) * ~opposed, (1.0 - right) * opposed]),
        rng.dirichlet(np.full(reports, 0.4), (channels, labels)).clip(1e-27),
        rng.dirichlet(np.ones(channels)),
        0.9 * rng.dirichlet(np.ones(communities)),
        0.1 * rng.dirichlet(np.ones(labels)),
        rng.dirichlet(np.ones(places), (communities, labels)),
    )


def without_noise(crowd):
    """Return a crowd whose reports are answers: only right ones are the truth."""
    same = np.eye(crowd.parts.shape[3])
    wrong = np.where(same, 0.0, crowd.parts[1:])
    return crowd._replace(parts=np.stack([same[np.newaxis], *wrong]))


def draw_counts(rng, workers, reports, labels):
    """Return expected reports, from none to some hundreds a worker."""
    scale = rng.choice([0.0, 0.3, 3.0, 100.0], (workers, 1, 1))
    scale = scale * rng.choice([0.0, 1.0], (workers, reports, 1), p=[0.2, 0.8])
    counts = rng.exponential(size=(workers, reports, labels)) * scale
    return np.rint(counts * COUNT_UNIT).astype(np.int64)


def arguments_of(members, counts, crowd, mistakes=False, all_rows=True):
    """Return the arguments of `weigh_workers`."""
    parts, _, _, labels = crowd.parts.shape
    communities, workers = len(crowd.communities), len(counts)
    return (
        members,
        counts.reshape(-1),
        COUNT_UNIT,
        crowd,
        ONE,
        UNIT,
        UNIT,
        UNIT,
        all_rows,
        np.full(counts.size, 7, np.int32),
        np.full(counts.size, 7, np.int32),
        np.full(workers, -1.0),
        CrowdSums(
            np.zeros(communities, np.int64),
            np.zeros(labels, np.int64),
            np.zeros(crowd.accuracies.shape, np.int64),
        ),
        np.zeros((parts - 1, *crowd.parts.shape[1:]) if mistakes else (0, 0, 0, 0), np.int64),
    )


def run(members, counts, crowd):
    """Return what the kernel fills in and adds."""
    arguments = arguments_of(members, counts, crowd)
    evidence = _core.weigh_workers(*arguments)
    log_odds, votes, constancy, sums = arguments[9:13]
    return Weighed(
        log_odds.reshape(counts.shape), votes.reshape(counts.shape), constancy, sums, evidence
    )


def mistaken(members, counts, crowd):
    """Return the expected reports that are wrong answers."""
    arguments = arguments_of(members, counts, crowd, mistakes=True)
    _core.weigh_workers(*arguments)
    for untouched in arguments[9:11]:
        assert (untouched == 7).all()
    return arguments[-1]


def slow(record, crowd):
    """Weigh one worker by its expected reports, shape (reports, labels), in logarithms."""
    parts = np.swapaxes(crowd.parts, 2, 3)  # part, channel, label, report
    distributions = np.einsum("pg,pmkl->mkgl", crowd.mixture, parts)
    channels, labels, places, _ = distributions.shape
    communities = len(crowd.communities)
    fits = np.einsum("lk,mkgl->mkg", record, np.log(distributions))
    joint = np.log(crowd.accuracies) + fits[:, np.newaxis]  # channel, community, label, place
    each = logsumexp(joint, axis=3)
    known = np.log(crowd.channels)[:, np.newaxis] + np.log(crowd.communities) + each.sum(axis=2)
    constant = (
        np.log(crowd.channels)[:, np.newaxis]
        + np.log(crowd.constants)
        + np.log(crowd.constant_distributions) @ record.sum(axis=1)
    )
    evidence = logsumexp(np.concatenate([known, constant], axis=1))
    known, constant = np.exp(known - evidence), np.exp(constant - evidence)
    accuracies = known[:, :, np.newaxis, np.newaxis] * np.exp(joint - each[..., np.newaxis])
    places_of = accuracies.sum(axis=1)
    odds = np.einsum("mkg,mkgl->lk", places_of, np.log(distributions))
    odds += np.einsum("ms,msl->l", constant, np.log(crowd.constant_distributions))[:, np.newaxis]
    means = np.einsum("mkg,mkgl->lk", places_of, distributions)
    means += np.einsum("ms,msl->l", constant, crowd.constant_distributions)[:, np.newaxis]
    given = record.any(axis=1, keepdims=True)
    wrong = np.einsum("pg,pmkl->pmkgl", crowd.mixture, parts)[1:] / distributions
    assert known.shape == (channels, communities)
    assert places_of.shape == (channels, labels, places)
    return {
        "odds": np.where(given, odds, np.log(means)),
        "votes": np.log(means),
        "constancy": constant.sum(),
        "communities": known.sum(axis=0),
        "constants": constant.sum(axis=0),
        "accuracies": accuracies.sum(axis=0),
        "mistaken": np.einsum("mkg,lk,pmkgl->pmlk", places_of, record, wrong),
        "evidence": evidence,
    }


SHAPES = st.tuples(
    st.integers(1, 3),  # channels
    st.integers(1, 5),  # labels
    st.integers(2, 7),  # places
    st.integers(1, 6),  # reports
    st.integers(1, 4),  # communities
)

ANSWERS = (1, 18, 5, 18, 3)
"""Shape of crowds without noise that have many labels."""


@pytest.mark.slow
@given(
    SHAPES | st.just((2, 17, 5, 16, 3)) | st.just((1, 20, 4, 30, 2)) | st.just(ANSWERS),
    st.integers(1, 2 * ABREAST + 3),
    st.integers(0, 2**32 - 1),
)
def test_against_numpy(shape, workers, seed):
    rng = np.random.default_rng(seed)
    crowd = draw_crowd(rng, *shape)
    crowd = without_noise(crowd) if shape == ANSWERS else crowd
    _, labels, _, reports, _ = shape
    counts = draw_counts(rng, workers, reports, labels)
    members = np.sort(rng.permutation(workers)[: rng.integers(0, workers + 1)])
    log_odds, votes, constancy, sums, evidence = run(members, counts, crowd)
    wrong = mistaken(members, counts, crowd)
    expected = [slow(counts[worker] / COUNT_UNIT, crowd) for worker in members]
    others = np.setdiff1d(np.arange(workers), members)
    assert (log_odds[others] == 7).all()
    assert (votes[others] == 7).all()
    assert (constancy[others] == -1.0).all()
    if not expected:
        assert evidence == 0
        assert not any(part.any() for part in (*sums, wrong))
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
    found = wrong / UNIT
    np.testing.assert_allclose(found, gather("mistaken").sum(axis=0), rtol=1e-8, atol=half)
    np.testing.assert_allclose(evidence / UNIT, gather("evidence").sum(), rtol=1e-9, atol=half)


@pytest.mark.parametrize("shape", [(2, 3, 24, 3, 4), (1, 17, 4, 9, 2), ANSWERS])
def test_neither_order_nor_neighbours_change_a_bit(shape):
    rng = np.random.default_rng(2)
    crowd = draw_crowd(rng, *shape)
    crowd = without_noise(crowd) if shape == ANSWERS else crowd
    counts = draw_counts(rng, 6 * ABREAST + 1, shape[3], shape[1])
    members = np.arange(len(counts))
    whole = run(members, counts, crowd)
    shuffled = run(rng.permutation(members), counts, crowd)
    for first, second in zip(whole[:3], shuffled[:3], strict=True):
        np.testing.assert_array_equal(first, second)
    halves = members[::2].copy(), members[1::2].copy()
    parts = [run(half, counts, crowd) for half in halves]
    for place, total in enumerate(whole.sums):
        np.testing.assert_array_equal(total, shuffled.sums[place])
        np.testing.assert_array_equal(total, sum(part.sums[place] for part in parts))
    assert whole.evidence == shuffled.evidence == sum(part.evidence for part in parts)
    np.testing.assert_array_equal(
        mistaken(members, counts, crowd), sum(mistaken(half, counts, crowd) for half in halves)
    )


@pytest.mark.parametrize("shape", [(2, 3, 24, 3, 4), (1, 17, 4, 9, 2), ANSWERS])
def test_many_labels_may_leave_out_rows_that_no_sweep_reads(shape):
    rng = np.random.default_rng(9)
    crowd = draw_crowd(rng, *shape)
    crowd = without_noise(crowd) if shape == ANSWERS else crowd
    counts = draw_counts(rng, ABREAST + 3, shape[3], shape[1])
    whole = run(np.arange(len(counts)), counts, crowd)
    arguments = arguments_of(np.arange(len(counts)), counts, crowd, all_rows=False)
    assert _core.weigh_workers(*arguments) == whole.evidence
    filled = counts.any(axis=2) | (shape[1] <= 16)
    for found, expected in zip(arguments[9:11], whole[:2], strict=True):
        rows = found.reshape(counts.shape)
        np.testing.assert_array_equal(rows[filled], expected[filled])
        assert (rows[~filled] == 7).all()
    np.testing.assert_array_equal(arguments[11], whole.constancy)
    for found, expected in zip(arguments[12], whole.sums, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_worker_without_reports_is_as_the_crowd():
    rng = np.random.default_rng(3)
    crowd = draw_crowd(rng, 2, 3, 5, 4, 2)
    found = run(np.arange(1), np.zeros((1, 4, 3), np.int64), crowd)
    assert abs(found.evidence) <= 1
    np.testing.assert_allclose(found.constancy, crowd.constants.sum(), rtol=1e-9)
    chances = crowd.communities @ crowd.accuracies.reshape(2, -1)
    distribution = np.einsum(
        "m,kg,pg,pmlk->lk", crowd.channels, chances.reshape(3, 5), crowd.mixture, crowd.parts
    )
    constant = np.einsum(
        "m,s,msl->l", crowd.channels, crowd.constants, crowd.constant_distributions
    )
    np.testing.assert_allclose(
        np.exp(found.votes[0] / ONE), distribution + constant[:, None], rtol=3e-7
    )
    np.testing.assert_array_equal(found.log_odds, found.votes)


def test_thousands_of_reports_overflow_nothing():
    crowd = draw_crowd(np.random.default_rng(4), 2, 2, 24, 2, 3)
    counts = np.rint(np.full((64, 2, 2), 3e4) * 2.0**30).astype(np.int64)
    counts[::2, 0] = 0
    found = run(np.arange(64), counts * 2**10, crowd)
    assert np.isfinite(found.constancy).all()
    assert 0.999 < found.sums.communities.sum() / UNIT / 64 + found.constancy.mean() < 1.001


@pytest.mark.parametrize(
    "shape",
    [
        (1, 1, 1, 1, 1),
        (1, 2, 24, 2, 7),
        (3, 3, 5, 4, 2),
        (2, 4, 24, 1, 1),
        (1, 20, 24, 20, 7),
        ANSWERS,
    ],
)
@pytest.mark.parametrize("workers", [1, ABREAST, 3 * ABREAST + 5])
def test_every_bit(shape, workers):
    rng = np.random.default_rng(workers)
    crowd, (_, labels, _, reports, _) = draw_crowd(rng, *shape), shape
    crowd = without_noise(crowd) if shape == ANSWERS else crowd
    counts = draw_counts(rng, workers, reports, labels)
    some = rng.permutation(workers)[: workers // 2 + 1]
    for members, asked in ((np.arange(workers), True), (some, False), (some[:0], True)):
        given = arguments_of(members, counts, crowd, asked, all_rows=bool(workers % 2))
        assert_recorded_bits("weigh_workers", *given)


@pytest.mark.parametrize("least", [0.0, 5e-324, 1e-300, 1.0])
def test_every_bit_of_extreme_distributions_and_records(least):
    """Logarithms of 0 make infinities and, with no report, NaN; a weight of 0 adds none of them."""
    rng = np.random.default_rng(5)
    crowd = draw_crowd(rng, 2, 3, 4, 3, 2)
    for part in crowd:
        part[rng.random(part.shape) < 0.3] = least
    counts = draw_counts(rng, 64, 3, 3)
    counts[0], counts[1], counts[2] = 2**62, -(2**62), rng.integers(-(2**63), 2**63, (3, 3))
    with np.errstate(divide="ignore"):
        given = arguments_of(np.arange(64), counts, crowd)
    assert_recorded_bits("weigh_workers", *given)


@pytest.mark.parametrize("member", [-1, 10, 2**32, -(2**63)])
def test_a_member_that_is_no_worker_is_refused(member):
    rng = np.random.default_rng(6)
    counts = draw_counts(rng, 10, 3, 3)
    given = arguments_of(np.array([3, member]), counts, draw_crowd(rng, 2, 3, 5, 3, 2))
    with pytest.raises(ValueError, match="no such member, at place 1"):
        _core.weigh_workers(*given)


def shorter(array, axis):
    return np.ascontiguousarray(np.delete(array, 0, axis))


@pytest.mark.parametrize("place", [1, 3, 9, 10, 11, 12, 13])
def test_sizes_that_do_not_fit_are_refused(place):
    rng = np.random.default_rng(7)
    crowd = draw_crowd(rng, 2, 3, 5, 4, 2)
    given = arguments_of(np.arange(10), draw_counts(rng, 10, 4, 3), crowd, mistakes=True)
    argument = given[place]
    fields = argument if isinstance(argument, tuple) else (argument,)
    for field, array in enumerate(fields):
        for axis in range(array.ndim):
            for changed in (shorter(array, axis), np.repeat(array, 2, axis)):
                parts = [*fields[:field], changed, *fields[field + 1 :]]
                new = type(argument)(*parts) if isinstance(argument, tuple) else changed
                with pytest.raises(ValueError, match="must"):
                    _core.weigh_workers(*given[:place], new, *given[place + 1 :])


def test_arrays_of_other_types_are_never_converted():
    rng = np.random.default_rng(8)
    given = arguments_of(np.arange(10), draw_counts(rng, 10, 3, 3), draw_crowd(rng, 2, 3, 5, 3, 2))
    for place, argument in enumerate(given):
        if isinstance(argument, np.ndarray):
            with pytest.raises(TypeError):
                _core.weigh_workers(*given[:place], argument.astype("f4"), *given[place + 1 :])


def test_votes_are_scaled_to_what_a_report_may_tell():
    votes = np.array([[[0, -10, -40], [5, 5, 6]], [[0, -10, -40], [5, 5, 6]]], np.int32)
    _core.bound_votes(votes, np.array([20.0, np.inf]))
    np.testing.assert_array_equal(votes[0], [[-20, -25, -40], [5, 5, 6]])
    np.testing.assert_array_equal(votes[1], [[0, -10, -40], [5, 5, 6]])


@pytest.mark.parametrize("labels", [1, 2, 3, 20])
def test_every_bit_of_bounded_votes(labels):
    rng = np.random.default_rng(labels)
    votes = rng.integers(-(2**30), 2**30, (60, 4, labels)).astype(np.int32)
    votes[::2] >>= 20
    most = rng.choice([0.0, 1.0, 700.0, 1e9, np.inf], 60)
    assert_recorded_bits("bound_votes", votes, most)


def test_votes_from_end_to_end_are_bounded():
    votes = np.array([[[-(2**31), 2**31 - 1]]] * 2, np.int32)
    _core.bound_votes(votes, np.array([2.0**32 - 2, 1.0]))
    assert votes.tolist() == [[[-(2**31), 2**31 - 2]], [[-(2**31), 1 - 2**31]]]


def test_bounds_that_do_not_fit_votes_are_refused():
    votes = np.zeros((3, 2, 2), np.int32)
    for most in (np.ones(2), np.array([1.0, np.nan, 1.0]), np.full(3, -1.0)):
        with pytest.raises(ValueError, match="bound"):
            _core.bound_votes(votes, most)
    with pytest.raises(ValueError, match="a label"):
        _core.bound_votes(np.zeros((3, 2, 0), np.int32), np.ones(3))
    with pytest.raises(TypeError):
        _core.bound_votes(np.asfortranarray(votes), np.ones(3))
