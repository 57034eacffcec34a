import io
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from tests.campaign.waiting import LONG, in_time

from quietcrowd.datasets import make_crowd
from quietcrowd.exceptions import ParameterError
from quietcrowd.inference import MajorityVote, WeightedVote
from quietcrowd.inference import loop as sweep_module
from quietcrowd.inference.labels.voting import MajorityModel, WeightedVoteModel
from quietcrowd.inference.loop import (
    LoopProgress,
    Progress,
    available_threads,
    iterate,
    run_loop,
)
from quietcrowd.inference.partition import Partition, Summary

CROWD = make_crowd(tasks=300, workers=30, answers_per_task=5, random_state=4)
SUMMARY = Summary.of(CROWD.answers)


def bound(method):
    return method.bind(SUMMARY)


def loop(method, n_jobs=1, start=None):
    return run_loop(bound(method), [Partition.of(CROWD.answers)], start=start, n_jobs=n_jobs)


def test_a_method_without_state_passes_once():
    result = loop(MajorityVote())
    assert (result.n_iter, result.converged, result.history, result.state) == (
        0,
        True,
        (),
        None,
    )


def test_it_stops_when_the_objective_rests():
    result = loop(WeightedVote())
    assert result.converged
    assert result.n_iter == len(result.history)
    assert abs(result.history[-1] - result.history[-2]) <= 1e-8
    loose = loop(WeightedVote(tol=0.5))
    assert loose.converged
    assert loose.n_iter == 2


def test_it_stops_at_the_limit_and_says_so():
    result = loop(WeightedVote(max_iter=1))
    assert (result.n_iter, result.converged) == (1, False)


@pytest.mark.parametrize("max_iter", [2, 50])
def test_the_last_state_alone_is_completed(max_iter):
    class Completing(WeightedVoteModel):
        def completed(self, state, tally, earlier):
            completed.append((state, self.update(tally, earlier)[0]))
            return state

    completed, saved = [], []
    model = Completing(method=WeightedVote(max_iter=max_iter), summary=SUMMARY)
    result = run_loop(model, [Partition.of(CROWD.answers)], save=saved.append)
    assert result.converged == (max_iter == 50)
    assert len(completed) == 1
    assert completed[0][0] is result.state is saved[-1].state
    assert np.array_equal(completed[0][1].weights, result.state.weights)


def test_estimates_belong_to_the_last_state():
    limited = loop(WeightedVote(max_iter=3))
    model = bound(WeightedVote(max_iter=3))
    tally = model.sweep(Partition.of(CROWD.answers), limited.state, limited.estimates)
    assert np.array_equal(tally.agreed, limited.tally.agreed)


def test_a_warm_start_ends_where_the_cold_one_did():
    cold = loop(WeightedVote())
    warm = loop(WeightedVote(), start=cold.state)
    assert warm.n_iter <= 2
    assert np.array_equal(cold.estimates.truths, warm.estimates.truths)


@pytest.mark.parametrize(("method", "n_iter"), [(MajorityVote(), 0), (WeightedVote(), 3)])
def test_threads_and_partitions_change_no_bit(method, n_iter):
    whole = loop(method)
    assert whole.n_iter >= n_iter
    parts = Partition.of(CROWD.answers).split(3)
    for n_jobs in (1, 2, 5):
        again = run_loop(bound(method), parts, n_jobs=n_jobs)
        assert again.history == whole.history
        assert again.n_iter == whole.n_iter
        assert np.array_equal(again.tally.agreed, whole.tally.agreed)
        for name in ("truths", "confidence", "tied"):
            one, other = getattr(again.estimates, name), getattr(whole.estimates, name)
            assert np.array_equal(one, other)


@pytest.mark.parametrize(
    ("history", "tol", "rests"),
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
def test_an_objective_rests_where_its_last_step_is_small(history, tol, rests):
    course = LoopProgress(history=history)
    assert course.converged(bound(WeightedVote(tol=tol))) is rests
    assert course.converged(bound(MajorityVote())) is True


def test_a_loop_that_was_stopped_goes_on_as_if_it_never_had():
    model, kept = bound(WeightedVote(tol=0.0, max_iter=6)), []
    partition = Partition.of(CROWD.answers)

    def tally_at(state):
        return model.sweep(partition, state, None)

    last = iterate(model, tally_at, LoopProgress(), kept.append)
    assert [len(course.history) for course in kept] == list(range(1, len(last.history) + 1))
    assert kept[-1] is last
    assert len(kept) > 2
    for course in kept:
        again = iterate(model, tally_at, course)
        assert again.history == last.history
        assert np.array_equal(again.state.weights, last.state.weights)


def test_another_update_may_learn_from_the_same_tallies():
    given = []

    def update(tally, state):
        given.append((tally, state))
        return (state or 0) + 1, float(len(given))

    model = bound(WeightedVote(max_iter=3))
    course = iterate(model, lambda state: [state], LoopProgress(), None, update)
    assert (course.state, course.history) == (3, (1.0, 2.0, 3.0))
    assert given == [([None], None), ([1], 1), ([2], 2)]


def test_nothing_is_learned_from_the_pass_before_the_first_state(monkeypatch):
    monkeypatch.setattr(WeightedVoteModel, "first_state", lambda *_: "first")
    passes, given = [], []

    def tally_at(state):
        passes.append(state)
        return f"tally of {state}"

    def update(tally, state):
        given.append((tally, state))
        return f"after {state}", float(len(given))

    model = bound(WeightedVote(max_iter=2))
    course = iterate(model, tally_at, LoopProgress(), None, update)
    assert passes == [None, "first", "after first"]
    assert given == [("tally of first", "first"), ("tally of after first", "after first")]
    assert (course.state, course.history) == ("after after first", (1.0, 2.0))


@pytest.mark.parametrize(
    ("available", "share", "expected"), [(8, 50_000, 1), (8, 500, 3), (2, 500, 2), (8, 1501, 1)]
)
def test_by_default_a_thread_is_worth_its_answers(monkeypatch, available, share, expected):
    started = []

    def pool(n_jobs):
        started.append(n_jobs)
        return ThreadPoolExecutor(n_jobs)

    monkeypatch.setattr(sweep_module, "ThreadPoolExecutor", pool)
    monkeypatch.setattr(sweep_module, "available_threads", lambda: available)
    monkeypatch.setattr(sweep_module, "SMALLEST_SHARE", share)
    assert SUMMARY.answers == 1500
    loop(MajorityVote(), n_jobs=None)
    assert started == [expected]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_one_thread_is_that_of_the_caller(monkeypatch, n_jobs):
    seen, pass_over = set(), MajorityModel.sweep

    def sweep(*arguments):
        seen.add(threading.get_ident())
        return pass_over(*arguments)

    monkeypatch.setattr(MajorityModel, "sweep", sweep)
    loop(MajorityVote(), n_jobs=n_jobs)
    assert (threading.get_ident() in seen) is (n_jobs == 1)


@pytest.mark.parametrize("n_jobs", [0, -2, 1.5, True])
def test_threads_are_a_whole_number(n_jobs):
    with pytest.raises(ParameterError, match="n_jobs must be a whole number"):
        loop(MajorityVote(), n_jobs=n_jobs)


def test_there_is_a_thread(monkeypatch):
    assert available_threads() >= 1
    own = {0: {0, 2, 5}}  # 0 stands for the process that asks
    monkeypatch.setattr(os, "sched_getaffinity", own.__getitem__, raising=False)
    assert available_threads() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    for found, expected in ((4, 4), (None, 1)):
        monkeypatch.setattr(os, "cpu_count", lambda found=found: found)
        assert available_threads() == expected


class Terminal(io.StringIO):
    def __init__(self, *, seen=True):
        super().__init__()
        self.seen = seen

    def isatty(self):
        return self.seen


@pytest.fixture
def terminal(monkeypatch):
    """Return a terminal on which nothing is waited for long."""
    shown = Terminal()
    monkeypatch.setattr(sweep_module, "sys", SimpleNamespace(stderr=shown, modules={}))
    monkeypatch.setattr(sweep_module, "PATIENCE", 0.001)
    monkeypatch.setattr(sweep_module, "time", SimpleNamespace(monotonic=lambda: 7.0))
    monkeypatch.setattr(sweep_module, "PACE", 0.001)
    return shown


def until(terminal, text):
    """Wait for a line."""
    assert in_time(lambda: text in terminal.getvalue()), terminal.getvalue()


def test_a_long_fit_says_how_far_it_is_and_leaves_no_trace(terminal):
    with Progress("GLAD") as line:
        until(terminal, "GLAD: 0 iterations, 0 s")
        line.count(None)
        until(terminal, "GLAD: 1 iteration, ")
        line.count(None)
        until(terminal, "GLAD: 2 iterations, ")
    last = terminal.getvalue().rsplit("\r", 2)[1:]
    assert last[0].strip() == last[1] == ""
    assert len(last[0]) >= len("GLAD: 0 iterations")
    assert not line._thread.is_alive()


def test_a_fit_counts_its_iterations(monkeypatch):
    counted = []
    keep = Progress.count
    monkeypatch.setattr(Progress, "count", lambda *given: counted.append(keep(*given)))
    estimate = WeightedVote().fit(CROWD.answers)
    assert len(counted) == estimate.n_iter > 0


def test_nothing_is_said_of_a_short_fit_or_where_nobody_looks(terminal, monkeypatch):
    monkeypatch.setattr(sweep_module, "PATIENCE", LONG)
    WeightedVote().fit(CROWD.answers)
    assert terminal.getvalue() == ""
    monkeypatch.setattr(sweep_module, "PATIENCE", 0.001)
    terminal.seen = False
    with Progress("GLAD") as line:
        assert line._thread is None


def test_an_error_ends_the_line(terminal):
    line = Progress("GLAD")

    def fail():
        with line:
            until(terminal, "GLAD")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not line._thread.is_alive()
