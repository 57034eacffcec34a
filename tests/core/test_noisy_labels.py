"""The sweep of labels, its last pass and what it tells of known truths, against plain NumPy."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax, softmax
from tests.core.kernels import assert_recorded_bits, outside
from tests.core.read_only import read_only
from tests.core.test_confusion import partition_of

from quietcrowd import _core
from quietcrowd.inference import integer_sums

NATS, UNIT, TOLD_UNIT = 2.0**-24, 2.0**36, 2.0**32
TEMPERATURES = np.array([0.1, 0.5, 1.0, 2.0])
ROUNDS = 3
"""So many times the last pass takes out what a report said of its own task by way of its worker."""


class Sums(NamedTuple):
    """What a sweep adds up."""

    counts: np.ndarray
    classes: np.ndarray
    calibration: np.ndarray
    agreed: np.ndarray


class Room(NamedTuple):
    """What a last pass fills in."""

    truths: np.ndarray
    confidence: np.ndarray
    tied: np.ndarray
    posterior: np.ndarray


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

    def run(self, *, last, sharpness=1.0):
        """Return the entropy, the sums and the room that the kernel fills."""
        sums = Sums(
            np.zeros(self.votes.size, np.int64),
            np.zeros(self.labels, np.int64),
            np.zeros(len(TEMPERATURES), np.int64),
            np.zeros(self.workers, np.int64),
        )
        tasks = self.tasks if last else 0
        room = Room(
            np.zeros(tasks, np.uint8),
            np.zeros(tasks),
            np.zeros(tasks, np.bool_),
            np.zeros((tasks, self.labels)),
        )
        entropy = _core.infer_noisy_labels(
            (self.offsets, self.codes, self.values, self.draws, self.known),
            self.reports,
            self.log_odds.reshape(-1),
            self.votes.reshape(-1),
            NATS,
            self.log_priors,
            sharpness,
            TEMPERATURES,
            UNIT,
            TOLD_UNIT,
            integer_sums.shares(self.labels),
            0,
            *sums,
            room[:3],
            room.posterior,
        )
        return entropy / UNIT, sums, room

    def total(self, table):
        """Return what a table adds up to on each task, the log-frequencies among it."""
        logs = np.tile(self.log_priors, (self.tasks, 1))
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

    def check_calibration(self, sums):
        """Compare what known truths are given by reports alone, their own echo taken out."""
        _, votes, twice = self.corrected()
        compared = (self.known >= 0) & (np.diff(self.offsets) > 0)
        truths = self.known[compared]
        logs, rows = votes[compared], np.arange(compared.sum())
        logs[rows, truths] -= twice[compared][rows, truths]
        expected = [
            log_softmax(logs * heat, axis=1)[rows, truths].clip(-1e3).sum() for heat in TEMPERATURES
        ]
        found = sums.calibration / TOLD_UNIT
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7)


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


@settings(max_examples=40)
@given(drawn=draws())
def test_a_sweep_against_plain_numpy(drawn):
    entropy, sums, _ = drawn.run(last=False)
    drawn.check_sums(entropy, sums, drawn.total(drawn.log_odds))
    drawn.check_calibration(sums)
    assert not sums.agreed.any()


@settings(max_examples=40)
@given(drawn=draws(), sharpness=st.sampled_from([0.1, 1.0, 1.7]))
def test_the_last_pass_against_plain_numpy(drawn, sharpness):
    entropy, sums, room = drawn.run(last=True, sharpness=sharpness)
    logs, _, _ = drawn.corrected()
    drawn.check_sums(entropy, sums, logs)
    drawn.check_calibration(sums)
    shares = drawn.believed(logs * sharpness)
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
    for start, end in ((0, 1), (1, 70), (70, 71), (71, 150)):
        offsets, draws, known = whole
        drawn.offsets, drawn.tasks = offsets[start : end + 1], end - start
        drawn.draws, drawn.known = draws[start:end], known[start:end]
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


def test_a_hopeless_truth_costs_a_thousand_at_most():
    drawn = Draw(3, 40, 2, 2)
    drawn.votes[:, :, 0], drawn.votes[:, :, 1] = -(100 << 24), 0
    drawn.log_odds = drawn.votes.copy()
    drawn.known[:] = 0
    _, sums, _ = drawn.run(last=True)
    compared = (np.diff(drawn.offsets) > 0).sum()
    assert sums.calibration[-1] / TOLD_UNIT >= -1000.0 * compared
    drawn.check_calibration(sums)


def arguments_of(rng, labels, reports, *, last, posterior=False, workers=50, **options):
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
        1.3,
        TEMPERATURES,
        UNIT,
        TOLD_UNIT,
        integer_sums.shares(labels),
        7,
        np.zeros(cells - reports * labels, np.int64),
        np.zeros(labels, np.int64),
        np.zeros(len(TEMPERATURES), np.int64),
        np.zeros(workers, np.int64),
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
            arguments = arguments_of(rng, labels, reports, last=last, posterior=posterior, per=per)
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


@pytest.mark.parametrize("place", [5, 7, 10, 12, 13, 14, 15])
def test_sizes_that_do_not_fit_are_refused(place):
    arguments = arguments_of(np.random.default_rng(6), 4, 5, last=True, posterior=True)
    arguments[place] = arguments[place][1:]
    with pytest.raises(ValueError, match=r"must|out of range"):
        _core.infer_noisy_labels(*arguments)


@pytest.mark.parametrize("place", [2, 3, 16, 17])
def test_tables_and_room_that_are_too_small_are_refused(place):
    arguments = arguments_of(np.random.default_rng(6), 4, 5, last=True, posterior=True)
    old = arguments[place]
    arguments[place] = (old[0][1:], *old[1:]) if place == 16 else old[21:]
    with pytest.raises(ValueError, match="must"):
        _core.infer_noisy_labels(*arguments)
    if place == 17:
        arguments[place] = np.ascontiguousarray(old[:, 1:])
        with pytest.raises(ValueError, match="must"):
            _core.infer_noisy_labels(*arguments)


@pytest.mark.parametrize("reports", [-1, 0, 65_537])
def test_numbers_of_reports_that_cannot_be_are_refused(reports):
    arguments = arguments_of(np.random.default_rng(6), 4, 5, last=True)
    arguments[1] = reports
    with pytest.raises(ValueError, match="must"):
        _core.infer_noisy_labels(*arguments)


def test_arrays_of_other_types_are_never_converted():
    arguments = arguments_of(np.random.default_rng(7), 4, 4, last=False)
    for place in (2, 3, 5, 7, 10, 12, 13, 14, 15, 17):
        changed = [*arguments]
        changed[place] = arguments[place].astype(np.float32)
        with pytest.raises(TypeError):
            _core.infer_noisy_labels(*changed)
