"""Sudden changes against sums over all causes."""

import numpy as np
import pytest
from attrs import evolve

from quietcrowd.inference.rounds import changes
from quietcrowd.inference.rounds.changes import COMMON, EXTENTS, SUDDEN, WIDTH, Change
from quietcrowd.inference.rounds.history import FilterBank
from quietcrowd.inference.rounds.transitions import Transitions

REST = np.array([0.4, 0.3, 0.1, 0.1, 0.06, 0.04])
TASKS = 5


def bank_of(kind):
    """Return candidates of a kind of truths, and a bank that predicts five of them."""
    transitions = Transitions.of_labels(REST) if kind == "labels" else Transitions.of_numbers(REST)
    if kind == "numbers":  # moves are compared by the mean of candidates: exact for one
        transitions = evolve(
            transitions,
            anew=transitions.anew[3:4],
            prior=np.ones(1),
            steps=transitions.steps[3:4],
        )
    rng = np.random.default_rng(1)
    now = rng.dirichlet(np.full(6, 0.3), (len(transitions.anew), TASKS)) + 1e-6
    now /= now.sum(axis=2, keepdims=True)
    return transitions, FilterBank(now=now, evidence=np.log(transitions.prior))


def causes(kind, now):
    """Yield (prior probability, prediction of each truth, restarted fraction or 1) of a round."""
    parts = 2 if kind == "labels" else 3
    yield 1.0 - SUDDEN, now, 0.0
    for extent in EXTENTS:
        yield SUDDEN / len(EXTENTS) / parts, (1.0 - extent) * now + extent * REST, extent
        for value in range(6):
            apart = (np.arange(6) - value) / (6 * WIDTH)
            alike = np.eye(6)[value] if kind == "labels" else np.exp(-(apart**2) / 2)
            anew = COMMON * alike / alike.sum() + (1.0 - COMMON) * REST
            of_value = REST[value] if kind == "labels" else 1 / 6
            prior = SUDDEN / len(EXTENTS) / parts * of_value
            yield prior, (1.0 - extent) * now + extent * anew, extent
    for move in [] if kind == "labels" else [-5, -4, -3, -2, -1, 1, 2, 3, 4, 5]:
        moved = np.zeros_like(now)
        for state in range(6):
            moved[:, min(max(state + move, 0), 5)] += now[:, state]
        yield SUDDEN / 30, moved, 1.0


@pytest.mark.parametrize("kind", ["labels", "numbers"])
def test_a_change_is_a_sum_over_all_causes(kind, monkeypatch):
    for name in ("_LEAST_CHANCE", "_LEAST_COMMON"):
        monkeypatch.setattr(changes, name, 1e-290)
    transitions, bank = bank_of(kind)
    messages = np.log(np.random.default_rng(2).dirichlet(np.full(6, 0.2), TASKS) + 1e-3)
    messages -= messages.max(axis=1, keepdims=True)
    sums, evidence = np.zeros(bank.now.shape), []
    joint = {0.0: 0.0}
    for candidate, now in enumerate(bank.now):
        likely = 0.0
        for prior, predicted, concerned in causes(kind, now):
            found = predicted * np.exp(messages)
            total = prior * found.sum(axis=1).prod()
            sums[candidate] += total * found / found.sum(axis=1, keepdims=True)
            likely += total
            weighted = total * transitions.prior[candidate]
            joint[concerned] = joint.get(concerned, 0.0) + weighted
        sums[candidate] /= likely
        evidence.append(np.log(likely))
    change = bank.change(messages, transitions, 1)
    after = bank.updated(messages, change)
    np.testing.assert_allclose(after.now, sums, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(after.evidence - bank.evidence, evidence)
    concerned = sum(extent * chance for extent, chance in joint.items())
    assert change.extent == pytest.approx(concerned / sum(joint.values()))


@pytest.mark.parametrize("kind", ["labels", "numbers"])
def test_backward_is_the_expectation_of_forward(kind):
    transitions, bank = bank_of(kind)
    messages = np.log(np.random.default_rng(3).dirichlet(np.full(6, 0.2), TASKS) + 1e-3)
    change = bank.change(messages, transitions, 1)
    values = np.random.default_rng(4).random(bank.now.shape)
    ahead = (change.forward(bank.now) * values).sum(axis=2)
    np.testing.assert_allclose((bank.now * change.backward(values)).sum(axis=2), ahead)
    np.testing.assert_allclose(change.forward(bank.now).sum(axis=2), 1.0)


def test_one_truth_tells_of_no_common_change():
    transitions, bank = bank_of("labels")
    for sure in np.eye(6):
        change = evolve(bank, now=bank.now[:, :1]).change(9.0 * sure[np.newaxis], transitions, 3)
        restarts = (1.0 - (1.0 - SUDDEN) ** 3) * np.mean(EXTENTS)
        np.testing.assert_allclose(change.restarts.sum(axis=0), restarts)


@pytest.mark.parametrize("extent", [0.0, 0.5, 1.0])
def test_a_change_of_many_labels_is_found_with_its_extent(extent):
    rng = np.random.default_rng(5)
    transitions = Transitions.of_labels(np.full(4, 0.25))
    truths = rng.integers(4, size=400)
    later = np.where(rng.random(400) < extent, rng.integers(4, size=400), truths)
    now = np.tile(0.97 * np.eye(4)[truths] + 0.0075, (8, 1, 1))
    change = FilterBank(now=now, evidence=np.log(transitions.prior)).change(
        6.0 * np.eye(4)[later], transitions, 1
    )
    assert change.extent == pytest.approx(extent, abs=0.05)
    np.testing.assert_allclose(change.restarts.sum(axis=0), extent, atol=0.1)


def test_numbers_that_move_alike_are_followed():
    rng = np.random.default_rng(6)
    bins = np.arange(192.0)
    transitions = Transitions.of_numbers(np.full(192, 1 / 192))
    truths = rng.uniform(20, 140, 50)
    now = np.exp(-0.5 * ((bins - truths[:, np.newaxis]) / 6.0) ** 2)
    now = np.tile(now / now.sum(axis=1, keepdims=True), (8, 1, 1))
    bank = FilterBank(now=now, evidence=np.log(transitions.prior))
    heard = truths + 30.0 + rng.normal(0, 15.0, 50)
    messages = -0.5 * ((bins - heard[:, np.newaxis]) / 15.0) ** 2
    change = bank.change(messages, transitions, 1)
    assert change.extent > 0.95
    after = bank.updated(messages, change)
    error = np.abs(after.mean @ bins - truths - 30.0).mean()
    assert error < 6.0  # the reports of the round alone err by 12
    same = bank.change(-0.5 * ((bins - truths[:, np.newaxis]) / 15.0) ** 2, transitions, 1)
    assert same.extent < 0.05
    assert isinstance(same, Change)


def test_labels_that_all_become_one_rare_label_are_followed():
    rng = np.random.default_rng(7)
    transitions = Transitions.of_labels(np.array([0.9, 0.06, 0.03, 0.01]))
    truths = rng.choice(4, 60, p=transitions.rest)
    now = np.tile(0.97 * np.eye(4)[truths] + 0.0075, (8, 1, 1))
    bank = FilterBank(now=now, evidence=np.log(transitions.prior))
    heard = np.where(rng.random(60) < 0.5, 3, rng.integers(4, size=60))
    messages = np.log(np.where(np.eye(4, dtype=bool)[heard], 0.55, 0.15))
    change = bank.change(messages, transitions, 1)
    assert change.extent > 0.95
    assert (bank.updated(messages, change).mean.argmax(axis=1) == 3).all()
