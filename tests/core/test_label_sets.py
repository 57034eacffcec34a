"""The sweep of sets of labels: against the distribution of sets, and every bit of it."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from scipy.special import log_softmax
from tests.core.kernels import assert_recorded_bits, outside
from tests.core.test_confusion import partition_of
from tests.core.test_noisy_labels import Map, draw_map, empty_told

from quietcrowd import _core
from quietcrowd.inference.integer_sums import shares
from quietcrowd.inference.sets.crowd import SHARE_ONE, SetSigns, SetWorkers
from quietcrowd.mechanisms.channels.set_distribution import SetDistribution
from quietcrowd.report_domains import binomials, sets_with

LAW = SetDistribution(labels=6, members=3, inside=5, outside=2)
NATS, UNIT, MISTAKE_UNIT, TOLD_UNIT = 2.0**-24, 2.0**36, 2.0**40, 2.0**32


class Sums(NamedTuple):
    """What a sweep adds up."""

    counts: np.ndarray
    bases: np.ndarray
    held: np.ndarray
    mistaken: np.ndarray
    classes: np.ndarray
    told: tuple
    agreed: np.ndarray


class Arguments(NamedTuple):
    """What `infer_sets` takes."""

    partition: tuple
    signs: SetSigns
    workers: SetWorkers
    constancy: np.ndarray
    log_priors: np.ndarray
    mistakes: bool
    truth_map: Map
    unit: float
    mistake_unit: float
    told_unit: float
    even: np.ndarray
    seed: int
    sums: Sums
    estimates: tuple
    posterior: np.ndarray


def mistakes_of(rng, labels):
    """Return how probable each wrong answer is, at [truth, answer]."""
    table = rng.dirichlet(np.ones(labels), labels)
    np.fill_diagonal(table, 0.0)
    return table / np.maximum(table.sum(axis=1, keepdims=True), 1e-9)


def crowd_of(rng, labels, *, workers=50, nodes=9, epsilon=1.5):
    """Return drawn workers; of some nothing is known but that they always give one label."""
    shape = (workers + 1, nodes, labels)
    steady = rng.dirichlet(np.ones(labels), workers + 1)
    steady *= rng.choice([0.0, 0.2, 1.0], (workers + 1, 1))
    return SetWorkers(
        log_odds=np.rint(rng.uniform(-epsilon, epsilon, shape) / NATS).astype(np.int32),
        nats=NATS,
        skills=np.rint(rng.random((workers + 1, labels)) * SHARE_ONE).astype(np.int32),
        constants=np.floor(steady * SHARE_ONE).astype(np.int32),
        constant_base=1.0 + math.expm1(epsilon) * 0.02,
        constant_gain=math.expm1(epsilon) * 0.96,
    )


def sets_partition_of(rng, labels, members, *, ranks=None, **options):
    """Return a partition whose values are numbers of sets."""
    offsets, codes, _, draws, known = partition_of(rng, labels, **options)
    values = rng.integers(0, math.comb(labels, members), len(codes))
    return offsets, codes, values if ranks is None else ranks, draws, known


def arguments_of(
    rng,
    labels,
    members,
    *,
    last,
    mistakes=False,
    posterior=False,
    workers=50,
    nodes=9,
    epsilon=1.5,
    **options,
):
    """Return the arguments of `infer_sets`; half of the tasks' votes are of few kinds, for ties."""
    partition = sets_partition_of(rng, labels, members, workers=workers, **options)
    partition[2][len(partition[2]) // 2 :] %= 2
    crowd = crowd_of(rng, labels, workers=workers, nodes=nodes, epsilon=epsilon)
    room = len(partition[4]) if last else 0
    signs = SetSigns(
        binomials(labels, members),
        math.expm1(epsilon),
        epsilon,
        np.ascontiguousarray(np.rint(mistakes_of(rng, labels).T * SHARE_ONE).astype(np.int64)),
        nodes,
    )
    return Arguments(
        partition,
        signs,
        crowd,
        crowd.constants.sum(axis=1) / SHARE_ONE,
        np.log(rng.dirichlet(np.ones(labels)).clip(1e-3)),
        mistakes,
        draw_map(rng, labels, 2),
        UNIT,
        MISTAKE_UNIT,
        TOLD_UNIT,
        shares(labels),
        7,
        Sums(
            np.zeros((workers, nodes, labels), np.int64),
            np.zeros(workers, np.int64),
            np.zeros((workers, labels), np.int64),
            np.zeros((labels, labels), np.int64),
            np.zeros(labels, np.int64),
            empty_told(2, labels),
            np.zeros(workers, np.int64),
        ),
        (np.zeros(room, np.min_scalar_type(labels)), np.zeros(room), np.zeros(room, bool)),
        np.zeros((room if posterior else 0, labels)),
    )


SHAPES = [(1, 1), (2, 1), (5, 1), (5, 4), (6, 3), (6, 6), (17, 8), (64, 3)]


@pytest.mark.parametrize(("labels", "members"), SHAPES)
def test_every_bit_of_a_sweep(labels, members):
    rng = np.random.default_rng(labels)
    for per in (1, 6, 60):
        for last, other in ((False, False), (False, True), (True, False), (True, True)):
            options = {"last": last, "mistakes": other, "posterior": other, "per": per}
            arguments = arguments_of(rng, labels, members, tasks=40, **options)
            assert_recorded_bits("infer_sets", *arguments)


@pytest.mark.parametrize("epsilon", [1e-9, 0.01, 8.0, 30.0])
@pytest.mark.parametrize("nodes", [2, 33])
def test_sets_that_say_next_to_nothing_or_all(epsilon, nodes):
    rng = np.random.default_rng(nodes)
    arguments = arguments_of(rng, 6, 3, last=True, mistakes=True, epsilon=epsilon, nodes=nodes)
    assert_recorded_bits("infer_sets", *arguments)


@pytest.mark.parametrize("last", [False, True])
def test_one_worker_no_tasks_and_long_ones(last):
    rng = np.random.default_rng(4)
    for options in ({"workers": 1}, {"tasks": 0}, {"per": 0}, {"tasks": 4, "per": 5_000}):
        arguments = arguments_of(rng, 5, 2, last=last, mistakes=True, **options)
        assert_recorded_bits("infer_sets", *arguments)


@pytest.mark.parametrize("last", [False, True])
def test_the_largest_numbers_of_the_state(last):
    rng = np.random.default_rng(5)
    arguments = arguments_of(rng, 5, 2, last=last, mistakes=True)
    limits = np.iinfo(np.int32)
    arguments.workers.log_odds[::2], arguments.workers.log_odds[1::2] = limits.min, limits.max
    arguments.workers.skills[::3] = limits.max
    assert_recorded_bits("infer_sets", *arguments)


def test_parts_of_a_partition_add_up():
    rng = np.random.default_rng(6)
    whole = arguments_of(rng, 6, 3, last=True, mistakes=True, posterior=True)
    entropy = _core.infer_sets(*whole)
    empty = arguments_of(rng, 6, 3, last=True, mistakes=True, posterior=True)
    total = 0
    for start, end in ((0, 1), (1, 37), (37, 60)):
        offsets, codes, values, draws, known = whole.partition
        part = offsets[start : end + 1], codes, values, draws[start:end], known[start:end]
        estimates = tuple(array[start:end] for array in empty.estimates)
        room = {"estimates": estimates, "posterior": empty.posterior[start:end]}
        total += _core.infer_sets(*whole._replace(partition=part, sums=empty.sums, **room))
    assert total == entropy
    for one, other in zip(
        (*whole.sums._replace(told=None), *whole.sums.told, *whole.estimates, whole.posterior),
        (*empty.sums._replace(told=None), *empty.sums.told, *empty.estimates, empty.posterior),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("labels", "members"), [(6, 3), (5, 1), (5, 4), (64, 3)])
def test_sets_are_read_as_everywhere_else(labels, members):
    count = math.comb(labels, members)
    ranks = np.unique(np.linspace(0, count - 1, 200).astype(np.int64))
    arguments = arguments_of(np.random.default_rng(1), labels, members, last=False, workers=200)
    rows = len(ranks)
    partition = (
        np.array([0, rows // 2, rows]),
        np.arange(rows, dtype=np.uint32),
        ranks,
        np.zeros(2, np.uint64),
        np.full(2, -1, np.int32),
    )
    _core.infer_sets(*arguments._replace(partition=partition))
    expected = sets_with(ranks, labels, members)
    np.testing.assert_array_equal(arguments.sums.held[:rows], expected)
    for wrong in (-1, count, 2**63 - 1, -(2**63)):
        ranks[rows // 3] = wrong
        with pytest.raises(ValueError, match="a value is no set, at or after task 0"):
            _core.infer_sets(*arguments._replace(partition=partition))


def test_a_vote_is_the_likelihood_of_the_set():
    """Over all answers that the worker may give, and all that it may always give, written out.

    What is believed while the crowd is learnt is set to the same: any other vote of the last pass
    would leave an echo to be taken out.
    """
    rng = np.random.default_rng(1)
    mistakes, skills = mistakes_of(rng, 6), rng.uniform(0.2, 0.9, 6)
    steady, ratio = rng.dirichlet(np.ones(6)) * 0.3, float(LAW.ratio)
    base, gain = 1.0 + (ratio - 1.0) * 0.04 * 0.5, 0.96 * (ratio - 1.0)
    answers = skills[:, np.newaxis] * np.eye(6) + (1.0 - skills)[:, np.newaxis] * mistakes
    always = 0.96 * np.eye(6) + 0.04 / 6
    held = sets_with(np.arange(LAW.count), 6, 3)
    likely = np.where(held, ratio, 1.0)
    expected = np.log(0.7 * likely @ answers.T + (likely @ always.T @ steady)[:, np.newaxis])
    logs = 0.7 * np.log(likely @ mistakes.T)
    logs += 0.3 * np.log(base) + (held @ steady)[:, np.newaxis] * np.log((base + gain) / base)
    odds = np.rint((expected - logs) / NATS).astype(np.int32)
    arguments = arguments_of(rng, 6, 3, last=True, posterior=True, tasks=20, workers=20, nodes=2)
    partition = (
        np.arange(21),
        np.arange(20, dtype=np.uint32),
        np.arange(20),
        np.zeros(20, np.uint64),
        np.full(20, -1, np.int32),
    )
    signs = arguments.signs._replace(
        gain=ratio - 1.0,
        epsilon=math.log(ratio),
        mistakes=np.ascontiguousarray(np.rint(mistakes.T * SHARE_ONE).astype(np.int64)),
    )
    workers = SetWorkers(
        log_odds=np.repeat(odds[:, np.newaxis], 2, axis=1),
        nats=NATS,
        skills=np.tile(np.rint(skills * SHARE_ONE).astype(np.int32), (20, 1)),
        constants=np.tile(np.rint(steady * SHARE_ONE).astype(np.int32), (20, 1)),
        constant_base=base,
        constant_gain=gain,
    )
    _core.infer_sets(
        *arguments._replace(
            partition=partition,
            signs=signs,
            workers=workers,
            constancy=np.full(20, 0.3),
            log_priors=np.zeros(6),
            truth_map=Map(),
            sums=arguments.sums._replace(told=empty_told(0, 6)),
        )
    )
    found = np.log(arguments.posterior)
    np.testing.assert_allclose(found, log_softmax(expected, axis=1), rtol=0, atol=2e-7)


@outside(50, 20, 6, -1)
def test_what_lies_outside_is_refused(place, value, message):
    arguments = arguments_of(np.random.default_rng(5), 6, 3, last=True)
    arguments.partition[place][len(arguments.partition[place]) // 2] = value
    with pytest.raises(ValueError, match=f"{message}.* task"):
        _core.infer_sets(*arguments)


@pytest.mark.parametrize("broken", [[1, 1, 1], [2**60, 2**60, 2**60], [-1, -(2**62), 0]])
def test_tables_of_sets_that_are_none_are_refused(broken):
    arguments = arguments_of(np.random.default_rng(5), 3, 3, last=True)
    signs = arguments.signs._replace(binomials=np.array([broken] * 3))
    with pytest.raises(ValueError, match="no set"):
        _core.infer_sets(*arguments._replace(signs=signs))


@pytest.mark.parametrize("strange", [math.nan, math.inf, -1.0, 0.0])
def test_no_number_leads_outside_of_the_tables(strange):
    arguments = arguments_of(np.random.default_rng(5), 6, 3, last=True, mistakes=True)
    for field in ("gain", "epsilon"):
        _core.infer_sets(*arguments._replace(signs=arguments.signs._replace(**{field: strange})))


def changed(part, more=0):
    """Return an array of another type, and all ways to cut an array in one of its dimensions.

    The first dimension is cut by `more` more.
    """
    yield part.astype(np.float32), TypeError
    for axis in range(part.ndim):
        cut = range(1 + more) if axis == 0 else 0
        yield np.ascontiguousarray(np.delete(part, cut, axis)), ValueError


@pytest.mark.parametrize("field", ["signs", "sums", "workers", "partition", "estimates"])
def test_sizes_and_types_that_do_not_fit_are_refused(field):
    arguments = arguments_of(np.random.default_rng(6), 6, 3, last=True)
    given = getattr(arguments, field)
    for place, part in enumerate(given):
        if isinstance(part, np.ndarray):
            for other, error in changed(part, more=field == "workers"):
                parts = (*given[:place], other, *given[place + 1 :])
                with pytest.raises(error):
                    _core.infer_sets(*arguments._replace(**{field: parts}))


@pytest.mark.parametrize("field", ["constancy", "log_priors", "even", "posterior"])
def test_lists_that_do_not_fit_are_refused(field):
    arguments = arguments_of(np.random.default_rng(6), 6, 3, last=True, posterior=True)
    for other, error in changed(getattr(arguments, field), more=field == "constancy"):
        with pytest.raises(error):
            _core.infer_sets(*arguments._replace(**{field: other}))


@pytest.mark.parametrize("nodes", [-1, 0, 1, 8, 10, 2**40])
def test_numbers_of_nodes_that_do_not_fit_are_refused(nodes):
    arguments = arguments_of(np.random.default_rng(6), 6, 3, last=True)
    with pytest.raises(ValueError, match=r"nodes|node"):
        _core.infer_sets(*arguments._replace(signs=arguments.signs._replace(nodes=nodes)))
