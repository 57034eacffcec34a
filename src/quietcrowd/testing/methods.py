"""Conformance checks of truth-inference methods."""

import json
from typing import Any, cast

import attrs
import numpy as np
import pandas as pd
import pyarrow as pa

from quietcrowd.answers import Answers
from quietcrowd.datasets.crowds import make_crowd
from quietcrowd.domains import Categorical, Interval, check_finite
from quietcrowd.frames import positions_by_text
from quietcrowd.inference.estimate import LabelEstimate, NumericEstimate
from quietcrowd.inference.fitting import FittingMethod
from quietcrowd.inference.registry import METHODS, method_from_dict
from quietcrowd.mechanisms.label_mechanism import LabelMechanism
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.report_domains import Reals
from quietcrowd.testing import method_checks as shared
from quietcrowd.testing.method_checks import assert_same, by_id, fit

SEED = 20_180_819


def check_method(
    method: FittingMethod, mechanism: type[Mechanism] | None = None, **parameters: Any
) -> None:
    """Check that a truth-inference method conforms; raise `AssertionError` if not.

    The checks cover row order, names, units, types of ids, ties, dataframe libraries, partitions,
    threads, warm starts and JSON.

    Parameters
    ----------
    method : FittingMethod
        The method to check.
    mechanism : type of Mechanism, optional
        Mechanism of the reports, for a method that cannot read non-private answers.
    **parameters
        Parameters of the mechanism.
    """

    def feed(answers: Answers) -> Any:
        if mechanism is None:
            return answers
        randomiser = mechanism.from_claimed_epsilon(domain=answers.domain, **parameters)
        return randomiser.simulate(answers, random_state=SEED)

    if METHODS.get(method.name) is type(method):
        assert method_from_dict(json.loads(json.dumps(method.to_dict()))) == method
    of_labels = mechanism is None or issubclass(mechanism, LabelMechanism)
    if method.infers_labels(Categorical(["no", "yes"]) if of_labels else Reals()):
        check_label_method(method, feed)
    else:
        check_numeric_method(method, feed, plain=mechanism is None)


NUMBERS_SEED = 20_181_210


def check_numeric_method(method: FittingMethod, feed: shared.Feed, *, plain: bool) -> None:
    """Run all checks; see `check_method`. `plain`: the method reads non-private answers."""
    crowd = make_crowd(
        kind="sparse",
        tasks=40,
        workers=23,
        sparsity=0.5,
        truths="uniform",
        random_state=NUMBERS_SEED,
    )
    answers = crowd.answers
    shared.check_row_order(method, answers, feed)
    shared.check_partitions(method, answers, feed)
    shared.check_warm_start(method, answers, feed)
    shared.check_extension(method, answers, feed)
    truths = crowd.truths.to_pandas().iloc[:15]
    wrong = truths.assign(label=9.0 - truths["label"])
    shared.check_gold(method, answers, feed, truths, wrong)
    shared.check_empty(method)
    if plain:
        shared.check_names(method, answers)
        shared.check_libraries(method, answers, numbers=True)
        _check_errors(method, answers)
        _check_units(method, answers)
        _check_few_numbers(method)


def _check_errors(method: FittingMethod, answers: Answers) -> None:
    estimate = cast(NumericEstimate, fit(method, answers))
    truths = estimate.estimates.truths
    table = answers.to_frame().assign(truth=truths[answers.task_codes])
    table["squared"] = (table["label"] - table["truth"]) ** 2
    counts = np.maximum(answers.answers_per_worker, 1)
    squared = np.bincount(
        answers.worker_codes, weights=table["squared"], minlength=len(answers.workers)
    )
    answered = answers.answers_per_worker > 0
    error = np.sqrt(squared / counts)[answered]
    np.testing.assert_allclose(estimate.error[answered], error, rtol=1e-6, err_msg="errors are off")
    spread = np.sqrt(table.groupby("task")["squared"].mean())
    np.testing.assert_allclose(
        estimate.estimates.spread[answers.answers_per_task > 0],
        spread,
        rtol=1e-6,
        err_msg="spreads are off",
    )
    if not method.errors_from_model:
        _check_standard_errors(estimate, table)
    ends = table.groupby("task")["label"].agg(["min", "max"])
    within = table.groupby("task")["truth"].first().between(ends["min"] - 1e-9, ends["max"] + 1e-9)
    assert within.all(), "a truth is outside the range of its task's answers"
    assert abs(np.nansum(estimate.weight) - 1) < 1e-9, "qualities do not sum to 1"


def _check_standard_errors(estimate: NumericEstimate, table: pd.DataFrame) -> None:
    weights = estimate.weight[estimate.answers.worker_codes]
    parts = table.assign(weight=weights, part=(weights * (table["label"] - table["truth"])) ** 2)
    sums = parts.groupby("task")[["weight", "part"]].sum()
    counts = parts.groupby("task").size()
    expected = np.sqrt(sums["part"] * counts / (counts - 1).where(counts > 1)) / sums["weight"]
    found = estimate.estimates.standard_error[estimate.answers.answers_per_task > 0]
    if not np.isnan(found).all():
        np.testing.assert_allclose(found, expected, rtol=1e-5, err_msg="standard errors are off")


def _check_units(method: FittingMethod, answers: Answers) -> None:
    frame = answers.to_frame()
    frame = frame.assign(label=frame["label"] + 0.5)
    expected = cast(NumericEstimate, fit(method, frame))
    moved = cast(NumericEstimate, fit(method, frame.assign(label=frame["label"] * 250.25 - 1000.0)))
    np.testing.assert_allclose(
        moved.estimates.truths,
        expected.estimates.truths * 250.25 - 1000.0,
        rtol=1e-9,
        err_msg="the unit of the answers affects the truths",
    )
    np.testing.assert_allclose(moved.error, expected.error * 250.25, rtol=1e-6)
    np.testing.assert_allclose(moved.weight, expected.weight, rtol=1e-6)


def _check_few_numbers(method: FittingMethod) -> None:
    def read(rows: list[tuple[Any, Any, float]], **options: Any) -> Answers:
        frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
        return Answers.from_frame(frame, Interval(low=0, high=9), **options)

    single = fit(method, read([("a", "u", 4.0)]))
    assert single.truths["truth"].tolist() == [4.0]
    assert single.truths["standard_error"].notna().all() == method.errors_from_model
    same = fit(method, read([(task, worker, 7.0) for task in "abc" for worker in "uvw"]))
    assert same.truths["truth"].tolist() == [7.0, 7.0, 7.0]
    assert same.truths["spread"].tolist() == [0.0, 0.0, 0.0]
    silent = fit(method, read([("a", "u", 1.0)], workers=["u", "v"], tasks=["a", "b"]))
    assert silent.workers["answers"].tolist() == [1, 0]
    assert silent.workers["weight"].isna().tolist() == [False, True]
    assert silent.workers["error"].isna().tolist() == [False, True]
    assert silent.truths["truth"].isna().tolist() == [False, True]
    assert silent.truths["spread"].isna().tolist() == [False, True]


SPLIT = 10**6
"""A task that workers disagree on, and the first of these workers."""


def check_label_method(method: FittingMethod, feed: shared.Feed) -> None:
    """Run all checks; see `check_method`."""
    for labels in (("no", "yes"), (1, 2, 3, 4, 5)):
        crowd = make_crowd(
            tasks=60, workers=15, answers_per_task=4, labels=labels, random_state=SEED
        )
        answers = crowd.answers
        shared.check_row_order(method, answers, feed)
        shared.check_names(method, answers)
        shared.check_partitions(method, answers, feed)
        shared.check_libraries(method, answers)
        shared.check_warm_start(method, answers, feed)
        shared.check_extension(method, answers, feed)
        truths = crowd.truths.to_pandas().iloc[:20]
        others = dict(zip(labels, labels[1:] + labels[:1], strict=True))
        wrong = truths.assign(label=truths["label"].map(others))
        shared.check_gold(method, answers, feed, truths, wrong)
        _check_label_names(method, answers)
        _check_agreement(method, _with_a_split_task(answers))
    shared.check_empty(method)
    _check_few_labels(method)
    _check_tie_breaks(method)


def _check_label_names(method: FittingMethod, answers: Answers) -> None:
    frame, finite = answers.to_frame(), check_finite(answers.domain, "the battery")
    expected = fit(method, answers)
    other = Categorical([f"<{label}>" for label in reversed(finite.labels)])
    relabelled = frame.assign(label=frame["label"].map(lambda label: f"<{label}>"))
    named = fit(method, Answers.from_frame(relabelled, other))
    plain = {f"<{label}>": label for label in finite.labels}
    undone = named.truths_as("pandas").assign(truth=lambda found: found["truth"].map(plain))
    assert_same(
        by_id(expected.truths_as("pandas"), "task"), by_id(undone, "task"), tied_tasks=False
    )
    workers = [by_id(estimate.workers_as("pandas"), "worker") for estimate in (expected, named)]
    assert_same(*workers, tied_tasks=True, name="workers")


def _check_agreement(method: FittingMethod, answers: Answers) -> None:
    estimate = cast(LabelEstimate, fit(method, answers))
    found = estimate.estimates
    tied = found.tied[answers.task_codes]
    agrees = (answers.values == found.truths[answers.task_codes]) & ~tied
    sure, open_ = (
        np.bincount(answers.worker_codes, weights=rows, minlength=len(answers.workers))
        / answers.answers_per_worker
        for rows in (agrees, tied)
    )
    assert (estimate.agreement >= sure - 1e-6).all(), "agreement is too small"
    assert (estimate.agreement <= sure + open_ + 1e-6).all(), "agreement is too large"
    labels = check_finite(answers.domain, "the battery").size
    assert found.confidence.min() >= 1 / labels - 1e-9, "the winner has less than a fair share"
    assert found.confidence.max() <= 1
    split = positions_by_text(pa.array([SPLIT]), answers.tasks)
    assert np.delete(found.confidence, split).mean() > found.confidence[split], (
        "confidence is no larger if workers agree"
    )


def _with_a_split_task(answers: Answers) -> Answers:
    """Add a task on which two new workers disagree; methods may tie on it."""
    finite = check_finite(answers.domain, "the battery")
    split = pd.DataFrame({"task": SPLIT, "worker": [SPLIT, SPLIT + 1], "label": finite.labels[:2]})
    return Answers.from_frame(pd.concat([answers.to_frame(), split]), answers.domain)


def _check_few_labels(method: FittingMethod) -> None:
    domain = Categorical([0, 1, 2])

    def read(rows: list[tuple[Any, Any, int]], **options: Any) -> Answers:
        frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
        return Answers.from_frame(frame, domain, **options)

    single = fit(method, read([("a", "u", 1)])).truths
    assert single["truth"].tolist() == [1]
    same = fit(method, read([(task, worker, 2) for task in "abc" for worker in "uvw"]))
    assert same.truths["truth"].tolist() == [2, 2, 2]
    assert same.truths["confidence"].between(0, 1).all()
    silent = fit(method, read([("a", "u", 1)], workers=["u", "v"], tasks=["a", "b"]))
    assert silent.workers["answers"].tolist() == [1, 0]
    assert silent.workers["agreement"].isna().tolist() == [False, True]
    assert silent.workers["accuracy"].isna().tolist() == [True, True], (
        "no other worker carries information"
    )
    assert silent.truths["answers"].tolist() == [1, 0]
    assert silent.truths["truth"].isna().tolist() == [False, True]
    assert silent.truths["tied"].tolist() == [False, False]


def _check_tie_breaks(method: FittingMethod) -> None:
    """Check that ties are flagged, broken uniformly at random, and reproducible."""
    domain = Categorical(["a", "b", "c"])
    tasks = 3_000
    frame = pd.DataFrame(
        {
            "task": np.repeat(np.arange(tasks), 2),
            "worker": np.arange(2 * tasks),
            "label": np.tile(["a", "c"], tasks),
        }
    )
    answers = Answers.from_frame(frame, domain)
    truths = fit(method, answers).truths
    assert truths["tied"].all()
    counts = truths["truth"].value_counts()
    assert set(counts.index) == {"a", "c"}, "a tie is not sampled from only the tied labels"
    # 4.9 standard deviations: one false alarm in 10^6 seeds, and the seed is fixed.
    assert abs(counts["a"] - tasks / 2) < 4.9 * np.sqrt(tasks) / 2
    assert truths["truth"].tolist() == fit(method, answers).truths["truth"].tolist()
    other = fit(attrs.evolve(method, random_state=method.random_state + 1), answers).truths
    assert truths["truth"].tolist() != other["truth"].tolist()
