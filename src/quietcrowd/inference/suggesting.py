"""Suggestion of tasks for which further reports are expected to lower the error most.

Suggestions are computed from reports only, and so have no further privacy loss. The assignment of
tasks then depends on earlier reports: ``docs/run/where-to-ask.md`` explains the consequences.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from quietcrowd.exceptions import ParameterError
from quietcrowd.frames import positions_by_text
from quietcrowd.inference.further_report import FurtherReport
from quietcrowd.inference.model import SuggestsTasks
from quietcrowd.inference.partition import hash_ids
from quietcrowd.inference.task_estimates import LabelEstimates
from quietcrowd.validation import check_whole

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

_ODD = np.uint64(0x9E3779B97F4A7C15)
"""An odd number near 2^64 divided by the golden ratio; products with it mix hashes."""

_SIZES = np.array([0, 1, 2, 4, 8, 16, 32, 64])
"""Block sizes of further reports of a task that are evaluated."""


def suggested_gold(estimate: Any, tasks: int) -> dict[str, Any]:
    """Return the columns of `TruthEstimate.suggest_gold`."""
    check_whole("tasks", tasks, 1)
    _check_posterior(estimate, "suggest_gold")
    found, draws = estimate.estimates, hash_ids(estimate.answers.tasks)
    labels = isinstance(found, LabelEstimates)
    errors = 1.0 - found.confidence if labels else found.standard_error
    open_tasks = np.flatnonzero(~estimate.known & (estimate.answers.answers_per_task > 0))
    seed = np.uint64(estimate.method.random_state)
    mixed = (draws[open_tasks] ^ seed) * _ODD  # another order than that which breaks ties
    at_random = open_tasks[np.argsort(mixed, kind="stable")][: -(-tasks // 2)]
    rest = np.setdiff1d(open_tasks, at_random)
    uncertain = rest[np.argsort(-errors[rest], kind="stable")][: tasks - len(at_random)]
    chosen = np.concatenate([at_random, uncertain])
    return {
        "task": estimate.answers.tasks.take(pa.array(chosen)),
        "chosen": ["at random"] * len(at_random) + ["uncertain"] * len(uncertain),
        "error": errors[chosen],
    }


def _check_posterior(estimate: Any, name: str) -> None:
    if estimate.partition is None:
        raise ParameterError(
            "inference.suggestions-need-posterior",
            function=name,
            name=type(estimate.method).__name__,
        )


def suggested_tasks(
    estimate: Any, answers: int, per_task: int | None, worker: Any
) -> dict[str, Any]:
    """Return the columns of `TruthEstimate.suggest_tasks`."""
    check_whole("answers", answers, 1)
    if per_task is not None:
        check_whole("per_task", per_task, 1)
    if estimate.answers.options is not None:
        raise ParameterError("inference.suggestions-without-options")
    _check_posterior(estimate, "suggest_tasks")
    who = None if worker is None else _place_of(worker, estimate)
    open_tasks = ~estimate.known if who is None else ~estimate.known & ~_answered(estimate, who)
    model: Any = estimate.model
    if not isinstance(model, SuggestsTasks):
        raise ParameterError(
            "inference.suggestions-unsupported", type_name=type(model.method).__name__
        )
    further: FurtherReport = model.further_report(estimate.state, who)
    beliefs = model.beliefs(estimate.partition, estimate.state)
    most = 1 if who is not None else per_task
    counts, errors = further_answers(further, beliefs, open_tasks, int(answers), most)
    values = block_values(errors)
    chosen = np.flatnonzero(counts)
    chosen = chosen[np.argsort(-values[chosen], kind="stable")]
    found, labels = estimate.estimates, isinstance(estimate.estimates, LabelEstimates)
    return {
        "task": estimate.answers.tasks.take(pa.array(chosen)),
        "answers": counts[chosen],
        "value": values[chosen],
        "error": 1.0 - found.confidence[chosen] if labels else errors[chosen, 0],
    }


def further_answers(
    further: FurtherReport,
    beliefs: Floats,
    open_tasks: npt.NDArray[np.bool_],
    answers: int,
    per_task: int | None = None,
) -> tuple[Counts, Floats]:
    """Return the number of answers suggested for each task, and its expected errors.

    Counts sum to `answers`, or to less if `per_task` does not allow that. Errors, shape (tasks,
    sizes), are those after `_SIZES` further reports, and 0 for tasks that are not in `open_tasks`.
    """
    errors = np.zeros((len(open_tasks), len(_SIZES)))
    if open_tasks.any():
        errors[open_tasks] = further.errors(beliefs[open_tasks], _SIZES)
    most = per_task or -(-3 * answers // max(1, int(open_tasks.sum())))
    return _allotted(errors, np.where(open_tasks, most, 0), answers), errors


def _place_of(worker: Any, estimate: Any) -> int:
    place = int(positions_by_text(pa.array([worker]), estimate.answers.workers)[0])
    if place < 0:
        raise ParameterError("inference.worker-without-report", worker=worker)
    return place


def _answered(estimate: Any, worker: int) -> npt.NDArray[np.bool_]:
    found = np.zeros(len(estimate.known), np.bool_)
    found[estimate.answers.task_codes[estimate.answers.worker_codes == worker]] = True
    return found


def block_values(errors: Floats) -> Floats:
    """Return the drop of the error per report in the best block, shape (tasks,)."""
    drops = errors[:, :1] - errors[:, 1:]
    values: Floats = (drops / _SIZES[1:]).max(axis=1)
    return values


def _allotted(errors: Floats, most: Counts, answers: int) -> Counts:
    """Take pieces of the tasks' least concave majorants in decreasing order of value."""
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
