"""Transformations of data sets: other units, or a subset of tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from quietcrowd.answers import Answers
from quietcrowd.datasets.dataset import Dataset
from quietcrowd.domains import Interval, Ordinal, check_numeric
from quietcrowd.exceptions import AnswerError
from quietcrowd.validation import check_real, check_whole


def log10_dataset(dataset: Dataset) -> Dataset:
    """Return the decimal logarithms of answers and truths; the new domain begins at 0.

    Raises AnswerError if an answer or a truth is below 1, or the domain is not an interval.
    """
    frame, truths = _frames(dataset)
    for numbers in (frame["label"], truths["label"]):
        if (numbers < 1).any():
            raise AnswerError(
                f"{dataset.name}: {float(numbers.min())!r} is below 1, where no logarithm is taken"
            )
    domain = dataset.answers.domain
    if not isinstance(domain, Interval):
        raise AnswerError(f"logarithms are taken of an Interval; got {domain.example()}")
    return _rebuilt(
        f"{dataset.name}, log10",
        frame.assign(label=np.log10(frame["label"])),
        truths.assign(label=np.log10(truths["label"])),
        Interval(low=0, high=float(np.log10(domain.high))),
        dataset,
        _texts(dataset.answers.tasks),
    )


def recoded_dataset(dataset: Dataset, codes: Mapping[Any, Any], domain: Ordinal) -> Dataset:
    """Replace labels by the levels of another domain, in answers and truths.

    `codes` maps every label that occurs to a level of `domain`; AnswerError is raised for others.
    """
    frame, truths = dataset.answers.to_frame(), pa.table(dataset.truths).to_pandas()
    by_text = {str(label): code for label, code in codes.items()}
    for labels in (frame["label"], truths["label"]):
        unknown = set(labels.astype(str)) - by_text.keys()
        if unknown:
            raise AnswerError(f"{dataset.name}: {min(unknown)!r} occurs, and has no code")
    answers = dataset.answers
    return _rebuilt(
        f"{dataset.name}, recoded",
        frame.assign(label=frame["label"].astype(str).map(by_text)),
        truths.assign(label=truths["label"].astype(str).map(by_text)),
        domain,
        dataset,
        _texts(answers.tasks),
    )


def standardised_dataset(
    dataset: Dataset, *, bound: float = 4.0, least_spread: float = 0.0
) -> Dataset:
    """Standardize answers and truths by the mean and standard deviation of their task's answers.

    Both come from the non-private answers, so a requester who sees only reports cannot compute
    them. Results are clipped to `bound`. Tasks with a standard deviation of at most `least_spread`,
    in the unit of the answers, are dropped. Raises AnswerError if the answers are not numeric, or
    no task remains.
    """
    check_real("bound", bound, 1)
    check_real("least_spread", least_spread, 0)
    frame, truths = _frames(dataset)
    given = frame.groupby("task")["label"]
    mean, spread = given.mean(), given.std(ddof=0)
    spread = spread[spread > least_spread]
    if spread.empty:
        raise AnswerError(f"{dataset.name}: no task's answers deviate by more than {least_spread}")

    def moved(part: pd.DataFrame) -> pd.DataFrame:
        kept = part[part["task"].isin(spread.index)]
        distance = (kept["label"] - kept["task"].map(mean)) / kept["task"].map(spread)
        return kept.assign(label=distance.clip(-bound, bound))

    return _rebuilt(
        f"{dataset.name}, standardised",
        moved(frame),
        moved(truths),
        Interval(low=-bound, high=bound),
        dataset,
        [task for task in _texts(dataset.answers.tasks) if task in spread.index],
    )


def selected_tasks(dataset: Dataset, *, least_answers: int = 1, known: bool = False) -> Dataset:
    """Select the tasks that have enough answers and, if `known`, a known truth.

    Workers without remaining answers stay listed. Raises AnswerError if the domain is not an
    interval, or no task remains.
    """
    check_whole("least_answers", least_answers, 1)
    frame, truths = _frames(dataset)
    domain = dataset.answers.domain
    if not isinstance(domain, Interval):
        raise AnswerError(f"tasks are selected of an Interval; got {domain.example()}")
    counts = frame["task"].value_counts()
    kept = set(counts.index[counts >= least_answers])
    kept &= set(truths["task"]) if known else kept
    if not kept:
        raise AnswerError(
            f"{dataset.name}: no task has {least_answers} answers"
            f"{' and a known truth' if known else ''}"
        )
    return _rebuilt(
        dataset.name,
        frame[frame["task"].isin(kept)],
        truths[truths["task"].isin(kept)],
        domain,
        dataset,
        [task for task in _texts(dataset.answers.tasks) if task in kept],
    )


def _frames(dataset: Dataset) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return dataframes of numbers; tasks and workers are strings, by which truths are matched."""
    answers = dataset.answers
    numbers = check_numeric(answers.domain, "another unit").numbers(answers.values)
    frame, truths = answers.to_frame(), pa.table(dataset.truths).to_pandas()
    return (
        frame.assign(
            label=numbers,
            task=frame["task"].astype(str),
            worker=frame["worker"].astype(str),
        ),
        truths.assign(label=truths["label"].astype(float), task=truths["task"].astype(str)),
    )


def _texts(ids: Any) -> list[str]:
    return [*ids.to_pandas().astype(str)]


def _rebuilt(
    name: str,
    frame: pd.DataFrame,
    truths: pd.DataFrame,
    domain: Interval | Ordinal,
    dataset: Dataset,
    tasks: list[str],
) -> Dataset:
    """Return a data set with the given tasks and all workers, also those without answers."""
    workers = _texts(dataset.answers.workers)
    return Dataset(
        name=name,
        answers=Answers.from_frame(frame, domain, tasks=tasks, workers=workers),
        truths=pa.Table.from_pandas(truths, preserve_index=False),
        remark=dataset.remark,
    )
