"""The loop that every truth-inference method shares.

Worker state in, one pass over the tasks, a tally out::

    repeat:  tally = sum of method.sweep(partition, state)      # state None: majority
             state, objective = method.update(summary, tally, state)
    until    the objective per answer rests

then one more pass with the last state fills in the estimates, so that estimates, workers and
state belong together. A pass remembers nothing and tallies add up exactly, so partitions and
threads change no bit of the result.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from operator import add
from typing import Any, Generic, TypeVar

from attrs import frozen

from quietcrowd.inference.method import (
    Estimates,
    IterativeInference,
    StateT,
    TallyT,
    TruthInference,
)
from quietcrowd.inference.partition import Partition, Summary
from quietcrowd.validation import check_whole

__all__ = ["LoopResult", "available_threads", "run_loop"]

SMALLEST_SHARE = 50_000
"""Fewer answers than this are not worth a thread of their own."""

T = TypeVar("T")


@frozen(kw_only=True, eq=False)
class LoopResult(Generic[StateT, TallyT]):
    """What the loop ended with.

    Attributes
    ----------
    estimates : Estimates
        Of all tasks, in the order of the partitions.
    tally : Tally
        Of the pass that gave the estimates.
    state : State or None
        What that pass believed of the workers.
    iterations : int
        How many updates were made.
    converged : bool
        Whether the objective came to rest before the limit.
    history : tuple of float
        The objective per answer after each update.
    """

    estimates: Any
    tally: TallyT
    state: StateT | None
    iterations: int
    converged: bool
    history: tuple[float, ...]


def available_threads() -> int:
    """Return how many threads this process may run at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_loop(
    method: TruthInference[StateT, TallyT],
    partitions: Sequence[Partition],
    summary: Summary,
    start: StateT | None = None,
    threads: int | None = None,
) -> LoopResult[StateT, TallyT]:
    """Run a method on partitions in memory.

    Parameters
    ----------
    method : TruthInference
        The method.
    partitions : sequence of Partition
        All answers; each task in one partition.
    summary : Summary
        Of all answers.
    start : State, optional
        What is believed of the workers at first.
    threads : int, optional
        Default: as many as the process may use and the answers are worth.

    Raises
    ------
    ParameterError
        Where `threads` is no whole number of at least 1.
    """
    if threads is None:
        threads = min(available_threads(), max(1, summary.answers // SMALLEST_SHARE))
    check_whole("threads", threads, 1)
    runs = [run for partition in partitions for run in partition.split(threads)]
    if threads == 1:
        return _iterate(method, runs, summary, start, lambda task, items: [task(i) for i in items])
    with ThreadPoolExecutor(threads) as pool:
        return _iterate(
            method, runs, summary, start, lambda task, items: list(pool.map(task, items))
        )


def _iterate(
    method: TruthInference[StateT, TallyT],
    runs: Sequence[Partition],
    summary: Summary,
    state: StateT | None,
    run_all: Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]],
) -> LoopResult[StateT, TallyT]:
    def sweep(run: Partition) -> TallyT:
        return method.sweep(run, summary, state, None)

    history: list[float] = []
    converged = not isinstance(method, IterativeInference)
    while isinstance(method, IterativeInference) and not converged:
        if len(history) == method.max_iterations:
            break
        state, objective = method.update(summary, reduce(add, run_all(sweep, runs)), state)
        history.append(objective)
        converged = len(history) > 1 and abs(history[-1] - history[-2]) <= method.tolerance

    def final(run: Partition) -> tuple[Estimates, TallyT]:
        room = method.room(run.tasks, summary)
        return room, method.sweep(run, summary, state, room)

    last = run_all(final, runs)
    return LoopResult(
        estimates=type(last[0][0]).concatenate([room for room, _ in last]),
        tally=reduce(add, [tally for _, tally in last]),
        state=state,
        iterations=len(history),
        converged=converged,
        history=tuple(history),
    )
