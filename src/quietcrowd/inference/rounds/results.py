"""Frames of the truths of all rounds."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import evolve

from quietcrowd.exceptions import ParameterError
from quietcrowd.inference.rounds.history import Round, log_priors
from quietcrowd.inference.task_estimates import Estimates, NumericEstimates


def round_columns(estimate: Any, *, smoothed: bool) -> dict[str, Any]:
    """Return the columns of `TruthEstimate.rounds`, or of `TruthEstimate.smoothed`."""
    history = estimate.over_time
    if history is None:
        raise ParameterError("inference.rounds-not-stored")
    rounds: tuple[Round, ...] = history.rounds
    found = [one.estimates for one in rounds]
    if smoothed:
        later = zip(rounds[:-1], history.smoothed(), strict=False)
        found[:-1] = [_estimates(estimate, one, apparent) for one, apparent in later]
    with_truth = [np.flatnonzero(one.met | one.known) for one in rounds]
    sizes = [len(tasks) for tasks in with_truth]
    numbers = isinstance(estimate.estimates, NumericEstimates)
    error = "standard_error" if numbers else "confidence"

    def column(name: str) -> npt.NDArray[Any]:
        pairs = zip(found, with_truth, strict=True)
        return np.concatenate([getattr(one, name)[tasks] for one, tasks in pairs])

    truths = pa.array(column("truths"))
    answers = [one.answers[tasks] for one, tasks in zip(rounds, with_truth, strict=True)]
    return {
        "round": np.repeat([one.number for one in rounds], sizes),
        "task": estimate.answers.tasks.take(pa.array(np.concatenate(with_truth))),
        "truth": truths if numbers else estimate.domain.decode(truths),
        error: column(error),
        "answers": np.concatenate(answers),
    }


def _estimates(estimate: Any, one: Round, apparent: npt.NDArray[np.float64]) -> Estimates:
    """Return the estimates of an earlier round, by posteriors of its apparent truths."""
    tasks = len(apparent)
    model = evolve(estimate.model, task_priors=log_priors(apparent))
    partition = evolve(
        estimate.partition,
        offsets=estimate.partition.offsets[: tasks + 1],
        draws=estimate.partition.draws[:tasks],
        known_truths=model.unknown(tasks),
    )
    found = model.predicted(partition, estimate.state)
    finished: Estimates = model.finish(found, model.unknown(tasks))
    kept = {
        name: np.where(one.known, getattr(one.estimates, name), getattr(finished, name))
        for name in ("truths", "standard_error", "confidence")
        if hasattr(finished, name)
    }
    return evolve(finished, **kept)
