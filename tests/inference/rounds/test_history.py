"""Filters against sums over all paths of a truth."""

from itertools import product

import numpy as np
from attrs import evolve

from quietcrowd.inference.rounds.changes import EXTENTS, SUDDEN
from quietcrowd.inference.rounds.history import FilterBank, Round, RoundHistory
from quietcrowd.inference.rounds.transitions import Transitions
from quietcrowd.inference.task_estimates import LabelEstimates

REST = np.array([0.5, 0.3, 0.2])
NUMBERS = (1, 2, 5, 6)


def histories(transitions, messages):
    """Return the history after each round, by messages of shape (rounds, tasks, states)."""
    bank, rounds = FilterBank.first(transitions, messages.shape[1]), ()
    for place, message in enumerate(messages):
        gap = NUMBERS[place] - NUMBERS[place - 1] if place else 0
        if place:
            bank = bank.predicted(transitions.repeated(gap), messages.shape[1])
        change = bank.change(message, transitions, gap)
        bank = bank.updated(message, change)
        nothing = np.zeros(messages.shape[1], np.int64)
        found = Round(
            number=NUMBERS[place],
            answers=nothing,
            known=nothing > 0,
            met=nothing == 0,
            estimates=LabelEstimates.empty(messages.shape[1], np.int8),
            apparent=bank.mean.astype(np.float32),
            change=change.mean(bank.weights),
        )
        rounds = (*rounds, found)
        yield RoundHistory(bank=bank, transitions=transitions, rounds=rounds)


def paths(transitions, candidate, messages):
    """Return the joint probability of reports and each path of the truth of one task.

    Its own reports do not tell of a sudden change of many truths.
    """
    found = {}
    one = evolve(transitions, anew=transitions.anew[[candidate]])
    for path in product(range(3), repeat=len(messages)):
        likely = REST[path[0]] * np.exp(messages[0][path[0]])
        for place in range(1, len(path)):
            gap = NUMBERS[place] - NUMBERS[place - 1]
            restarts = (1.0 - (1.0 - SUDDEN) ** gap) * np.mean(EXTENTS)
            moved = one.repeated(gap).forward(np.eye(3)[np.newaxis])[0]
            moved = (1.0 - restarts) * moved + restarts * REST
            likely *= moved[path[place - 1], path[place]] * np.exp(messages[place][path[place]])
        found[path] = likely
    return found


MESSAGES = -2.0 * np.random.default_rng(0).random((4, 1, 3)) ** 2


def test_filters_are_sums_over_all_paths():
    transitions = Transitions.of_labels(REST)
    sums = np.zeros((8, 3))
    for candidate in range(8):
        for path, likely in paths(transitions, candidate, MESSAGES[:, 0]).items():
            sums[candidate, path[-1]] += transitions.prior[candidate] * likely
    *_, last = histories(transitions, MESSAGES)
    np.testing.assert_allclose(last.bank.weights, sums.sum(axis=1) / sums.sum())
    np.testing.assert_allclose(last.bank.mean[0], sums.sum(axis=0) / sums.sum())


def test_smoothing_is_a_sum_over_all_paths_if_one_candidate_is_certain():
    transitions = Transitions.of_labels(REST)
    certain = evolve(transitions, prior=np.eye(8)[4] + 1e-30)
    sums = np.zeros((4, 3))
    for path, likely in paths(transitions, 4, MESSAGES[:, 0]).items():
        for place, state in enumerate(path):
            sums[place, state] += likely
    *_, last = histories(certain, MESSAGES)
    found = np.concatenate(last.smoothed())
    np.testing.assert_allclose(found, sums / sums.sum(axis=1, keepdims=True), rtol=1e-5)


def test_a_task_without_messages_moves_no_candidate():
    transitions = Transitions.of_labels(REST)
    *_, last = histories(transitions, np.zeros((4, 5, 3)))
    np.testing.assert_allclose(last.bank.weights, transitions.prior)
    np.testing.assert_allclose(last.bank.mean, np.tile(REST, (5, 1)))


def test_the_true_rate_gets_the_weight():
    rng, transitions = np.random.default_rng(1), Transitions.of_labels(REST)
    truths = rng.choice(3, 2000, p=REST)
    bank = FilterBank.first(transitions, 2000)
    for place in range(5):
        if place:
            switched = rng.random(2000) < 0.12
            truths = np.where(switched, rng.choice(3, 2000, p=REST), truths)
            bank = bank.predicted(transitions, 2000)
        messages = 12.0 * np.eye(3)[truths]
        bank = bank.updated(messages, bank.change(messages, transitions, 1))
    assert bank.weights[4] > 0.99
