"""Truth inference on a store: one partition at a time, and the state of the workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from attrs import evolve, field, frozen
from rich.console import Console
from rich.progress import Progress

from quietcrowd.domains import Domain
from quietcrowd.exceptions import AnswerError, FormatError, ParameterError
from quietcrowd.formats.files import check_folder, refuse_overwriting, replacing
from quietcrowd.formats.tables import check_target, write_table
from quietcrowd.frames import positions_by_text
from quietcrowd.inference.accuracies import histogram_bytes
from quietcrowd.inference.estimate import worker_columns
from quietcrowd.inference.fitting import FittingMethod
from quietcrowd.inference.noise_warning import report_warnings, signal_warnings, warn_of
from quietcrowd.inference.passes import State, Tally, add_up
from quietcrowd.inference.sweep import LoopProgress, available_threads, iterate
from quietcrowd.scale.checkpoint import Checkpoint
from quietcrowd.scale.executor import Executor, ThreadExecutor
from quietcrowd.scale.histograms import HistogramFile, worker_blocks
from quietcrowd.scale.partition_job import EstimatedPartition, Job, LastPass, LastTally
from quietcrowd.scale.store import Store
from quietcrowd.scale.stored_truths import match_truths, truth_domain
from quietcrowd.validation import check_whole

__all__ = [
    "EarlierEstimate",
    "StoreEstimate",
    "infer_store",
]


@frozen(kw_only=True, eq=False)
class StoreEstimate:
    """What a run on a store found.

    Attributes
    ----------
    method : FittingMethod
        What found it.
    store : Store
        What it was found from.
    truths : Path
        The Parquet file of the truths; columns as of `TruthEstimate.truths`.
    workers : pyarrow.Table
        Columns as of `TruthEstimate.workers`.
    known : int
        How many truths were given.
    tied : int
        How many labels are tied.
    state : State or None
        What the method believes of the workers.
    iterations : int
        How many times the workers were weighed.
    converged : bool
        Whether the objective converged before the limit of iterations.
    history : tuple of float
        The objective per answer after each iteration.
    notes : tuple of str
        As of `TruthEstimate`.
    job : Job
        What it was found by.
    """

    method: FittingMethod[Any, Any]
    store: Store
    truths: Path
    workers: pa.Table = field(repr=False)
    known: int
    tied: int
    state: State | None = field(repr=False)
    iterations: int
    converged: bool
    history: tuple[float, ...] = field(repr=False)
    notes: tuple[str, ...] = field(default=(), repr=False)
    job: Job = field(repr=False)

    @property
    def domain(self) -> Domain:
        """What a truth can be."""
        return truth_domain(self.store, self.method)

    def state_of(self, workers: pa.Array) -> State | None:
        """Return what is believed of workers with these ids, matched by what they print as."""
        if self.state is None:
            return None
        return self.state.take(positions_by_text(workers, self.store.workers))


class EarlierEstimate(Protocol):
    """What a run can start from: a `StoreEstimate`, a `TruthEstimate`, or what was kept of one."""

    @property
    def method(self) -> Any:
        """What found it."""

    @property
    def domain(self) -> Domain:
        """What a truth can be."""

    def state_of(self, workers: pa.Array) -> State | None:
        """Return what is believed of workers with these ids."""


def infer_store(
    store: Store,
    method: FittingMethod[Any, Any],
    truths: str | Path,
    workers: str | Path | None = None,
    *,
    start: EarlierEstimate | None = None,
    gold: Any = None,
    checkpoint: str | Path | None = None,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: bool = False,
) -> StoreEstimate:
    """Find the truths and the workers' quality from a store.

    They are bit for bit those of `FittingMethod.fit`, whatever the number of partitions and
    threads. In memory are one partition per thread, and what is known and believed of the workers.

    Parameters
    ----------
    store : Store
        Answers or reports.
    method : FittingMethod
        Any.
    truths : str or Path
        A Parquet file for the truths; partition by partition, it is there whole or not at all.
    workers : str or Path, optional
        A file for the workers' quality; its suffix says how.
    start : StoreEstimate or TruthEstimate, optional
        As of `FittingMethod.fit`; it does not go with a checkpoint.
    gold : dataframe or pandas Series, optional
        As of `FittingMethod.fit`.
    checkpoint : str or Path, optional
        A file that keeps the state after every iteration. A run that finds one of the same store,
        method and known truths goes on from it, and ends as if it had never stopped.
    threads : int, optional
        Default: as many as the process may use.
    executor : Executor, optional
        Who passes over the partitions, instead of threads of this process; a cluster is one of
        `quietcrowd.scale.connect`.
    progress : bool
        Whether to show a bar on standard error.

    Raises
    ------
    AnswerError
        As of `FittingMethod.fit`.
    ParameterError
        Where the checkpoint is of another run, two files to be written are one, one of them lies
        in the store, or `start` is of another kind of method or another domain.
    FormatError
        Where a partition or the checkpoint is not what was written, or a file that is to be
        written has another suffix.
    OSError
        Where a file cannot be opened or written.

    Warns
    -----
    NoiseIgnoredWarning, NoSignalWarning, SimulatedNoiseWarning
        As `FittingMethod.fit` does.
    """
    kept = None if checkpoint is None else Path(checkpoint)
    target = _check_targets(store, truths, workers, kept)
    threads = available_threads() if threads is None else threads
    check_whole("threads", threads, 1)
    job = _job(store, method, gold)
    states = None if kept is None else _checkpoint(job, kept)
    reached: LoopProgress[Any] = LoopProgress(state=_first_state(job, start, states is None))
    if states is not None:
        reached = states.load()
    if store.mechanism is not None:  # after all errors of what came in
        told = report_warnings(method, store.mechanism, simulated=store.simulated)
        warn_of(told, 2)
    with TemporaryFile(dir=target.parent) as file:
        with Progress(console=Console(stderr=True), disable=not progress, transient=True) as bar:
            run = _Run(job=job, executor=executor or ThreadExecutor(threads), bar=bar)
            save = None if states is None else states.save
            reached = iterate(method, job.summary, run.tally, reached, save)
            last = run.last_pass(reached.state, target, file)
        found = (job.summary, last.tally, reached.state, last.scatter)
        warn_of(signal_warnings(method, store.mechanism, *found), 2)
        qualities = method.qualities(job.summary, last.tally, reached.state)
    table = pa.table(worker_columns(store.workers, qualities, store.answers_per_worker))
    if workers is not None:
        write_table(table, workers)
    return StoreEstimate(
        method=method,
        store=store,
        truths=target,
        workers=table,
        known=len(job.known_truths),
        tied=last.tied,
        state=reached.state,
        iterations=len(reached.history),
        converged=reached.rests(method),
        history=reached.history,
        notes=method.notes(job.summary, reached.state, last.tally),
        job=job,
    )


def _check_targets(
    store: Store, truths: str | Path, workers: str | Path | None, checkpoint: Path | None
) -> Path:
    """Return where the truths go, if all that is to be written has a place of its own."""
    target = Path(truths)
    if not target.name.lower().endswith(".parquet"):
        raise FormatError(
            f"{target}: the truths of a store go to a Parquet file, whose name ends in .parquet"
        )
    check_folder(target)
    if workers is not None:
        check_target(Path(workers))
    refuse_overwriting(store.folder, target, None if workers is None else Path(workers), checkpoint)
    return target


def _job(store: Store, method: FittingMethod[Any, Any], truths: Any) -> Job:
    """Return what there is to do; errors are those of `FittingMethod.fit`."""
    if not len(store):
        raise AnswerError("there is no answer")
    if store.mechanism is not None:
        method.refuse(store.mechanism)
    known = match_truths(store, method, truths)
    summary = method.summarize(store.summary.of_truths(truth_domain(store, method)), known.values)
    place = store.folder.absolute()  # another process may stand in another folder
    return Job(
        store=evolve(store, folder=place), method=method, summary=summary, known_truths=known
    )


def _first_state(job: Job, start: EarlierEstimate | None, alone: bool) -> State | None:
    """Return what is believed of the workers at first, by an earlier estimate if there is one."""
    if start is None:
        return None
    if not alone:
        raise ParameterError("a run starts from an earlier estimate or a checkpoint, not from both")
    job.method.check_alike(start.method, start.domain, job.summary.domain)
    state = start.state_of(job.store.workers)
    return None if state is None else job.method.start_from(state, start.method, job.summary)


def _checkpoint(job: Job, path: Path) -> Checkpoint:
    return Checkpoint(
        path=path,
        method=job.method,
        store=job.store.fingerprint,
        known_truths=job.known_truths.fingerprint,
        example=job.example,
    )


@frozen(kw_only=True, eq=False)
class _Run:
    """Passes over all partitions that have tasks."""

    job: Job
    executor: Executor
    bar: Progress

    @property
    def indices(self) -> list[int]:
        partitions = self.job.store.partitions
        return [index for index, partition in enumerate(partitions) if partition.tasks]

    def tally(self, state: State | None) -> Tally:
        sums = self.executor.sums(Job.tally, self.job, self.indices, state)
        total: Tally = add_up(self._watched(sums, "sweep"))
        return total

    def last_pass(self, state: State | None, target: Path, aside: Any) -> LastTally:
        """Write the truths to a file, and return what they tell.

        Of accuracies it is told for some workers after the other, where they are many; that is put
        aside in another file.
        """
        summary = self.job.summary
        blocks = list(worker_blocks(summary.workers, histogram_bytes(summary)))
        if len(blocks) == 1:
            return self._estimate(LastPass(state=state), target)
        last = self._estimate(LastPass(state=state, judged=(0, 0)), target)
        told = getattr(last.tally, "histograms", None)
        if told is None or not told.ndim:  # the method does not tell of accuracies
            return last
        passes = (LastPass(state=state, judged=block) for block in blocks)
        histograms = HistogramFile.write(map(self._judge, passes), aside)
        return evolve(last, tally=evolve(last.tally, **{"histograms": histograms}))

    def _estimate(self, given: LastPass, target: Path) -> LastTally:
        parts = self.executor.each(Job.estimate, self.job, self.indices, given)
        watched = self._watched(_one_each(parts), "estimates")
        with replacing(target) as temporary:
            last: LastTally = add_up(_write(watched, temporary))
            return last

    def _judge(self, given: LastPass) -> npt.NDArray[np.int64]:
        sums = self.executor.sums(Job.judge, self.job, self.indices, given)
        histograms: npt.NDArray[np.int64] = add_up(self._watched(sums, "accuracies"))
        return histograms

    def _watched(self, results: Iterator[tuple[Any, int]], what: str) -> Iterator[Any]:
        shown = self.bar.add_task(what, total=len(self.indices))
        for result, partitions in results:
            yield result
            del result  # the next one comes
            self.bar.advance(shown, partitions)
        self.bar.remove_task(shown)


def _one_each(results: Iterator[Any]) -> Iterator[tuple[Any, int]]:
    """Yield results of one partition each, as `Executor.sums` does."""
    for result in results:
        yield result, 1
        del result  # the next one comes


def _write(parts: Iterator[EstimatedPartition], path: Path) -> Iterator[LastTally]:
    """Append the truths of each partition to a file, and yield what else it tells."""
    with ExitStack() as stack:
        writer = None
        for part in parts:
            if writer is None:
                writer = stack.enter_context(_table_writer(path, part.truths.schema))
            writer.write_table(part.truths)
            yield part.last
            del part  # the next one comes


def _table_writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    """Return what writes tables of truths; ids and floats hardly repeat: no dictionary of them."""
    repeated = [
        column.name
        for column in schema
        if column.name != "task" and not pa.types.is_floating(column.type)
    ]
    return pq.ParquetWriter(path, schema, compression="zstd", use_dictionary=repeated)
