import numpy as np
import pytest

from quietcrowd.inference.rounds.transitions import Transitions

REST = np.array([0.5, 0.3, 0.15, 0.05])
KINDS = {"labels": Transitions.of_labels(REST), "numbers": Transitions.of_numbers(REST)}


def matrices(transitions):
    """Return the table of each candidate, at [candidate, from, to]."""
    states = np.eye(len(transitions.rest))
    return transitions.forward(np.tile(states, (len(transitions.anew), 1, 1)))


@pytest.mark.parametrize("kind", KINDS)
def test_candidates_are_distributions(kind):
    found = matrices(KINDS[kind])
    assert (found > 0).all()
    np.testing.assert_allclose(found.sum(axis=2), 1.0)
    assert KINDS[kind].prior.sum() == pytest.approx(1.0)


def test_labels_keep_their_frequencies():
    found = KINDS["labels"].forward(np.tile(REST, (8, 1, 1)))
    np.testing.assert_allclose(found, np.tile(REST, (8, 1, 1)))


def test_numbers_move_by_normal_steps_or_restart():
    bins = np.linspace(0.0, 1.0, 192)
    found = matrices(Transitions.of_numbers(np.full(192, 1 / 192)))
    middle = found[:, 96]
    spread = np.sqrt((middle * (bins - bins[96]) ** 2).sum(axis=1))
    np.testing.assert_allclose(spread[1:5], [0.007, 0.015, 0.03, 0.06], rtol=0.1)
    np.testing.assert_allclose(middle[-1], 1 / 192)


@pytest.mark.parametrize("kind", KINDS)
def test_several_rounds_are_as_many_single_ones(kind):
    one = matrices(KINDS[kind])
    np.testing.assert_allclose(
        matrices(KINDS[kind].repeated(3)), one @ one @ one, atol=2e-4
    )  # a jump of numbers may come before a step


@pytest.mark.parametrize("kind", KINDS)
def test_backward_is_the_expectation_of_forward(kind):
    rng = np.random.default_rng(0)
    values = rng.random((8, 1, 4))
    expected = matrices(KINDS[kind]) @ values[:, 0, :, np.newaxis]
    np.testing.assert_allclose(KINDS[kind].backward(values)[:, 0], expected[:, :, 0])


@pytest.mark.parametrize("kind", KINDS)
def test_a_mean_is_one_candidate(kind):
    for weights in (np.full(8, 1 / 8), np.eye(8)[-1]):
        mean = matrices(KINDS[kind].mean(weights))
        np.testing.assert_allclose(mean[0], np.tensordot(weights, matrices(KINDS[kind]), 1))
