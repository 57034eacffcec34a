"""The loop that runs every model, in memory, on stores and on clusters.

::

    repeat:  tally = sum of model.sweep(partition, state)      # state None in the first sweep
             state, objective = model.update(tally, state)
    until    the objective per answer converges

One more pass with the last state fills in the estimates.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

from attrs import evolve, frozen

from quietcrowd.inference.model import LearningModel, Model, State, add_up
from quietcrowd.inference.partition import Partition
from quietcrowd.validation import check_whole

AnyModel = Model[Any, Any, Any]

SMALLEST_SHARE = 50_000
"""Number of answers below which another thread is not worth its start."""

PATIENCE, PACE = 2.0, 0.5
"""Seconds until the first line of progress, and between two lines."""


@frozen(kw_only=True, eq=False)
class LoopProgress:
    """State of the next sweep, and the objective per answer after each update."""

    state: Any = None
    history: tuple[float, ...] = ()

    def converged(self, model: AnyModel) -> bool:
        """Return whether the objective converged, or the model does not learn."""
        if not isinstance(model, LearningModel):
            return True
        if len(self.history) < 2:
            return False
        return bool(abs(self.history[-1] - self.history[-2]) <= model.method.tol)

    def ended(self, model: AnyModel) -> bool:
        """Return whether the loop stops here, converged or not."""
        return self.converged(model) or len(self.history) == model.method.max_iter


@frozen(kw_only=True, eq=False)
class LoopResult:
    """Estimates of all tasks in the order of the partitions; tally and state of the last pass."""

    estimates: Any
    tally: Any
    state: Any
    n_iter: int
    converged: bool
    history: tuple[float, ...]

    @classmethod
    def of(cls, model: AnyModel, progress: LoopProgress, estimates: Any, tally: Any) -> Self:
        """Return the result of a last pass."""
        return cls(
            estimates=estimates,
            tally=tally,
            state=progress.state,
            n_iter=len(progress.history),
            converged=progress.converged(model),
            history=progress.history,
        )


def available_threads() -> int:
    """Return the number of threads that this process may run at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads_of(n_jobs: int | None, justified: int | None = None) -> int:
    """Return the number of threads: all for -1, at most `justified` for None."""
    if n_jobs is None and justified is not None:
        return min(available_threads(), max(1, justified))
    if n_jobs in (None, -1):
        return available_threads()
    check_whole("n_jobs", n_jobs, 1)
    return n_jobs


def run_loop(
    model: AnyModel,
    partitions: Sequence[Partition],
    start: State | None = None,
    n_jobs: int | None = None,
    save: Callable[[LoopProgress], None] | None = None,
) -> LoopResult:
    """Run a model on partitions in memory; each task is in one. `save` is as for `iterate`."""
    threads = threads_of(n_jobs, model.summary.answers // SMALLEST_SHARE)
    runs = [run for partition in partitions for run in partition.split(threads)]
    with ThreadPoolExecutor(threads) as pool:
        map_runs = map if threads == 1 else pool.map

        def sweep_all(state: Any) -> Any:
            return add_up(map_runs(lambda run: model.sweep(run, state, None), runs))

        progress = iterate(model, sweep_all, LoopProgress(state=start), save)
        last = list(map_runs(lambda run: estimate(model, run, progress.state), runs))
    estimates = type(last[0][0]).concatenate([found for found, _ in last])
    return LoopResult.of(model, progress, estimates, add_up(tally for _, tally in last))


def iterate(
    model: AnyModel,
    sweep_all: Callable[[Any], Any],
    progress: LoopProgress,
    save: Callable[[LoopProgress], None] | None = None,
    update: Callable[[Any, Any], tuple[Any, float]] | None = None,
) -> LoopProgress:
    """Alternate sweeps and updates until the objective converges.

    A saved `progress` continues as if the loop had never stopped. `save` gets it after every
    update; `update` replaces ``model.update``.
    """
    while isinstance(model, LearningModel) and not progress.ended(model):
        tally = sweep_all(progress.state)
        if progress.state is None:
            progress = LoopProgress(state=model.first_state(tally))
            if progress.state is not None:
                continue
        state, objective = (update or model.update)(tally, progress.state)
        following = LoopProgress(state=state, history=(*progress.history, objective))
        if following.ended(model):
            state = model.completed(state, tally, progress.state)
            following = evolve(following, state=state)
        progress = following
        del state, tally, following  # before the next ones are computed: they may be large
        if save is not None:
            save(progress)
    return progress


def estimate(model: AnyModel, partition: Partition, state: Any) -> tuple[Any, Any]:
    """Return the estimates of a partition's tasks, and the tally, with the last state."""
    estimates = model.empty(partition.tasks)
    return estimates, model.sweep(partition, state, estimates)


class Progress:
    """Shows on standard error how many iterations a fit has made, from two seconds on.

    Only in the main thread, on a terminal or in a notebook. The line disappears at the end.
    """

    def __init__(self, name: str) -> None:
        self.name, self.n_iter, self.longest = name, 0, 0
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def count(self, progress: Any) -> None:  # noqa: ARG002
        """Count an iteration; `save` of `iterate`."""
        self.n_iter += 1

    def __enter__(self) -> Self:
        seen = sys.stderr.isatty() or "ipykernel" in sys.modules
        if seen and threading.current_thread() is threading.main_thread():
            self._thread = threading.Thread(target=self._show, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        if self.longest:
            sys.stderr.write(f"\r{' ' * self.longest}\r")
            sys.stderr.flush()

    def _show(self) -> None:
        start = time.monotonic()
        pause = PATIENCE
        while not self._ended.wait(pause):
            pause = PACE
            done = f"{self.n_iter:,} iteration{'s' * (self.n_iter != 1)}"
            line = f"{self.name}: {done}, {time.monotonic() - start:.0f} s"
            self.longest = max(self.longest, len(line))
            sys.stderr.write(f"\r{line.ljust(self.longest)}")
            sys.stderr.flush()
