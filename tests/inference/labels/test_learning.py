"""What is learnt of a crowd from a pass."""

import numpy as np
import pytest
from attrs import evolve
from tests.inference.label_reports import reports_of

import quietcrowd as qc
from quietcrowd.inference import integer_sums
from quietcrowd.inference.labels import crowd as label_state
from quietcrowd.inference.labels.accuracies import no_histograms
from quietcrowd.inference.labels.crowd import (
    CrowdTally,
    Grid,
    prior_crowd,
)
from quietcrowd.inference.labels.learning import learn_crowd
from quietcrowd.inference.labels.truth_map import KnownTally

UNIT = 2.0**40


def tally_of(counts, classes, **others):
    """Return a tally of expected reports, shape (workers, reports, labels)."""
    workers, reports, _ = counts.shape
    fields = {
        "counts": np.rint(counts * UNIT).astype(np.int64),
        "classes": np.rint(np.asarray(classes) * UNIT).astype(np.int64),
        "entropy": 0,
        "report_counts": np.zeros(reports, np.int64),
        "known": KnownTally.empty(0, 0),
        "sources": np.zeros((0, *counts.shape[1:]), np.int64),
        "agreed": np.zeros(workers, np.int64),
        "histograms": no_histograms(),
    }
    return CrowdTally(**{**fields, **others})


def drawn_counts(labels, accuracy, workers=6, each=60.0):
    """Return expected reports of workers who are right so often and else give the next label."""
    distribution = accuracy * np.eye(labels) + (1.0 - accuracy) * np.roll(np.eye(labels), 1, axis=0)
    return np.tile(each * distribution, (workers, 1, 1))


@pytest.mark.parametrize("labels", [2, 3, 5])
@pytest.mark.parametrize("accuracy", [0.1, 0.6, 0.95])
def test_workers_are_as_their_reports_tell(labels, accuracy):
    reports = reports_of(labels)
    state = prior_crowd(reports, np.full(labels, 100), None)
    tally = tally_of(drawn_counts(labels, accuracy), np.full(labels, 8.0))
    climbs = []
    for _ in range(6):
        state, climbed = learn_crowd(reports, tally, state, UNIT, None)
        climbs.append(climbed)
    assert (np.diff(climbs) > -1e-6).all()  # of 360 reports
    assert state.updates == 6
    distribution = np.exp(state.votes[0] * 2.0**-24)
    np.testing.assert_allclose(distribution.sum(axis=0), 1.0, atol=1e-6)
    np.testing.assert_allclose(np.diagonal(distribution), accuracy, atol=0.04)
    if labels > 2:  # mistakes are the next label
        following = np.roll(np.eye(labels), 1, axis=0).T
        assert (state.mistakes[int(accuracy < 0.3)][following > 0] > 0.5).all()
    assert state.constancy.max() < 0.1
    np.testing.assert_allclose(state.communities.sum() + state.constants.sum(), 1.0)
    # a new worker is as the crowd: nearer to these workers than before any report
    first = prior_crowd(reports, np.full(labels, 100), None)
    before = np.einsum(
        "t,tkg,g->k", first.communities, first.accuracies, Grid.of(labels).accuracies
    )
    unknown = np.diagonal(np.exp(state.votes[-1] * 2.0**-24))
    if abs(before[0] - accuracy) > 0.1:
        assert (np.abs(unknown - accuracy) < 0.8 * np.abs(before - accuracy)).all()


def test_who_always_gives_one_label_is_told_apart():
    reports = reports_of(3, workers=8)
    counts = drawn_counts(3, 0.8, workers=8)
    counts[0] = 0.0
    counts[0, 1] = 60.0
    counts[1] = 0.0
    state = prior_crowd(reports, np.array([100, 150, 100]), None)
    for _ in range(4):
        state, _ = learn_crowd(reports, tally_of(counts, [20, 20, 20]), state, UNIT, None)
    assert state.constancy[0] > 0.99
    assert state.constancy[2:-1].max() < 1e-3
    assert 0.02 < state.constancy[1] < 0.3  # nothing is known of this one, nor of the last
    assert state.constancy[1] == pytest.approx(state.constancy[-1], abs=1e-9)
    assert state.constants.argmax() == 1


def test_frequencies_are_learnt_unless_they_are_known():
    reports = reports_of(2)
    tally = tally_of(drawn_counts(2, 0.8), [90.0, 10.0])
    state = prior_crowd(reports, np.array([50, 50]), None)
    learnt, _ = learn_crowd(reports, tally, state, UNIT, None)
    shares = np.exp(learnt.log_priors / integer_sums.ONE)
    counts = np.array([90.0, 10.0]) + label_state.PRIOR_TASKS
    np.testing.assert_allclose(shares, counts / counts.sum(), rtol=0.05)
    known, _ = learn_crowd(reports, tally, state, UNIT, np.array([0.5, 0.5]))
    np.testing.assert_allclose(known.log_priors / integer_sums.ONE, np.log(0.5), atol=1e-9)


def test_learnt_mistakes_are_the_most_probable():
    """Near the distribution of mistakes that is learnt none has a larger objective."""
    reports = reports_of(
        3, mechanism=lambda domain: qc.RandomizedResponse(domain=domain, epsilon=3.0)
    )
    counts = drawn_counts(3, 0.6)
    counts[3:] += np.random.default_rng(1).exponential(10.0, (3, 3, 3))
    tally = tally_of(counts, [20, 20, 20])
    state = prior_crowd(reports, np.array([100, 150, 100]), None)
    for _ in range(80):  # every first of four updates learns mistakes
        state, _ = learn_crowd(reports, tally, state, UNIT, None)
    still = evolve(state, updates=1)
    _, best = learn_crowd(reports, tally, still, UNIT, None)
    rng = np.random.default_rng(2)
    for _ in range(10):
        moved = state.mistakes * np.exp(0.1 * rng.normal(size=(2, 3, 3)))
        moved /= moved.sum(axis=2, keepdims=True)
        _, other = learn_crowd(reports, tally, evolve(still, mistakes=moved), UNIT, None)
        assert other < best + 1e-6
