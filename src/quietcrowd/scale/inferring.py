"""Truth inference on a store, with one partition per thread and the workers' state in memory."""

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
from quietcrowd.formats.files import check_folder, replacing, require_no_overwriting
from quietcrowd.formats.registry import check_target, write_table
from quietcrowd.frames import positions_by_text
from quietcrowd.inference.estimate import worker_columns
from quietcrowd.inference.fitting import FittingMethod
from quietcrowd.inference.labels.accuracies import histogram_bytes
from quietcrowd.inference.loop import LoopProgress, iterate, threads_of
from quietcrowd.inference.model import State, Tally, add_up
from quietcrowd.inference.notices import report_warnings, signal_warnings, warn_each
from quietcrowd.inference.reading import check_mixed
from quietcrowd.inference.shared_errors import SharedErrors
from quietcrowd.scale.checkpoint import Checkpoint
from quietcrowd.scale.executor import Executor, ThreadExecutor
from quietcrowd.scale.partition_job import (
    EstimatedPartition,
    HistogramFile,
    Job,
    LastPass,
    LastTally,
    match_truths,
    truth_domain,
    worker_blocks,
)
from quietcrowd.scale.store import Store


@frozen(kw_only=True, eq=False)
class StoreEstimate:
    """Result of truth inference on a store.

    Attributes
    ----------
    method : FittingMethod
        The truth inference method.
    store : Store
        The answers or reports.
    truths : Path
        Parquet file of the truths, with the columns of `TruthEstimate.truths`.
    workers : pyarrow.Table
        Columns as in `TruthEstimate.workers`.
    known : int
        Number of given truths.
    tied : int
        Number of tied labels.
    state : State or None
        The method's estimates of the workers.
    n_iter : int
        Number of updates of the state.
    converged : bool
        Whether the objective converged before the limit of iterations.
    history : tuple of float
        The objective per answer after each iteration.
    notes : tuple of str
        As in `TruthEstimate`.
    job : Job
        The work on a partition.
    """

    method: FittingMethod
    store: Store
    truths: Path
    workers: pa.Table = field(repr=False)
    known: int
    tied: int
    state: State | None = field(repr=False)
    n_iter: int
    converged: bool
    history: tuple[float, ...] = field(repr=False)
    notes: tuple[str, ...] = field(default=(), repr=False)
    job: Job = field(repr=False)

    @property
    def shared_errors(self) -> SharedErrors | None:
        """As in `TruthEstimate`."""
        return self.job.model.shared_errors(self.state)

    @property
    def domain(self) -> Domain:
        """Domain of the truths."""
        return truth_domain(self.store, self.method)

    def state_of(self, workers: pa.Array) -> State | None:
        """Return the state of workers with these ids; ids match if their text does."""
        if self.state is None:
            return None
        return self.state.take(positions_by_text(workers, self.store.workers))


class EarlierEstimate(Protocol):
    """A starting point for a run: a `StoreEstimate`, a `TruthEstimate`, or a stored estimate."""

    @property
    def method(self) -> Any:
        """The truth inference method."""

    @property
    def domain(self) -> Domain:
        """Domain of the truths."""

    def state_of(self, workers: pa.Array) -> State | None:
        """Return the state of workers with these ids."""


def infer_store(
    store: Store,
    method: FittingMethod,
    truths: str | Path,
    workers: str | Path | None = None,
    *,
    init: EarlierEstimate | None = None,
    gold: Any = None,
    checkpoint: str | Path | None = None,
    n_jobs: int | None = None,
    executor: Executor | None = None,
    progress: bool = False,
) -> StoreEstimate:
    """Infer the truths and the workers' quality from a store.

    The results equal those of `FittingMethod.fit` bit for bit, for any number of partitions and
    threads. Memory usage is one partition per thread and arrays over workers.

    Parameters
    ----------
    store : Store
        Answers or reports.
    method : FittingMethod
        Any truth inference method.
    truths : str or Path
        Parquet file for the truths. It appears only when it is complete.
    workers : str or Path, optional
        File for the workers' quality; its suffix selects the format.
    init : StoreEstimate or TruthEstimate, optional
        As in `FittingMethod.fit`; not together with a checkpoint.
    gold : dataframe or pandas Series, optional
        As in `FittingMethod.fit`.
    checkpoint : str or Path, optional
        File for the state after every iteration. A run that finds a checkpoint of the same store,
        method and known truths continues from it, with the result of an uninterrupted run.
    n_jobs : int, optional
        Threads. Default, and -1: all that the process may use.
    executor : Executor, optional
        Used instead of threads, such as a cluster from `quietcrowd.scale.connect`.
    progress : bool
        Whether to show a progress bar on standard error.

    Raises
    ------
    AnswerError
        As in `FittingMethod.fit`.
    ParameterError
        If the checkpoint belongs to another run, two output files are the same, an output file is
        in the store, or `init` has another kind of method or another domain.
    FormatError
        If a partition or the checkpoint is damaged, or the suffix of an output file is not known.
    OSError
        If a file cannot be opened or written.

    Warns
    -----
    NoiseIgnoredWarning, NoSignalWarning, SimulatedNoiseWarning
        As in `FittingMethod.fit`.
    """
    kept = None if checkpoint is None else Path(checkpoint)
    target = _check_targets(store, truths, workers, kept)
    threads = threads_of(n_jobs)
    executor = executor or ThreadExecutor(threads)
    job = _with_groups(_job(store, method, gold), executor)
    states = None if kept is None else _checkpoint(job, kept)
    reached = LoopProgress(state=_first_state(job, init, states is None))
    if states is not None:
        reached = states.load()
    if store.mechanism is not None:  # after all errors about the input
        messages = report_warnings(method, store.mechanism, simulated=store.simulated)
        warn_each(messages, 2)
    with TemporaryFile(dir=target.parent) as file:
        with Progress(console=Console(stderr=True), disable=not progress, transient=True) as bar:
            run = _Run(job=job, executor=executor, bar=bar)
            save = None if states is None else states.save
            reached = iterate(job.model, run.tally, reached, save)
            last = run.last_pass(reached.state, target, file)
        found = (last.tally, reached.state)
        warn_each(signal_warnings(job.model, store.mechanism, *found, last.scatter), 2)
        columns = job.model.workers(*found)
    table = pa.table(worker_columns(store.workers, columns, store.answers_per_worker))
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
        n_iter=len(reached.history),
        converged=reached.converged(job.model),
        history=reached.history,
        notes=job.model.notes(*found),
        job=job,
    )


def _check_targets(
    store: Store, truths: str | Path, workers: str | Path | None, checkpoint: Path | None
) -> Path:
    """Return the path of the truths; raise unless every output is a separate, writable file."""
    target = Path(truths)
    if not target.name.lower().endswith(".parquet"):
        raise FormatError("scale.truths-not-parquet", target=target)
    check_folder(target)
    if workers is not None:
        check_target(Path(workers))
    require_no_overwriting(
        store.folder, target, None if workers is None else Path(workers), checkpoint
    )
    return target


def _job(store: Store, method: FittingMethod, truths: Any) -> Job:
    if not len(store):
        raise AnswerError("scale.no-answer")
    if method.follows_time:
        raise AnswerError("inference.over-time-unsupported")
    if store.mechanism is not None:
        check_mixed(method, store.domain)
        method.check_mechanism(store.mechanism)
    known = match_truths(store, method, truths)
    summary = store.summary.of_truths(truth_domain(store, method))
    place = store.folder.absolute()  # workers may have another working directory
    return Job(
        store=evolve(store, folder=place),
        model=method.bind(summary, known.values),
        known_truths=known,
    )


def _with_groups(job: Job, executor: Executor) -> Job:
    """Return the job whose model knows the groups of workers, if it seeks them."""
    if not job.model.seeks_groups:
        return job
    indices = [index for index, one in enumerate(job.store.partitions) if one.tasks]
    found = executor.sums(Job.group_reports, job, indices, None)
    reports = add_up(part for part, _ in found)
    return evolve(job, model=job.model.with_groups(reports))


def _first_state(job: Job, init: EarlierEstimate | None, alone: bool) -> State | None:
    if init is None:
        return None
    if not alone:
        raise ParameterError("scale.start-or-checkpoint")
    method: FittingMethod = job.model.method
    method.check_alike(init.method, init.domain, job.model.summary.domain)
    state = init.state_of(job.store.workers)
    return None if state is None else job.model.start_from(state, init.method)


def _checkpoint(job: Job, path: Path) -> Checkpoint:
    return Checkpoint(
        path=path,
        method=job.model.method,
        store=job.store.fingerprint,
        known_truths=job.known_truths.fingerprint,
        example=job.example,
    )


@frozen(kw_only=True, eq=False)
class _Run:
    """Passes over all partitions with tasks."""

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
        """Write the truths to `target`, and return the remaining results.

        Histograms of accuracies that are too large for memory are computed for blocks of workers
        and written to the file `aside`.
        """
        summary = self.job.model.summary
        blocks = list(worker_blocks(summary.workers, histogram_bytes(summary)))
        if len(blocks) == 1:
            return self._estimate(LastPass(state=state), target)
        last = self._estimate(LastPass(state=state, judged=(0, 0)), target)
        counts = getattr(last.tally, "histograms", None)
        if counts is None or not counts.ndim:  # the method estimates no accuracies
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
            del result  # frees memory before the next one
            self.bar.advance(shown, partitions)
        self.bar.remove_task(shown)


def _one_each(results: Iterator[Any]) -> Iterator[tuple[Any, int]]:
    for result in results:
        yield result, 1
        del result  # frees memory before the next one


def _write(parts: Iterator[EstimatedPartition], path: Path) -> Iterator[LastTally]:
    """Append the truths of each partition to a Parquet file, and yield the remaining results."""
    with ExitStack() as stack:
        writer = None
        for part in parts:
            if writer is None:
                writer = stack.enter_context(_table_writer(path, part.truths.schema))
            writer.write_table(part.truths)
            yield part.last
            del part  # frees memory before the next one


def _table_writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    """Return a writer of truths, with dictionary encoding only for columns that repeat values."""
    repeated = [
        column.name
        for column in schema
        if column.name != "task" and not pa.types.is_floating(column.type)
    ]
    return pq.ParquetWriter(path, schema, compression="zstd", use_dictionary=repeated)
