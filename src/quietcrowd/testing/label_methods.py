"""Conformance checks of methods for labels."""

from typing import Any, cast

import attrs
import numpy as np
import pandas as pd
import pyarrow as pa

from quietcrowd.answers import Answers
from quietcrowd.datasets.crowds import make_crowd
from quietcrowd.domains import Categorical, check_finite
from quietcrowd.frames import positions_by_text
from quietcrowd.inference.estimate import LabelEstimate
from quietcrowd.inference.fitting import FittingMethod
from quietcrowd.testing import method_checks as shared
from quietcrowd.testing.comparison import assert_same, by_id
from quietcrowd.testing.method_checks import fit

SEED = 20_180_819

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
    _check_small_cases(method)
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
        "confidence is no larger where workers agree"
    )


def _with_a_split_task(answers: Answers) -> Answers:
    """Add a task on which two new workers disagree; methods may tie on it."""
    finite = check_finite(answers.domain, "the battery")
    split = pd.DataFrame({"task": SPLIT, "worker": [SPLIT, SPLIT + 1], "label": finite.labels[:2]})
    return Answers.from_frame(pd.concat([answers.to_frame(), split]), answers.domain)


def _check_small_cases(method: FittingMethod) -> None:
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
    assert set(counts.index) == {"a", "c"}, "a tie is not drawn from the tied labels alone"
    # 4.9 standard deviations: one false alarm in 10^6 seeds, and the seed is fixed.
    assert abs(counts["a"] - tasks / 2) < 4.9 * np.sqrt(tasks) / 2
    assert truths["truth"].tolist() == fit(method, answers).truths["truth"].tolist()
    other = fit(attrs.evolve(method, random_state=method.random_state + 1), answers).truths
    assert truths["truth"].tolist() != other["truth"].tolist()
