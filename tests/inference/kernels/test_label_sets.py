"""What sets say of truths and of workers, against their law."""

import math

import numpy as np
import pytest

from quietcrowd.inference.kernels.label_sets import (
    SHARE_ONE,
    SetWorkers,
    expected_votes,
    read_set,
)
from quietcrowd.mechanisms.set_law import SetLaw
from quietcrowd.set_ranks import binomials, sets_of, sets_with

LAW = SetLaw(labels=6, members=3, inside=5, outside=2)


@pytest.mark.parametrize(("labels", "members"), [(6, 3), (5, 1), (5, 4), (64, 3)])
def test_sets_are_read_as_everywhere_else(labels, members):
    count = math.comb(labels, members)
    ranks = np.unique(np.linspace(0, count - 1, 200).astype(np.int64))
    expected, codes = sets_of(ranks, labels, members), np.empty(members, np.int64)
    for rank, one in zip(ranks, expected, strict=True):
        read_set(rank, binomials(labels, members), codes)
        assert codes.tolist() == one.tolist()


def test_a_vote_is_the_likelihood_of_the_set():
    """Over all answers that the worker may give, and all that it may always give, written out."""
    rng = np.random.default_rng(1)
    mistakes = rng.dirichlet(np.ones(6), 6)
    np.fill_diagonal(mistakes, 0.0)
    mistakes /= mistakes.sum(axis=1, keepdims=True)
    skills, steady = rng.uniform(0.2, 0.9, 6), rng.dirichlet(np.ones(6)) * 0.3
    ratio = float(LAW.ratio)
    base, gain = 1.0 + (ratio - 1.0) * 0.04 * 0.5, 0.96 * (ratio - 1.0)
    workers = SetWorkers(
        log_odds=np.zeros((1, 2, 6), np.int32),
        nats=1.0,
        skills=np.rint(skills * SHARE_ONE).astype(np.int32)[np.newaxis],
        constants=np.rint(steady * SHARE_ONE).astype(np.int32)[np.newaxis],
        constant_base=base,
        constant_gain=gain,
    )
    answers = skills[:, np.newaxis] * np.eye(6) + (1.0 - skills)[:, np.newaxis] * mistakes
    always = 0.96 * np.eye(6) + 0.04 / 6
    for rank in range(LAW.count):
        held = sets_with(np.array([rank]), 6, 3)[0]
        likely = np.where(held, ratio, 1.0)
        expected = 0.7 * answers @ likely + steady @ (always @ likely)
        votes = np.empty(6, np.int64)
        bases = mistakes @ likely
        codes = sets_of(np.array([rank]), 6, 3)[0]
        expected_votes(np.uint32(0), codes, held, bases, ratio, workers, votes)
        assert votes / 2**32 == pytest.approx(np.log(expected), abs=1e-7)
