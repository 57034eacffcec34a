"""Conformance checks that methods for labels and for numbers share."""

import warnings
from collections.abc import Callable
from typing import Any, TypeAlias

import attrs
import numpy as np
import pandas as pd
import pyarrow as pa

from quietcrowd.answers import Answers
from quietcrowd.exceptions import AnswerError, QuietcrowdWarning
from quietcrowd.inference.estimate import TruthEstimate
from quietcrowd.inference.fitting import FittingMethod
from quietcrowd.inference.loop import run_loop
from quietcrowd.inference.notices import ignores_noise
from quietcrowd.inference.reading import Observations


def assert_estimates_equal(
    left: TruthEstimate[Any], right: TruthEstimate[Any], *, tied_tasks: bool = True
) -> None:
    """Raise `AssertionError` unless two estimates are bitwise equal, apart from the order of rows.

    Parameters
    ----------
    left, right : TruthEstimate
        Tasks and workers are matched by their ids as text.
    tied_tasks : bool
        Whether to compare the truths of tied tasks, which are random.
    """
    for name, key in (("truths", "task"), ("workers", "worker")):
        ours, theirs = (
            by_id(getattr(estimate, f"{name}_as")("pandas"), key) for estimate in (left, right)
        )
        assert_same(ours, theirs, tied_tasks=tied_tasks, name=name)
    assert left.history == right.history, f"histories differ: {left.history} and {right.history}"


def by_id(frame: pd.DataFrame, key: str) -> pd.DataFrame:
    """Sort a frame by its ids as text."""
    frame = frame.assign(**{key: frame[key].astype(str)})
    return frame.sort_values(key).reset_index(drop=True)


def assert_same(
    left: pd.DataFrame, right: pd.DataFrame, *, tied_tasks: bool, name: str = "truths"
) -> None:
    """Raise `AssertionError` unless two frames are bitwise equal, optionally without tied tasks."""
    if not tied_tasks and "tied" in left:
        pd.testing.assert_series_equal(left["tied"], right["tied"])
        left, right = (frame[~frame["tied"]] for frame in (left, right))
    pd.testing.assert_frame_equal(left, right, check_exact=True, check_dtype=False, obj=name)


AnyMethod: TypeAlias = FittingMethod

Feed: TypeAlias = Callable[[Answers], Any]
"""Converts answers to the input of a method: answers or reports."""


def fit(method: AnyMethod, data: Any, **options: Any) -> TruthEstimate[Any]:
    """Fit without the warnings about noise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QuietcrowdWarning)
        return method.fit(data, **options, non_private=True)


def extend(method: AnyMethod, start: TruthEstimate[Any], data: Any) -> TruthEstimate[Any]:
    """Extend without the warnings about noise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QuietcrowdWarning)
        return method.extend(start, data)


def check_row_order(method: AnyMethod, answers: Answers, feed: Feed) -> None:
    """Check that the order of rows does not change a bit."""
    frame = answers.to_frame()
    expected = fit(method, feed(Answers.from_frame(frame, answers.domain)))
    for seed in range(3):
        shuffled = frame.sample(frac=1, random_state=seed)
        again = fit(method, feed(Answers.from_frame(shuffled, answers.domain)))
        assert_estimates_equal(expected, again)


def check_names(method: AnyMethod, answers: Answers) -> None:
    """Check that renaming does not change a bit, except for ties, which depend on task names."""
    frame, domain = answers.to_frame(), answers.domain
    expected = fit(method, answers)

    count = frame["worker"].nunique()
    new_names = {worker: worker * 7 % count for worker in frame["worker"].unique()}
    assert len(set(new_names.values())) == count
    renamed = fit(
        method, Answers.from_frame(frame.assign(worker=frame["worker"].map(new_names)), domain)
    )
    assert_same(_tasks(expected), _tasks(renamed), tied_tasks=True)
    moved = _workers(expected).assign(
        worker=lambda found: found["worker"].astype(int).map(new_names)
    )
    assert_same(by_id(moved, "worker"), _workers(renamed), tied_tasks=True, name="workers")

    first = pd.Timestamp("2020-01-01")
    dates = first + pd.to_timedelta(frame["task"].astype(int), unit="D")
    dated = fit(method, Answers.from_frame(frame.assign(task=dates), domain))
    undated = dated.truths_as("pandas").assign(task=lambda found: (found["task"] - first).dt.days)
    assert_same(_tasks(expected), by_id(undated, "task"), tied_tasks=False)
    assert_same(_workers(expected), _workers(dated), tied_tasks=True, name="workers")


def _tasks(estimate: TruthEstimate[Any]) -> pd.DataFrame:
    return by_id(estimate.truths_as("pandas"), "task")


def _workers(estimate: TruthEstimate[Any]) -> pd.DataFrame:
    return by_id(estimate.workers_as("pandas"), "worker")


def check_partitions(method: AnyMethod, answers: Answers, feed: Feed) -> None:
    """Check that the number of partitions and threads does not change a bit."""
    with ignores_noise():
        model, partition, _ = method.prepare(Observations.read(feed(answers), method))
    whole = run_loop(model, [partition], n_jobs=1)
    for parts in (1, 2, 7):
        for n_jobs in (1, 2):
            split = partition.split(parts)
            assert len(split) == parts, f"{parts} partitions wanted, {len(split)} made"
            again = run_loop(model, split, n_jobs=n_jobs)
            for name in attrs.fields_dict(type(whole.estimates)):
                left, right = getattr(whole.estimates, name), getattr(again.estimates, name)
                same = np.array_equal(left, right, equal_nan=left.dtype.kind == "f")
                assert same, f"{name}: {parts} parts, {n_jobs} threads"
            assert whole.history == again.history, f"history: {parts} parts, {n_jobs} threads"


def check_libraries(method: AnyMethod, answers: Answers, *, numbers: bool = False) -> None:
    """Check frames of every library; `numbers` become fractions, as whole floats may be classes."""
    frame = answers.to_frame()
    if numbers:
        frame = frame.assign(label=frame["label"] + 0.5)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    expected = fit(method, frame)
    others: list[Any] = [table]
    try:
        import polars as pl
    except ImportError:
        pass
    else:
        others.append(pl.from_arrow(table))
    for other in others:
        estimate = fit(method, other)
        assert type(estimate.truths) is type(other), (
            f"{type(other)} in, {type(estimate.truths)} out"
        )
        assert type(estimate.workers) is type(other)
        assert_estimates_equal(expected, estimate)
    series = method.fit_predict(frame, non_private=True)
    assert series.name == "agg_label"
    assert series.index.name == "task"
    assert len(series) == frame["task"].nunique()


def check_warm_start(method: AnyMethod, answers: Answers, feed: Feed) -> None:
    """Check that a fit can start from an estimate, also with a new worker."""
    cold = fit(method, feed(answers))
    warm = fit(method, feed(answers), init=cold)
    assert warm.n_iter <= max(cold.n_iter, 3), f"{warm.n_iter} after {cold.n_iter}"
    newcomer = answers.to_frame()
    newcomer.loc[0, "worker"] = 10**6
    fit(method, feed(Answers.from_frame(newcomer, answers.domain)), init=cold)


def check_extension(method: AnyMethod, answers: Answers, feed: Feed) -> None:
    """Check that new tasks and workers can be added to an estimate."""
    frame = answers.to_frame()
    new = frame["task"].isin(frame["task"].unique()[::10])
    renamed = frame["worker"].where(frame["worker"] != frame["worker"].iloc[-1], 10**6)
    parts = (
        Answers.from_frame(part, answers.domain)
        for part in (frame[~new], frame[new].assign(worker=renamed[new]))
    )
    old, fresh = (feed(part) for part in parts)
    start = fit(method, old)
    more = extend(method, start, fresh)
    assert len(more.truths) == len(fresh.tasks if isinstance(fresh, Answers) else fresh.table.tasks)
    before, after, added = (
        _answers_by_worker(estimate) for estimate in (start, more, fit(method, fresh))
    )
    together = {name: before.get(name, 0) + added.get(name, 0) for name in before | added}
    assert after == together, "the counts of answers do not add up"
    for again in (fresh, old):
        try:
            extend(method, more if again is fresh else start, again)
        except AnswerError:
            continue
        raise AssertionError(
            "the method must raise an AnswerError for a task of the earlier estimate"
        )


def _answers_by_worker(estimate: TruthEstimate[Any]) -> dict[Any, int]:
    workers = estimate.workers_as("pandas")
    return dict(zip(workers["worker"], workers["answers"], strict=True))


def check_gold(
    method: AnyMethod, answers: Answers, feed: Feed, truths: pd.DataFrame, wrong: pd.DataFrame
) -> None:
    """Check that known truths stay unchanged, even `wrong` ones, and influence workers."""
    for known in (truths, wrong):
        estimate = fit(method, feed(answers), gold=known)
        found = by_id(estimate.truths_as("pandas"), "task").set_index("task")
        expected = known.assign(task=known["task"].astype(str)).set_index("task")["label"]
        rows = found.loc[expected.index]
        given = rows["truth"].to_numpy() == expected.to_numpy()
        assert given.all(), "a known truth changed"
        if "confidence" in rows:
            assert (rows["confidence"] == 1).all(), "the confidence of a known truth is not 1"
            assert not rows["tied"].any(), "a known truth is tied"
        else:
            assert (rows["standard_error"] == 0).all(), "a known truth has a standard error"
        shuffled = fit(method, feed(answers), gold=known.sample(frac=1, random_state=1))
        assert_estimates_equal(estimate, shuffled)
        _check_gold_partitions(method, feed(answers), known, estimate)
    before, after = (
        fit(method, feed(answers), gold=known).workers_as("pandas").drop(columns="worker")
        for known in (None, wrong)
    )
    if before.drop(columns="answers").nunique().max() > 1:  # the method distinguishes workers
        assert not before.equals(after), "known truths do not affect the workers"
    stranger = truths.assign(task=[f"{task} too" for task in truths["task"]])
    for broken in (stranger, pd.concat([truths, truths]), truths.iloc[:0]):
        try:
            fit(method, feed(answers), gold=broken)
        except AnswerError:
            continue
        raise AssertionError("known truths of no task, or repeated, must raise an AnswerError")


def _check_gold_partitions(
    method: AnyMethod, data: Any, known: pd.DataFrame, expected: TruthEstimate[Any]
) -> None:
    with ignores_noise():
        model, partition, _ = method.prepare(Observations.read(data, method), known)
    again = run_loop(model, partition.split(5), n_jobs=2)
    assert again.history == expected.history, "known truths depend on the partitions"


def check_empty(method: AnyMethod) -> None:
    """Check that an empty frame is an error."""
    try:
        method.fit(pd.DataFrame({"task": [], "worker": [], "label": []}), non_private=True)
    except AnswerError:
        return
    raise AssertionError("an empty frame must raise an AnswerError")
