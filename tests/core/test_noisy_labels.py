"""The sweep of labels, its last pass and what it tells of known truths, against plain NumPy."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax, softmax
from tests.core.kernels import assert_recorded_bits, outside
from tests.core.read_only import read_only
from tests.core.test_confusion import partition_of

from quietcrowd import _core
from quietcrowd.inference import integer_sums

NATS, UNIT, TOLD_UNIT = 2.0**-24, 2.0**36, 2.0**32
SLOPES, BINS = np.array([0.1, 0.5, 1.0]), 256
ROUNDS = 3
"""So many times the last pass takes out what a report said of its own task by way of its worker."""


class Sums(NamedTuple):
    """What a sweep adds up."""

    counts: np.ndarray
    classes: np.ndarray
    straight: np.ndarray
    tilted: np.ndarray
    pull: np.ndarray
    curvature: np.ndarray
    agreed: np.ndarray


class Map(NamedTuple):
    """From the apparent truth to the truth; as kernels take it."""

    slopes: np.ndarray = np.ones(1)
    weights: np.ndarray = np.zeros((0, 1))
    floor: float = 0.0
    tilt: np.ndarray = np.zeros(0)
    slope: float = 1.0
    chance: float = 0.0


def draw_map(rng, labels, rows):
    """Return a map with rows of weights, the second one with a tilt, whose shares sum to 1."""
    kept = 0.0 if labels == 1 else rng.uniform(0.0, 0.3)
    weights = rng.dirichlet(np.ones(max(rows, 1) * len(SLOPES))).reshape(-1, len(SLOPES))[:rows]
    weights *= 1.0 - kept
    tilt = rng.normal(size=labels if rows == 2 else 0)
    return Map(SLOPES, weights, kept / labels, tilt, rng.uniform(0.2, 1.2), 0.1)


def empty_told(rows, labels):
    """Return sums over known truths."""
    slopes, tilts = len(SLOPES) * (rows > 0), labels if rows == 2 else 0
    return (
        np.zeros((slopes, BINS), np.int64),
        np.zeros((len(SLOPES) if tilts else 0, BINS), np.int64),
        np.zeros(tilts, np.int64),
        np.zeros((tilts, tilts), np.int64),
    )


class Room(NamedTuple):
    """What a last pass fills in."""

    truths: np.ndarray
    confidence: np.ndarray
    tied: np.ndarray
    posterior: np.ndarray
    apparent: np.ndarray


class Draw:
    """A drawn crowd in the arrays that the kernel takes, with tasks of no answer among them."""

    def __init__(self, seed, tasks, labels, reports, workers=9):
        rng = np.random.default_rng(seed)
        self.labels, self.reports, self.workers, self.tasks = labels, reports, workers, tasks
        answered = rng.random((tasks, workers)) < rng.choice([0.0, 0.2, 0.8], (tasks, 1))
        self.offsets = np.append(0, answered.sum(axis=1).cumsum()).astype(np.int64)
        self.task_codes, codes = np.nonzero(answered)
        self.codes = codes.astype(np.uint32)
        self.values = rng.integers(0, reports, len(codes)).astype(np.uint8)
        read_only(self.offsets, self.codes, self.values)
        self.draws = rng.integers(0, 2**63, tasks).astype(np.uint64)
        known = rng.integers(0, labels, tasks)
        self.known = np.where(rng.random(tasks) < 0.3, known, -1).astype(np.int32)
        shape = (workers, reports, labels)
        self.votes = np.rint(-3.0 * rng.random(shape) / NATS).astype(np.int32)
        less = np.rint(0.4 * rng.random(shape) / NATS).astype(np.int32)
        self.log_odds = self.votes - less
        self.log_priors = np.log(rng.dirichlet(np.ones(labels)).clip(1e-3))
        self.messages = rng.normal(size=(tasks, labels))

    def run(self, *, last, truth_map=None):
        """Return the entropy, the sums and the room that the kernel fills."""
        truth_map = truth_map or Map()
        told = empty_told(len(truth_map.weights), self.labels)
        sums = Sums(
            np.zeros(self.votes.size, np.int64),
            np.zeros(self.labels, np.int64),
            *told,
            np.zeros(self.workers, np.int64),
        )
        tasks = self.tasks if last else 0
        room = Room(
            np.zeros(tasks, np.uint8),
            np.zeros(tasks),
            np.zeros(tasks, np.bool_),
            np.zeros((tasks, self.labels)),
            np.zeros((self.tasks, self.labels)),
        )
        entropy = _core.infer_noisy_labels(
            (self.offsets, self.codes, self.values, self.draws, self.known),
            self.reports,
            self.log_odds.reshape(-1),
            self.votes.reshape(-1),
            NATS,
            self.log_priors,
            truth_map,
            UNIT,
            TOLD_UNIT,
            integer_sums.shares(self.labels),
            0,
            sums.counts,
            sums.classes,
            told,
            sums.agreed,
            self.messages,
            room.apparent,
            room[:3],
            room.posterior,
        )
        return entropy / UNIT, sums, room

    def total(self, table):
        """Return what a table adds up to on each task, the log-frequencies among it."""
        logs = self.messages + self.log_priors
        np.add.at(logs, self.task_codes, table[self.codes, self.values] * NATS)
        return logs

    def believed(self, logs):
        """Return posteriors; a task with neither an answer nor a known truth counts for none."""
        shares = softmax(logs, axis=1)
        shares[self.known >= 0] = np.eye(self.labels)[self.known[self.known >= 0]]
        return shares

    @property
    def counted(self):
        """Return which tasks count."""
        return (np.diff(self.offsets) > 0) | (self.known >= 0)

    def corrected(self):
        """Return the log-odds of the last pass and what was taken from them where all is sure."""
        votes = self.total(self.votes)
        twice = 2.0 * (votes - self.total(self.log_odds))
        damped = self.believed(votes)
        for i in range(ROUNDS):
            logs = votes - damped * twice
            if i < ROUNDS - 1:
                damped = (damped + self.believed(logs)) / 2.0
        return logs, votes, twice

    def check_sums(self, entropy, sums, logs):
        """Compare expected reports, classes and the entropy with those of some log-odds."""
        shares = self.believed(logs) * self.counted[:, np.newaxis]
        counts = np.zeros(self.votes.shape)
        np.add.at(counts, (self.codes, self.values), shares[self.task_codes])
        rounding = {"rtol": 1e-9, "atol": self.tasks / UNIT + 1e-9}
        np.testing.assert_allclose(sums.counts.reshape(counts.shape) / UNIT, counts, **rounding)
        np.testing.assert_allclose(sums.classes / UNIT, shares.sum(axis=0), **rounding)
        free = self.counted & (self.known < 0)
        expected = -(shares * log_softmax(logs, axis=1))[free].sum()
        np.testing.assert_allclose(entropy, expected, rtol=1e-7, atol=1e-7)

    def mapped(self, logs, truth_map):
        """Return the posteriors of the truth."""
        if not len(truth_map.weights):
            return self.believed(logs)
        shares = np.full(logs.shape, truth_map.floor)
        for row, tilt in zip(truth_map.weights, (0.0, truth_map.tilt), strict=False):
            for slope, weight in zip(truth_map.slopes, row, strict=True):
                shares += weight * softmax(slope * logs + tilt, axis=1)
        shares[self.known >= 0] = np.eye(self.labels)[self.known[self.known >= 0]]
        return shares

    def check_told(self, sums, truth_map):
        """Compare what known truths are given by reports alone, their own echo taken out."""
        _, votes, twice = self.corrected()
        compared = (self.known >= 0) & (np.diff(self.offsets) > 0)
        truths = self.known[compared]
        logs, rows = votes[compared], np.arange(compared.sum())
        logs[rows, truths] -= twice[compared][rows, truths]
        for tilt, counts in ((0.0, sums.straight), (truth_map.tilt, sums.tilted)):
            for slope, found in zip(truth_map.slopes, counts, strict=False):
                shares = softmax(slope * logs + tilt, axis=1)
                own = shares[rows, truths]
                with np.errstate(divide="ignore"):
                    odds = np.log(own) - np.log(shares.sum(axis=1) - own)
                places = np.clip((odds + 16.0) * 8.0, 0, BINS - 1)
                edge = np.abs(places - np.rint(places)) < 1e-6
                expected = np.bincount(places.astype(int), minlength=BINS)
                assert np.abs(found - expected).sum() <= 2 * edge.sum()
                assert found.sum() == len(truths)
        if not len(truth_map.tilt):
            return
        shares = softmax(truth_map.slope * logs + truth_map.tilt, axis=1)
        floor = truth_map.chance / max(self.labels - 1, 1)
        kept = (1.0 - truth_map.chance - floor) * shares[rows, truths]
        told = kept / (kept + floor)
        pull = told @ (np.eye(self.labels)[truths] - shares)
        np.testing.assert_allclose(sums.pull / TOLD_UNIT, pull, atol=1e-6)
        second = np.diag(told @ shares) - (told[:, np.newaxis] * shares).T @ shares
        np.testing.assert_allclose(sums.curvature / TOLD_UNIT, second, atol=1e-6)


SHAPES = [(1, 1), (2, 2), (3, 4), (5, 2), (9, 9)]
"""Labels and reports."""


def draws():
    """Return a strategy of crowds."""
    return st.builds(
        lambda seed, tasks, shape: Draw(seed, tasks, *shape),
        st.integers(0, 2**32 - 1),
        st.integers(1, 150),
        st.sampled_from(SHAPES),
    )


@given(drawn=draws(), rows=st.integers(0, 2))
def test_a_sweep_against_plain_numpy(drawn, rows):
    truth_map = draw_map(np.random.default_rng(rows), drawn.labels, rows)
    entropy, sums, room = drawn.run(last=False, truth_map=truth_map)
    logs = drawn.total(drawn.log_odds)
    drawn.check_sums(entropy, sums, logs)
    apparent = drawn.believed(logs) * drawn.counted[:, np.newaxis]
    np.testing.assert_allclose(room.apparent, apparent, rtol=1e-8, atol=1e-10)
    if rows:
        drawn.check_told(sums, truth_map)
    assert not sums.agreed.any()


@given(drawn=draws(), rows=st.integers(0, 2))
def test_the_last_pass_against_plain_numpy(drawn, rows):
    truth_map = draw_map(np.random.default_rng(rows), drawn.labels, rows)
    entropy, sums, room = drawn.run(last=True, truth_map=truth_map)
    logs, _, _ = drawn.corrected()
    drawn.check_sums(entropy, sums, logs)
    if rows:
        drawn.check_told(sums, truth_map)
    apparent = drawn.believed(logs) * drawn.counted[:, np.newaxis]
    np.testing.assert_allclose(room.apparent, apparent, rtol=1e-8, atol=1e-10)
    shares = drawn.mapped(logs, truth_map)
    np.testing.assert_allclose(room.posterior, shares, rtol=1e-8, atol=1e-10)
    counted = drawn.counted
    np.testing.assert_allclose(room.confidence[counted], shares.max(axis=1)[counted], rtol=1e-8)
    best = np.sort(shares, axis=1)
    clear = counted & (drawn.labels == 1 or best[:, -1] - best[:, -2 % drawn.labels] > 1e-9)
    np.testing.assert_array_equal(room.truths[clear], shares.argmax(axis=1)[clear])
    assert not room.tied[clear].any()
    assert not room.confidence[~counted].any()


@pytest.mark.parametrize("last", [False, True])
def test_the_tasks_beside_change_no_bit(last):
    drawn = Draw(1, 150, 3, 4)
    entropy, sums, room = drawn.run(last=last)
    total, parts, rooms = 0.0, [], []
    whole = (drawn.offsets, drawn.draws, drawn.known)
    messages = drawn.messages
    for start, end in ((0, 1), (1, 70), (70, 71), (71, 150)):
        offsets, draws, known = whole
        drawn.offsets, drawn.tasks = offsets[start : end + 1], end - start
        drawn.draws, drawn.known = draws[start:end], known[start:end]
        drawn.messages = messages[start:end]
        added, part, filled = drawn.run(last=last)
        total += added
        parts.append(part)
        rooms.append(filled)
    assert entropy == total
    for name in Sums._fields:
        np.testing.assert_array_equal(getattr(sums, name), sum(getattr(p, name) for p in parts))
    for name in Room._fields:
        np.testing.assert_array_equal(
            getattr(room, name), np.concatenate([getattr(one, name) for one in rooms])
        )


def test_nothing_is_taken_back_where_workers_are_certain():
    """Then the log of the expected distribution is the expected log."""
    drawn = Draw(2, 60, 2, 2)
    drawn.log_odds = drawn.votes.copy()
    room = drawn.run(last=True)[2]
    np.testing.assert_allclose(room.posterior, drawn.believed(drawn.total(drawn.votes)), atol=1e-10)


def test_a_hopeless_truth_is_in_the_first_bin():
    drawn = Draw(3, 40, 2, 2)
    drawn.votes[:, :, 0], drawn.votes[:, :, 1] = -(100 << 24), 0
    drawn.log_odds = drawn.votes.copy()
    drawn.known[:] = 0
    truth_map = draw_map(np.random.default_rng(1), 2, 1)
    _, sums, _ = drawn.run(last=True, truth_map=truth_map)
    compared = (np.diff(drawn.offsets) > 0).sum()
    np.testing.assert_array_equal(sums.straight[-1, 0], compared)
    drawn.check_told(sums, truth_map)


def test_a_task_that_is_as_sure_of_two_labels_stays_tied_by_the_map():
    drawn = Draw(4, 30, 2, 2)
    drawn.votes[:] = drawn.log_odds[:] = -(1 << 24)
    drawn.log_priors = np.zeros(2)
    drawn.messages[:] = 0.0
    drawn.known[:] = -1
    for rows in (1, 2):
        truth_map = draw_map(np.random.default_rng(1), 2, rows)._replace(
            tilt=np.zeros(2 * (rows - 1))
        )
        room = drawn.run(last=True, truth_map=truth_map)[2]
        np.testing.assert_array_equal(room.tied, np.diff(drawn.offsets) > 0)


def arguments_of(rng, labels, reports, *, last, posterior=False, workers=50, rows=2, **options):
    """Return the arguments of `infer_noisy_labels`; half of the votes are coarse, for ties."""
    partition = partition_of(rng, reports, workers=workers, **options)
    known = partition[4]
    known[known >= 0] %= labels
    cells = (workers + 1) * reports * labels
    votes = rng.integers(-(2**26), 2**22, cells).astype(np.int32)
    votes[::2] &= -(2**26)
    log_odds = votes - rng.integers(0, 2**23, cells).astype(np.int32)
    log_odds[::3] = votes[::3]
    room = len(known) if last else 0
    return [
        partition,
        reports,
        log_odds,
        votes,
        NATS,
        np.log(np.full(labels, 1 / labels)),
        draw_map(rng, labels, rows),
        UNIT,
        TOLD_UNIT,
        integer_sums.shares(labels),
        7,
        np.zeros(cells - reports * labels, np.int64),
        np.zeros(labels, np.int64),
        empty_told(rows, labels),
        np.zeros(workers, np.int64),
        rng.normal(size=(len(known) if rows else 0, labels)),
        np.zeros((len(known) if rows else 0, labels)),
        (np.zeros(room, np.min_scalar_type(labels)), np.zeros(room), np.zeros(room, bool)),
        np.zeros((room if posterior else 0, labels)),
    ]


@pytest.mark.parametrize(
    ("labels", "reports"),
    [(1, 1), (2, 2), (2, 3), (3, 5), (4, 4), (5, 2), (7, 7), (8, 8), (20, 20), (40, 9)],
)
def test_every_bit_of_a_sweep(labels, reports):
    rng = np.random.default_rng(labels)
    for per in (1, 6, 200):
        for last, posterior in ((False, False), (True, False), (True, True)):
            for rows in range(3):
                kind = {"last": last, "posterior": posterior, "per": per, "rows": rows}
                arguments = arguments_of(rng, labels, reports, **kind)
                assert_recorded_bits("infer_noisy_labels", *arguments)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
def test_every_width_of_values(dtype):
    arguments = arguments_of(np.random.default_rng(1), 4, 5, last=True, dtype=dtype)
    assert_recorded_bits("infer_noisy_labels", *arguments)


@pytest.mark.parametrize("last", [False, True])
def test_tasks_longer_than_the_room_for_answers(last):
    arguments = arguments_of(np.random.default_rng(2), 3, 3, last=last, tasks=4, per=20_000)
    assert_recorded_bits("infer_noisy_labels", *arguments)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("extreme", [-(2**31), 2**31 - 1])
def test_the_largest_votes(last, extreme):
    arguments = arguments_of(np.random.default_rng(3), 3, 3, last=last)
    arguments[2][::2], arguments[3][1::5] = extreme, -1 - extreme
    assert_recorded_bits("infer_noisy_labels", *arguments)


@pytest.mark.parametrize("last", [False, True])
def test_one_worker_and_no_tasks(last):
    for options in ({"workers": 1}, {"tasks": 0}, {"per": 0}):
        arguments = arguments_of(np.random.default_rng(4), 4, 4, last=last, **options)
        assert_recorded_bits("infer_noisy_labels", *arguments)


@outside(50, 5, 4)
def test_what_lies_outside_is_refused(place, value, message):
    arguments = arguments_of(np.random.default_rng(5), 4, 5, last=True)
    arguments[0][place][len(arguments[0][place]) // 2] = value
    with pytest.raises(ValueError, match=f"{message}.* task"):
        _core.infer_noisy_labels(*arguments)


@pytest.mark.parametrize("place", [5, 9, 11, 12, 14])
def test_sizes_that_do_not_fit_are_refused(place):
    arguments = arguments_of(np.random.default_rng(6), 4, 5, last=True, posterior=True)
    arguments[place] = arguments[place][1:]
    with pytest.raises(ValueError, match=r"must|out of range"):
        _core.infer_noisy_labels(*arguments)


@pytest.mark.parametrize("place", [2, 3, 15, 16, 17, 18])
def test_tables_and_room_that_are_too_small_are_refused(place):
    arguments = arguments_of(np.random.default_rng(6), 4, 5, last=True, posterior=True)
    old = arguments[place]
    arguments[place] = (old[0][1:], *old[1:]) if place == 17 else old[21:]
    with pytest.raises(ValueError, match="must"):
        _core.infer_noisy_labels(*arguments)
    if place in (15, 16, 18):
        arguments[place] = np.ascontiguousarray(old[:, 1:])
        with pytest.raises(ValueError, match="must"):
            _core.infer_noisy_labels(*arguments)


@pytest.mark.parametrize("place", [6, 13])
def test_maps_and_sums_that_do_not_fit_are_refused(place):
    arguments = arguments_of(np.random.default_rng(6), 4, 5, last=True)
    for field, part in enumerate(arguments[place]):
        for axis in range(np.ndim(part)):
            given, changed = list(arguments[place]), [*arguments]
            given[field] = np.ascontiguousarray(np.delete(part, 0, axis))
            changed[place] = tuple(given)
            if (place, field, axis) != (6, 1, 0):  # a map needs no tilted row
                with pytest.raises(ValueError, match="must"):
                    _core.infer_noisy_labels(*changed)


@pytest.mark.parametrize("reports", [-1, 0, 65_537])
def test_numbers_of_reports_that_cannot_be_are_refused(reports):
    arguments = arguments_of(np.random.default_rng(6), 4, 5, last=True)
    arguments[1] = reports
    with pytest.raises(ValueError, match="must"):
        _core.infer_noisy_labels(*arguments)


def test_arrays_of_other_types_are_never_converted():
    arguments = arguments_of(np.random.default_rng(7), 4, 4, last=False)
    for place in (2, 3, 5, 9, 11, 12, 14, 15, 16, 18):
        changed = [*arguments]
        changed[place] = arguments[place].astype(np.float32)
        with pytest.raises(TypeError):
            _core.infer_noisy_labels(*changed)
