import numpy as np
import pytest

from quietcrowd.datasets import synthetic_crowd
from quietcrowd.exceptions import ParameterError
from quietcrowd.inference import MajorityVote, WeightedVote
from quietcrowd.inference.partition import Partition, Summary
from quietcrowd.inference.sweep import available_threads, run_loop

CROWD = synthetic_crowd(tasks=300, workers=30, answers_per_task=5, seed=4)
SUMMARY = Summary.of(CROWD.answers)


def loop(method, threads=1, start=None):
    return run_loop(method, [Partition.of(CROWD.answers)], SUMMARY, start=start, threads=threads)


def test_a_method_without_state_passes_once():
    result = loop(MajorityVote())
    assert (result.iterations, result.converged, result.history, result.state) == (
        0,
        True,
        (),
        None,
    )


def test_it_stops_when_the_objective_rests():
    result = loop(WeightedVote())
    assert result.converged
    assert result.iterations == len(result.history)
    assert abs(result.history[-1] - result.history[-2]) <= 1e-8
    loose = loop(WeightedVote(tolerance=0.5))
    assert loose.converged
    assert loose.iterations == 2


def test_it_stops_at_the_limit_and_says_so():
    result = loop(WeightedVote(max_iterations=1))
    assert (result.iterations, result.converged) == (1, False)


def test_estimates_belong_to_the_last_state():
    limited = loop(WeightedVote(max_iterations=3))
    method = WeightedVote(max_iterations=3)
    tally = method.sweep(Partition.of(CROWD.answers), SUMMARY, limited.state, limited.estimates)
    assert np.array_equal(tally.agreed, limited.tally.agreed)


def test_a_warm_start_ends_where_the_cold_one_did():
    cold = loop(WeightedVote())
    warm = loop(WeightedVote(), start=cold.state)
    assert warm.iterations <= 2
    assert np.array_equal(cold.estimates.truths, warm.estimates.truths)


@pytest.mark.parametrize("threads", [0, -1, 1.5, True])
def test_threads_are_a_whole_number(threads):
    with pytest.raises(ParameterError, match="threads must be a whole number"):
        loop(MajorityVote(), threads=threads)


def test_there_is_a_thread():
    assert available_threads() >= 1
