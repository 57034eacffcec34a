import numpy as np
import pytest
from tests.inference.kernels.read_only import read_only

from quietcrowd.inference.kernels import voting as kernels


def run(labels, weights, rows, nats=0.0, seed=0, gold=-1):
    """Run the vote kernel on one task; rows are (worker, label)."""
    truths, confidence, tied = np.zeros(1, np.uint8), np.zeros(1), np.zeros(1, bool)
    agreement = np.zeros(len(weights), np.int64)
    kernels.vote_kernel(labels, estimating=True)(
        *read_only(
            np.array([0, len(rows)]),
            np.array([worker for worker, _ in rows], np.uint32),
            np.array([label for _, label in rows], np.uint8),
        ),
        np.array([99], np.uint64),
        np.array([gold], np.int32),
        np.array(weights, np.int64),
        np.array([0] + [60 // i for i in range(1, labels + 1)], np.int64),
        nats,
        np.uint64(seed),
        agreement,
        truths,
        confidence,
        tied,
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
    kernels.vote_kernel(2, estimating=False)(
        *read_only(np.array([0, 1]), np.zeros(1, np.uint32), np.ones(1, np.uint8)),
        np.zeros(1, np.uint64),
        np.full(1, -1, np.int32),
        np.ones(1, np.int64),
        np.array([0, 60, 30], np.int64),
        0.0,
        np.uint64(0),
        agreement,
        np.zeros(0, np.uint8),
        np.zeros(0),
        np.zeros(0, bool),
    )
    assert agreement.tolist() == [60]


def test_the_draw_of_a_tie_depends_on_the_seed():
    winners = {run(2, [1, 1], [(0, 0), (1, 1)], seed=seed)[0] for seed in range(20)}
    assert winners == {0, 1}
