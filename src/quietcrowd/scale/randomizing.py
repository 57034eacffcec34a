"""Randomization of a store of answers into a store of reports, one partition at a time."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from shutil import rmtree
from typing import Any, cast
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen
from rich.console import Console
from rich.progress import Progress

from quietcrowd.answers import Answers
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.formats.files import new_folder, require_no_overwriting
from quietcrowd.frames import offsets_of, positions_by_text, sort_rows
from quietcrowd.inference.loop import threads_of
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.mechanisms.randomness import RandomState, seed_of
from quietcrowd.mechanisms.taskwise import TaskwiseMechanism, check_cells
from quietcrowd.scale.executor import Executor, ThreadExecutor
from quietcrowd.scale.store import Store, partition_name
from quietcrowd.scale.writing import SortedPartition, whole_store, write_sorted

OF_WORKERS, OF_PARTITIONS = 0, 1
"""Indices of random streams of a seed: all workers, and the first partition."""

DELETIONS = 5
"""Attempts to delete a directory to which a worker may still write."""


def randomize_store(
    store: Store,
    mechanism: Mechanism,
    folder: str | Path,
    *,
    random_state: RandomState | None = None,
    tasks: Iterable[Any] | None = None,
    workers: Iterable[Any] | None = None,
    participation_is_public: bool = False,
    n_jobs: int | None = None,
    executor: Executor | None = None,
    progress: bool = False,
) -> Store:
    """Randomize the answers of a store, as the workers' devices would, into a store of reports.

    Values that a worker draws once for all tasks are drawn before the first partition. Reports have
    the distribution of `Mechanism.randomize`, but a seed gives other reports than there.

    Parameters
    ----------
    store : Store
        Non-private answers.
    mechanism : Mechanism
        Any except `MatrixFactorization`, whose sketches are about all tasks.
    folder : str or Path
        Directory of the new store, which must not exist. It appears only when the store is
        complete.
    random_state : int or numpy.random.Generator, optional
        For simulation: reports are reproducible for any number of threads, and private to no one.
        Default: randomness of the operating system.
    tasks, workers : iterable, optional
        All ids, in any order, including those without an answer; give both or neither. A mechanism
        that hides participation needs them, because ids from the store reveal who answered.
    participation_is_public : bool
        As in `Mechanism.randomize`, for rows that were dropped when the store was made.
    n_jobs : int, optional
        Threads. Default, and -1: all that the process may use.
    executor : Executor, optional
        Used instead of threads. A cluster sees the answers and the workers' random draws.
    progress : bool
        Whether to show a progress bar on standard error.

    Returns
    -------
    Store
        The reports in the same partitions; tasks and workers are sorted by id.

    Raises
    ------
    AnswerError
        If the store contains reports, the mechanism has another domain, an id is not listed, or
        rows were dropped because of their answers and the reports would reveal it.
    ParameterError
        If the mechanism needs all tasks at once, every worker would report every task and these are
        too many, `folder` exists or is in the store, or a parameter is invalid.
    OSError
        If a file cannot be opened or written.
    """
    threads = threads_of(n_jobs)
    seed = None if random_state is None else seed_of(random_state)
    taskwise = check_randomizable(store, mechanism, participation_is_public=participation_is_public)
    require_no_overwriting(store.folder, Path(folder))
    listed = _listed(store, tasks, workers)
    ids = _sorted(store.workers if listed is None else listed.workers)
    if taskwise.every_task:
        check_cells(store.tasks if listed is None else len(listed.tasks), len(ids))
    drawn = taskwise.draw_workers(len(ids), _generator(seed, OF_WORKERS))
    with (
        new_folder(Path(folder)) as temporary,
        Progress(console=Console(stderr=True), disable=not progress, transient=True) as bar,
    ):
        attempted = temporary / "attempts"
        attempted.mkdir()
        job = _Randomization(
            store=evolve(store, folder=store.folder.absolute()),
            mechanism=taskwise,
            folder=attempted.absolute(),
            workers=ids,
            worker_codes=_positions(store.workers, ids, "worker"),
            tasks=None if listed is None else store.by_partition(listed.tasks),
            drawn=drawn,
            seed=seed,
        )
        indices = range(len(store.partitions))
        attempts = (executor or ThreadExecutor(threads)).each(
            _Randomization.randomize, job, indices, None
        )
        watched = bar.track(attempts, total=len(indices), description="randomising")
        reports = whole_store(
            temporary,
            taskwise.report_domain,
            ids,
            _named(watched, attempted),
            mechanism=taskwise,
            simulated=seed is not None,
        )
        reports.write_note()
    return evolve(reports, folder=Path(folder))


def check_randomizable(
    store: Store, mechanism: Mechanism, *, participation_is_public: bool
) -> TaskwiseMechanism:
    """Return the mechanism if it can randomize the store; else raise as `randomize_store` does."""
    if store.mechanism is not None:
        raise AnswerError("scale.store-of-reports", folder=store.folder)
    mechanism.check_domain(store.domain)
    if not mechanism.is_taskwise:
        raise ParameterError("scale.mechanism-not-taskwise", name=mechanism.name)
    mechanism.check_left_out(
        store.dropped.out_of_domain, participation_is_public=participation_is_public
    )
    return cast("TaskwiseMechanism", mechanism)


@frozen(kw_only=True, eq=False)
class _Attempt:
    """A written partition under a unique name, because several processes may write the same one."""

    name: str
    partition: SortedPartition


@frozen(kw_only=True, eq=False)
class _Randomization:
    """The work on a partition; it can be sent to another process that sees both directories.

    After the deletion of `folder` no process can write more of it, not even a lost cluster worker.
    """

    store: Store
    mechanism: TaskwiseMechanism
    folder: Path
    workers: pa.Array
    worker_codes: npt.NDArray[np.int32]
    tasks: Mapping[int, pa.Array] | None
    drawn: npt.NDArray[Any] | None
    seed: int | None

    def randomize(self, index: int, _: None) -> _Attempt:
        """Write the reports of a partition."""
        rng = _generator(self.seed, OF_PARTITIONS + index)
        reports = self.mechanism.randomize_tasks(self._answers(index), self.drawn, rng)
        table, bits = reports.table, reports.participation_codes
        name = f"{partition_name(index)}.{uuid4().hex}"
        written = write_sorted(
            self.folder / name,
            table.domain,
            table.tasks,
            table.task_codes,
            table.worker_codes,
            {"label": table.values} | ({} if bits is None else {"participation": bits}),
            workers=len(self.workers),
        )
        return _Attempt(name=name, partition=written)

    def _answers(self, index: int) -> Answers:
        """Return the answers of a partition with all workers; tasks and workers are sorted."""
        stored, ids = self.store.partition(index), self.store.task_ids(index)
        tasks = _sorted(ids if self.tasks is None else self.tasks.get(index, ids[:0]))
        places = np.repeat(_positions(ids, tasks, "task"), np.diff(stored.offsets))
        codes = self.worker_codes[stored.worker_codes]
        order, task_codes, worker_codes = sort_rows(places, codes, len(tasks), len(self.workers))
        values = stored.values[order]
        return Answers(
            domain=self.store.domain,
            tasks=tasks,
            workers=self.workers,
            offsets=offsets_of(task_codes, len(tasks)),
            worker_codes=worker_codes,
            values=values.astype(np.float64) if values.dtype == np.float32 else values,
        )


def _generator(seed: int | None, place: int) -> np.random.Generator | None:
    """Return an independent generator per place; None selects the system's randomness."""
    if seed is None:
        return None
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(place,)))


def _named(attempts: Iterable[_Attempt], folder: Path) -> Iterator[SortedPartition]:
    """Move each partition to its final path, and delete the other attempts."""
    for index, attempt in enumerate(attempts):
        (folder / attempt.name).rename(folder.parent / partition_name(index))
        yield attempt.partition
    for left in reversed(range(DELETIONS)):
        if folder.exists():
            rmtree(folder, ignore_errors=left > 0)


def _sorted(ids: pa.Array) -> pa.Array:
    return ids.take(pc.sort_indices(ids))


def _positions(ids: pa.Array, listed: pa.Array, name: str) -> npt.NDArray[np.int32]:
    positions = positions_by_text(ids, listed)
    if (positions < 0).any():
        stranger = ids[int(np.argmin(positions))].as_py()
        raise AnswerError("scale.id-not-in-list", name=name, stranger=stranger)
    return positions.astype(np.int32)


def _listed(
    store: Store, tasks: Iterable[Any] | None, workers: Iterable[Any] | None
) -> Answers | None:
    if tasks is None and workers is None:
        return None
    if tasks is None or workers is None:
        raise ParameterError("scale.both-lists-needed")
    nothing = pa.table({name: pa.nulls(0) for name in ("task", "worker", "label")})
    return Answers.from_frame(nothing, store.domain, tasks=tasks, workers=workers)
