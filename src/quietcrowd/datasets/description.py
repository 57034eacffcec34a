"""What answers look like: how sparse they are, who answered how much, which labels occur."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import asdict, frozen

from quietcrowd.answers import Answers
from quietcrowd.exceptions import AnswerError
from quietcrowd.frames import as_frame, column_of, dictionary_codes, positions_by_text

__all__ = ["Description", "Spread", "describe"]

MOST_LABELS = 20
"""Where more numbers occur, quantiles stand for a count of each; other labels become one row."""

OTHERS = "others"


@frozen(kw_only=True)
class Spread:
    """Where numbers lie: the least, the quartiles, the mean and the most."""

    least: float
    quarter: float
    median: float
    mean: float
    three_quarters: float
    most: float

    @classmethod
    def of(cls, numbers: npt.NDArray[Any]) -> Spread:
        """Return that of an array with at least one number."""
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
    """What `describe` finds.

    Attributes
    ----------
    tasks, workers, answers : int
        A worker's answers to one task count once, by the first row.
    repeated : int
        Rows about a task that the same worker answered in a row before.
    contradicting : int
        Of these, the rows with another label than the first.
    missing : int
        Rows without a label. They count as no answer.
    sparsity : Spread
        Of the workers: the part of all tasks that a worker did not answer.
    answers_per_worker, answers_per_task : Spread
        Of those workers, and tasks, that occur or are listed.
    labels : mapping of str to int, optional
        How often each label was answered, in their order. None where these are many numbers.
    numbers : Spread, optional
        Of the answers, where these are numbers.
    truths : int
        Tasks whose truth is known.
    truth_labels : mapping of str to int, optional
        As `labels`, of the known truths.
    truth_numbers : Spread, optional
        As `numbers`.
    right : float, optional
        The part of the answers to tasks of known truth that is the truth.
    unanswered_truths : int
        Known truths of tasks that nobody answered. They are among `truths`.
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

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as what JSON knows."""
        return asdict(self)


def describe(answers: Any, truths: Any = None) -> Description:
    """Describe answers, and known truths.

    Parameters
    ----------
    answers : Answers or dataframe
        A frame has columns ``task``, ``worker`` and ``label``. `Answers` know more tasks and
        workers than occur, if they were listed.
    truths : dataframe, optional
        Known truths, in columns ``task`` and ``label``.

    Returns
    -------
    Description
        For the eyes of whoever may see the answers: counts of private answers are private.

    Raises
    ------
    AnswerError
        Where a column is missing, or there is no answer.

    References
    ----------
    H. Sun et al., IEEE Big Data 2018: Table II and Figure 1.

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
    rows = _Rows.of(answers)
    if not len(rows.labels):
        raise AnswerError("there is no answer to describe")
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
class _Rows:
    """Answers, one a task and worker, and what was left out on the way."""

    task_ids: pa.Array
    worker_ids: pa.Array
    tasks: npt.NDArray[np.int64]
    workers: npt.NDArray[np.int64]
    labels: pa.Array
    repeated: int
    contradicting: int
    missing: int

    @classmethod
    def of(cls, answers: Any) -> _Rows:
        if isinstance(answers, Answers):
            return cls(
                task_ids=answers.tasks,
                worker_ids=answers.workers,
                tasks=answers.task_codes.astype(np.int64),
                workers=answers.worker_codes.astype(np.int64),
                labels=column_of(as_frame(answers.to_frame("pyarrow")), "label").combine_chunks(),
                repeated=answers.dropped.duplicates,
                contradicting=0,
                missing=answers.dropped.out_of_domain,
            )
        frame = as_frame(answers)
        columns = [column_of(frame, name) for name in ("task", "worker", "label")]
        (tasks, task_ids), (workers, worker_ids) = map(dictionary_codes, columns[:2])
        if (tasks < 0).any() or (workers < 0).any():
            row = int(np.flatnonzero((tasks < 0) | (workers < 0))[0])
            raise AnswerError(f"row {row} has no {'task' if tasks[row] < 0 else 'worker'}")
        labels = columns[2].combine_chunks()
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
    """Return how often each label occurs, and where numbers lie."""
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
    """Return labels as numbers where all are, also where they are written as texts; else None."""
    try:
        numbers = pc.cast(pc.cast(labels, pa.string()), pa.float64()).to_numpy()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    return numbers if np.isfinite(numbers).all() else None


def _of_truths(rows: _Rows, truths: Any) -> dict[str, Any]:
    """Return what known truths add."""
    frame = as_frame(truths)
    known = column_of(frame, "label").combine_chunks()
    about = column_of(frame, "task").combine_chunks()
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
    right = _equal(rows.labels.filter(pa.array(asked)), known.take(pa.array(truth[asked])))
    answered = np.bincount(rows.tasks, minlength=len(rows.task_ids)) > 0
    return {
        "truths": len(known),
        "truth_labels": labels,
        "truth_numbers": numbers,
        "right": float(right.mean()) if len(right) else None,
        "unanswered_truths": int((places < 0).sum() + (~answered[places[places >= 0]]).sum()),
    }


def _equal(labels: pa.Array, truths: pa.Array) -> npt.NDArray[np.bool_]:
    """Return where labels are the truths: as numbers, if all are, or else as texts."""
    ours, others = _as_numbers(labels), _as_numbers(truths)
    if ours is not None and others is not None:
        same: npt.NDArray[np.bool_] = ours == others
    else:
        same = np.array(_texts(labels), str) == np.array(_texts(truths), str)
    return same
