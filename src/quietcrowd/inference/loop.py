"""The loop that every truth-inference method shares.

Worker state in, one pass over the tasks, a tally out::

    repeat:  tally = sum of method.sweep(partition, state)      # state None: majority
             state, objective = method.update(summary, tally, state)
    until    the objective per answer converges

then one more pass with the last state fills in the estimates, so that estimates, workers and
state belong together. A pass remembers nothing and tallies add up exactly, so partitions and
threads change no bit of the result.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, Self

from attrs import frozen

from quietcrowd.inference.method import IterativeInference, StateT, TallyT, TruthInference
from quietcrowd.inference.partition import Partition, Summary
from quietcrowd.inference.passes import add_up
from quietcrowd.validation import check_whole

__all__ = ["LoopProgress", "LoopResult", "available_threads", "estimate", "iterate", "run_loop"]

SMALLEST_SHARE = 50_000
"""Fewer answers than this are not worth a thread of their own."""


@frozen(kw_only=True, eq=False)
class LoopProgress(Generic[StateT]):
    """How far the loop has come: all that it takes to go on.

    Attributes
    ----------
    state : State or None
        What the next pass believes of the workers.
    history : tuple of float
        The objective per answer after each update.
    """

    state: StateT | None = None
    history: tuple[float, ...] = ()

    def rests(self, method: TruthInference[StateT, TallyT]) -> bool:
        """Return whether the objective converged, or the method learns nothing of workers."""
        if not isinstance(method, IterativeInference):
            return True
        if len(self.history) < 2:
            return False
        return abs(self.history[-1] - self.history[-2]) <= method.tolerance


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
        Whether the objective converged before the limit.
    history : tuple of float
        The objective per answer after each update.
    """

    estimates: Any
    tally: TallyT
    state: StateT | None
    iterations: int
    converged: bool
    history: tuple[float, ...]

    @classmethod
    def of(
        cls,
        method: TruthInference[StateT, TallyT],
        progress: LoopProgress[StateT],
        estimates: Any,
        tally: TallyT,
    ) -> Self:
        """Return what a last pass found, at the state that the loop came to."""
        return cls(
            estimates=estimates,
            tally=tally,
            state=progress.state,
            iterations=len(progress.history),
            converged=progress.rests(method),
            history=progress.history,
        )


def available_threads() -> int:
    """Return how many threads this process may run at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_loop(
    method: TruthInference[StateT, TallyT],
    partitions: Sequence[Partition],
    summary: Summary,
    start: StateT | None = None,
    threads: int | None = None,
    keep: Callable[[LoopProgress[StateT]], None] | None = None,
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
    keep : callable, optional
        As of `iterate`.

    Raises
    ------
    ParameterError
        Where `threads` is no whole number of at least 1.
    """
    if threads is None:
        threads = min(available_threads(), max(1, summary.answers // SMALLEST_SHARE))
    check_whole("threads", threads, 1)
    runs = [run for partition in partitions for run in partition.split(threads)]
    with ThreadPoolExecutor(threads) as pool:
        run_all = map if threads == 1 else pool.map

        def tally_at(state: StateT | None) -> TallyT:
            tallies = run_all(lambda run: method.sweep(run, summary, state, None), runs)
            total: TallyT = add_up(tallies)
            return total

        progress = iterate(method, summary, tally_at, LoopProgress(state=start), keep)
        last = list(run_all(lambda run: estimate(method, run, summary, progress.state), runs))
    estimates = type(last[0][0]).concatenate([room for room, _ in last])
    return LoopResult.of(method, progress, estimates, add_up(tally for _, tally in last))


def iterate(
    method: TruthInference[StateT, TallyT],
    summary: Summary,
    tally_at: Callable[[StateT | None], TallyT],
    progress: LoopProgress[StateT],
    keep: Callable[[LoopProgress[StateT]], None] | None = None,
    update: Callable[[Summary, TallyT, StateT | None], tuple[StateT, float]] | None = None,
) -> LoopProgress[StateT]:
    """Pass over all tasks and update, in turn, until the objective converges.

    Parameters
    ----------
    method : TruthInference
        The method.
    summary : Summary
        Of all answers.
    tally_at : callable
        A pass: takes what is believed of the workers, returns the tally of all tasks.
    progress : LoopProgress
        Where to begin; one that was kept goes on as if it had never stopped.
    keep : callable, optional
        Called with the progress after every update.
    update : callable, optional
        How to learn from a tally, in place of ``method.update``.
    """
    while isinstance(method, IterativeInference) and not progress.rests(method):
        if len(progress.history) == method.max_iterations:
            break
        learn = update or method.update
        tally = tally_at(progress.state)
        if progress.state is None:
            progress = LoopProgress(state=method.first_state(summary, tally))
            if progress.state is not None:
                continue
        state, objective = learn(summary, tally, progress.state)
        progress = LoopProgress(state=state, history=(*progress.history, objective))
        del state, tally  # others come, and may be large
        if keep is not None:
            keep(progress)
    return progress


def estimate(
    method: TruthInference[StateT, TallyT],
    partition: Partition,
    summary: Summary,
    state: StateT | None,
) -> tuple[Any, TallyT]:
    """Pass over a partition with the last state; return its estimates and its tally."""
    room = method.room(partition.tasks, summary)
    return room, method.sweep(partition, summary, state, room)
