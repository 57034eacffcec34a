import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from quietcrowd.datasets import synthetic_crowd
from quietcrowd.exceptions import ParameterError
from quietcrowd.inference import MajorityVote, WeightedVote
from quietcrowd.inference import loop as sweep_module
from quietcrowd.inference.loop import LoopProgress, available_threads, iterate, run_loop
from quietcrowd.inference.partition import Partition, Summary

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


@pytest.mark.parametrize(("method", "iterations"), [(MajorityVote(), 0), (WeightedVote(), 3)])
def test_threads_and_partitions_change_no_bit(method, iterations):
    whole = loop(method)
    assert whole.iterations >= iterations
    parts = Partition.of(CROWD.answers).split(3)
    for threads in (1, 2, 5):
        again = run_loop(method, parts, SUMMARY, threads=threads)
        assert again.history == whole.history
        assert again.iterations == whole.iterations
        assert np.array_equal(again.tally.agreed, whole.tally.agreed)
        for name in ("truths", "confidence", "tied"):
            one, other = getattr(again.estimates, name), getattr(whole.estimates, name)
            assert np.array_equal(one, other)


@pytest.mark.parametrize(
    ("history", "tolerance", "rests"),
    [
        ((), 9.0, False),
        ((1.0,), 9.0, False),
        ((1.0, 1.5), 0.5, True),
        ((1.5, 1.0), 0.5, True),
        ((1.0, 1.5), 0.25, False),
        ((1.5, 1.0), 0.25, False),
        ((1.0, 1.0, 2.0), 0.5, False),
        ((1.0, 2.0, 2.0), 0.0, True),
    ],
)
def test_an_objective_rests_where_its_last_step_is_small(history, tolerance, rests):
    course = LoopProgress(history=history)
    assert course.rests(WeightedVote(tolerance=tolerance)) is rests
    assert course.rests(MajorityVote()) is True


def test_a_loop_that_was_stopped_goes_on_as_if_it_never_had():
    method, kept = WeightedVote(tolerance=0.0, max_iterations=6), []
    partition = Partition.of(CROWD.answers)

    def tally_at(state):
        return method.sweep(partition, SUMMARY, state, None)

    last = iterate(method, SUMMARY, tally_at, LoopProgress(), kept.append)
    assert [len(course.history) for course in kept] == list(range(1, len(last.history) + 1))
    assert kept[-1] is last
    assert len(kept) > 2
    for course in kept:
        again = iterate(method, SUMMARY, tally_at, course)
        assert again.history == last.history
        assert np.array_equal(again.state.weights, last.state.weights)


def test_another_update_may_learn_from_the_same_tallies():
    given = []

    def update(summary, tally, state):
        given.append((summary, tally, state))
        return (state or 0) + 1, float(len(given))

    course = iterate(
        WeightedVote(max_iterations=3), SUMMARY, lambda state: [state], LoopProgress(), None, update
    )
    assert (course.state, course.history) == (3, (1.0, 2.0, 3.0))
    assert given == [(SUMMARY, [None], None), (SUMMARY, [1], 1), (SUMMARY, [2], 2)]


def test_nothing_is_learned_from_the_pass_before_the_first_state(monkeypatch):
    monkeypatch.setattr(WeightedVote, "first_state", lambda *_: "first")
    passes, given = [], []

    def tally_at(state):
        passes.append(state)
        return f"tally of {state}"

    def update(_, tally, state):
        given.append((tally, state))
        return f"after {state}", float(len(given))

    method = WeightedVote(max_iterations=2)
    course = iterate(method, SUMMARY, tally_at, LoopProgress(), None, update)
    assert passes == [None, "first", "after first"]
    assert given == [("tally of first", "first"), ("tally of after first", "after first")]
    assert (course.state, course.history) == ("after after first", (1.0, 2.0))


@pytest.mark.parametrize(
    ("available", "share", "expected"), [(8, 50_000, 1), (8, 500, 3), (2, 500, 2), (8, 1501, 1)]
)
def test_by_default_a_thread_is_worth_its_answers(monkeypatch, available, share, expected):
    started = []

    def pool(threads):
        started.append(threads)
        return ThreadPoolExecutor(threads)

    monkeypatch.setattr(sweep_module, "ThreadPoolExecutor", pool)
    monkeypatch.setattr(sweep_module, "available_threads", lambda: available)
    monkeypatch.setattr(sweep_module, "SMALLEST_SHARE", share)
    assert SUMMARY.answers == 1500
    loop(MajorityVote(), threads=None)
    assert started == [expected]


@pytest.mark.parametrize("threads", [1, 2])
def test_one_thread_is_that_of_the_caller(monkeypatch, threads):
    seen, pass_over = set(), MajorityVote.sweep

    def sweep(*arguments):
        seen.add(threading.get_ident())
        return pass_over(*arguments)

    monkeypatch.setattr(MajorityVote, "sweep", sweep)
    loop(MajorityVote(), threads=threads)
    assert (threading.get_ident() in seen) is (threads == 1)


@pytest.mark.parametrize("threads", [0, -1, 1.5, True])
def test_threads_are_a_whole_number(threads):
    with pytest.raises(ParameterError, match="threads must be a whole number"):
        loop(MajorityVote(), threads=threads)


def test_there_is_a_thread(monkeypatch):
    assert available_threads() >= 1
    own = {0: {0, 2, 5}}  # 0 stands for the process that asks
    monkeypatch.setattr(os, "sched_getaffinity", own.__getitem__, raising=False)
    assert available_threads() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    for found, expected in ((4, 4), (None, 1)):
        monkeypatch.setattr(os, "cpu_count", lambda found=found: found)
        assert available_threads() == expected
