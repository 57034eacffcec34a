"""Label sets of tasks, from estimates of one yes-or-no question per label."""

from typing import Any

import numpy as np
import pyarrow as pa

from quietcrowd.exceptions import ParameterError
from quietcrowd.several_labels import YES_OR_NO, task_and_label
from quietcrowd.validation import check_proportion


def label_sets(estimate: Any, threshold: float) -> dict[str, pa.Array]:
    """Return the columns of `TruthEstimate.label_sets`."""
    check_proportion("threshold", threshold)
    answers = getattr(estimate.domain, "labels", ())
    if set(answers) != set(YES_OR_NO.labels):
        raise ParameterError(
            "inference.label-sets-needed", domain=YES_OR_NO.describe(), estimate=estimate
        )
    chances = estimate.posterior_as("pyarrow")["probability"]
    yes = chances.to_numpy(zero_copy_only=False).astype(float)[answers.index("yes") :: 2]
    names = estimate.answers.tasks.cast(pa.large_string()).to_pylist()
    questions = [task_and_label(name) for name in names]
    tasks = {task: row for row, task in enumerate(dict.fromkeys(task for task, _ in questions))}
    labels = {one: place for place, one in enumerate(dict.fromkeys(one for _, one in questions))}
    posterior = np.full((len(tasks), len(labels)), np.nan)
    rows = [tasks[task] for task, _ in questions]
    posterior[rows, [labels[one] for _, one in questions]] = yes
    told = ~np.isnan(posterior).all(axis=1)
    sets = [
        [one for one, place in labels.items() if chance[place] >= threshold] if known else None
        for chance, known in zip(posterior, told, strict=True)
    ]
    return {
        "task": pa.array(list(tasks), pa.string()),
        "labels": pa.array(sets, pa.list_(pa.string())),
        **{
            f"p({one})": pa.array(posterior[:, place], from_pandas=True)
            for one, place in labels.items()
        },
    }
