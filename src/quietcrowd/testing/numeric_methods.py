"""Conformance checks of methods for numbers."""

from typing import Any, cast

import numpy as np
import pandas as pd

from quietcrowd.answers import Answers
from quietcrowd.datasets.crowds import make_crowd
from quietcrowd.domains import Interval
from quietcrowd.inference.estimate import NumericEstimate
from quietcrowd.inference.fitting import FittingMethod
from quietcrowd.testing import method_checks as shared
from quietcrowd.testing.method_checks import fit

SEED = 20_181_210


def check_numeric_method(method: FittingMethod, feed: shared.Feed, *, plain: bool) -> None:
    """Run all checks; see `check_method`. `plain`: the method reads non-private answers."""
    crowd = make_crowd(
        kind="sparse", tasks=40, workers=23, sparsity=0.5, truths="uniform", random_state=SEED
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
        _check_small_cases(method)


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
    assert within.all(), "a truth lies outside of its task's answers"
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
    frame = answers.to_frame().astype({"label": "float64"})
    expected = cast(NumericEstimate, fit(method, frame))
    moved = cast(NumericEstimate, fit(method, frame.assign(label=frame["label"] * 250.0 - 1000.0)))
    np.testing.assert_allclose(
        moved.estimates.truths,
        expected.estimates.truths * 250.0 - 1000.0,
        rtol=1e-9,
        err_msg="the unit of the answers matters",
    )
    np.testing.assert_allclose(moved.error, expected.error * 250.0, rtol=1e-6)
    np.testing.assert_allclose(moved.weight, expected.weight, rtol=1e-6)


def _check_small_cases(method: FittingMethod) -> None:
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
