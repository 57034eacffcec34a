"""The checked answers of one worker, as the table that a device randomizes.

All tasks are processed in the same order, answered or not. Errors name a task and never an answer,
since messages end up in logs.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from quietcrowd.answers import Answers
from quietcrowd.domains import Domain, FiniteDomain
from quietcrowd.exceptions import AnswerError
from quietcrowd.task_options import TaskOptions

TaskId: TypeAlias = str | int


def worker_table(
    answers: Mapping[Any, Any],
    *,
    domain: Domain,
    tasks: Sequence[TaskId],
    worker: TaskId,
    campaign: str,
    options: TaskOptions | None = None,
) -> Answers:
    """Return the answers of one worker as a table; all other parameters are public.

    In `answers`, None or a missing entry means that the worker gave no answer; tasks match by their
    text. `tasks` are all tasks of the campaign, sorted. `options` are those of each task, if any.
    """
    given = _by_text(answers, tasks, campaign)
    encoded = [_encode(domain, task, given.get(str(task))) for task in tasks]
    answered = np.array([given.get(str(task)) is not None for task in tasks], bool)
    values = np.concatenate(encoded)[answered]
    ids = pa.array(tasks)
    if options is not None:
        options = options.take(ids)
        _check_options(options, np.flatnonzero(answered), values)
    return Answers(
        domain=domain,
        options=options,
        tasks=ids,
        workers=pa.array([worker]),
        offsets=np.concatenate([[0], np.cumsum(answered)]),
        worker_codes=np.zeros(len(values), np.int32),
        values=values,
    )


def _check_options(
    options: TaskOptions, tasks: npt.NDArray[np.intp], values: npt.NDArray[Any]
) -> None:
    outside = options.positions(tasks, values) < 0
    if outside.any():
        task = int(tasks[outside.argmax()])
        raise AnswerError(
            "mechanisms.answer-outside-domain",
            task=options.tasks[task].as_py(),
            domain=options.describe(task),
        )


def _by_text(answers: Mapping[Any, Any], tasks: Sequence[TaskId], campaign: str) -> dict[str, Any]:
    if not isinstance(answers, Mapping):
        raise AnswerError(
            "mechanisms.answers-not-a-mapping", task=tasks[0], type_name=type(answers).__name__
        )
    given = {str(task): answer for task, answer in answers.items()}
    if len(given) < len(answers):
        raise AnswerError("mechanisms.tasks-print-alike")
    strangers = given.keys() - {str(task) for task in tasks}
    if strangers:
        raise AnswerError(
            "mechanisms.task-unknown",
            strangers=min(strangers),
            count=len(tasks),
            campaign=campaign,
            task=tasks[0],
        )
    return given


def _encode(domain: Domain, task: TaskId, answer: Any) -> npt.NDArray[Any]:
    """Return an answer, or a substitute for a missing one, as the domain stores it.

    With the substitute, answered and unanswered tasks take the same steps.
    """
    shown = answer
    if answer is None:
        shown = domain.labels[0] if isinstance(domain, FiniteDomain) else domain.low  # type: ignore[attr-defined]
    try:
        stored, inside = domain.encode(pa.chunked_array([pa.array([shown])]))
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        stored, inside = np.zeros(0), np.zeros(1, bool)
    if not inside[0]:
        raise AnswerError("mechanisms.answer-outside-domain", task=task, domain=domain.describe())
    return stored
