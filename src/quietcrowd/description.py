"""Descriptive statistics of answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import asdict, frozen

from quietcrowd.exceptions import AnswerError
from quietcrowd.frames import as_frame, column_of, dictionary_codes, positions_by_text
from quietcrowd.intake import Intake, decoded

MOST_LABELS = 20
"""With more numbers, only quantiles are reported; more other labels are merged into one row."""

OTHERS = "others"


@frozen(kw_only=True)
class Spread:
    """Minimum, quartiles, mean and maximum of numbers."""

    least: float
    quarter: float
    median: float
    mean: float
    three_quarters: float
    most: float

    @classmethod
    def of(cls, numbers: npt.NDArray[Any]) -> Spread:
        """Compute the statistics of a nonempty array."""
        at = np.quantile(numbers, [0.0, 0.25, 0.5, 0.75, 1.0])
        low, quarter, median, upper, high = map(float, at)
        return cls(
            least=low,
            quarter=quarter,
            median=median,
            mean=float(numbers.mean()),
            three_quarters=upper,
            most=high,
        )


@frozen(kw_only=True)
class Description:
    """Descriptive statistics of answers and known truths.

    Attributes
    ----------
    tasks, workers, answers : int
        Repeated answers of a worker to a task count once, by the first row.
    repeated, contradicting : int
        Rows about a task that the same worker answered in an earlier row; those with another label
        than the first.
    missing : int
        Rows without a label, which count as no answer.
    sparsity : Spread
        Fraction of all tasks that a worker did not answer, over workers.
    answers_per_worker, answers_per_task : Spread
        Over workers, and tasks, that occur or are listed.
    labels : mapping of str to int, optional
        Number of answers with each label, in order of the labels; None for many numbers.
    numbers : Spread, optional
        Statistics of numeric answers.
    truths, unanswered_truths : int
        Number of tasks with a known truth, and of those without answers.
    truth_labels, truth_numbers : optional
        Like `labels` and `numbers`, for the known truths.
    right : float, optional
        Fraction of correct answers to tasks with a known truth.
    options_per_task : Spread, optional
        Numbers of possible labels over tasks, if tasks have different ones.
    """

    tasks: int
    workers: int
    answers: int
    repeated: int
    contradicting: int
    missing: int
    sparsity: Spread
    answers_per_worker: Spread
    answers_per_task: Spread
    labels: Mapping[str, int] | None
    numbers: Spread | None
    truths: int = 0
    truth_labels: Mapping[str, int] | None = None
    truth_numbers: Spread | None = None
    right: float | None = None
    unanswered_truths: int = 0
    options_per_task: Spread | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready description; it has options per task only if tasks have them."""
        described = asdict(self)
        if self.options_per_task is None:
            del described["options_per_task"]
        return described


def describe(frame: Any, truths: Any = None) -> Description:
    """Describe a dataframe of answers as `Answers.describe` does, repeated rows included.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [("a", "ann", 0), ("a", "bob", 1), ("b", "bob", 0), ("b", "bob", 1)]
    >>> found = describe(pd.DataFrame(rows, columns=["task", "worker", "label"]))
    >>> found.answers, found.repeated, found.contradicting, found.labels
    (3, 1, 1, {'0': 2, '1': 1})
    >>> found.sparsity.mean
    0.25
    """
    return describe_rows(Rows.of(frame), truths)


def describe_rows(rows: Rows, truths: Any) -> Description:
    """Describe answers, and known truths if they are not None."""
    if not len(rows.labels):
        raise AnswerError("datasets.no-answer")
    per_worker = np.bincount(rows.workers, minlength=len(rows.worker_ids))
    labels, numbers = _counted(rows.labels)
    return Description(
        tasks=len(rows.task_ids),
        workers=len(rows.worker_ids),
        answers=len(rows.labels),
        repeated=rows.repeated,
        contradicting=rows.contradicting,
        missing=rows.missing,
        sparsity=Spread.of(1.0 - per_worker / len(rows.task_ids)),
        answers_per_worker=Spread.of(per_worker),
        answers_per_task=Spread.of(np.bincount(rows.tasks, minlength=len(rows.task_ids))),
        labels=labels,
        numbers=numbers,
        **({} if truths is None else _of_truths(rows, truths)),
    )


@frozen(kw_only=True, eq=False)
class Rows:
    """Answers, each worker's first to a task, and numbers of other rows."""

    task_ids: pa.Array
    worker_ids: pa.Array
    tasks: npt.NDArray[np.int64]
    workers: npt.NDArray[np.int64]
    labels: pa.Array
    repeated: int
    contradicting: int
    missing: int

    @classmethod
    def of(cls, data: Any) -> Rows:
        """Read the rows of a dataframe."""
        frame = as_frame(data)
        intake = Intake()
        ids = [intake.ids(column_of(frame, name), name) for name in ("task", "worker")]
        (tasks, task_ids), (workers, worker_ids) = map(dictionary_codes, ids)
        labels = decoded(intake.encoded(column_of(frame, "label"), "label")).combine_chunks()
        intake.warn()
        given = pc.is_valid(labels).to_numpy(zero_copy_only=False)
        places = np.flatnonzero(given)
        pairs = workers[places].astype(np.int64) * len(task_ids) + tasks[places]
        _, first, which = np.unique(pairs, return_index=True, return_inverse=True)
        codes = dictionary_codes(pa.chunked_array([labels.take(pa.array(places))]))[0]
        kept = places[np.sort(first)]
        return cls(
            task_ids=task_ids,
            worker_ids=worker_ids,
            tasks=tasks[kept].astype(np.int64),
            workers=workers[kept].astype(np.int64),
            labels=labels.take(pa.array(kept)),
            repeated=len(places) - len(first),
            contradicting=int((codes != codes[first][which]).sum()),
            missing=len(labels) - len(places),
        )


def _counted(labels: pa.Array) -> tuple[dict[str, int] | None, Spread | None]:
    numbers = _as_numbers(labels)
    spread = None if numbers is None else Spread.of(numbers)
    if numbers is None:
        values, counts = np.unique(np.array(_texts(labels), object).astype(str), return_counts=True)
    else:
        values, counts = np.unique(numbers, return_counts=True)
        if len(values) > MOST_LABELS:
            return None, spread
    if len(values) > MOST_LABELS:
        often = np.sort(np.argsort(-counts, kind="stable")[: MOST_LABELS - 1])
        found = {str(values[place]): int(counts[place]) for place in often}
        return found | {OTHERS: int(counts.sum()) - sum(found.values())}, spread
    named = (str(value) if numbers is None else f"{value:g}" for value in values)
    return dict(zip(named, map(int, counts), strict=True)), spread


def _texts(labels: pa.Array) -> list[str]:
    return [str(label) for label in labels.to_pylist()]


def _as_numbers(labels: pa.Array) -> npt.NDArray[np.float64] | None:
    """Return labels as numbers if all are, also in text form; otherwise None."""
    try:
        numbers = pc.cast(pc.cast(labels, pa.string()), pa.float64()).to_numpy()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    return numbers if np.isfinite(numbers).all() else None


def _of_truths(rows: Rows, truths: Any) -> dict[str, Any]:
    frame = as_frame(truths)
    known = decoded(Intake().encoded(column_of(frame, "label"), "label")).combine_chunks()
    about = Intake().names(column_of(frame, "task"), "task").combine_chunks()
    given = pc.is_valid(known)
    known, about = known.filter(given), about.filter(given)
    if not len(known):
        return {}
    labels, numbers = _counted(known)
    places = positions_by_text(about, rows.task_ids)
    found = np.full(len(rows.task_ids), -1)
    found[places[places >= 0]] = np.flatnonzero(places >= 0)
    truth = found[rows.tasks]
    asked = truth >= 0
    right = equal_labels(rows.labels.filter(pa.array(asked)), known.take(pa.array(truth[asked])))
    answered = np.bincount(rows.tasks, minlength=len(rows.task_ids)) > 0
    return {
        "truths": len(known),
        "truth_labels": labels,
        "truth_numbers": numbers,
        "right": float(right.mean()) if len(right) else None,
        "unanswered_truths": int((places < 0).sum() + (~answered[places[places >= 0]]).sum()),
    }


def equal_labels(labels: pa.Array, truths: pa.Array) -> npt.NDArray[np.bool_]:
    """Compare as numbers if all are, otherwise as text."""
    ours, others = _as_numbers(labels), _as_numbers(truths)
    if ours is not None and others is not None:
        same: npt.NDArray[np.bool_] = ours == others
    else:
        same = np.array(_texts(labels), str) == np.array(_texts(truths), str)
    return same
