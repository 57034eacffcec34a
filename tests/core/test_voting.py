import numpy as np
import pytest
from tests.core.kernels import assert_recorded_bits
from tests.core.test_confusion import partition_of

from quietcrowd import _core
from quietcrowd.inference.integer_sums import shares


def arguments_of(rng, labels, *, nats=0.0, last=True, **options):
    partition = partition_of(rng, labels, **options)
    room = len(partition[0]) - 1 if last else 0
    weights = rng.integers(-2, 5, 50) * (1 if nats == 0.0 else 2**20)
    estimates = np.zeros(room, partition[2].dtype), np.zeros(room), np.zeros(room, bool)
    return partition, weights, shares(labels), nats, 7, np.zeros(50, np.int64), estimates


@pytest.mark.parametrize("labels", [1, 2, 5, 70])
def test_every_bit_of_a_vote(labels):
    rng = np.random.default_rng(labels)
    for nats in (0.0, 2.0**-20):
        for last in (False, True):
            assert_recorded_bits("vote", *arguments_of(rng, labels, nats=nats, last=last))


def test_tasks_longer_than_the_room_for_answers():
    given = arguments_of(np.random.default_rng(1), 3, tasks=4, per=20_000, dtype=np.uint16)
    assert_recorded_bits("vote", *given)


@pytest.mark.parametrize(("place", "value"), [(0, 10**6), (1, 50), (2, 3), (4, 3)])
def test_what_lies_outside_is_refused(place, value):
    given = arguments_of(np.random.default_rng(3), 3)
    given[0][place][len(given[0][place]) // 2] = value
    with pytest.raises(ValueError, match="task"):
        _core.vote(*given)


def test_every_bit_of_hashes():
    payload = np.frombuffer(b"\x00abc\xff" * 40, np.uint8)
    ends = np.array([3, 3, 4, 90, 200])
    found = np.zeros(4, np.uint64)
    assert_recorded_bits("hash_texts", ends, payload, found)
    for broken in ([0, -1], [0, 201], [5, 4]):
        with pytest.raises(ValueError, match="offsets"):
            _core.hash_texts(np.array(broken), payload, found[:1])


def run(labels, weights, rows, nats=0.0, seed=0, gold=-1):
    """Run the vote kernel on one task; rows are (worker, label)."""
    truths, confidence, tied = np.zeros(1, np.uint8), np.zeros(1), np.zeros(1, bool)
    agreement = np.zeros(len(weights), np.int64)
    partition = (
        np.array([0, len(rows)]),
        np.array([worker for worker, _ in rows], np.uint32),
        np.array([label for _, label in rows], np.uint8),
        np.array([99], np.uint64),
        np.array([gold], np.int32),
    )
    for array in partition:
        array.flags.writeable = False
    _core.vote(
        partition,
        np.array(weights, np.int64),
        np.array([0] + [60 // i for i in range(1, labels + 1)], np.int64),
        nats,
        seed,
        agreement,
        (truths, confidence, tied),
    )
    return int(truths[0]), float(confidence[0]), bool(tied[0]), agreement.tolist()


def test_majority():
    assert run(3, [1, 1, 1], [(0, 2), (1, 2), (2, 0)]) == (2, 2 / 3, False, [60, 60, 0])


def test_weights_decide():
    assert run(2, [5, 1, 1], [(0, 1), (1, 0), (2, 0)])[0] == 1


def test_negative_weights_are_evidence_for_the_other_label():
    truth, _, tied, agreement = run(2, [-3], [(0, 1)])
    assert (truth, tied, agreement) == (0, False, [0])


def test_a_tie_credits_a_share_to_each_side():
    truth, confidence, tied, agreement = run(3, [1, 1], [(0, 0), (1, 2)])
    assert truth in (0, 2)
    assert (confidence, tied, agreement) == (0.5, True, [30, 30])


def test_a_known_truth_is_neither_voted_on_nor_tied():
    rows = [(0, 0), (1, 2), (2, 0)]
    assert run(3, [1, 1, 1], rows, gold=2) == (2, 1.0, False, [0, 60, 0])
    assert run(3, [1, 1, 1], rows, gold=1) == (1, 1.0, False, [0, 0, 0])
    assert run(3, [1, 1], rows[:2], gold=0) == (0, 1.0, False, [60, 0])


def test_confidence_is_the_softmax_of_the_votes():
    confidence = run(3, [2, 1], [(0, 0), (1, 1)], nats=0.5)[1]
    expected = np.exp(1.0) / (np.exp(1.0) + np.exp(0.5) + 1.0)
    assert confidence == pytest.approx(expected, abs=1e-12)


def test_no_estimates_are_written_where_no_room_is_given():
    agreement = np.zeros(1, np.int64)
    partition = (
        np.array([0, 1]),
        np.zeros(1, np.uint32),
        np.ones(1, np.uint8),
        np.zeros(1, np.uint64),
        np.full(1, -1, np.int32),
    )
    even, nothing = np.array([0, 60, 30]), (np.zeros(0, np.uint8), np.zeros(0), np.zeros(0, bool))
    _core.vote(partition, np.ones(1, np.int64), even, 0.0, 0, agreement, nothing)
    assert agreement.tolist() == [60]


def test_the_draw_of_a_tie_depends_on_the_seed():
    winners = {run(2, [1, 1], [(0, 0), (1, 1)], seed=seed)[0] for seed in range(20)}
    assert winners == {0, 1}
