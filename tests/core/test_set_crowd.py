"""Posteriors of workers who send sets of labels, against NumPy and the bits on record."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp
from tests.core.kernels import assert_recorded_bits

from quietcrowd import _core
from quietcrowd.inference.labels.learning import CrowdSums

ONE, SHARE_ONE, UNIT, COUNT_UNIT = 2.0**24, 2.0**30, 2.0**30, 2.0**36


class Arguments(NamedTuple):
    counts: np.ndarray
    held: np.ndarray
    answers: np.ndarray
    bases: np.ndarray
    count_unit: float
    communities: np.ndarray
    constants: np.ndarray
    accuracies: np.ndarray
    logs: np.ndarray
    grid: np.ndarray
    with_label: float
    without: float
    one: float
    share_one: float
    worker_unit: float
    evidence_unit: float
    log_odds: np.ndarray
    skills: np.ndarray
    steady: np.ndarray
    constancy: np.ndarray
    sums: CrowdSums


def draw_arguments(rng, workers, nodes, labels, places, communities):
    """Return arguments of `weigh_set_workers`: sets of no label up to all."""
    answers = rng.integers(0, 60, workers)
    counts = rng.exponential(size=(workers, nodes, labels)) * answers[:, None, None] / nodes
    grid = (np.arange(places) + 0.5) / places
    return Arguments(
        counts=np.rint(counts * COUNT_UNIT).astype(np.int64),
        held=rng.integers(0, answers[:, None] + 1, (workers, labels)),
        answers=answers,
        bases=np.rint(rng.normal(size=workers) * answers * COUNT_UNIT).astype(np.int64),
        count_unit=COUNT_UNIT,
        communities=0.9 * rng.dirichlet(np.ones(communities)),
        constants=0.1 * rng.dirichlet(np.ones(labels)),
        accuracies=rng.dirichlet(np.ones(places), (communities, labels)),
        logs=np.log1p(np.outer(grid, np.expm1(np.linspace(-1.5, 1.5, nodes)))),
        grid=grid,
        with_label=0.7,
        without=-0.4,
        one=ONE,
        share_one=SHARE_ONE,
        worker_unit=UNIT,
        evidence_unit=UNIT,
        log_odds=np.full((workers, nodes, labels), 7, np.int32),
        skills=np.full((workers, labels), 7, np.int32),
        steady=np.full((workers, labels), 7, np.int32),
        constancy=np.full(workers, 7.0),
        sums=CrowdSums(
            np.zeros(communities, np.int64),
            np.zeros(labels, np.int64),
            np.zeros((communities, labels, places), np.int64),
        ),
    )


@pytest.mark.parametrize(
    "shape", [(1, 1, 1, 1), (9, 2, 24, 7), (33, 3, 24, 7), (4, 20, 5, 1), (17, 6, 8, 3)]
)
@pytest.mark.parametrize("workers", [0, 1, 32, 101])
def test_every_bit(shape, workers):
    rng = np.random.default_rng(workers)
    assert_recorded_bits("weigh_set_workers", *draw_arguments(rng, workers, *shape))


@pytest.mark.parametrize("least", [0.0, 5e-324, 1.0])
def test_every_bit_of_extreme_priors_and_records(least):
    rng = np.random.default_rng(1)
    arguments = draw_arguments(rng, 64, 5, 3, 4, 2)
    for part in (arguments.communities, arguments.constants, arguments.accuracies, arguments.grid):
        part[rng.random(part.shape) < 0.3] = least
    for part in (arguments.counts, arguments.held, arguments.answers, arguments.bases):
        part[0], part[1] = 2**63 - 1, -(2**63)
        part[2] = rng.integers(-(2**63), 2**63, part[2].shape)
    arguments.logs[2] = -np.inf
    assert_recorded_bits("weigh_set_workers", *arguments)


@pytest.mark.slow
@given(
    st.tuples(st.integers(1, 9), st.integers(1, 5), st.integers(2, 7), st.integers(1, 4)),
    st.integers(1, 70),
    st.integers(0, 2**32 - 1),
)
def test_against_numpy(shape, workers, seed):
    a = draw_arguments(np.random.default_rng(seed), workers, *shape)
    climbed = _core.weigh_set_workers(*a)
    fits = np.einsum("wnl,pn->wlp", a.counts / COUNT_UNIT, a.logs)
    joint = np.log(a.accuracies) + fits[:, np.newaxis]  # worker, community, label, place
    each = logsumexp(joint, axis=3)
    known = np.log(a.communities) + each.sum(axis=2)
    others = a.answers[:, np.newaxis] - a.held
    constant = np.log(a.constants) + a.held * a.with_label + others * a.without
    constant -= a.bases[:, np.newaxis] / COUNT_UNIT
    evidence = logsumexp(np.concatenate([known, constant], axis=1), axis=1)
    known, constant = np.exp(known - evidence[:, None]), np.exp(constant - evidence[:, None])
    accuracies = known[:, :, None, None] * np.exp(joint - each[..., None])
    found = accuracies.sum(axis=1)  # worker, label, place
    loose = {"rtol": 1e-8, "atol": 2e-7}
    np.testing.assert_allclose(a.log_odds / ONE, np.einsum("wlp,pn->wnl", found, a.logs), **loose)
    right = found.sum(axis=2) > 1e-200
    skills = (found @ a.grid)[right] / found.sum(axis=2)[right]
    np.testing.assert_allclose(a.skills[right] / SHARE_ONE, skills, rtol=1e-8, atol=2e-9)
    np.testing.assert_allclose(a.steady / SHARE_ONE, constant, rtol=1e-8, atol=2e-9)
    np.testing.assert_allclose(a.constancy, constant.sum(axis=1), rtol=1e-8, atol=1e-8)
    expected = known.sum(axis=0), constant.sum(axis=0), accuracies.sum(axis=0)
    for name, total in zip(CrowdSums._fields, expected, strict=True):
        one = getattr(a.sums, name) / UNIT
        np.testing.assert_allclose(one, total, rtol=1e-8, atol=2 * workers / UNIT)
    total = (evidence + a.bases / COUNT_UNIT).sum()
    np.testing.assert_allclose(climbed / UNIT, total, rtol=1e-8, atol=workers / UNIT + 1e-9)


def changed_sizes(array):
    """Return the array with one entry less, and with each twice, in every dimension."""
    for axis in range(array.ndim):
        yield np.ascontiguousarray(np.delete(array, 0, axis))
        yield np.repeat(array, 2, axis)


def test_sizes_that_do_not_fit_are_refused():
    arguments = draw_arguments(np.random.default_rng(2), 6, 5, 3, 4, 2)
    changed = [
        arguments._replace(**{name: array})
        for name, argument in arguments._asdict().items()
        if isinstance(argument, np.ndarray)
        for array in changed_sizes(argument)
    ]
    changed += [
        arguments._replace(sums=arguments.sums._replace(**{name: array}))
        for name, argument in arguments.sums._asdict().items()
        for array in changed_sizes(argument)
    ]
    for wrong in changed:
        with pytest.raises(ValueError, match="must"):
            _core.weigh_set_workers(*wrong)


def test_arrays_of_other_types_are_never_converted():
    arguments = draw_arguments(np.random.default_rng(3), 6, 5, 3, 4, 2)
    for name, argument in arguments._asdict().items():
        if isinstance(argument, np.ndarray):
            with pytest.raises(TypeError):
                _core.weigh_set_workers(*arguments._replace(**{name: argument.astype("f4")}))
