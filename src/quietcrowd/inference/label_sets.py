"""Label sets of tasks, from estimates of one yes-or-no question per label."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
import pyarrow as pa

from quietcrowd.exceptions import ParameterError
from quietcrowd.frames import Backend, to_native
from quietcrowd.inference.estimate import FrameT_co, LabelEstimate, TruthEstimate
from quietcrowd.several_labels import YES_OR_NO, task_and_label
from quietcrowd.validation import check_proportion


@overload
def label_sets(
    estimate: TruthEstimate[FrameT_co], *, threshold: float = 0.5, backend: None = None
) -> FrameT_co: ...
@overload
def label_sets(
    estimate: TruthEstimate[Any], *, threshold: float = 0.5, backend: Backend | None = None
) -> Any: ...


def label_sets(
    estimate: TruthEstimate[Any], *, threshold: float = 0.5, backend: Backend | None = None
) -> Any:
    """Return the set of labels of each task.

    A task has a label if the posterior of "yes" is at least `threshold`.

    Parameters
    ----------
    estimate : TruthEstimate
        Fitted by a method for labels to answers from `binary_answers`, or to reports of them.
    threshold : float
        Above 0 and below 1.
    backend : {"pandas", "polars", "pyarrow"}, optional
        Library of the frame; default: that of the estimate.

    Returns
    -------
    dataframe
        One row per task: ``task``, a text; ``labels``, a list of texts; and one column per label
        with its posterior, such as ``p(cat)``. A question without answers has no posterior, and its
        label is not in the list; a task without any answers has no list.

    Raises
    ------
    ParameterError
        If the threshold is out of range, the method has no posterior, or the estimate is not about
        the questions of `binary_answers`.

    Examples
    --------
    >>> import pandas as pd
    >>> import quietcrowd as qc
    >>> frame = pd.DataFrame({"task": [7, 7], "worker": ["a", "b"], "label": [["cat"], ["cat"]]})
    >>> estimate = qc.MajorityVote().fit(qc.binary_answers(frame, ["cat", "dog"]))
    >>> qc.label_sets(estimate)
      task labels  p(cat)  p(dog)
    0    7  [cat]     1.0     0.0
    """
    check_proportion("threshold", threshold)
    answers = getattr(estimate.domain, "labels", ())
    if not isinstance(estimate, LabelEstimate) or set(answers) != set(YES_OR_NO.labels):
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
    columns = {
        "task": pa.array(list(tasks), pa.string()),
        "labels": pa.array(sets, pa.list_(pa.string())),
        **{
            f"p({one})": pa.array(posterior[:, place], from_pandas=True)
            for one, place in labels.items()
        },
    }
    return to_native(columns, estimate.backend if backend is None else backend)
