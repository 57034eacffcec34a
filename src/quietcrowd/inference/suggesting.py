"""Which tasks to ask next: where further reports are expected to lower the error most.

What is known of a task is its posterior, what a further report would tell the law that the method
believes it to have; nothing else is used. So the suggestion is computed from reports alone, and
loses nothing by itself. But who is asked what then depends on the reports so far:
``docs/where-to-ask.md`` says what follows from that.
"""

from __future__ import annotations

from typing import Any, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from quietcrowd.exceptions import ParameterError
from quietcrowd.frames import Backend, positions_by_text, to_native
from quietcrowd.inference.estimate import FrameT_co, TruthEstimate
from quietcrowd.inference.further_report import FurtherReport
from quietcrowd.inference.model import SuggestsTasks
from quietcrowd.validation import check_whole

__all__ = ["block_values", "further_answers", "suggest_tasks"]

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

_SIZES = np.array([0, 1, 2, 4, 8, 16, 32, 64])
"""Numbers of further reports of a task that are looked ahead."""


@overload
def suggest_tasks(
    estimate: TruthEstimate[FrameT_co],
    answers: int = 100,
    *,
    per_task: int | None = None,
    worker: Any = None,
    backend: None = None,
) -> FrameT_co: ...
@overload
def suggest_tasks(
    estimate: TruthEstimate[Any],
    answers: int = 100,
    *,
    per_task: int | None = None,
    worker: Any = None,
    backend: Backend | None = None,
) -> Any: ...


def suggest_tasks(
    estimate: TruthEstimate[Any],
    answers: int = 100,
    *,
    per_task: int | None = None,
    worker: Any = None,
    backend: Backend | None = None,
) -> Any:
    """Return which tasks to ask next, and how many answers of each.

    A single further report seldom changes what is believed of a label where the noise is large, so
    blocks of up to 64 are looked at: the value of a task is the drop of its error per report, of
    the best block. Answers go where it is largest, at most `per_task` to a task: reports that come
    in may change what is best, so ask few, infer again, and ask again.

    Parameters
    ----------
    estimate : TruthEstimate
        Of a method with a posterior, as `NoiseAware`.
    answers : int
        How many answers to allot, at least 1.
    per_task : int, optional
        Most of them for one task. Default: three times the even share, rounded up.
    worker : id, optional
        Who is to answer: tasks that this worker answered are left out, and each of the others is
        asked once at most. By default anybody, a typical worker of the crowd.
    backend : {"pandas", "polars", "pyarrow"}, optional
        Of the frame; by default that of the estimate.

    Returns
    -------
    dataframe
        Columns ``task``; ``answers``, how many to ask for; ``value``, the drop of the error per
        report that is expected; ``error``, the one that is expected now: of a label the probability
        that it is wrong, of a number the mean absolute error. The tasks with most value first;
        those of no answers are not in it, nor are those whose truths are known.

    Raises
    ------
    ParameterError
        Where the method has no posterior or does not say what a further report would tell; where
        every worker reports every task; a number is out of its range, or the worker is not in the
        estimate.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import quietcrowd as qc
    >>> warnings.simplefilter("ignore", qc.SimulatedNoiseWarning)  # simulated on purpose
    >>> crowd = qc.synthetic_crowd(tasks=50, workers=30, answers_per_task=6, seed=1)
    >>> mechanism = qc.RandomizedResponse(domain=crowd.answers.domain, epsilon=2.0)
    >>> reports = mechanism.randomize(crowd.answers, rng=np.random.default_rng(1))
    >>> asked = suggest_tasks(qc.NoiseAware().fit(reports), answers=20)
    >>> int(asked["answers"].sum()), asked["value"].is_monotonic_decreasing
    (20, True)
    """
    check_whole("answers", answers, 1)
    if per_task is not None:
        check_whole("per_task", per_task, 1)
    given: Any = estimate
    partition = given.partition if isinstance(given, TruthEstimate) else None
    if partition is None:
        name = type(getattr(estimate, "method", estimate)).__name__
        raise ParameterError(
            f"suggest_tasks needs the estimate of a method with a posterior, as NoiseAware; got "
            f"one of {name}"
        )
    who = None if worker is None else _place_of(worker, estimate)
    open_tasks = ~estimate.known if who is None else ~estimate.known & ~_answered(estimate, who)
    model: Any = estimate.model
    if not isinstance(model, SuggestsTasks):
        raise ParameterError(
            f"{type(model.method).__name__} does not say what a further report would tell; "
            "NoiseAware does"
        )
    further: FurtherReport = model.further_report(estimate.state, who)
    beliefs = model.beliefs(partition, estimate.state)
    most = 1 if who is not None else per_task
    counts, errors = further_answers(further, beliefs, open_tasks, int(answers), most)
    values = block_values(errors)
    chosen = np.flatnonzero(counts)
    chosen = chosen[np.argsort(-values[chosen], kind="stable")]
    return to_native(
        {
            "task": estimate.answers.tasks.take(pa.array(chosen)),
            "answers": counts[chosen],
            "value": values[chosen],
            "error": errors[chosen, 0],
        },
        backend or estimate.backend,
    )


def further_answers(
    further: FurtherReport,
    beliefs: Floats,
    open_tasks: npt.NDArray[np.bool_],
    answers: int,
    per_task: int | None = None,
) -> tuple[Counts, Floats]:
    """Return how many answers each task gets, and its error after blocks of further reports.

    Parameters
    ----------
    further : FurtherReport
        What a report tells.
    beliefs : ndarray of float64
        What is believed of the tasks, as `further` takes it.
    open_tasks : ndarray of bool, shape (tasks,)
        Which of them can be asked.
    answers, per_task
        As of `suggest_tasks`.

    Returns
    -------
    ndarray of int64, shape (tasks,)
        They sum to `answers`, or to less where there is no room.
    ndarray of float64, shape (tasks, sizes)
        0 of those that cannot be asked.
    """
    errors = np.zeros((len(open_tasks), len(_SIZES)))
    if open_tasks.any():
        errors[open_tasks] = further.errors(beliefs[open_tasks], _SIZES)
    most = per_task or -(-3 * answers // max(1, int(open_tasks.sum())))
    return _allotted(errors, np.where(open_tasks, most, 0), answers), errors


def _place_of(worker: Any, estimate: TruthEstimate[Any]) -> int:
    place = int(positions_by_text(pa.array([worker]), estimate.answers.workers)[0])
    if place < 0:
        raise ParameterError(
            f"worker {worker!r} has no report in the estimate: leave worker= out, for a typical "
            "one of the crowd"
        )
    return place


def _answered(estimate: TruthEstimate[Any], worker: int) -> npt.NDArray[np.bool_]:
    found = np.zeros(len(estimate.known), np.bool_)
    found[estimate.answers.task_codes[estimate.answers.worker_codes == worker]] = True
    return found


def block_values(errors: Floats) -> Floats:
    """Return the drop of the error per report of the best block, shape (tasks,)."""
    drops = errors[:, :1] - errors[:, 1:]
    values: Floats = (drops / _SIZES[1:]).max(axis=1)
    return values


def _allotted(errors: Floats, most: Counts, answers: int) -> Counts:
    """Return how many of the answers each task gets, shape (tasks,).

    Of the least concave curve above the drops of a task's error each piece has a value per report,
    and they fall; the pieces of all tasks are taken in the order of that.
    """
    values, lengths = _pieces(errors)
    before = np.cumsum(lengths, axis=1) - lengths
    room = np.clip(most[:, np.newaxis] - before, 0, lengths).reshape(-1)
    order = np.argsort(-values.reshape(-1), kind="stable")
    earlier = np.cumsum(room[order]) - room[order]
    shares = np.zeros(values.size, np.int64)
    shares[order] = np.clip(answers - earlier, 0, room[order])
    found: Counts = shares.reshape(values.shape).sum(axis=1)
    return found


def _pieces(errors: Floats) -> tuple[Floats, Counts]:
    """Return the pieces of each task's concave curve: values per report, and lengths."""
    tasks, last = len(errors), len(_SIZES) - 1
    values, lengths = np.zeros((tasks, last)), np.zeros((tasks, last), np.int64)
    start = np.zeros(tasks, np.intp)
    for piece in range(last):
        ahead = _SIZES - _SIZES[start][:, np.newaxis]
        drops = np.take_along_axis(errors, start[:, np.newaxis], 1) - errors
        with np.errstate(divide="ignore", invalid="ignore"):
            slopes = np.where(ahead > 0, drops / ahead, -np.inf)
        best = slopes.argmax(axis=1)
        going = start < last
        best = np.where(going, best, start)
        values[:, piece] = np.where(going, slopes[np.arange(tasks), best], 0.0)
        lengths[:, piece] = _SIZES[best] - _SIZES[start]
        start = best
    return values, lengths
