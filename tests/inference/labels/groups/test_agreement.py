import numpy as np
import pytest
from tests.inference.labels.groups.drawn_crowds import (
    channel,
    independent,
    statistics_of,
    with_copies,
)

from quietcrowd.inference.labels.groups.agreement import Excess
from quietcrowd.inference.labels.groups.reports import Crowd


def crowd_of(answers, epsilon=None, labels=3, known=None):
    return Crowd.of(statistics_of(answers, known), channel(labels, epsilon), len(answers))


def sides(workers, members):
    chosen = np.isin(np.arange(workers), members)
    return chosen, ~chosen


def centred_matrix(crowd):
    """Return centred reports at [worker, task, label], and NaN without one, by loops."""
    found = np.full((crowd.workers, len(crowd.first), crowd.classes), np.nan)
    for task, worker, value in zip(crowd.task, crowd.worker, crowd.value, strict=True):
        found[worker, task] = np.eye(crowd.classes)[value]
    return found - np.nanmean(found, axis=1, keepdims=True)


def direct(crowd, members, rest):
    """Return agreement within, across and in the rest, from a loop over pairs of workers."""
    reports = centred_matrix(crowd)
    tasks = []
    for task in range(len(crowd.first)):
        there = [
            worker for worker in range(crowd.workers) if not np.isnan(reports[worker, task, 0])
        ]
        one = [worker for worker in there if members[worker]]
        two = [worker for worker in there if rest[worker]]
        means = []
        for left, right in ((one, one), (one, two), (two, two)):
            pairs = [(i, j) for i in left for j in right if i != j]
            products = [np.outer(reports[i, task], reports[j, task]) for i, j in pairs]
            means.append((len(pairs), np.mean(products, axis=0)))
        tasks.append(means)
    weights = np.array([1 / sum(1 / number for number, _ in means) for means in tasks])
    weights /= weights.sum()
    return [
        sum(weight * means[which][1] for weight, means in zip(weights, tasks, strict=True))
        for which in range(3)
    ]


def test_agreement_is_that_of_a_loop_over_pairs():
    answers, _ = independent(3, 25, 9, 3, None, per_task=7)
    answers[:3, 0], answers[6:, 0] = 0, 1
    crowd = crowd_of(answers)
    members, rest = sides(9, [0, 1, 2, 3])
    answered = answers >= 0
    enough = (answered[members].sum(axis=0) > 1) & (answered[rest].sum(axis=0) > 1)
    assert enough.all()

    found = Excess.of(crowd, members, rest)
    within, across, other = direct(crowd, members, rest)

    scale = crowd.scale(crowd.value)
    assert found.tasks == 25
    assert found.within == pytest.approx(np.trace(within) / scale)
    assert found.rest_within == pytest.approx(np.trace(other) / scale)
    basis = np.linalg.svd(np.ones((1, 3)))[2][1:]
    inner = basis @ (other + other.T) / 2 @ basis.T
    if np.linalg.eigvalsh(inner).min() > 0.3 * np.trace(inner) / 2:
        raw = np.trace(across @ basis.T @ np.linalg.inv(inner) @ basis @ across.T)
        assert found.explained_raw == pytest.approx(raw / scale)
    assert found.explained < found.explained_raw


def test_excess_of_a_worker_is_that_of_a_loop_over_pairs():
    answers, _ = independent(4, 30, 9, 3, None)
    crowd = crowd_of(answers)
    members, rest = sides(9, [0, 1, 2, 3])

    found = Excess.of(crowd, members, rest)
    reports = centred_matrix(crowd)
    shrunk = found.slopes * min(max(found.explained / found.explained_raw, 0), 1)
    for worker in (0, 8):
        near = [other for other in range(9) if members[other] and other != worker]
        far = [other for other in range(9) if rest[other] and other != worker]
        values = [
            reports[worker, task]
            @ (reports[near, task].mean(axis=0) - shrunk @ reports[far, task].mean(axis=0))
            for task in range(30)
        ]
        excess, t, tasks = (part[worker] for part in found.membership)
        assert tasks == 30
        assert excess == pytest.approx(np.mean(values) / found.scale)
        assert t == pytest.approx(np.mean(values) / (np.std(values, ddof=1) / np.sqrt(30)))


def test_copies_of_a_source_agree_and_the_truths_do_not_explain_it():
    answers, _ = with_copies(1, 12, 0.9)
    crowd = crowd_of(answers, labels=4)
    found = Excess.of(crowd, *sides(52, range(40, 52)))

    assert found.within == pytest.approx(0.81, abs=0.03)
    assert found.explained < 0.05
    assert found.share > 0.75
    assert found.t > 20
    excess, t, _ = found.membership
    np.testing.assert_allclose(excess[40:], 0.81, atol=0.12)
    assert t[40:].min() > 10
    assert np.abs(t[:40]).max() < 4


@pytest.mark.parametrize("labels", [2, 4])
def test_truths_explain_the_agreement_of_independent_workers_even_with_opposite_answers(labels):
    rng = np.random.default_rng(5)
    truths = rng.integers(labels, size=600)
    opposite = (truths + 1) % labels
    right = rng.random((20, 600)) < 0.8
    other = rng.integers(0, labels, (20, 600))
    answers = np.where(
        right, np.vstack([np.tile(opposite, (8, 1)), np.tile(truths, (12, 1))]), other
    )
    found = Excess.of(crowd_of(answers, labels=labels), *sides(20, range(8)))

    assert found.within > 0.5
    assert abs(found.t) < 3
    assert abs(found.share) < 0.15


def test_nothing_is_compared_on_few_tasks_or_with_a_rest_that_does_not_agree():
    answers, _ = independent(6, 7, 12, 3, None)
    crowd = crowd_of(answers)
    assert Excess.of(crowd, *sides(12, range(6))) is None

    alternating = np.array([[0, 1], [1, 0]])[:, np.arange(30) % 2]
    crowd = crowd_of(np.vstack([alternating, alternating[[0, 0]]]), labels=2)
    assert Excess.of(crowd, *sides(4, [2, 3])) is None


def test_known_truths_are_nearer_to_honest_workers_than_to_copies():
    answers, truths = with_copies(1, 12, 0.7)
    known = np.where(np.arange(300) < 30, truths, -1)
    crowd = crowd_of(answers, labels=4, known=known)
    copies, honest = sides(52, range(40, 52))

    forward = Excess.of(crowd, copies, honest).nearer_to_truths()
    back = Excess.of(crowd, honest, copies).nearer_to_truths()
    assert forward[0] > 4
    assert forward[1] == back[1] > 25
    assert back[0] == pytest.approx(-forward[0])
    assert Excess.of(crowd_of(answers, labels=4), copies, honest).nearer_to_truths() == (0.0, 0)
